"""Tables of text with the standard library: the same result everywhere, and exact line numbers.

pyarrow, where installed, reads large files that leave no question; on any doubt they are read again with the former.
"""

import csv
import gzip
import importlib
import mmap
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.tables._begin import Body, Row, unnamed
from gnomon.tables._parquet import has_pyarrow
from gnomon.tables._sniff import SEPARATORS, WESTERN, Form, Source, ending, is_western, sniff, source_of
from gnomon.tables._summary import candidates, without_summaries
from gnomon.tables._table import (
    MISSING,
    Table,
    TableError,
    Wanted,
    cell_name,
    check_features,
    choose_features,
    in_range,
    listing,
    number,
    out_of_range,
    usable,
    without_role,
)
from gnomon.targets.forms import objects

TABS = (".tsv", ".tab")  # endings that say what separates cells
CHUNK_ROWS = 4096  # rows held as text at once
LARGE = 1 << 20  # bytes that take as long to read as pyarrow to import
BLOCK = 1 << 24  # bytes that pyarrow holds as text at once, more than a row


def read_text(path: str, wanted: Wanted) -> Table:
    """Read a table of text with a header line, or standard input ("-"); what it assumes of its form is said."""
    source, usual = source_of(path), "\t" if ending(path) in TABS else ","
    form = sniff(source, usual)
    try:
        table = _read(source, wanted, form)
    except UnicodeDecodeError as error:
        with source.open() as file:
            if not is_western(file.read()):
                raise TableError(_not_text(source, error)) from None
        form = replace(form, encoding=WESTERN)
        table = _read(source, wanted, form)
    said = ", ".join([*form.said(usual), *filter(None, [table.assumed])])
    return replace(table, assumed=said, sha256=source.sha256)


def _read(source: Source, wanted: Wanted, form: Form) -> Table:
    """Row by row in any form, or by pyarrow what is large and plain."""
    with opened_rows(source, form) as rows:
        body, table = Body(source.path, rows, form.separator, wanted.form), None
        plain = body.plain and form == Form(separator=form.separator) and not wanted.missing and source.plain
        if plain and has_pyarrow() and Path(source.path).stat().st_size >= LARGE:
            table = _read_clean(source.path, body, wanted, form.separator)
        return collect(source.path, body, wanted, form.separator) if table is None else table


@contextmanager
def opened_rows(source: Source, form: Form) -> Iterator[Iterator[Row]]:
    """The rows of a text; of what is packed and was cut that is said in one line."""
    try:
        with source.text(form) as file:
            yield text_rows(source.path, form, file)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableError(f"{source.path} cannot be unpacked ({error}).") from None


def _read_clean(path: str, body: Body, wanted: Wanted, delimiter: str) -> Table | None:
    """The table where both readers are sure to see the same in each cell; None leaves what is wrong to the other."""
    arrow = importlib.import_module("pyarrow")
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            doubts = b'"', b"\0", b"\n\n", b"\n\r\n"  # pyarrow takes a blank line for a row
            returns = text.find(b"\r", 0) >= 0
            if any(text.find(mark, 0) >= 0 for mark in doubts) or (returns and re.search(rb"\r(?!\n)", text)):
                return None
        names, wanted, features = _columns(body, delimiter, wanted)
        return None if len(names) == 1 else _batches(path, names, body, wanted, features, delimiter)
    except (TableError, UnicodeDecodeError, csv.Error, OSError, arrow.ArrowException):
        return None


def _batches(
    path: str, names: list[str], body: Body, wanted: Wanted, features: list[str], delimiter: str
) -> Table | None:
    arrow, reader = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.csv")
    types = {name: arrow.string() for name in names} | {name: arrow.float64() for name in features}
    numbers = set(features)
    kept: dict[str, list[Any]] = {name: [] for name in names if name not in numbers}
    blocks, rest = [], _rest(body, names, features, wanted)
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
                kept[name] += column if name in rest else _given_cells(column)
    n = sum(map(len, blocks))
    if n and np.isnan(blocks[-1][-1]).all():
        return None  # the row may be empty, and so left out
    named = candidates(kept.values())
    return _table(np.concatenate(blocks), features, body, wanted, kept, list(range(2, n + 2)), named) if n else None


def _not_text(source: Source, error: UnicodeDecodeError) -> str:
    with source.open() as file:
        content = file.read()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line, byte = content[: error.start].count(b"\n") + 1, content[error.start]
        return f"{source.path}, line {line}: byte 0x{byte:02x} is not UTF-8; save the table as UTF-8 text."
    return f"{source.path} is not text ({error.reason}); save the table as UTF-8 text."


def text_rows(path: str, form: Form, file: Any) -> Iterator[Row]:
    """The rows that are not blank; a line that names the separator counts as one."""
    reader = form.rows(file)
    while True:
        line = reader.line_num + 1 + form.named
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise TableError(f"{path}, line {line}: not a table row ({error}).") from None
        if cells is None:
            return
        if form.separator == " " and cells and not cells[-1]:
            cells.pop()  # of spaces at the end of the line
        if cells:
            yield Row(line, cells)


def collect(path: str, body: Body, wanted: Wanted, delimiter: str = ",") -> Table:
    """The table of rows of text."""
    names, wanted, features = _columns(body, delimiter, wanted)
    place = {name: j for j, name in enumerate(names)}
    rest = _rest(body, names, features, wanted)
    roles = (*wanted.targets, wanted.id, *wanted.categorical, *rest)
    kept: dict[str, list[Any]] = {name: [] for name in roles if name is not None}
    blank, others, named = _blank_ones(body, names, wanted), _no_features(names, features), {}
    blocks, lines, rows = [], [], iter(body)
    while chunk := list(islice(rows, CHUNK_ROWS)):
        columns = list(zip(*(row.cells for row in chunk)))
        block, bad, n_before = np.empty((len(chunk), len(features))), {}, len(lines)
        lines += [row.line for row in chunk]
        named |= candidates((columns[j] for j in others), n_before)
        for j in blank:
            if any(map(str.strip, columns[j])):
                raise _nameless(path, j)
        for j, name in enumerate(features):
            cells = columns[place[name]]
            block[:, j], i = _numbers(cells, wanted.missing, body, place[name])
            if i is not None:
                bad[name] = n_before + i, cells[i]
        odd = {name: body.odd(columns[place[name]], place[name], wanted.missing) for name in bad}
        check_features(path, bad, lines, odd, of_model=wanted.of_model)
        blocks.append(block)
        for name, values in kept.items():
            values += columns[place[name]] if name in rest else _given_cells(columns[place[name]], wanted.missing)
    if not lines:
        raise TableError(f"{path}: a header and no rows.")
    body.say_kinds([place[name] for name in features])
    return _table(np.concatenate(blocks), features, body, wanted, kept, lines, named)


def _columns(body: Body, delimiter: str, wanted: Wanted) -> tuple[list[str], Wanted, list[str]]:
    """All names, the columns by role, and the features, from the cells of the header."""
    _check_header(body, delimiter)
    path, header = body.path, body.header
    names = [name or unnamed(j) for j, name in enumerate(header)]
    wanted = wanted.settled(names)
    nameless = [unnamed(j) for j, name in enumerate(header) if not name]
    asked = {*wanted.targets, wanted.id, *wanted.drop, *wanted.categorical, *(wanted.features or ())}
    left = [name for name in nameless if name not in asked]
    if left and all(name in (*asked, *wanted.ignore, *left) for name in names):
        raise _nameless(path, names.index(left[0]))
    wanted = wanted._replace(ignore=[*wanted.ignore, *left])
    if wanted.features is not None and "transposed" not in wanted.form and not set(wanted.features) & set(names):
        hint = "if its rows are the columns of the model, add --form transposed."
        raise TableError(f"{path} has none of the columns that the model needs, {listing(wanted.features, 4)}; {hint}")
    return names, wanted, choose_features(path, names, wanted)


def _blank_ones(body: Body, names: list[str], wanted: Wanted) -> list[int]:
    """Columns without a name that nobody asked for."""
    return [j for j, name in enumerate(body.header) if not name and names[j] in wanted.ignore]


def _rest(body: Body, names: list[str], features: list[str], wanted: Wanted) -> list[str]:
    """Columns that are kept as they are."""
    blank = {names[j] for j in _blank_ones(body, names, wanted)}
    return [name for name in without_role(names, features, wanted) if name not in blank]


def _no_features(names: list[str], features: list[str]) -> list[int]:
    """Columns that are no features."""
    known = set(features)
    return [j for j, name in enumerate(names) if name not in known]


def _nameless(path: str, j: int) -> TableError:
    name = unnamed(j)
    return TableError(
        f"{path}: column {j + 1} has no name in the header; if it numbers the rows, add --id {name} or --drop {name}."
    )


def _table(
    X: np.ndarray, features: list[str], body: Body, wanted: Wanted, kept: dict[str, list[Any]], lines: list[Any],
    named: dict[int, str],
) -> Table:  # fmt: skip
    samples, said = without_summaries(body.path, X, named, lines, wanted.form, list(kept.values()))
    if said:
        body.said.append(said)
        X, lines = X[samples], [lines[i] for i in samples]
        kept = {name: [cells[i] for i in samples] for name, cells in kept.items()}
    ids = None if wanted.id is None else objects(kept[wanted.id])
    places = {name or unnamed(j): j for j, name in enumerate(body.header)}
    targets = {}
    for name in wanted.targets:
        written = partial(body.written_target, j=places[name])
        cells = labels_in(kept[name], wanted.unlabeled)
        targets[name] = objects(target_cells(body.path, name, cells, lines, written))
    names = list(places)
    rest = _rest(body, names, features, wanted)
    return Table(
        body.path, X, features, targets, ids, wanted.id, np.array(lines), assumed=", ".join(body.said),
        answers={name: objects(kept[name]) for name in wanted.categorical},
        rest={name: objects(kept[name]) for name in rest},
        order=names,
    )  # fmt: skip


def _check_header(body: Body, delimiter: str) -> None:
    """Refuse a first line that holds no names."""
    path, names = body.path, body.header
    if not any(names):
        raise TableError(f"{path}: the first line holds no column names.")
    if len(names) == 1:
        for other, word in SEPARATORS.items():
            if other in names[0] and other != " ":
                raise TableError(f"{path}: the header is separated by {word}, not by {SEPARATORS[delimiter]}.")
    if body.odd_header and None not in map(number, filter(None, names)):
        raise TableError(
            f"{path}: the first line has numbers and no names of columns; add --form no-header, with which they are "
            f"{unnamed(0)}, {unnamed(1)}, ..., or put a line of names above it."
        )


def _numbers(cells: tuple[str, ...], missing: Sequence[str], body: Body, j: int) -> tuple[np.ndarray, int | None]:
    """A feature column as numbers, NaN where cells are empty, and the place of the first that is no usable number."""
    values, joined = np.empty(len(cells)), "".join(cells)
    if not missing and "_" not in joined and not (body.decimal == "," and "." in joined):
        with suppress(ValueError):
            values[:] = (
                [float(cell.replace(",", ".")) for cell in cells] if body.decimal == "," else list(map(float, cells))
            )
            if usable(values).all():
                return values, None
    for i, cell in enumerate(cells):
        value = np.nan if _given(cell, missing) is None else body.number(cell, j)
        if value is None or not usable(value):
            return values, i
        values[i] = value
    return values, None


def labels_in(cells: list[Any], unlabeled: str | None) -> list[Any]:
    """Cells of a target, None for one that means no label, so that numbers beside it are numbers."""
    return [None if cell == unlabeled else cell for cell in cells]


def target_cells(
    path: str, name: str, cells: list[Any], lines: list[Any], written: Callable[[str], str | None] = str
) -> list[Any]:
    """The cells of a target as they are, or as numbers where all of them are: whole ones as integers."""
    texts = [None if cell is None else written(cell) for cell in cells]
    found = [None if text is None else number(text) for text in texts]
    if any(value is None and cell is not None for value, cell in zip(found, cells, strict=True)):
        return cells
    for i, value in enumerate(found):
        if value is not None and not in_range(value):
            raise TableError(f"{cell_name(path, i, lines[i], name)}: {cells[i]} {out_of_range(value)}.")
    try:
        return [None if text is None else int(text) for text in texts]
    except ValueError:
        return found


def _given_cells(cells: Sequence[str], missing: Sequence[str] = ()) -> list[str | None]:
    return [_given(cell, missing) for cell in cells]


def _given(cell: str, missing: Sequence[str] = ()) -> str | None:
    text = cell.strip()
    return None if text in MISSING or text in missing else text
