"""Second moments of a NumPy table by one product of the rows as they lie, where centering may come after the sums."""

import functools

import numpy as np

from .._types import Array, IntArray
from .entries import centering_may_wait
from .products import row_counts
from .summary import Group, Summary, two_sum
from .threads import in_shares

TOTAL_SHARE = 0.3  # of the rows: with more outside the first group, its own are added up
SUMMED = 256  # rows in single precision whose sum is taken in it
SAMPLE = 64  # rows that say beforehand whether centering may wait


class Sums:
    """Uncentered weighted sums over the rows of a group."""

    def __init__(self, p: int, q: int) -> None:
        self.weight, self.begun = 0.0, False  # whether there are rows in the sums over x
        self.x, self.xx = np.zeros(p), np.zeros((p, p))  # or squares alone (p,)
        self.y, self.xy, self.yy = np.zeros(q), np.zeros((p, q)), np.zeros((q, q))

    def add_rows(self, rows: Array, w: Array | None) -> None:
        """Add to the sums over x: the large product first, for which another thread need not wait."""
        scaled = rows if w is None else rows * np.sqrt(w).astype(rows.dtype)[:, None]
        if self.begun or rows.dtype != self.xx.dtype:
            self.xx += scaled.T @ scaled
        else:
            np.matmul(scaled.T, scaled, out=self.xx)  # no second array as large
        self.begun = True
        size = len(rows) if rows.dtype == np.float64 else SUMMED
        for start in range(0, len(rows), size):
            some = slice(start, start + size)
            ones = np.ones(len(rows[some])) if w is None else w[some]
            self.x += ones.astype(rows.dtype) @ rows[some]

    def add_outputs(self, rows: Array, w: Array | None, Y: Array) -> None:
        """Add to the sums with y."""
        wY = Y if w is None else Y * w[:, None]
        self.y += wY.sum(axis=0)
        self.xy += rows.T @ wY.astype(rows.dtype)
        self.yy += wY.T @ Y

    def plus(self, other: "Sums") -> "Sums":
        """These with those of other rows added."""
        self.x += other.x
        self.xx += other.xx
        self.y += other.y
        self.xy += other.xy
        self.yy += other.yy
        return self

    def about(self, mean: Array) -> Group:
        """The sums about a mean; they are used up."""
        centered, xx = self.x - self.weight * mean, None
        if self.xx.ndim == 2:
            xx = self.xx
            xx -= np.column_stack([self.x, mean]) @ np.stack([mean, centered])
        return Group(self.weight, centered, self.y, self.xy - np.outer(mean, self.y), self.yy, xx)


def shift_of(X: Array, single: bool) -> Array | None:
    """What a sample of the rows says should be taken from each before the sums: their mean (p,), or zero.

    None where it holds what is not finite. Of rows in single precision it is a number in it.
    """
    some = np.asarray(X[:: max(1, len(X) // SAMPLE)], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, variance = some.mean(axis=0), float(some.var(axis=0).mean())
    if not np.isfinite(variance):
        return None
    shift = 0.0 * mean if centering_may_wait(mean, variance, single) else mean
    return np.asarray(shift.astype(X.dtype) if single else shift, dtype=np.float64)


def raw_summary(
    X: Array, weights: Array | None, Y: Array, number: IntArray | None, n_groups: int, block_rows: int, shift: Array,
    single: bool = False,
) -> Summary | None:  # fmt: skip
    """The summary with second moments, in one read; None where the sample misled, or an entry is not finite.

    Sums are about `shift`. `number` (n,) is the group of every row, 0 ... n_groups - 1, the first the largest; None is
    one group. With `single`, rows in single precision are multiplied in it, block by block; blocks add up in double.
    """
    n, p = X.shape
    group = np.where(row_counts(Y != 0) > 0, 0, -1)  # -1: of the first group, and without outputs
    if number is not None:
        group = np.where(number > 0, number, group)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = _sums(X, weights, group, n_groups, Y, block_rows, shift.astype(X.dtype) if single else shift)
        weight = float(n if weights is None else weights.sum())
        for g, found in enumerate(sums[1:], start=1):
            found.weight = float(np.count_nonzero(group == g) if weights is None else weights[group == g].sum())
        sums[0].weight = weight - sum(found.weight for found in sums[1:])
        squares = np.sum([found.xx.diagonal() for found in sums], axis=0)
        mean = np.sum([found.x for found in sums], axis=0) / weight
        largest = float(np.sqrt(squares.max()) + np.abs(shift).max())
        variance = (float(squares.sum()) / weight - float(mean @ mean)) / p
        if not centering_may_wait(mean, variance, single):
            return None
    return finished(sums, shift, mean, weight, largest)


def finished(sums: list[Sums], shift: Array, mean: Array, weight: float, largest: float) -> Summary:
    """The summary that sums about a shift are, whose mean (p,) lies above it; they are used up."""
    if sums[0].xx.ndim == 2:
        groups = tuple(found.about(mean) for found in sums)
        squares = np.sum([np.diagonal(g.xx) for g in groups if g.xx is not None], axis=0)
    else:
        squares = np.sum([found.xx for found in sums], axis=0) - weight * mean**2
        groups = tuple(found.about(mean) for found in sums)
    mean, low = two_sum(shift, mean)
    return Summary(weight, np.full(len(mean), weight), mean, low, squares, largest, 1.0, groups)


def _sums(
    X: Array, weights: Array | None, group: IntArray, n_groups: int, Y: Array, size: int, shift: Array
) -> list[Sums]:  # fmt: skip
    """One read of the rows, by blocks, which are converted to double precision and shifted where that is needed.

    Where few rows are outside the first group, it is what they leave of the total.
    """
    n, p = X.shape
    as_they_are = X.dtype == shift.dtype and not shift.any()
    size *= 8 if as_they_are else 2 if X.dtype == shift.dtype == np.float32 else 1
    by_total = bool(np.count_nonzero(group > 0) <= TOTAL_SHARE * n)

    def of(rows: slice) -> list[Sums]:
        out = [Sums(p, Y.shape[1]) for _ in range(n_groups)]
        for start in range(rows.start, rows.stop, size):
            here = slice(start, min(start + size, rows.stop))
            block = X[here] if as_they_are else X[here] - shift
            with np.errstate(over="ignore", invalid="ignore"):
                _add_block(out, block, None if weights is None else weights[here], group[here], Y[here], by_total)
        return out

    shares = in_shares(of, n, float(n) * p * p)
    sums = [functools.reduce(Sums.plus, found) for found in zip(*shares, strict=True)]
    if by_total:
        for other in sums[1:]:
            sums[0].x -= other.x
            sums[0].xx -= other.xx
    return sums


def _add_block(sums: list[Sums], X: Array, weights: Array | None, group: IntArray, Y: Array, by_total: bool) -> None:
    if by_total:
        sums[0].add_rows(X, weights)
    for g, found in enumerate(sums):
        inside = np.flatnonzero(group == g)
        if len(inside):
            part, w = X.take(inside, axis=0), None if weights is None else weights[inside]
            found.add_outputs(part, w, Y.take(inside, axis=0))
        if not by_total and g == 0:
            inside = np.flatnonzero(group <= 0)
            part, w = X.take(inside, axis=0), None if weights is None else weights[inside]
        if len(inside) and not (by_total and g == 0):
            found.add_rows(part, w)
