"""read_table: look at the file's name, hand it to the reader for its kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gnomon.tables._npz import read_npz
from gnomon.tables._parquet import read_parquet
from gnomon.tables._table import Table, TableError, Wanted
from gnomon.tables._text import read_text

READERS = {
    ".csv": read_text,
    ".tsv": read_text,
    ".parquet": read_parquet,
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
    """Read one table file.

    Parameters
    ----------
    path : path
        A .csv, .tsv, .parquet or .npz file. An npz file holds X (n, p) or the CSR arrays data, indices,
        indptr and shape; further arrays of length n can be named as targets or id, and an array
        `feature_names` names the columns.
    targets : sequence of str, default=()
        Target columns. A 2-D array of an npz file stands for all its columns.
    id : str or None, default=None
        Column that names the rows; it must exist.
    likely_id : str or None, default=None
        Column that names the rows where it exists and `id` is None.
    likely_targets : sequence of str, default=()
        Target columns where they exist.
    drop : sequence of str, default=()
        Columns to leave out; each must exist.
    ignore : sequence of str, default=()
        Columns to leave out where they exist.
    features : sequence of str or None, default=None
        The feature columns to return, in this order, with no column left over. None takes all the rest.

    Returns
    -------
    Table
        Features, targets and ids.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "flowers.csv"
    ...     _ = path.write_text("width,height,kind\\n1,2,iris\\n3,4,\\n")
    ...     table = read_table(path, targets=["kind"])
    >>> table.feature_names, table.X.tolist(), table.targets["kind"].tolist()
    (['width', 'height'], [[1.0, 2.0], [3.0, 4.0]], ['iris', None])
    """
    file = Path(path)
    if file.is_dir():
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
    wanted = Wanted(targets, id, likely_id, drop, ignore, features, likely_targets)
    return READERS[file.suffix.lower()](str(path), wanted)
