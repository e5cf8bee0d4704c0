"""Tables as lines of text."""

from gnomon._text import text_table


def test_columns_are_aligned_and_some_stand_to_the_right():
    lines = text_table(["name", "rows"], [["a", "5"], ["longer", "1,200"]], right=(1,))
    assert lines == ["name     rows", "a           5", "longer  1,200"]
    assert text_table(["a", "b"], [["", ""]]) == ["a  b", ""]
