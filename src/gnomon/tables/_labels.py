"""Labels in a file of their own, for tables that hold none: one a row, or by the name of the row."""

import gzip
import zlib
from collections.abc import Container
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from gnomon.tables._sniff import ending, sniff, source_of
from gnomon.tables._spectra import FILE
from gnomon.tables._table import MISSING, Table, TableError, listing
from gnomon.tables._text import labels_in, target_cells, text_rows
from gnomon.tables._written import WITH_COMMA, as_written, decimal_mark
from gnomon.targets.forms import objects

LABEL = "label"  # what the target is called where the file does not say


def with_labels(table: Table, path: str, name: str | None = None, unlabeled: str | None = None) -> Table:
    """The table with the labels of a text file as its target.

    A file of one column has a label for each row of the table, in its order, below a line with the name of the target
    or without one; an empty line is a row without a label, as NA is. A file of two columns has names of rows and their
    labels, in any order, for a table whose rows have names; rows that it does not name have no label. Of more columns
    `name` says which has the labels. `name` is the target's, `unlabeled` a label that means none.
    """
    if table.targets:
        raise TableError(f"{path}: {table.path} has the target {listing(table.targets)}; labels come from one of them.")
    rows, separator = _rows(path, frozenset() if table.ids is None else frozenset(map(str, table.ids)), name)
    header, found = _of_names(table, path, rows) if len(rows[0]) == 2 else _in_order(table, path, rows, name)
    target, found = name or header or LABEL, labels_in(found, unlabeled)
    if target in table.feature_names:
        raise TableError(
            f"{path}: {target!r} is a column of {table.path} as well; give the labels another name with --target."
        )
    lines = list(range(1 + (header is not None), 1 + (header is not None) + len(found)))
    written = partial(as_written, decimal=decimal_mark(filter(None, found), separator))
    return replace(table, targets={target: objects(target_cells(path, target, found, lines, written))})


def _rows(path: str, names: Container[str], target: str | None) -> tuple[list[list[str]], str]:
    """The cells of all lines, blank ones too, one or two in each, and what stands between two.

    A comma is before decimals where all lines are such numbers and none begins with the name of a row.
    """
    source = source_of(path)
    try:
        form = sniff(source, "\t" if ending(path) == ".tsv" else ",")
        form = replace(form, separator=",") if form.separator == " " else form  # spaces are in names of classes
        with source.text(form) as file:
            lines = [line.rstrip("\r\n") for line in file]
    except UnicodeDecodeError:
        raise TableError(f"{source.path} is not text that can be read; save the labels as UTF-8 text.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableError(f"{source.path} cannot be unpacked ({error}).") from None
    except OSError as error:
        raise TableError(f"{path}: {error.strerror or error}.") from None
    cells = [row.cells for row in text_rows(path, form, filter(None, lines))]
    if not cells:
        raise TableError(f"{path} is empty.")
    numbers = form.separator == "," and all(WITH_COMMA.fullmatch(",".join(row)) for row in cells)
    if numbers and not any(row[0] in names for row in cells):
        return [[line.strip()] for line in lines], ";"
    if len(cells[0]) == 2 and all(len(row) == 2 for row in cells):
        return [[cell.strip() for cell in row] for row in cells], form.separator
    if len(cells[0]) > 2 and len({len(row) for row in cells}) == 1:
        return _two_of(path, [[cell.strip() for cell in row] for row in cells], names, target), form.separator
    return [[line.strip().removeprefix('"').removesuffix('"')] for line in lines], form.separator


def _two_of(path: str, cells: list[list[str]], names: Container[str], target: str | None) -> list[list[str]]:
    """Of a table beside the table, the column that names its rows and that of the target."""
    header = cells[0]
    named = [j for j in range(len(header)) if 2 * sum(row[j] in names for row in cells) > len(cells)]
    if not named or target not in header or header.index(target) == named[0]:
        raise TableError(
            f"{path}: {len(header)} columns; labels are one column, or names of rows and a label each. Of more columns "
            f"--target names that of the labels, where another has the names of the rows, as --id has: "
            f"{listing(header, 4)}."
        )
    return [[row[named[0]], row[header.index(target)]] for row in cells]


def _in_order(table: Table, path: str, rows: list[list[str]], name: str | None) -> tuple[str | None, list[Any]]:
    """The name of the target, where a line more than the table has rows gives it, and a label for each row."""
    n, cells = table.X.shape[0], [row[0] for row in rows]
    if len(cells) == n + 1 and not cells[-1] and cells[0] != name:
        raise TableError(
            f"{path}: {n + 1} lines, the last one empty, for the {n} rows of {table.path}: the first may be a label or "
            "the name of the target; write NA for a row without a label, and no empty line at the end."
        )
    header = cells.pop(0) if len(cells) == n + 1 or cells[0] == name else None
    if len(cells) != n:
        raise TableError(f"{path}: {len(cells)} labels for the {n} rows of {table.path}; one a line was wanted.")
    return header, [_given(cell) for cell in cells]


def _of_names(table: Table, path: str, rows: list[list[str]]) -> tuple[str | None, list[Any]]:
    """The same of a file that names rows."""
    if table.ids is None:
        raise TableError(f"{path} names rows, and those of {table.path} have no names; add --id, or give labels alone.")
    names = [str(name) for name in table.ids]
    known = set(names)
    if len(known) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise TableError(f"{table.path}: two rows are called {twice!r}, so {path} cannot name them.")
    first = rows[0][0]
    header = None if first in known or (table.id_name == FILE and Path(first).stem in known) else rows[0][1]
    given: dict[str, str] = {}
    for name, label in rows[header is not None :]:
        if name not in known and table.id_name == FILE:
            name = Path(name).stem  # of a file with its ending
        if name not in known:
            raise TableError(f"{path}: {name!r} is the name of no row of {table.path}.")
        if name in given:
            raise TableError(f"{path}: the row {name!r} has two labels.")
        given[name] = label
    return header, [_given(given.get(name, "")) for name in names]


def _given(cell: str) -> str | None:
    return None if cell in MISSING else cell
