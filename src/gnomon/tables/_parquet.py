"""Parquet through pyarrow, and narwhals over it.

polars reads Parquet too, but a damaged file makes it end the whole process.
"""

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from gnomon.tables._table import (
    Table,
    TableError,
    Wanted,
    check_features,
    check_unique,
    choose_features,
    number,
    usable,
    without_role,
)
from gnomon.targets.forms import objects

SMALL = 1 << 20  # bytes of a file that, undamaged, fill no memory
SUFFIX = ".parquet"
PART, FEWEST_ROWS = 1 << 22, 1000  # cells that are read at a time, of so many rows at least
INSTALL = "needs pyarrow, which is not installed: pip install 'gnomon[io]'"


def has_pyarrow() -> bool:
    """Whether the library that reads and writes Parquet is installed."""
    return importlib.util.find_spec("pyarrow") is not None


def read_parquet(path: str, wanted: Wanted) -> Table:
    """Read a .parquet file, or a folder of such files."""
    check_alike(path)
    return _as_table(path, readable(path, lambda parquet: parquet.read_table(path)), wanted)


def read_feather(path: str, wanted: Wanted) -> Table:
    """Read a .feather file."""
    return _as_table(path, feather(path), wanted)


def feather(path: str) -> Any:
    """What a .feather file holds, in which no two columns have one name."""
    found = readable(path, lambda _: importlib.import_module("pyarrow.feather").read_table(path), "Feather")
    check_unique(path, found.column_names)
    return found


def parquet_files(path: str) -> list[Path]:
    """The file, or those of the folder in the order of their names."""
    return sorted(Path(path).glob(f"*{SUFFIX}")) if Path(path).is_dir() else [Path(path)]


def names_of(columns: Sequence[str]) -> list[str]:
    """Columns without those in which pandas keeps an index."""
    return [name for name in columns if not name.startswith("__index_level_")]


def check_alike(path: str) -> list[str]:
    """The columns of a .parquet file; those of the files of a folder must be the same, in any order."""
    names: list[str] = []
    for file in parquet_files(path):
        found = readable(str(file), lambda parquet, file=file: parquet.read_schema(file).names)
        check_unique(str(file), found)
        names = names or names_of(found)
        if odd := sorted(set(names) ^ set(names_of(found))):
            has, lacks = ("has", "lacks") if odd[0] in found else ("lacks", "has")
            raise TableError(
                f"{path}: {file.name} {has} the column {odd[0]!r}, which the first file {lacks}; all files must have "
                "the same."
            )
    return names


def parquet_parts(path: str, wanted: Wanted) -> Iterator[Table]:
    """The same, some rows at a time."""
    check_alike(path)
    first = 0
    for file in parquet_files(path):
        opened = readable(path, lambda parquet, file=file: parquet.ParquetFile(file))
        batches = opened.iter_batches(max(FEWEST_ROWS, PART // max(1, len(opened.schema_arrow.names))))
        pyarrow = importlib.import_module("pyarrow")
        while (batch := readable(path, lambda _, batches=batches: next(batches, None))) is not None:
            if len(batch):
                yield _as_table(path, pyarrow.Table.from_batches([batch]), wanted, first)
                first += len(batch)
    if first == 0:
        raise TableError(f"{path}: columns and no rows.")


def is_parquet(path: Path) -> bool:
    """Whether a name is that of a Parquet file, or of a folder that holds such files alone."""
    if not path.is_dir():
        return path.suffix.lower() == SUFFIX
    names = [entry.name for entry in path.iterdir() if not entry.name.startswith((".", "_"))]
    return bool(names) and all(name.lower().endswith(SUFFIX) for name in names)


def readable(path: str, read: Callable[[Any], Any], kind: str = "Parquet") -> Any:
    """What pyarrow's reader finds; what it cannot read is said in one line."""
    if not has_pyarrow():
        raise TableError(f"{path}: reading {kind} {INSTALL}, or save the table as CSV.")
    library = importlib.import_module("pyarrow.parquet")
    try:
        found = read(library)
        if hasattr(found, "validate"):
            found.validate(full=True)  # text that is no UTF-8 would show only when a cell is looked at
    except ImportError:
        raise
    except MemoryError:
        if Path(path).is_dir() or Path(path).stat().st_size > SMALL:
            raise
        raise TableError(f"{path} is not a {kind} file that can be read: so small, it asks for all memory.") from None
    except Exception as error:  # pyarrow has many of its own, and decoders theirs
        reason = " ".join(str(error).split())
        raise TableError(f"{path} is not a {kind} file that can be read ({reason}).") from None
    return found


def _as_table(path: str, native: Any, wanted: Wanted, first: int = 0) -> Table:
    frame = nw.from_native(native, eager_only=True)
    names = names_of(frame.columns)
    wanted = wanted.settled(names)
    features = choose_features(path, names, wanted)
    if not len(frame):
        raise TableError(f"{path}: columns and no rows.")
    targets = {name: given_cells(frame[name]) for name in wanted.targets}
    ids = None if wanted.id is None else objects(frame[wanted.id].to_list())
    answers = {name: given_cells(frame[name]) for name in wanted.categorical}
    rest = {name: given_cells(frame[name]) for name in without_role(names, features, wanted)}
    X = features_of(path, frame, features, first, wanted.missing, of_model=wanted.of_model)
    return Table(path, X, features, targets, ids, wanted.id, first=first, answers=answers, rest=rest, order=names)


def features_of(
    path: str, frame: Any, names: list[str], start: int, missing: Sequence[str] = (), *, of_model: bool = False
) -> np.ndarray:
    """The features of a frame whose first row has number `start`; what is no number is refused.

    Infinite ones are none, unless they are among the `missing`, as which they are NaN.
    """
    infinite = [value for mark in missing if (value := number(mark)) is not None and np.isinf(value)]
    single = bool(names) and all(frame[name].dtype == nw.Float32 for name in names)
    X, first = np.empty((len(frame), len(names)), dtype=np.float32 if single else np.float64), {}
    for j, name in enumerate(names):
        column = frame[name]
        if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
            i, value = next(((i, v) for i, v in enumerate(column.to_list()) if v is not None), (0, None))
            if value is not None:
                first[name] = i, value
            X[:, j] = np.nan  # a column without any value has no type of its own
            continue
        X[:, j] = _floats(column)
        X[np.isin(X[:, j], infinite), j] = np.nan
        bad = np.flatnonzero(~usable(X[:, j]))
        if bad.size:
            first[name] = int(bad[0]), float(X[bad[0], j])
    bad = {name: (start + i, value) for name, (i, value) in first.items()}
    check_features(path, bad, of_model=of_model)
    return X


def _floats(column: Any) -> np.ndarray:
    """The cells of a column of numbers, NaN where one is empty."""
    try:
        return column.cast(nw.Float64).to_numpy()
    except ValueError:  # pyarrow rounds no whole number, of which float64 holds all up to 2^53
        return np.array([np.nan if value is None else value for value in column.to_list()], dtype=np.float64)


def given_cells(column: Any) -> np.ndarray:
    """The cells of a column as objects, None where one is empty."""
    return objects([None if value is None or value != value else value for value in column.to_list()])
