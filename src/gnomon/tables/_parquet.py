"""Parquet through pyarrow, and narwhals over it.

polars reads Parquet too, but a damaged file makes it end the whole process.
"""

import importlib
import importlib.util
from typing import Any

import narwhals as nw
import numpy as np

from gnomon.tables._table import Table, TableError, Wanted, check_features, choose_features, usable
from gnomon.targets.forms import objects

INSTALL = "needs pyarrow, which is not installed: pip install 'gnomon[io]'"


def has_pyarrow() -> bool:
    """Whether the library that reads and writes Parquet is installed."""
    return importlib.util.find_spec("pyarrow") is not None


def read_parquet(path: str, wanted: Wanted) -> Table:
    """Read a .parquet file."""
    if not has_pyarrow():
        raise TableError(f"{path}: reading Parquet {INSTALL}, or save the table as CSV.")
    try:
        native = importlib.import_module("pyarrow.parquet").read_table(path)
        native.validate(full=True)  # text that is no UTF-8 would show only when a cell is looked at
        frame = nw.from_native(native, eager_only=True)
        names = [name for name in frame.columns if not name.startswith("__index_level_")]  # pandas' row index
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # pyarrow has many of its own, and decoders theirs
        reason = " ".join(str(error).split())
        raise TableError(f"{path} is not a Parquet file that can be read ({reason}).") from None
    wanted = wanted.settled(names)
    features = choose_features(path, names, wanted)
    if not len(frame):
        raise TableError(f"{path}: columns and no rows.")
    targets = {name: objects([_given(value) for value in frame[name].to_list()]) for name in wanted.targets}
    ids = None if wanted.id is None else objects(frame[wanted.id].to_list())
    return Table(path, _features(path, frame, features), features, targets, ids, wanted.id)


def _features(path: str, frame: Any, names: list[str]) -> np.ndarray:
    single = all(frame[name].dtype == nw.Float32 for name in names)
    X, first = np.empty((len(frame), len(names)), dtype=np.float32 if single else np.float64), {}
    for j, name in enumerate(names):
        column = frame[name]
        if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
            i, value = next(((i, v) for i, v in enumerate(column.to_list()) if v is not None), (0, None))
            if value is not None:
                first[name] = i, value
            X[:, j] = np.nan  # a column without any value has no type of its own
            continue
        X[:, j] = column.cast(nw.Float64).to_numpy()
        bad = np.flatnonzero(~usable(X[:, j]))
        if bad.size:
            first[name] = int(bad[0]), float(X[bad[0], j])
    check_features(path, first)
    return X


def _given(value: Any) -> Any:
    return None if value is None or value != value else value
