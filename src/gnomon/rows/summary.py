"""First and second moments of rows that merge exactly: of blocks, of batches, of machines."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .._types import Array, IntArray
from .contract import Block, NotFinite
from .kind import is_sparse
from .namespace import Place, take_rows

LARGEST = 1e153  # squares of larger numbers, and sums of them, overflow
CHUNK = 1 << 18  # stored entries handled at once where each needs its row and column


@dataclass(frozen=True)
class Group:
    """Weighted sums over the rows of one group, x about the mean of all rows and in units of `Summary.unit`."""

    weight: float
    x: Array  # (p,)
    y: Array  # (q,)
    xy: Array  # (p, q)
    yy: Array  # (q, q)
    xx: Array | None  # (p, p), with `second`

    def about(self, shift: Array, factor: float) -> Group:
        """The same about a mean that lies `shift` lower, in units `factor` times as many."""
        if factor == 1.0 and not shift.any():
            return self
        x = self.x * factor
        moved = x + self.weight * shift
        xx = self.xx
        if xx is not None:
            xx = xx * factor**2
            xx += np.column_stack([x, shift]) @ np.stack([shift, moved])
        return Group(self.weight, moved, self.y, self.xy * factor + np.outer(shift, self.y), self.yy, xx)

    def __add__(self, other: Group) -> Group:
        xx = None
        if self.xx is not None and other.xx is not None:
            xx = self.xx + other.xx
        return Group(
            self.weight + other.weight,
            self.x + other.x,
            self.y + other.y,
            self.xy + other.xy,
            self.yy + other.yy,
            xx,
        )


@dataclass(frozen=True)
class Summary:
    """Means and squares, each block about its own mean; `+` merges exactly (Chan, Golub and LeVeque 1979).

    The mean is held as a sum of two numbers, so that columns of mean 1e8 and deviation 1 lose nothing. Squares are in
    `unit` squared, one or a power of two near an extreme largest entry, so that no magnitude overflows or vanishes.
    """

    weight: float
    counts: Array  # (p,) weight of the rows that observe each column
    mean: Array  # (p,)
    mean_low: Array  # (p,) what rounding took from `mean`
    squares: Array  # (p,) about the mean
    largest: float  # |x|
    unit: float
    groups: tuple[Group, ...] = ()

    def __add__(self, other: Summary) -> Summary:
        unit = max(self.unit, other.unit)
        counts = self.counts + other.counts
        some = np.where(counts > 0, counts, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            apart = (other.mean - self.mean) + (other.mean_low - self.mean_low)
            mean, mean_low = two_sum(self.mean, self.mean_low + apart * (other.counts / some))
            down = apart * (other.counts / some) / unit  # from the mean of each to that of both
            up = apart * (self.counts / some) / unit
            mine, theirs = self.unit / unit, other.unit / unit
            squares = self.squares * mine**2 + other.squares * theirs**2 + (down * up) * some
            groups = tuple(
                a.about(-down, mine) + b.about(up, theirs) for a, b in zip(self.groups, other.groups, strict=True)
            )
        largest = float(np.maximum(self.largest, other.largest))
        return Summary(self.weight + other.weight, counts, mean, mean_low, squares, largest, unit, groups)

    def checked(self) -> Summary:
        """The summary itself; raises `NotFinite` where a sum is not."""
        if not (np.isfinite(self.mean).all() and self.largest <= LARGEST):
            raise NotFinite
        return self

    @property
    def scale(self) -> float:
        """Root mean squared deviation per observed entry; of constant rows the largest entry, of zeros one."""
        energy, entries = float(self.squares.sum()), float(self.counts.sum())
        return float(np.sqrt(energy / entries)) * self.unit if energy > 0 else self.largest or 1.0

    def standard_groups(self) -> tuple[Group, ...]:
        """The groups with x in units of `scale`."""
        factor = self.unit / self.scale
        none = np.zeros_like(self.mean)
        return tuple(group.about(none, factor) for group in self.groups)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The sum a + b, and what rounding takes from it."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@dataclass(frozen=True)
class Summarize:
    """The summary of a block."""

    masked: bool
    n_groups: int
    second: bool

    def __call__(self, block: Block) -> Summary:
        if is_sparse(block.X):
            return _of_sparse(block, self)
        with np.errstate(over="ignore", invalid="ignore"):
            return _of_dense(block, self)


def power_of_two(size: float) -> float:
    """The power of two next below a size whose square might overflow or vanish; one of others."""
    return float(2.0 ** np.floor(np.log2(size))) if 0.0 < size < 1e-75 or 1e75 < size < np.inf else 1.0


def _of_dense(block: Block, task: Summarize) -> Summary:
    place = Place(block.X)
    X, w, xp = place.floats(block.X), block.weights, place.xp
    weights = place.put(w)
    p = X.shape[1]
    counts = np.full(p, w.sum())
    seen = None
    if task.masked:
        seen = xp.logical_not(xp.isnan(X))
        X = xp.where(seen, X, xp.zeros_like(X))
        counts = place.host(weights @ place.floats(seen))
    size = xp.maximum(xp.max(X), -xp.min(X))
    largest = float(size)
    some = np.where(counts > 0, counts, 1.0)
    mean = place.host(weights @ X) / some
    C = X - place.put(mean)
    if seen is not None:
        C = xp.where(seen, C, xp.zeros_like(C))
    unit = power_of_two(largest)
    if unit != 1.0:
        C = C / unit
    low = place.host(weights @ C) / some  # what rounding took from the mean
    squares = place.host(weights @ (C * C)) - counts * low**2
    groups = tuple(group.about(-low, 1.0) for group in _groups(block, task, _Dense(C, place)))
    mean, low = two_sum(mean, low * unit)
    return Summary(float(w.sum()), counts, mean, low, squares, largest, unit, groups)


class _Dense:
    """Centered entries of a block, in its unit."""

    def __init__(self, C: Any, place: Place) -> None:
        self.C, self.place = C, place

    def sums(self, w: Array) -> Array:
        """Weighted sums (p,)."""
        return self.place.host(self.place.put(w) @ self.C)

    def cross(self, rows: IntArray | None, U: Array) -> Array:
        """Products (p, q) of some rows, or all, with U (m, q)."""
        C = self.C if rows is None else take_rows(self.C, rows)
        return self.place.host(C.T @ self.place.put(U))

    def second(self, rows: IntArray | None, w: Array) -> Array:
        """Weighted squares and products (p, p) of some rows, or all."""
        C = self.C if rows is None else take_rows(self.C, rows)
        scaled = C if (w == 1.0).all() else C * self.place.put(np.sqrt(w)[:, None])
        return self.place.host(scaled.T @ scaled)


class _Sparse:
    """The same of sparse entries, of which the mean is taken after the products."""

    def __init__(self, X: Any, mean: Array, unit: float) -> None:
        self.X, self.mean, self.unit = X, mean / unit, unit

    def sums(self, w: Array) -> Array:
        return np.asarray((self.X.T @ w) / self.unit - w.sum() * self.mean)

    def cross(self, rows: IntArray | None, U: Array) -> Array:
        X = self.X if rows is None else self.X[rows]
        return np.asarray(X.T @ U / self.unit - np.outer(self.mean, U.sum(axis=0)))

    def second(self, rows: IntArray | None, w: Array) -> Array:
        X = (self.X if rows is None else self.X[rows]).astype(np.float64) * (1.0 / self.unit)
        out = np.asarray((X.T @ X.multiply(w[:, None]).asformat(X.format)).toarray())
        cross = np.outer(X.T @ w, self.mean)
        out -= cross + cross.T - w.sum() * np.outer(self.mean, self.mean)
        return np.asarray(out)


def _groups(block: Block, task: Summarize, entries: _Dense | _Sparse) -> tuple[Group, ...]:
    """Sums over the rows of each group."""
    if not task.n_groups:
        return ()
    Y = np.asarray(block.aligned.get("summary_y", np.zeros((len(block.at), 0))), dtype=np.float64)
    number, w, found = block.aligned.get("summary_group"), block.weights, []
    has_outputs = Y.any(axis=1)
    for g in range(task.n_groups):
        inside = np.ones(len(w), dtype=bool) if number is None else number == g
        all_rows = inside.all()
        w_g = w if all_rows else np.where(inside, w, 0.0)
        some = np.flatnonzero(has_outputs & inside)
        y, wY = Y[some], w[some, None] * Y[some]
        xx = None
        if task.second:
            rows = np.flatnonzero(inside)
            xx = entries.second(None if all_rows else rows, w[rows])
        xy = entries.cross(None if len(some) == len(w) else some, wY)
        found.append(Group(float(w_g.sum()), entries.sums(w_g), wY.sum(axis=0), xy, wY.T @ y, xx))
    return tuple(found)


def _of_sparse(block: Block, task: Summarize) -> Summary:
    X, w = block.X, block.weights
    largest = float(np.abs(X.data).max(initial=0.0)) if X.nnz else 0.0
    counts = np.full(X.shape[1], w.sum())
    some = np.where(counts > 0, counts, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.asarray(X.T @ w) / some
        unit = power_of_two(largest)
        low, squares = _sparse_squares(X, w, mean / unit, unit)
        groups = tuple(group.about(-low, 1.0) for group in _groups(block, task, _Sparse(X, mean, unit)))
    squares = squares - counts * low**2
    mean, low = two_sum(mean, low * unit)
    return Summary(float(w.sum()), counts, mean, low, squares, largest, unit, groups)


def _sparse_squares(X: Any, w: Array, mean: Array, unit: float) -> tuple[Array, Array]:
    """Weighted mean of what is left of x / unit after `mean` is taken away, and squares: no large sums cancel."""
    p = X.shape[1]
    seen, sums, squares = np.zeros(p), np.zeros(p), np.zeros(p)
    indptr, by_rows = X.indptr, X.format == "csr"
    cuts = np.searchsorted(indptr, np.arange(0, indptr[-1], CHUNK), side="left")
    edges = np.unique(np.concatenate([[0], cuts, [len(indptr) - 1]]))
    for start, stop in pairwise(edges):
        entries = slice(indptr[start], indptr[stop])
        major = np.repeat(np.arange(start, stop), np.diff(indptr[start : stop + 1]))
        minor = X.indices[entries]
        row, column = (major, minor) if by_rows else (minor, major)
        stored = w[row]
        left = X.data[entries].astype(np.float64) / unit - mean[column]
        seen += np.bincount(column, weights=stored, minlength=p)
        sums += np.bincount(column, weights=stored * left, minlength=p)
        squares += np.bincount(column, weights=stored * left**2, minlength=p)
    unseen = np.maximum(w.sum() - seen, 0.0)
    total = w.sum() or 1.0
    return (sums - unseen * mean) / total, squares + unseen * mean**2
