"""The first sheet of an Excel file, through openpyxl, as a table of text."""

import importlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gnomon.tables._table import Table, TableError, Wanted
from gnomon.tables._text import Row, collect

NOT_AVAILABLE = "#N/A"  # what a formula gives for a value that is not there


def read_excel(path: str, wanted: Wanted) -> Table:
    """Read the first sheet of a .xlsx file; its first row that is not empty is the header."""
    book = open_excel(path)
    sheets = book.worksheets
    try:
        table = collect(path, sheet_rows(sheets[0]), wanted)
    finally:
        book.close()
    return table if len(sheets) == 1 else replace(table, assumed=f"from its first sheet, {sheets[0].title!r}")


def open_excel(path: str) -> Any:
    """The workbook of a .xlsx file."""
    try:
        openpyxl = importlib.import_module("openpyxl")
    except ImportError:
        raise TableError(
            f"{path}: reading Excel needs openpyxl, which is not installed: pip install 'gnomon[io]', or save the "
            "sheet as CSV."
        ) from None
    try:
        return openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (MemoryError, ImportError):
        raise
    except Exception as error:  # of the archive, of its text, of openpyxl
        reason = " ".join(str(error).split())
        raise TableError(f"{path} is not an Excel file that can be read ({reason}).") from None


def sheet_rows(sheet: Any) -> Iterator[Row]:
    """The rows that are not empty, as wide as the first."""
    width = 0
    for line, values in enumerate(sheet.iter_rows(values_only=True), start=1):
        cells = [_text(value) for value in values]
        while cells and not cells[-1] and len(cells) > width:
            cells.pop()
        if any(cells):
            width = width or len(cells)
            yield Row(line, cells + [""] * (width - len(cells)))


def _text(value: Any) -> str:
    if value is None or value == NOT_AVAILABLE:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return value if isinstance(value, str) else repr(value) if isinstance(value, int | float) else str(value)
