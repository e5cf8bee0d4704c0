"""Tables of text with the standard library: the same result everywhere, and exact line numbers.

pyarrow, where installed, reads large files that leave no question; on any doubt they are read again with the former.
"""

import csv
import gzip
import importlib
import mmap
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gnomon.tables._parquet import has_pyarrow
from gnomon.tables._sniff import SEPARATORS, WESTERN, Form, Source, ending, is_western, sniff, source_of, with_points
from gnomon.tables._table import (
    MISSING,
    Table,
    TableError,
    Wanted,
    cell_name,
    check_features,
    choose_features,
    in_range,
    number,
    out_of_range,
    row_of,
    usable,
)
from gnomon.targets.forms import objects

CHUNK_ROWS = 4096  # rows held as text at once
LARGE = 1 << 20  # bytes that take as long to read as pyarrow to import
BLOCK = 1 << 24  # bytes that pyarrow holds as text at once, more than a row


class Row(NamedTuple):
    """The cells of a row and the line on which it starts."""

    line: int
    cells: list[str]


def read_text(path: str, wanted: Wanted) -> Table:
    """Read a table of text with a header line, or standard input ("-"); what it assumes of its form is said."""
    source, usual = source_of(path), "\t" if ending(path) == ".tsv" else ","
    form = sniff(source, usual)
    table = None
    if (
        has_pyarrow()
        and form == Form(separator=form.separator)
        and not wanted.missing
        and source.plain
        and Path(path).stat().st_size >= LARGE
    ):
        table = _read_clean(path, wanted, form.separator)
    if table is None:
        try:
            table = _read(source, wanted, form)
        except UnicodeDecodeError as error:
            with source.open() as file:
                if not is_western(file.read()):
                    raise TableError(_not_text(source, error)) from None
            form = replace(form, encoding=WESTERN)
            table = _read(source, wanted, form)
    return replace(table, assumed=form.said(usual))


def _read(source: Source, wanted: Wanted, form: Form) -> Table:
    """Row by row, in any form."""
    try:
        with source.text(form.encoding) as file:
            rows = text_rows(source.path, csv.reader(file, delimiter=form.separator, strict=True))
            if form.decimal_comma:
                rows = (row._replace(cells=with_points(row.cells)) for row in rows)
            return collect(source.path, rows, wanted, form.separator)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableError(f"{source.path} cannot be unpacked ({error}).") from None


def _read_clean(path: str, wanted: Wanted, delimiter: str) -> Table | None:
    """The table where both readers are sure to see the same in each cell; None leaves what is wrong to the other."""
    arrow = importlib.import_module("pyarrow")
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            doubts = b'"', b"\0", b"\n\n", b"\n\r\n"  # pyarrow takes a blank line for a row
            returns = text.find(b"\r", 0) >= 0
            if any(text.find(mark, 0) >= 0 for mark in doubts) or (returns and re.search(rb"\r(?!\n)", text)):
                return None
            header = next(csv.reader([text.readline().decode("utf-8-sig")], delimiter=delimiter, strict=True), [])
        names, wanted, features = _columns(path, header, delimiter, wanted)
        return None if len(names) == 1 else _batches(path, names, wanted, features, delimiter)
    except (TableError, UnicodeDecodeError, csv.Error, OSError, arrow.ArrowException):
        return None


def _batches(path: str, names: list[str], wanted: Wanted, features: list[str], delimiter: str) -> Table | None:
    arrow, reader = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.csv")
    types = {name: arrow.string() for name in names} | {name: arrow.float64() for name in features}
    kept: dict[str, list[Any]] = {name: [] for name in names if name not in set(features)}
    blocks = []
    with reader.open_csv(
        path,
        reader.ReadOptions(use_threads=False, block_size=BLOCK, skip_rows=1, column_names=names),
        reader.ParseOptions(delimiter=delimiter, quote_char=False, ignore_empty_lines=False),
        reader.ConvertOptions(column_types=types, null_values=sorted(MISSING), strings_can_be_null=False),
    ) as batches:
        for batch in batches:
            cells = dict(zip(names, batch.columns, strict=True))
            blocks.append(np.empty((len(batch), len(features))))
            for j, name in enumerate(features):
                blocks[-1][:, j] = cells[name].to_numpy(zero_copy_only=False)
            n_given = blocks[-1].size - sum(cells[name].null_count for name in features)
            texts = {name: cells[name].to_pylist() for name in kept}
            longest = max((len(cell) for column in texts.values() for cell in column), default=0)
            if np.count_nonzero(in_range(blocks[-1])) != n_given or longest > csv.field_size_limit():
                return None
            for name, column in texts.items():
                kept[name] += map(_given, column)
    n = sum(map(len, blocks))
    return _table(path, np.concatenate(blocks), features, wanted, kept, list(range(2, n + 2))) if n else None


def _not_text(source: Source, error: UnicodeDecodeError) -> str:
    with source.open() as file:
        content = file.read()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line, byte = content[: error.start].count(b"\n") + 1, content[error.start]
        return f"{source.path}, line {line}: byte 0x{byte:02x} is not UTF-8; save the table as UTF-8 text."
    return f"{source.path} is not text ({error.reason}); save the table as UTF-8 text."


def text_rows(path: str, reader: Any) -> Iterator[Row]:
    """The rows that are not blank."""
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise TableError(f"{path}, line {line}: not a table row ({error}).") from None
        if cells is None:
            return
        if cells:
            yield Row(line, cells)


def collect(path: str, rows: Iterator[Row], wanted: Wanted, delimiter: str = ",") -> Table:
    """The table of rows of text, the first of which is the header."""
    names, wanted, features = _columns(path, next(rows, Row(1, [])).cells, delimiter, wanted)
    place = {name: j for j, name in enumerate(names)}
    kept: dict[str, list[Any]] = {name: [] for name in (*wanted.targets, wanted.id) if name is not None}
    blocks, lines = [], []
    while chunk := list(islice(rows, CHUNK_ROWS)):
        check_lengths(path, chunk, len(names), len(lines))
        columns = list(zip(*(row.cells for row in chunk)))
        block, bad, n_before = np.empty((len(chunk), len(features))), {}, len(lines)
        lines += [row.line for row in chunk]
        for j, name in enumerate(features):
            cells = columns[place[name]]
            block[:, j], i = _numbers(cells, wanted.missing)
            if i is not None:
                bad[name] = n_before + i, cells[i]
        check_features(path, bad, lines)
        blocks.append(block)
        for name, values in kept.items():
            values += [_given(cell, wanted.missing) for cell in columns[place[name]]]
    if not lines:
        raise TableError(f"{path}: a header and no rows.")
    return _table(path, np.concatenate(blocks), features, wanted, kept, lines)


def _columns(path: str, cells: list[str], delimiter: str, wanted: Wanted) -> tuple[list[str], Wanted, list[str]]:
    """All names, the columns by role, and the features, from the cells of the header."""
    header = _header(path, cells, delimiter)
    names = [name or unnamed(j) for j, name in enumerate(header)]
    wanted = wanted.settled(names)
    features = choose_features(path, names, wanted)
    _check_named(path, header, features)
    return names, wanted, features


def _table(
    path: str, X: np.ndarray, features: list[str], wanted: Wanted, kept: dict[str, list[Any]], lines: list[int]
) -> Table:
    ids = None if wanted.id is None else objects(kept[wanted.id])
    targets = {name: objects(target_cells(path, name, kept[name], lines)) for name in wanted.targets}
    return Table(path, X, features, targets, ids, wanted.id, np.array(lines))


def unnamed(j: int) -> str:
    """How a column without a name can be called in --id and --drop."""
    return f"column{j + 1}"


def _header(path: str, names: list[str], delimiter: str) -> list[str]:
    if not any(name.strip() for name in names):
        raise TableError(f"{path}: the first line holds no column names.")
    if len(names) == 1:
        for other, word in SEPARATORS.items():
            if other in names[0]:
                raise TableError(f"{path}: the header is separated by {word}, not by {SEPARATORS[delimiter]}.")
    return [name.strip() for name in names]


def _check_named(path: str, header: list[str], features: list[str]) -> None:
    for j, name in enumerate(header):
        if not name and unnamed(j) in features:
            raise TableError(
                f"{path}: column {j + 1} has no name in the header; if it numbers the rows, "
                f"add --id {unnamed(j)} or --drop {unnamed(j)}."
            )


def check_lengths(path: str, chunk: list[Row], n_columns: int, n_before: int) -> None:
    for i, row in enumerate(chunk, n_before):
        if len(row.cells) != n_columns:
            cells = "1 cell" if len(row.cells) == 1 else f"{len(row.cells)} cells"
            raise TableError(f"{path}, {row_of(i, row.line)}: {cells}, and the header has {n_columns}.")


def _numbers(cells: tuple[str, ...], missing: Sequence[str] = ()) -> tuple[np.ndarray, int | None]:
    """A feature column as numbers, NaN where cells are empty, and the place of the first that is no usable number."""
    values = np.empty(len(cells))
    with suppress(ValueError):
        values[:] = [float(cell) for cell in cells]
        if not missing and usable(values).all() and "_" not in "".join(cells):
            return values, None
    for i, cell in enumerate(cells):
        value = np.nan if _given(cell, missing) is None else number(cell)
        if value is None or not usable(value):
            return values, i
        values[i] = value
    return values, None


def target_cells(path: str, name: str, cells: list[Any], lines: list[int]) -> list[Any]:
    """The cells of a target as they are, or as numbers where all of them are: whole ones as integers."""
    found = [None if cell is None else number(cell) for cell in cells]
    if any(value is None and cell is not None for value, cell in zip(found, cells, strict=True)):
        return cells
    for i, value in enumerate(found):
        if value is not None and not in_range(value):
            raise TableError(f"{cell_name(path, i, lines[i], name)}: {cells[i]} {out_of_range(value)}.")
    try:
        return [None if cell is None else int(cell) for cell in cells]
    except ValueError:
        return found


def _given(cell: str, missing: Sequence[str] = ()) -> str | None:
    text = cell.strip()
    return None if text in MISSING or text in missing else text
