"""Rows in a Dask collection: a task goes to every chunk, and a tree of sums comes home."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import Array, IntArray
from .._warn import warn
from .chunks import checked, table_of
from .contract import A, Block, Columns, Reads, Rows, Task, add
from .frames import check_names
from .kind import is_dask, is_sparse
from .local import LocalRows, SparseRows, read
from .summary import Summary
from .threads import alone

FAN_IN = 8  # answers that are added at once
WEIGHTS = ""  # the name of the weights among the columns of a chunk
MOST_MEMORY = 0.8  # of this machine's, which rows that are wanted whole may take


class DaskRows(Rows):
    """Rows of which Dask holds, or makes anew for every read, one chunk after the other.

    A chunk is an array (m, p) with NaN where entries are missing, or a scipy sparse matrix. What belongs to rows is
    kept beside them, 8 bytes a number; p x r and r x r numbers travel, and the rows that a step keeps.
    """

    elsewhere = True

    def __init__(self, chunks: list[Any], sizes: Array, p: int, dtype: Any, *, sparse: bool = False) -> None:
        some = np.flatnonzero(sizes)
        self.chunks = [chunks[i] for i in some]
        self.ends = np.concatenate([[0], np.cumsum(sizes[some])]).astype(np.intp)
        self.shape, self.dtype, self.sparse = (int(self.ends[-1]), p), np.dtype(dtype), sparse
        self.weights, self.counter = None, Reads()
        self.beside: list[Any] = [{}] * len(self.chunks)  # columns of every chunk, where it is

    def fold(self, task: Task[A], rows: IntArray | None = None, columns: Columns | None = None) -> A:
        found: A = self._total(self._ask("fold", (task,), rows, columns or {}))
        return found

    def fold_columns(self, task: Task[tuple[A, Columns]], columns: Columns | None = None) -> "tuple[A, DaskRows]":
        done = held(self._ask("fold_columns", (task,), None, columns or {}))
        found: A = self._total([later(_part)(one, 0) for one in done])
        return found, self._with(held([later(_part)(one, 1) for one in done]))

    def map(self, task: Task[Block]) -> "DaskRows":
        done = held(self._ask("map", (task,), None, {}))
        chunks, beside = ([later(_part)(one, i) for one in done] for i in (0, 1))
        p, dtype, sparse = later(_form)(chunks[0]).compute()
        out = DaskRows(held(chunks), np.diff(self.ends), p, dtype, sparse=sparse)
        out.weights, out.beside = self.weights, held(beside)
        return out

    def gather(self, *columns: str) -> Any:
        if not columns:
            self._check_memory()
            with self._told_of_size():
                parts = computed(self.chunks)
            return sp.vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)
        kept = computed([later(_some)(beside, columns) for beside in self.beside])
        found = tuple(np.concatenate([part[name] for part in kept]) for name in columns)
        return found[0] if len(found) == 1 else found

    def take(self, rows: IntArray) -> Rows:
        order = np.argsort(rows, kind="stable")
        found = self._taken(rows[order])
        in_order = (order[1:] > order[:-1]).all()
        return found if in_order else found.at_hand().take(np.argsort(order, kind="stable"))  # chunks have an order

    def _taken(self, rows: IntArray) -> "DaskRows":
        cut = self._cut(rows, {})
        sizes = np.array([len(own) for _, own, _ in cut])
        chunks = [later(_rows_of)(self.chunks[i], own) for i, own, _ in cut]
        out = DaskRows(chunks, sizes, self.shape[1], self.dtype, sparse=self.sparse)
        out.masked, out.weights = self.masked, None if self.weights is None else self.weights[rows]
        out.beside = held([later(_columns_of)(self.beside[i], own) for i, own, _ in cut])
        return out

    def with_columns(self, **columns: Any) -> "DaskRows":
        cut = self._slices(columns)
        return self._with(held([later(_joined)(old, new) for old, new in zip(self.beside, cut, strict=True)]))

    def anew(self, *, weights: Array | None = None, masked: bool | None = None) -> "DaskRows":
        out = super().anew(weights=weights, masked=masked)
        return out if weights is None else out.with_columns(**{WEIGHTS: weights})

    def summarize(
        self, Y: Any = None, group: Any = None, n_groups: int = 1, *, second: bool = False, rough: bool = False
    ) -> Summary:
        columns = {} if Y is None else {"summary_y": Y}
        if group is not None:
            columns["summary_group"] = group
        found: Summary = self._total(self._ask("summarize", (n_groups, second, rough), None, columns))
        return found.checked()

    def inner_products(self, mean: Array, scale: float) -> Array:
        self.counter.total += 1.0
        pairs = [(i, j) for i in range(len(self.chunks)) for j in range(i + 1)]
        done = computed([later(_inner)(self.chunks[i], self.chunks[j], mean, scale) for i, j in pairs])
        out = np.empty((self.shape[0], self.shape[0]))
        for (i, j), product in zip(pairs, done, strict=True):
            here, there = (slice(self.ends[at], self.ends[at + 1]) for at in (i, j))
            out[here, there] = product
            out[there, here] = product.T
        return out

    def coordinate_rows(self, T: Array) -> Rows:
        return read(T, self.weights)

    def at_hand(self) -> LocalRows:
        """The same rows in this process, with what belongs to them."""
        parts = computed(self.beside)
        beside = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return _local(checked(self.gather(), 0, self.shape), beside, 0, self.masked)

    def _with(self, beside: list[Any]) -> "DaskRows":
        out = super().anew()
        out.counter, out.beside = self.counter, beside
        return out

    def _slices(self, columns: Columns) -> list[Columns]:
        spans = zip(self.ends[:-1], self.ends[1:], strict=True)
        return [{name: np.asarray(values[a:b]) for name, values in columns.items()} for a, b in spans]

    def _cut(self, rows: IntArray, columns: Columns) -> list[tuple[int, IntArray, Columns]]:
        """The chunks in which some of the rows are, their numbers in it, and columns cut alike."""
        chunk = np.searchsorted(self.ends, rows, side="right") - 1
        found: list[tuple[int, IntArray, Columns]] = []
        for i in np.unique(chunk):
            at = np.flatnonzero(chunk == i)
            cut = {name: np.asarray(values)[at] for name, values in columns.items()}
            found.append((int(i), rows[at] - self.ends[i], cut))
        return found

    def _ask(self, what: str, of: tuple[Any, ...], rows: IntArray | None, columns: Columns) -> list[Any]:
        """What the rows of every chunk will answer."""
        sizes, parts = np.diff(self.ends), list[tuple[int, IntArray | None, Columns]]()
        parts += (
            self._cut(rows, columns)
            if rows is not None
            else [(i, None, c) for i, c in enumerate(self._slices(columns))]
        )
        self.counter.total += sum(int(sizes[i]) for i, _, _ in parts) / max(self.shape[0], 1)
        words = [what, [*of], self.masked, self.shape[1]]  # to older Dask a tuple that begins with a function is a call
        question = library().delayed(words, traverse=False, pure=False)
        ask = later(_answer)
        spans = [(int(a), int(b)) for a, b in zip(self.ends[:-1], self.ends[1:], strict=True)]
        return [ask(question, self.chunks[i], self.beside[i], spans[i], own, more) for i, own, more in parts]

    def _total(self, parts: list[Any]) -> Any:
        with self._told_of_size():
            return _total(parts)

    @contextmanager
    def _told_of_size(self) -> Iterator[None]:
        """A worker that died of the same chunk as often as Dask lets it is told with the size of a chunk."""
        try:
            yield
        except Exception as error:
            if type(error).__name__ != "KilledWorker":
                raise
            rows = int(np.diff(self.ends).max())
            raise MemoryError(
                f"workers died of a chunk of X as often as Dask repeats it, for lack of memory as a rule: {error} The "
                f"largest chunk, {rows:,} x {self.shape[1]:,}, is {rows * self.shape[1] * self.dtype.itemsize:,} bytes "
                "where it is dense, and each thread of a worker holds one beside its products; make chunks of fewer "
                "rows, X.rechunk, or give workers more memory."
            ) from error

    def _check_memory(self) -> None:
        size = self.shape[0] * self.shape[1] * self.dtype.itemsize
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else size
        if size > MOST_MEMORY * there and not self.sparse:
            raise MemoryError(
                f"X of {self.shape[0]:,} x {self.shape[1]:,} is wanted whole in this process: {size / 1e9:.0f} GB, and "
                f"the machine has {there / 1e9:.0f} GB; take fewer rows, or a model that reads rows where they are."
            )


def read_dask(X: Any, weights: Array | None = None) -> DaskRows:
    """Rows of a Dask array or frame, whose chunks are not looked at beyond their sizes.

    Raises
    ------
    ValueError
        When X is no table, or a column of a frame is no number.
    """
    frame = hasattr(X, "columns")
    found = _of_frame(X) if frame else _of_array(X)
    return found if weights is None else found.anew(weights=weights)


def chunks_of(X: Any, *, known: bool) -> tuple[list[Any], Array]:
    """Chunks of whole rows of a Dask array or frame, and how many rows each has; NaN unless these must be `known`."""
    if hasattr(X, "columns"):
        chunks, sizes = X.to_delayed(), np.full(X.npartitions, np.nan)
    else:
        if len(X.chunks[1]) > 1:
            warn(
                f"X is chunked along its columns, in {len(X.chunks[1])}; they are put together in every read. Chunks "
                "of whole rows spare that: X.rechunk({1: -1}), persisted where there is room."
            )
            X = X.rechunk({1: -1})
        chunks, sizes = list(X.to_delayed().ravel()), np.array(X.chunks[0], dtype=float)
    if known and np.isnan(sizes).any():
        sizes = np.array(computed([later(_length)(chunk) for chunk in chunks]), dtype=float)
    return chunks, sizes


def bring_home(A: Any) -> Any:
    """A Dask collection computed, in this process; anything else as it is."""
    return A.compute() if is_dask(A) else A


def _of_frame(X: Any) -> DaskRows:
    check_names(X._meta)
    kinds = {str(name): kind for name, kind in X._meta.dtypes.items()}
    bad = [name for name, kind in kinds.items() if getattr(kind, "kind", "O") not in "fiub"]
    if bad:
        raise ValueError(
            f"column {bad[0]!r} of X holds {kinds[bad[0]]}, which is not a number; encode the column as numbers or "
            "leave it out."
        )
    chunks, sizes = chunks_of(X, known=True)
    single = all(kind == np.float32 for kind in kinds.values())
    return DaskRows(
        [later(table_of)(part, tuple(X._meta.columns)) for part in chunks],
        sizes,
        len(kinds),
        np.float32 if single else np.float64,
    )


def _of_array(X: Any) -> DaskRows:
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array: X has shape {X.shape}; (n_samples, n_features) is wanted.")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X is a Dask array of {X.dtype}; real numbers are wanted.")
    if np.isnan(X.shape[1]):
        raise ValueError("X is a Dask array of unknown width; call compute_chunk_sizes() on it first.")
    chunks, sizes = chunks_of(X, known=True)
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    return DaskRows(chunks, sizes, int(X.shape[1]), dtype, sparse=is_sparse(X._meta))


# -- what runs where a chunk is ----------------------------------------------------------------------------------


def _local(X: Any, beside: Columns, first: int, masked: bool) -> LocalRows:
    """The rows of a chunk."""
    beside = dict(beside)
    weights = beside.pop(WEIGHTS, None)
    if is_sparse(X):
        return SparseRows(X, weights).placed(first, beside)
    return LocalRows(X, weights, masked=masked).placed(first, beside)


def _answer(question: Any, X: Any, beside: Columns, span: tuple[int, int], own: IntArray | None, more: Columns) -> Any:
    """What a chunk says; a table in place of rows, and columns, of what stays there."""
    what, of, masked, p = question
    first, end = span
    with alone():
        here = _local(checked(X, first, (end - first, p)), beside, first, masked)
        if what == "summarize":
            n_groups, second, rough = of
            Y, group = more.get("summary_y"), more.get("summary_group")
            return here.summarize(Y, group, n_groups, second=second, rough=rough)
        if what == "fold":
            return here.fold(of[0], None if own is None else own + first, more)
        if what == "map":
            found = here.map(of[0])
            return found.gather(), found.aligned | {name: beside[name] for name in (WEIGHTS,) if name in beside}
        answer, found = here.fold_columns(of[0], more)
        return answer, {**beside, **found.aligned}


def _inner(one: Any, other: Any, mean: Array, scale: float) -> Array:
    """Inner products of rows of two chunks, centered, in double precision; dense rows are centered first."""
    with alone():
        A, B = (X.astype(np.float64) / scale for X in (one, other))
        m = mean / scale
        if not is_sparse(A):
            return np.asarray((A - m) @ (B - m).T)
        products = (A @ B.T).toarray()
        return np.asarray(products - np.asarray(A @ m)[:, None] - np.asarray(B @ m) + m @ m)


def _length(X: Any) -> int:
    return int(X.shape[0])


def _part(pair: Any, i: int) -> Any:
    return pair[i]


def _joined(old: Columns, new: Columns) -> Columns:
    return {**old, **new}


def _some(columns: Columns, names: tuple[str, ...]) -> Columns:
    return {name: columns[name] for name in names}


def _rows_of(X: Any, rows: IntArray) -> Any:
    return X[rows]


def _columns_of(columns: Columns, rows: IntArray) -> Columns:
    return {name: values[rows] for name, values in columns.items()}


def _form(X: Any) -> tuple[int, Any, bool]:
    return X.shape[1], X.dtype, is_sparse(X)


def _sum(parts: list[Any]) -> Any:
    return reduce(add, parts)


# -- Dask --------------------------------------------------------------------------------------------------------


def library(part: str = "") -> Any:
    """Dask, or a part of it, which is imported for those alone who have it."""
    return import_module(f"dask.{part}" if part else "dask")


def later(function: Any) -> Any:
    """A call that Dask makes."""
    return library().delayed(function, pure=False)


def held(parts: list[Any]) -> list[Any]:
    """What was asked, kept where it is."""
    return list(library().persist(*parts))


def computed(parts: list[Any]) -> list[Any]:
    """What was asked, in this process."""
    return list(library().compute(*parts))


def _total(parts: list[Any]) -> Any:
    """The sum of answers, by a tree."""
    while len(parts) > 1:
        parts = [later(_sum)(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
    return parts[0].compute() if parts else None
