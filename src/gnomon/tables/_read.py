"""read_table: look at the file's name, hand it to the reader for its kind."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from gnomon._files import is_stream
from gnomon.rows.kind import is_sparse
from gnomon.tables._answers import with_answers, without_marks
from gnomon.tables._excel import read_excel
from gnomon.tables._h5ad import H5AD, read_h5ad
from gnomon.tables._jcamp import JCAMP
from gnomon.tables._mtx import read_mtx
from gnomon.tables._npz import read_npy, read_npz
from gnomon.tables._parquet import SUFFIX, is_parquet, parquet_files, parquet_parts, read_feather, read_parquet
from gnomon.tables._sniff import ending
from gnomon.tables._spectra import COLUMNS, FOLDER, read_spectra, spectra_files
from gnomon.tables._table import Table, TableError, Wanted, number
from gnomon.tables._text import read_text

TEXT = (".csv", ".tsv", ".txt", ".tab", ".dat", ".data", ".asc", ".psv", "")
PACKED = (*TEXT, ".mtx")  # kinds that may be packed by gzip
EXCEL = ".xlsx"
UNPACK = (".zip", ".7z", ".rar", ".bz2", ".xz", ".zst", ".tar")
NUMBERS = (".npy", ".mtx", *JCAMP, FOLDER)  # kinds that hold a matrix
OLD_SHEETS = (".xls", ".xlsb", ".xlsm", ".ods", ".numbers")
READERS = {
    **dict.fromkeys(TEXT, read_text),
    SUFFIX: read_parquet,
    ".feather": read_feather,
    EXCEL: read_excel,
    ".npz": read_npz,
    ".npy": read_npy,
    ".mtx": read_mtx,
    H5AD: read_h5ad,
    **dict.fromkeys((*JCAMP, FOLDER), read_spectra),
}


def read_table(
    path: str | Path,
    *,
    targets: Sequence[str] = (),
    id: str | None = None,
    likely_id: str | None = None,
    likely_targets: Sequence[str] = (),
    drop: Sequence[str] = (),
    ignore: Sequence[str] = (),
    features: Sequence[str] | None = None,
    missing: Sequence[str] = (),
    layer: str | None = None,
    form: Sequence[str] = (),
    categorical: Sequence[str] | Mapping[str, Sequence[str]] = (),
    whole: bool = False,
    unlabeled: str | None = None,
) -> Table:
    """Read one table; columns that are likely, or to be ignored, may be absent, and all others must exist.

    Parameters
    ----------
    path : text (.csv, .tsv, .txt and the like, also packed: .gz), .parquet, .feather, .xlsx, .npz, .npy, .h5ad, .mtx
        (also packed), .jdx, a folder of .parquet files or of spectra alone, one a file, or a pipe or "-", which are
        text; an npz file holds X (n, p),
        the CSR arrays data, indices, indptr and shape, or what scipy's save_npz writes; further arrays of n rows can be
        named as targets or id, and an array `feature_names` names the columns
    targets, likely_targets : target columns; a 2-D array of an npz file stands for all its columns
    id, likely_id : the column that names the rows; the likely one where `id` is None
    drop, ignore : columns to leave out
    features : the feature columns to return, in this order, with no column left over; None takes all the rest
    missing : cells that mean an empty one, besides the usual ones: text, in text and Excel; numbers
    layer : of a .h5ad file, what has the features in place of X; "X" is X where no layer is called so; of a .xlsx file,
        the sheet
    form : of text and Excel how it is written, where it does not tell: "no-header", "transposed" (features are rows),
        "decimal-comma", "decimal-point"
    categorical : columns of answers, each of which becomes a feature "column=answer" of 0 and 1, NaN where the cell is
        empty; a mapping has the answers that are wanted for each column, others count as empty
    whole : whether cells of columns without a role are kept as they are
    unlabeled : a cell of a target of text or Excel that means an empty one
    """
    roles = (targets, id, likely_id, drop, ignore, features, likely_targets, missing, layer, form)
    wanted = Wanted(*roles, tuple(categorical), whole, unlabeled, of_model=features is not None)
    kind = kind_of(path)
    check_reading(path, kind, wanted)
    return with_answers(without(READERS[kind](str(path), wanted), missing), categorical)


def check_reading(path: str | Path, kind: str, wanted: Wanted) -> None:
    """Refuse what is asked of a kind of file that has no such thing."""
    what = f"a {kind}" if kind == FOLDER else f"a {kind} file"
    if wanted.layer is not None and kind not in (H5AD, EXCEL):
        raise TableError(f"{path}: --layer names a layer of AnnData or a sheet of Excel; {what} has none.")
    if kind in (*TEXT, EXCEL):
        return
    if wanted.form:
        raise TableError(f"{path}: --form says how text is written; {what} says so itself, so leave it out.")
    if wanted.categorical and kind in NUMBERS:
        raise TableError(f"{path}: {what} has numbers alone, and none of the columns that --categorical names.")
    words = [mark for mark in wanted.missing if number(mark) is None]
    if words and not wanted.categorical:
        raise TableError(f"{path}: --missing {words[0]} names a cell of text; in {what} an empty cell is empty.")


def without(table: Table, missing: Sequence[str]) -> Table:
    """The table without the numbers that mean an empty cell."""
    numbers = numbers_in(missing)
    if table.answers:
        table = replace(table, answers={name: without_marks(cells, missing) for name, cells in table.answers.items()})
    if not numbers:
        return table
    if is_sparse(table.X):
        raise TableError(f"{table.path} is sparse, and what it does not store is zero; no number means an empty cell.")
    return replace(table, X=emptied(table.X, numbers), targets=known_targets(table.targets, numbers))


def numbers_in(missing: Sequence[str]) -> list[float]:
    """The numbers among cells that mean an empty one."""
    return [value for mark in missing if (value := number(mark)) is not None]


def emptied(X: np.ndarray, numbers: Sequence[float]) -> np.ndarray:
    """A matrix with NaN in place of some numbers."""
    return np.where(np.isin(X, numbers), np.nan, X).astype(X.dtype, copy=False)


def known_targets(targets: Mapping[str, np.ndarray], numbers: Sequence[float]) -> dict[str, np.ndarray]:
    """Cells of targets with None in place of some numbers."""
    return {name: np.where([cell in numbers for cell in cells], None, cells) for name, cells in targets.items()}


def table_parts(
    path: str | Path, *, id: str | None = None, likely_id: str | None = None, drop: Sequence[str] = (),
    ignore: Sequence[str] = (), features: Sequence[str] | None = None, missing: Sequence[str] = (),
    layer: str | None = None, form: Sequence[str] = (), categorical: Sequence[str] | Mapping[str, Sequence[str]] = (),
    whole: bool = False,
) -> Iterator[Table]:  # fmt: skip
    """The same table, of Parquet some rows at a time; of other kinds the whole."""
    roles = Wanted((), id, likely_id, drop, ignore, features, (), missing, layer, form, tuple(categorical), whole)
    roles = roles._replace(of_model=features is not None)
    if kind_of(path) == SUFFIX:
        check_reading(path, SUFFIX, roles)
        yield from (with_answers(without(part, missing), categorical) for part in parquet_parts(str(path), roles))
    else:
        asked = {name: value for name, value in roles._asdict().items() if name != "of_model"}
        yield read_table(path, **(asked | {"categorical": categorical}))


def sha256_of(path: str) -> str | None:
    """The sha256 of a file, as sha256sum says it, of a folder that of its files as one; None where there is none."""
    if not path or is_stream(path) or not Path(path).exists():
        return None
    whole = hashlib.sha256()
    for part in parquet_files(path) or spectra_files(path):
        with open(part, "rb") as file:
            while block := file.read(1 << 20):
                whole.update(block)
    return whole.hexdigest()


def marks_for(path: str | Path, missing: Sequence[str]) -> list[str]:
    """Those of some marks that a table of its kind may have: text only where cells are text."""
    return [mark for mark in missing if number(mark) is not None or kind_of(path) in (*TEXT, EXCEL)]


def kind_of(path: str | Path) -> str:
    """The reader of a file, which is there and not empty; pipes are text."""
    if is_stream(path):
        return ".csv"
    file = Path(path)
    if file.is_dir():
        if is_parquet(file):
            return SUFFIX
        if spectra_files(file):
            return FOLDER
        known = ", ".join((*JCAMP, *COLUMNS))
        raise TableError(
            f"{file} is a folder; name a table file in it, or a folder of nothing but .parquet files, or of spectra, "
            f"one a file: {known}."
        )
    if not file.is_file():
        raise TableError(f"{path} does not exist.")
    kind = ending(file)
    if kind not in READERS or (file.suffix.lower() == ".gz" and kind not in PACKED):
        last = file.suffix.lower()
        known = ", ".join(kind for kind in READERS if kind.startswith("."))
        way = "unpack it first" if last in UNPACK else f"use {known}"
        way = "save the sheet as .xlsx or CSV" if last in OLD_SHEETS else way
        raise TableError(f"{path}: {last} is not a kind of table that can be read; {way}.")
    if file.stat().st_size == 0:
        raise TableError(f"{path} is empty.")
    return kind
