"""Parquet that stays on disk: a table whose X is a Dask array of its row groups."""

import importlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from gnomon.rows.dask import later, library
from gnomon.tables._answers import answers_of, indicators, names_of_answers, with_answers, without_marks, worth_it
from gnomon.tables._parquet import check_alike, features_of, given_cells, parquet_files, parquet_parts, readable
from gnomon.tables._read import emptied, known_targets, numbers_in, without
from gnomon.tables._table import Table, TableError, Wanted, choose_features
from gnomon.targets.forms import objects

SHARE = 0.25  # of the memory of the machine, from which a table stays on disk
LARGEST_GROUP = 0.1  # of it, that a row group may take
BYTES = 8  # of a cell in memory


@dataclass(frozen=True)
class LargeTable(Table):
    """A table of which targets and ids alone are in memory; `answers` has each answer of a column once."""

    wanted: Wanted = field(default_factory=Wanted)
    holes: int | None = None  # empty cells of features, once they are counted

    @property
    def n_missing(self) -> int:
        """How many feature cells are empty."""
        if self.holes is None:
            raise RuntimeError("the cells have not been looked at")
        return self.holes

    def parts(self) -> Iterator[Table]:
        """Its rows, some at a time, without targets."""
        ignore = [*self.wanted.ignore, *self.wanted.targets]
        answers = {name: list(found) for name, found in self.answers.items()}
        numbers = self.feature_names[: len(self.feature_names) - sum(map(len, answers.values()))]
        roles = self.wanted._replace(targets=(), ignore=ignore, features=numbers)
        parts = parquet_parts(self.path, roles)
        return (with_answers(without(part, self.wanted.missing), answers) for part in parts)


def memory() -> int:
    """Bytes of memory that the machine has."""
    if not hasattr(os, "sysconf"):
        return 1 << 62
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def is_large(path: str) -> bool:
    """Whether a Parquet table takes more than a share of the memory."""
    opened = [_opened(file) for file in parquet_files(path)]
    cells = sum(one.metadata.num_rows * len(one.schema_arrow.names) for one in opened)
    return cells * BYTES > SHARE * memory()


def read_large(path: str, wanted: Wanted) -> LargeTable:
    """Targets, ids and names of a Parquet table, and its features where they are; no feature is read."""
    files = parquet_files(path)
    names = check_alike(path)
    opened = [_opened(file) for file in files]
    wanted = wanted.settled(names)
    features = choose_features(path, names, wanted)
    sizes = [[one.metadata.row_group(g).num_rows for g in range(one.metadata.num_row_groups)] for one in opened]
    if not sum(map(sum, sizes)):
        raise TableError(f"{path}: columns and no rows.")
    types = {str(one.schema_arrow.field(name).type) for one in opened for name in features}
    dtype = np.dtype(np.float32 if types == {"float"} else np.float64)
    answers = {name: _answers(path, files, name, wanted) for name in wanted.categorical}
    X, numbers = _rows(path, files, sizes, features, dtype, answers, wanted), numbers_in(wanted.missing)
    roles = [*wanted.targets, *([] if wanted.id is None else [wanted.id])]
    cells = {name: _cells(path, files, name) for name in roles}
    targets = {name: cells[name] for name in wanted.targets}
    if numbers:
        X, targets = X.map_blocks(emptied, numbers, dtype=dtype), known_targets(targets, numbers)
    ids = None if wanted.id is None else cells[wanted.id]
    features = [*features, *(one for name, found in answers.items() for one in names_of_answers(name, found))]
    kept = {name: objects(found) for name, found in answers.items()}
    return LargeTable(path, X, features, targets, ids, wanted.id, answers=kept, wanted=wanted)


def in_memory(table: LargeTable, rows: np.ndarray, X: np.ndarray) -> Table:
    """The table of some rows, whose features are given."""
    targets = {name: cells[rows] for name, cells in table.targets.items()}
    ids = 1 + rows if table.ids is None else table.ids[rows]
    return Table(table.path, X, table.feature_names, targets, ids, table.id_name or "row")


def counted(table: LargeTable, holes: int) -> LargeTable:
    """The table with its empty cells counted."""
    return replace(table, holes=holes)


def _opened(file: Path) -> Any:
    return readable(str(file), lambda parquet: parquet.ParquetFile(file))


def _rows(
    path: str, files: list[Path], sizes: list[list[int]], features: list[str], dtype: np.dtype,
    answers: dict[str, list[str]], wanted: Wanted,
) -> Any:  # fmt: skip
    """The features as a Dask array, a chunk for each row group."""
    da, parts, first = library("array"), [], 0
    p = len(features) + sum(map(len, answers.values()))
    for file, groups in zip(files, sizes, strict=True):
        for group, n in enumerate(groups):
            if n * p * BYTES > LARGEST_GROUP * memory():
                raise TableError(
                    f"{path}: {file.name} has a row group of {n:,} rows, which is read as a whole; write it with "
                    "smaller ones (pyarrow: row_group_size=100_000)."
                )
            if n:
                chunk = later(_group)(path, file, group, features, first, dtype, answers, wanted.missing)
                parts.append(da.from_delayed(chunk, (n, p), dtype))
            first += n
    return da.concatenate(parts, axis=0)


def _group(
    path: str, file: Path, group: int, features: list[str], first: int, dtype: np.dtype,
    answers: dict[str, list[str]], missing: Sequence[str],
) -> np.ndarray:  # fmt: skip
    """The features of a row group, answers behind numbers."""
    names = [*features, *answers]
    found = readable(path, lambda parquet: parquet.ParquetFile(file).read_row_group(group, columns=names))
    frame = nw.from_native(found, eager_only=True)
    blocks = [features_of(path, frame, features, first, missing)]
    for name, known in answers.items():
        blocks.append(indicators(without_marks(given_cells(frame[name]), missing), known)[0])
    return np.hstack(blocks).astype(dtype, copy=False)


def _answers(path: str, files: list[Path], name: str, wanted: Wanted) -> list[str]:
    """The answers in a column, a row group at a time."""
    answers: set[str] = set()
    n = 0
    for file in files:
        for batch in _opened(file).iter_batches(columns=[name]):
            cells = without_marks(given_cells(nw.from_native(_table_of(batch), eager_only=True)[name]), wanted.missing)
            answers |= set(answers_of(cells))
            n += sum(cell is not None for cell in cells)
    return worth_it(path, name, answers_of(answers), n)


def _table_of(batch: Any) -> Any:
    return importlib.import_module("pyarrow").Table.from_batches([batch])


def _cells(path: str, files: list[Path], name: str) -> np.ndarray:
    """A column of targets or ids."""
    pyarrow = importlib.import_module("pyarrow")
    parts = [readable(path, lambda parquet, file=file: parquet.read_table(file, columns=[name])) for file in files]
    return given_cells(nw.from_native(pyarrow.concat_tables(parts), eager_only=True)[name])
