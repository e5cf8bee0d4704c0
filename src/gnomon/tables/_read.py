"""read_table: look at the file's name, hand it to the reader for its kind."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from gnomon.tables._npz import read_npz
from gnomon.tables._parquet import SUFFIX, is_parquet, parquet_parts, read_parquet
from gnomon.tables._table import Table, TableError, Wanted
from gnomon.tables._text import read_text

READERS = {
    ".csv": read_text,
    ".tsv": read_text,
    SUFFIX: read_parquet,
    ".npz": read_npz,
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
) -> Table:
    """Read one table; columns that are likely, or to be ignored, may be absent, and all others must exist.

    Parameters
    ----------
    path : .csv, .tsv, .parquet or .npz, or a folder of .parquet files alone; an npz file holds X (n, p) or the CSR
        arrays data, indices, indptr and shape; further arrays of n rows can be named as targets or id, and an array
        `feature_names` names the columns
    targets, likely_targets : target columns; a 2-D array of an npz file stands for all its columns
    id, likely_id : the column that names the rows; the likely one where `id` is None
    drop, ignore : columns to leave out
    features : the feature columns to return, in this order, with no column left over; None takes all the rest
    """
    wanted = Wanted(targets, id, likely_id, drop, ignore, features, likely_targets)
    return READERS[_kind(path)](str(path), wanted)


def table_parts(
    path: str | Path, *, id: str | None = None, likely_id: str | None = None, drop: Sequence[str] = (),
    ignore: Sequence[str] = (), features: Sequence[str] | None = None,
) -> Iterator[Table]:  # fmt: skip
    """The same table, of Parquet some rows at a time; of other kinds the whole."""
    wanted = Wanted((), id, likely_id, drop, ignore, features)
    if _kind(path) == SUFFIX:
        yield from parquet_parts(str(path), wanted)
    else:
        yield READERS[_kind(path)](str(path), wanted)


def _kind(path: str | Path) -> str:
    """The reader of a file, which is there and not empty."""
    file = Path(path)
    if file.is_dir():
        if is_parquet(file):
            return SUFFIX
        raise TableError(f"{file} is a folder; name a table file in it.")
    if not file.is_file():
        raise TableError(f"{path} does not exist.")
    if file.suffix.lower() not in READERS:
        raise TableError(
            f"{path}: {file.suffix or 'no extension'} is not a kind of table that can be read; "
            f"use {', '.join(READERS)}."
        )
    if file.stat().st_size == 0:
        raise TableError(f"{path} is empty.")
    return file.suffix.lower()
