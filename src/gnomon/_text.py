"""Tables as lines of text."""

from collections.abc import Container, Sequence


def text_table(header: Sequence[str], body: Sequence[Sequence[str]], right: Container[int] = ()) -> list[str]:
    """Lines of text with aligned columns, some of them to the right."""
    widths = [max(map(len, column)) for column in zip(header, *body)]
    places = [f"{'>' if j in right else '<'}{width}" for j, width in enumerate(widths)]
    return ["  ".join(map(format, line, places)).rstrip() for line in [header, *body]]
