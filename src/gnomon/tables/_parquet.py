"""Parquet through narwhals, with polars, pyarrow or pandas underneath."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import narwhals as nw
import numpy as np

from gnomon.tables._table import Table, TableError, Wanted, bad_feature, cell_name, choose_features, objects, usable

INSTALL = "needs polars or pyarrow, and neither is installed: pip install 'gnomon[io]'"


def parquet_backend() -> str | None:
    """The installed library that reads and writes Parquet."""
    for name in ("polars", "pyarrow"):
        if importlib.util.find_spec(name) is not None:
            return name
    return None


def read_parquet(path: str, wanted: Wanted) -> Table:
    """Read a .parquet file."""
    backend = parquet_backend()
    if backend is None:
        raise TableError(f"{path}: reading Parquet {INSTALL}, or save the table as CSV.")
    try:
        if backend == "polars":
            native = importlib.import_module("polars").read_parquet(path)
        else:
            native = importlib.import_module("pyarrow.parquet").read_table(path)
    except Exception as error:  # each library, and each version, has its own
        reason = " ".join(str(error).split())
        raise TableError(f"{path} is not a Parquet file that {backend} can read ({reason}).") from None
    frame = nw.from_native(native, eager_only=True)
    names = [name for name in frame.columns if not name.startswith("__index_level_")]  # pandas' row index
    wanted = wanted.settled(names)
    features = choose_features(path, names, wanted)
    if not len(frame):
        raise TableError(f"{path}: columns and no rows.")
    targets = {name: objects([_given(value) for value in frame[name].to_list()]) for name in wanted.targets}
    ids = None if wanted.id is None else objects(frame[wanted.id].to_list())
    return Table(path, _features(path, frame, features), features, targets, ids, wanted.id)


def _features(path: str, frame: Any, names: list[str]) -> np.ndarray:
    single = all(frame[name].dtype == nw.Float32 for name in names)
    X = np.empty((len(frame), len(names)), dtype=np.float32 if single else np.float64)
    for j, name in enumerate(names):
        column = frame[name]
        if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
            i, value = next(((i, v) for i, v in enumerate(column.to_list()) if v is not None), (0, None))
            if value is not None:
                raise bad_feature(cell_name(path, i, None, name), name, value)
            X[:, j] = np.nan  # a column without any value has no type of its own
            continue
        X[:, j] = column.cast(nw.Float64).to_numpy()
        bad = np.flatnonzero(~usable(X[:, j]))
        if bad.size:
            raise bad_feature(cell_name(path, bad[0], None, name), name, float(X[bad[0], j]))
    return X


def _given(value: Any) -> Any:
    return None if value is None or value != value else value
