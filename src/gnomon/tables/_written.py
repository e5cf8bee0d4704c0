"""How numbers are written in a text: decimal points or commas, groups of thousands, percent signs, true and false."""

import re
from collections.abc import Iterable

from gnomon.tables._table import MISSING, number

POINT, COMMA = ".", ","
SPACES = " \u00a0\u2009\u202f'\u2019"  # that stand between thousands
MINUS = str.maketrans("\u2212\u2013", "--")
EXPONENT = r"(?:[eE][+-]?\d+)?"
WITH_COMMA = re.compile(rf"[+-]?(?:\d*|\d{{1,3}}(?:[.{SPACES}]\d{{3}})+),\d+{EXPONENT}")
WITH_POINT = re.compile(rf"[+-]?(?:\d*|\d{{1,3}}(?:[,{SPACES}]\d{{3}})+)\.\d+{EXPONENT}")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")  # or a decimal comma and three digits
GROUPED = {
    POINT: re.compile(rf"[+-]?\d{{1,3}}(?:[,{SPACES}]\d{{3}})+(?:\.\d*)?{EXPONENT}"),
    COMMA: re.compile(rf"[+-]?(?:\d*|\d{{1,3}}(?:[.{SPACES}]\d{{3}})+)(?:,\d*)?{EXPONENT}"),
    "": re.compile(rf"[+-]?\d{{1,3}}(?:[{SPACES}]\d{{3}})+"),
}
TRUTHS = {"true": "1", "false": "0"}
PERCENT, TRUTH = "percent signs", "true and false"


def decimal_mark(cells: Iterable[str], separator: str) -> str:
    """The mark before decimals; "" where cells do not tell.

    Commas are it where they are in numbers and no number has a point. Where each may as well be between thousands, they
    are it in a text cut by semicolons, which are there because of them; otherwise nothing is told.
    """
    commas: list[str] = []
    for cell in cells:
        text = cell.translate(MINUS).strip(" %")
        if (POINT in text and WITH_POINT.fullmatch(text)) or (text.count(COMMA) > 1 and THOUSANDS.fullmatch(text)):
            return POINT
        if COMMA in text:
            commas += [text] if WITH_COMMA.fullmatch(text) else []
    told = separator == ";" or not all(map(THOUSANDS.fullmatch, commas))
    return (COMMA if told else "") if commas else POINT


def kind_of_cells(cells: Iterable[str]) -> str:
    """What stands in all cells that are not empty and would have to go to make numbers of them; "" if nothing does."""
    given = (text for cell in cells if (text := cell.strip()) not in MISSING)
    first = next(given, "")
    if first.endswith("%"):
        return PERCENT if all(text.endswith("%") for text in given) else ""
    return TRUTH if first.lower() in TRUTHS and all(text.lower() in TRUTHS for text in given) else ""


def has_groups(cells: Iterable[str], decimal: str) -> bool:
    """Whether there are numbers among cells with marks or spaces between thousands."""
    between = re.compile(rf"\d[{POINT if decimal == COMMA else COMMA}{SPACES}]\d{{3}}")
    cells = list(cells)
    if not between.search("\n".join(cells)):
        return False
    return any(between.search(cell) and as_written(cell, decimal) is not None for cell in cells)


def as_written(cell: str, decimal: str, kind: str = "") -> str | None:
    """A number as Python writes it; None of what is none, or may be another."""
    text = cell.strip().translate(MINUS)
    if kind == TRUTH:
        return TRUTHS.get(text.lower())
    if kind == PERCENT:
        if not text.endswith("%"):
            return None
        text = text[:-1].rstrip()
    if (decimal != COMMA or POINT not in text) and number(text) is not None:
        return text
    if not text[-1:].isalnum() or not GROUPED[decimal].fullmatch(text):
        return None
    return re.sub(rf"[{SPACES}{COMMA if decimal == POINT else POINT}]", "", text).replace(COMMA, POINT)
