"""A sheet of an Excel file, through openpyxl, as a table of text."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any

from gnomon.tables._begin import Body, Row
from gnomon.tables._table import Table, TableError, Wanted, close_names
from gnomon.tables._text import collect

NOT_AVAILABLE = "#N/A"  # what a formula gives for a value that is not there


def read_excel(path: str, wanted: Wanted) -> Table:
    """Read a sheet of a .xlsx file: that of the name that is wanted, or the first that is not empty."""
    with opened_sheet(path, wanted.layer) as (rows, said):
        table = collect(path, Body(path, rows, form=wanted.form), wanted)
    return replace(table, assumed=", ".join(filter(None, [said, table.assumed])))


@contextmanager
def opened_sheet(path: str, name: str | None) -> Iterator[tuple[Iterator[Row], str]]:
    """The rows of a sheet, and what is said of which one it is."""
    book = open_excel(path)
    try:
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        if name is not None and name not in sheets:
            raise TableError(f"{path}: no sheet {name!r}. {close_names(name, list(sheets), 'sheets')}")
        rows: Iterator[Row] = iter(())
        for title in sheets if name is None else [name]:
            rows = sheet_rows(sheets[title])
            first = next(rows, None)
            if first is not None:
                rows = chain([first], rows)
                break
        yield rows, f"from its sheet {title!r}" if len(sheets) > 1 else ""
    except TableError as error:
        if name is not None or len(sheets) < 2:
            raise
        raise TableError(f"{error} It was read from its sheet {title!r}; --layer names another.") from None
    finally:
        book.close()


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
    """The rows that are not empty, all of one width."""
    width = 0
    for line, values in enumerate(sheet.iter_rows(values_only=True), start=1):
        cells = [_text(value) for value in values]
        width = width or len(cells)
        if any(map(str.strip, cells)):
            yield Row(line, cells + [""] * (width - len(cells)))


def _text(value: Any) -> str:
    if value is None or value == NOT_AVAILABLE:
        return ""
    return value if isinstance(value, str) else repr(value) if isinstance(value, int | float) else str(value)
