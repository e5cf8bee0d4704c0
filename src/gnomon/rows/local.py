"""Rows in this process: an array of NumPy or another library, missing entries or not, or a scipy sparse matrix."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._types import Array, IntArray
from .contract import A, Block, Columns, Reads, Rows, Task, add
from .device_moments import device_summary
from .entries import centering_may_wait
from .kind import is_foreign, is_sparse
from .masked import look
from .namespace import Place, asarray_like, block_rows, host_double, in_single, namespace, take_rows
from .products import project
from .raw_moments import raw_summary, shift_of
from .summary import Summary

LEAN_BLOCKS = 4  # times as many entries are read at once from another device where no copy of a block is made
MASKED_DEVICE_ENTRIES = 1 << 22  # read at once from another device; numbers per row and pair of dimensions follow


class LocalRows(Rows):
    """A dense (n, p) array; it is never copied as a whole, moved or changed.

    Memory beyond X: two blocks, of 4 MiB each on a host and 128 MiB on another device. Rows in single precision on
    another device are multiplied as they lie, 256 MiB at once.
    """

    def __init__(self, X: Any, weights: Array | None = None, *, masked: bool = False) -> None:
        self.X, self.weights, self.masked = X, weights, masked
        self.shape = (X.shape[0], X.shape[1])
        single = namespace(X).float32 if is_foreign(X) else np.float32
        self.dtype = np.dtype(np.float32 if X.dtype == single else np.float64)
        self.in_single = is_foreign(X) and not Place(X).on_host and in_single(X)
        self.counter = Reads()
        self.aligned: dict[str, Any] = {}
        self.first = 0  # the number of the first row

    def placed(self, first: int, columns: Columns) -> "LocalRows":
        """The same rows as part of a larger table, numbered from `first` on, with columns beside them."""
        out = self.with_columns(**columns)
        out.first = first
        return out

    def _block_rows(self) -> int:
        if self.masked and not Place(self.X).on_host:
            return max(16, MASKED_DEVICE_ENTRIES // max(1, self.shape[1]))
        return block_rows(self.X)

    def _blocks(self, rows: IntArray | None, columns: Columns, lean: bool = False) -> Iterator[Block]:
        n = self.shape[0] if rows is None else len(rows)
        size = self._block_rows() * (LEAN_BLOCKS if lean else 1)
        for start in range(0, n, size):
            here = slice(start, min(start + size, n))
            at = np.arange(here.start, here.stop) + self.first if rows is None else rows[here]
            own = here if rows is None else at - self.first
            weights = np.ones(len(at)) if self.weights is None else self.weights[own]
            aligned = {name: values[own] for name, values in self.aligned.items()}
            aligned |= {name: values[here] for name, values in columns.items()}
            yield Block(self._entries(here, rows), at, weights, aligned)

    def _entries(self, here: slice, rows: IntArray | None) -> Any:
        if rows is not None:
            return take_rows(self.X, rows[here] - self.first)
        return self.X[here, :] if here != slice(0, self.shape[0]) else self.X

    def _run(self, task: Task[A], block: Block) -> A:
        return task(block)

    def fold(self, task: Task[A], rows: IntArray | None = None, columns: Columns | None = None) -> A:
        self.counter.total += 1.0 if rows is None else len(rows) / self.shape[0]
        total: Any = None
        lean = getattr(task, "in_single", False)
        for i, block in enumerate(self._blocks(rows, columns or {}, lean)):
            total = add(total, self._run(task, block), into=i > 1)  # what a task returned first is not ours to change
        found: A = _home(total)
        return found

    def fold_columns(self, task: Task[tuple[A, Columns]], columns: Columns | None = None) -> "tuple[A, LocalRows]":
        self.counter.total += 1.0
        total: Any = None
        parts = []
        for i, block in enumerate(self._blocks(None, columns or {})):
            answer, aligned = self._run(task, block)
            total = add(total, answer, into=i > 1)
            parts.append(aligned)
        names = parts[0] if parts else {}
        if len(parts) > 1:
            names = {name: np.concatenate([p[name] for p in parts]) for name in names}
        return _home(total), self.with_columns(**names)

    def map(self, task: Task[Block]) -> "LocalRows":
        self.counter.total += 1.0
        done = [self._run(task, block) for block in self._blocks(None, {})]
        blocks = [block.X for block in done]
        out = self.coordinate_rows(blocks[0] if len(blocks) == 1 else namespace(blocks[0]).concat(blocks))
        names = done[0].aligned
        return out.with_columns(**{name: np.concatenate([block.aligned[name] for block in done]) for name in names})

    def coordinate_rows(self, T: Array) -> "LocalRows":
        return (SparseRows if is_sparse(T) else LocalRows)(T, self.weights)

    def take(self, rows: IntArray) -> "LocalRows":
        out = self.anew(weights=None if self.weights is None else self.weights[rows])
        out.X, out.shape = take_rows(self.X, rows), (len(rows), self.shape[1])
        out.aligned = {name: values[rows] for name, values in self.aligned.items()}
        return out

    def there(self, A: Array) -> Any:
        return asarray_like(A, self.X)

    def like(self, A: Array) -> Any:
        return asarray_like(A, self.X) if is_foreign(self.X) else super().like(A)

    def project(self, mean: Array, V: Array) -> Any:
        return project(self.X, mean, V)

    def gather(self, *columns: str) -> Any:
        if columns:
            found = tuple(self.aligned[name] for name in columns)
            return found[0] if len(found) == 1 else found
        return self.X

    def with_columns(self, **columns: Any) -> "LocalRows":
        out = self.copied()
        out.aligned = {**self.aligned, **columns}
        return out

    def summarize(
        self, Y: Any = None, group: Any = None, n_groups: int = 1, *, second: bool = False, rough: bool = False
    ) -> Summary:
        plain = second and isinstance(self.X, np.ndarray) and not self.masked
        if is_foreign(self.X) and not self.masked:
            self.counter.total += 1.0
            found = device_summary(self.X, self.weights, Y, group, n_groups, second, rough and self.in_single)
            if found is not None:
                return found
            self.counter.total -= 1.0
        single = rough and plain and in_single(self.X)
        shift = shift_of(self.X, single) if plain and (group is None or group.min() == 0) else None
        if shift is not None:
            self.counter.total += 1.0
            Y_or_none = np.zeros((self.shape[0], 0)) if Y is None else Y
            found = raw_summary(self.X, self.weights, Y_or_none, group, n_groups, self._block_rows(), shift, single)
            if found is not None:
                return found
        return super().summarize(Y, group, n_groups, second=second)

    def inner_products(self, mean: Array, scale: float) -> Array:
        self.counter.total += 1.0
        place, (n, p) = Place(self.X), self.shape
        if isinstance(self.X, np.ndarray) and self.X.dtype == np.float64 and centering_may_wait(mean, scale**2):
            return _centered(self.X @ self.X.T, self.X @ mean, mean) / scale**2
        out = None
        size = max(16, self._block_rows() * p // max(1, n))
        for start in range(0, p, size):
            columns = slice(start, min(start + size, p))
            block = place.floats(self.X[:, columns]) - place.put(mean[columns])
            block /= scale
            out = place.add(out, block @ block.T)
        return place.host(out)


class SparseRows(LocalRows):
    """A (n, p) scipy sparse matrix or array in csr or csc form; other forms are converted to csr.

    Memory beyond X: T and U of a sweep, each n x r; a subset of rows is sliced while it is read; a copy of X when
    it holds the same entry twice.
    """

    own_threads = sparse = True

    def __init__(self, X: Any, weights: Array | None = None) -> None:
        X = X if X.format in ("csr", "csc") else X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        super().__init__(X, weights)

    def _block_rows(self) -> int:
        return max(1, self.shape[0])

    def inner_products(self, mean: Array, scale: float) -> Array:
        self.counter.total += 1.0
        X, m = self.X.astype(np.float64) * (1.0 / scale), mean / scale
        return _centered((X @ X.T).toarray(), np.asarray(X @ m), m)


def read(X: Any, weights: Array | None = None, *, masked: bool | None = False) -> Rows:
    """Rows of validated data, dense, sparse or of another array library; rows stay what they are.

    `masked` says whether entries are missing; None looks.
    """
    if isinstance(X, Rows):
        return X
    if is_sparse(X):
        return SparseRows(X, weights)
    rows = LocalRows(X, weights)
    return rows.anew(masked=look(rows).missing if masked is None else masked)


def _centered(products: Array, along: Array, mean: Array) -> Array:
    """Inner products (n, n) of rows about their mean (p,), from those about zero, which change, and rows times it."""
    products -= along[:, None]
    products += mean @ mean - along
    return products


def _home(total: Any) -> Any:
    """An answer on the host."""
    if isinstance(total, tuple):
        parts = [_home(part) for part in total]
        return type(total)(*parts) if hasattr(total, "_fields") else tuple(parts)
    return host_double(total) if is_foreign(total) else total
