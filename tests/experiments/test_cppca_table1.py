"""Table 1 of the CPPCA paper: what the copy of the reviews holds beside what the text says."""

import pytest

from gnomon.experiments import cppca_table1 as table
from gnomon.experiments._cells import Cell


@pytest.mark.realdata
def test_reviews_are_counted():
    found = {cell.task: table.scores(cell) for cell in table.cells(quick=True)}
    assert found["books"] == {"labeled": 2000.0, "unlabeled": 4465.0, "features": 5000.0}
    assert sum(one["labeled"] + one["unlabeled"] for one in found.values()) == 27677


def test_only_what_the_text_repeats_is_compared():
    assert table.printed("books", "as read", None, "unlabeled").mean == 4445
    assert table.printed("kitchen", "as read", None, "unlabeled") is None
    assert table.cells(3) == [Cell(name, "as read", None, 0) for name in ("books", "dvd", "electronics", "kitchen")]
