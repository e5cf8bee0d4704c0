"""The cells of a table as they are, for who wants to look before anything is refused."""

import csv
import gzip
import importlib
import zlib
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import narwhals as nw

from gnomon.rows.kind import is_sparse
from gnomon.tables._excel import open_excel, sheet_rows
from gnomon.tables._h5ad import beside_of, check_layer, open_h5ad, read_h5ad
from gnomon.tables._mtx import read_mtx
from gnomon.tables._npz import arrays_of, parts_of, read_npz
from gnomon.tables._parquet import SUFFIX, names_of, parquet_files, readable
from gnomon.tables._read import TEXT, kind_of
from gnomon.tables._sniff import WESTERN, ending, is_western, sniff, source_of, with_points
from gnomon.tables._table import MISSING, Table, TableError, Wanted
from gnomon.tables._text import Row, check_lengths, text_rows, unnamed


@dataclass(frozen=True)
class Cells:
    """Names and cells of all columns, of the first rows of a table."""

    path: str
    columns: dict[str, list[Any]]  # text, or numbers where the file has them; None where a cell is empty
    whole: bool  # whether the table has no more rows than these
    assumed: str = ""  # how the file was read, where its name does not say so
    sparse: bool = False

    @property
    def n_rows(self) -> int:
        """How many rows were looked at."""
        return len(next(iter(self.columns.values()), []))


def read_cells(path: str | Path, most: int, layer: str | None = None) -> Cells:
    """The cells of at most so many rows of a table of any kind that `read_table` takes; of AnnData those of a layer."""
    path, kind = str(path), kind_of(path)
    check_layer(path, kind, layer)
    if kind in TEXT:
        return _text(path, most)
    if kind == ".xlsx":
        book = open_excel(path)
        try:
            found = _of_rows(path, sheet_rows(book.worksheets[0]), most)
        finally:
            book.close()
        return found
    if kind == ".npz":
        return _npz(path, most)
    if kind == ".mtx":
        return _matrix(read_mtx(path, Wanted()), most)
    if kind == ".h5ad":
        beside = {name: cells[:most] for name, cells in beside_of(open_h5ad(path)).items()}
        found = _matrix(read_h5ad(path, Wanted(layer=layer)), most)
        return replace(found, columns={**beside, **found.columns})
    return _frame(path, kind, most)


def _text(path: str, most: int) -> Cells:
    source, usual = source_of(path), "\t" if ending(path) == ".tsv" else ","
    form = sniff(source, usual)
    with source.open() as file:
        head = file.read(1 << 20)
    try:
        head.decode(form.encoding, errors="strict")
    except UnicodeDecodeError as error:
        if error.end < len(head) - 4 and is_western(head):
            form = replace(form, encoding=WESTERN)
    try:
        with source.text(form.encoding) as file:
            rows = text_rows(source.path, csv.reader(file, delimiter=form.separator, strict=True))
            if form.decimal_comma:
                rows = (row._replace(cells=with_points(row.cells)) for row in rows)
            found = _of_rows(source.path, rows, most)
    except UnicodeDecodeError:
        raise TableError(f"{source.path} is not text that can be read; save the table as UTF-8 text.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableError(f"{source.path} cannot be unpacked ({error}).") from None
    return replace(found, assumed=form.said(usual))


def _of_rows(path: str, rows: Any, most: int) -> Cells:
    header = next(rows, Row(1, [])).cells
    names = [name.strip() or unnamed(j) for j, name in enumerate(header)]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise TableError(f"{path}: several columns are called {twice[0]!r}; rename all but one.")
    chunk = list(islice(rows, most + 1))
    if not names or not chunk:
        raise TableError(f"{path}: a header and no rows.")
    check_lengths(path, chunk, len(names), 0)
    columns = zip(*(row.cells for row in chunk[:most]), strict=True)
    given = {name: [_given(cell) for cell in column] for name, column in zip(names, columns, strict=True)}
    return Cells(path, given, len(chunk) <= most)


def _given(cell: str) -> str | None:
    text = cell.strip()
    return None if text in MISSING else text


def _frame(path: str, kind: str, most: int) -> Cells:
    if kind == SUFFIX:
        opened = readable(path, lambda parquet: parquet.ParquetFile(parquet_files(path)[0]))
        native = readable(path, lambda _: importlib.import_module("pyarrow").Table.from_batches(
            list(islice(opened.iter_batches(most), 1)), opened.schema_arrow))  # fmt: skip
        whole = len(native) == opened.metadata.num_rows and len(parquet_files(path)) == 1
    else:
        table = readable(path, lambda _: importlib.import_module("pyarrow.feather").read_table(path), "Feather")
        native, whole = table.slice(0, most), len(table) <= most
    frame = nw.from_native(native, eager_only=True)
    columns = {name: frame[name].to_list() for name in names_of(frame.columns)}
    return Cells(path, {name: [None if v is None or v != v else v for v in values] for name, values in columns.items()},
                 whole)  # fmt: skip


def _npz(path: str, most: int) -> Cells:
    table = read_npz(path, Wanted())
    X = table.X[:most]
    X = X.toarray() if is_sparse(X) else X
    columns = {name: [None if v != v else v for v in X[:, j].tolist()] for j, name in enumerate(table.feature_names)}
    arrays = arrays_of(path)
    beside = {name: a for name, a in arrays.items() if a.ndim == 1 and len(a) == table.X.shape[0]}
    beside = {name: a[:most].tolist() for name, a in beside.items() if name not in parts_of(arrays)}
    return Cells(path, {**beside, **columns}, table.X.shape[0] <= most, sparse=is_sparse(table.X))


def _matrix(table: Table, most: int) -> Cells:
    X = table.X[:most]
    X = X.toarray() if is_sparse(X) else X
    columns = {name: [None if v != v else v for v in X[:, j].tolist()] for j, name in enumerate(table.feature_names)}
    beside = {} if table.ids is None else {str(table.id_name): table.ids[:most].tolist()}
    whole = table.X.shape[0] <= most
    return Cells(table.path, {**beside, **columns}, whole, table.assumed, sparse=is_sparse(table.X))
