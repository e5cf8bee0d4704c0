"""The cells of a table as they are, for who wants to look before anything is refused."""

import importlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import narwhals as nw

from gnomon.rows.kind import is_sparse
from gnomon.tables._begin import Body, unnamed
from gnomon.tables._excel import opened_sheet
from gnomon.tables._h5ad import beside_of, open_h5ad, read_h5ad
from gnomon.tables._jcamp import JCAMP
from gnomon.tables._mtx import read_mtx
from gnomon.tables._npz import arrays_of, parts_of, read_npy, read_npz
from gnomon.tables._parquet import SUFFIX, check_alike, feather, names_of, parquet_files, readable
from gnomon.tables._read import TEXT, check_reading, kind_of
from gnomon.tables._sniff import WESTERN, ending, is_western, sniff, source_of
from gnomon.tables._spectra import FOLDER, read_spectra
from gnomon.tables._table import MISSING, Table, TableError, Wanted
from gnomon.tables._text import TABS, opened_rows
from gnomon.tables._written import PERCENT

CELLS, FEWEST = 300_000, 1_000  # that are looked at, which takes a second; of so many rows in any case
FEATURES = 1_000  # of a matrix, that are looked at in any case


@dataclass(frozen=True)
class Cells:
    """Names and cells of all columns, of the first rows of a table."""

    path: str
    columns: dict[str, list[Any]]  # text, or numbers where the file has them; None where a cell is empty
    whole: bool  # whether the table has no more rows than these
    assumed: str = ""  # how the file was read, where its name does not say so
    sparse: bool = False
    odd_header: bool = False  # whether the names of columns look like a row of numbers
    beside: Sequence[str] = ()  # columns that no fit reads unless they are named, beside a matrix
    n_files: int = 1  # of each of which these are the first rows

    @property
    def n_rows(self) -> int:
        """How many rows were looked at."""
        return len(next(iter(self.columns.values()), []))


def read_cells(path: str | Path, most: int, layer: str | None = None, form: Sequence[str] = ()) -> Cells:
    """The cells of at most so many rows of a table of any kind that `read_table` takes.

    Of AnnData those of a layer, of Excel of a sheet; `form` is how text is written, where it does not tell.
    """
    path, kind = str(path), kind_of(path)
    check_reading(path, kind, Wanted(layer=layer, form=form))
    if kind in TEXT:
        return _text(path, most, form)
    if kind == ".xlsx":
        with opened_sheet(path, layer) as (rows, said):
            found = _of_body(Body(path, rows, form=form), most)
        return replace(found, assumed=", ".join(filter(None, [said, found.assumed])))
    if kind == ".npz":
        return _npz(path, most)
    if kind in (*JCAMP, FOLDER):
        return _matrix(read_spectra(path, Wanted()), most)
    if kind in (".mtx", ".npy"):
        return _matrix((read_mtx if kind == ".mtx" else read_npy)(path, Wanted()), most)
    if kind == ".h5ad":
        found = _matrix(read_h5ad(path, Wanted(layer=layer)), most)
        beside = {name: cells[: found.n_rows] for name, cells in beside_of(open_h5ad(path)).items()}
        return replace(found, columns={**beside, **found.columns}, beside=list(beside))
    return _frame(path, kind, most)


def _rows_of(most: int, n_columns: int) -> int:
    """How many rows are looked at: fewer of wide tables."""
    return min(most, max(FEWEST, CELLS // max(1, n_columns)))


def _text(path: str, most: int, asked: Sequence[str]) -> Cells:
    source, usual = source_of(path), "\t" if ending(path) in TABS else ","
    form = sniff(source, usual)
    with source.open() as file:
        head = file.read(1 << 20)
    try:
        head.decode(form.encoding, errors="strict")
    except UnicodeDecodeError as error:
        if error.end < len(head) - 4 and is_western(head):
            form = replace(form, encoding=WESTERN)
    try:
        with opened_rows(source, form) as rows:
            found = _of_body(Body(source.path, rows, form.separator, asked), most)
    except UnicodeDecodeError:
        raise TableError(f"{source.path} is not text that can be read; save the table as UTF-8 text.") from None
    return replace(found, assumed=", ".join([*form.said(usual), *filter(None, [found.assumed])]))


def _of_body(body: Body, most: int) -> Cells:
    names = [name or unnamed(j) for j, name in enumerate(body.header)]
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise TableError(f"{body.path}: several columns are called {twice[0]!r}; rename all but one.")
    most = _rows_of(most, len(names))
    chunk = list(islice(body, most + 1))
    if not names or not chunk:
        raise TableError(f"{body.path}: a header and no rows.")
    columns = {
        name: [_given(cell, body, j) for cell in cells]
        for j, (name, cells) in enumerate(
            zip(names, zip(*(row.cells for row in chunk[:most]), strict=True), strict=True)
        )
    }
    for j, name in enumerate(body.header):
        if not name and not any(cell is not None for cell in columns[names[j]]):
            del columns[names[j]]
    body.say_kinds([*body.grouped, *(j for j, kind in body.kinds.items() if kind == PERCENT)])
    return Cells(body.path, columns, len(chunk) <= most, ", ".join(body.said), odd_header=body.odd_header)


def _given(cell: str, body: Body, j: int) -> str | None:
    """A cell as it is, a number as Python writes it."""
    text = cell.strip()
    return None if text in MISSING else body.written_target(text, j) or text


def _frame(path: str, kind: str, most: int) -> Cells:
    if kind == SUFFIX:
        names, files = check_alike(path), parquet_files(path)
        most = -(-_rows_of(most, len(names)) // len(files))  # of each file: the last may be unlike the first
        parts = [_first_rows(path, file, most) for file in files]
        whole = all(found[1] for found in parts)
        natives = [found[0] for found in parts]
    else:
        table = feather(path)
        names, files, most = names_of(table.column_names), [path], _rows_of(most, len(table.column_names))
        natives, whole = [table.slice(0, most)], len(table) <= most
    frames = [nw.from_native(native, eager_only=True) for native in natives]
    columns = {name: [_value(value) for frame in frames for value in frame[name].to_list()] for name in names}
    return Cells(path, columns, whole, n_files=len(files))


def _first_rows(path: str, file: Path, most: int) -> tuple[Any, bool]:
    """At most so many rows of a Parquet file, and whether these are all."""
    opened = readable(path, lambda parquet: parquet.ParquetFile(file))
    pyarrow = importlib.import_module("pyarrow")
    batches = readable(path, lambda _: list(islice(opened.iter_batches(most), 1)))
    native = pyarrow.Table.from_batches(batches, opened.schema_arrow)
    return native, len(native) == opened.metadata.num_rows


def _value(value: Any) -> Any:
    return None if value is None or value != value else value


def _npz(path: str, most: int) -> Cells:
    table = read_npz(path, Wanted())
    most, columns, said = _features_of(table, most)
    arrays = arrays_of(path)
    beside = {name: a for name, a in arrays.items() if a.ndim == 1 and len(a) == table.X.shape[0]}
    beside = {name: a[:most].tolist() for name, a in beside.items() if name not in parts_of(arrays)}
    said, whole = ", ".join(filter(None, [table.assumed, said])), table.X.shape[0] <= most
    return Cells(path, {**beside, **columns}, whole, said, sparse=is_sparse(table.X), beside=list(beside))


def _matrix(table: Table, most: int) -> Cells:
    most, columns, said = _features_of(table, most)
    beside = {} if table.ids is None else {str(table.id_name): table.ids[:most].tolist()}
    whole = table.X.shape[0] <= most
    assumed = ", ".join(filter(None, [table.assumed, said]))
    return Cells(table.path, {**beside, **columns}, whole, assumed, sparse=is_sparse(table.X))


def _features_of(table: Table, most: int) -> tuple[int, dict[str, list[Any]], str]:
    """How many rows of a matrix are looked at, their cells of features that there is time for, and what is said."""
    p = table.X.shape[1]
    most = _rows_of(most, p)
    some = min(p, max(FEATURES, CELLS // most))
    X = table.X[:most, :some]
    X = X.toarray() if is_sparse(X) else X
    names = table.feature_names[:some]
    said = f"the first {some:,} of {p:,} features" if some < p else ""
    return most, {name: [None if v != v else v for v in X[:, j].tolist()] for j, name in enumerate(names)}, said
