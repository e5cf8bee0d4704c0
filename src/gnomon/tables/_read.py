"""read_table: look at the file's name, hand it to the reader for its kind."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from gnomon.tables._excel import read_excel
from gnomon.tables._h5ad import H5AD, check_layer, read_h5ad
from gnomon.tables._mtx import read_mtx
from gnomon.tables._npz import read_npz
from gnomon.tables._parquet import SUFFIX, is_parquet, parquet_parts, read_feather, read_parquet
from gnomon.tables._sniff import STDIN, ending
from gnomon.tables._table import Table, TableError, Wanted
from gnomon.tables._text import read_text

TEXT = (".csv", ".tsv", ".txt")
PACKED = (*TEXT, ".mtx")  # kinds that may be packed by gzip
READERS = {
    **dict.fromkeys(TEXT, read_text),
    SUFFIX: read_parquet,
    ".feather": read_feather,
    ".xlsx": read_excel,
    ".npz": read_npz,
    ".mtx": read_mtx,
    H5AD: read_h5ad,
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
) -> Table:
    """Read one table; columns that are likely, or to be ignored, may be absent, and all others must exist.

    Parameters
    ----------
    path : .csv, .tsv, .txt (also packed: .gz), .parquet, .feather, .xlsx, .npz, .h5ad, .mtx (also packed), a folder of
        .parquet files alone, or "-", which is text from standard input; an npz file holds X (n, p), the CSR arrays
        data, indices, indptr and shape, or what scipy's save_npz writes; further arrays of n rows can be named as
        targets or id, and an array `feature_names` names the columns
    targets, likely_targets : target columns; a 2-D array of an npz file stands for all its columns
    id, likely_id : the column that names the rows; the likely one where `id` is None
    drop, ignore : columns to leave out
    features : the feature columns to return, in this order, with no column left over; None takes all the rest
    missing : cells of text that mean an empty one, besides the usual ones
    layer : of a .h5ad file, what has the features in place of X; "X" is X where no layer is called so
    """
    wanted = Wanted(targets, id, likely_id, drop, ignore, features, likely_targets, missing, layer)
    kind = kind_of(path)
    check_layer(path, kind, layer)
    if missing and kind not in (*TEXT, ".xlsx"):
        raise TableError(f"{path}: --missing names cells of text; in a {kind} file an empty cell is empty.")
    return READERS[kind](str(path), wanted)


def table_parts(
    path: str | Path, *, id: str | None = None, likely_id: str | None = None, drop: Sequence[str] = (),
    ignore: Sequence[str] = (), features: Sequence[str] | None = None, missing: Sequence[str] = (),
    layer: str | None = None,
) -> Iterator[Table]:  # fmt: skip
    """The same table, of Parquet some rows at a time; of other kinds the whole."""
    if kind_of(path) == SUFFIX and not missing and layer is None:
        yield from parquet_parts(str(path), Wanted((), id, likely_id, drop, ignore, features))
    else:
        roles = Wanted((), id, likely_id, drop, ignore, features, (), missing, layer)
        yield read_table(path, **roles._asdict())


def kind_of(path: str | Path) -> str:
    """The reader of a file, which is there and not empty."""
    if str(path) == STDIN:
        return ".csv"
    file = Path(path)
    if file.is_dir():
        if is_parquet(file):
            return SUFFIX
        raise TableError(f"{file} is a folder; name a table file in it.")
    if not file.is_file():
        raise TableError(f"{path} does not exist.")
    kind = ending(file)
    if kind not in READERS or (file.suffix.lower() == ".gz" and kind not in PACKED):
        raise TableError(
            f"{path}: {file.suffix or 'no extension'} is not a kind of table that can be read; "
            f"use {', '.join(READERS)}."
        )
    if file.stat().st_size == 0:
        raise TableError(f"{path} is empty.")
    return kind
