"""First and second moments of rows that merge exactly: of blocks, of batches, of machines."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .._types import Array
from .contract import Block, NotFinite, add
from .entries import DenseEntries, SparseEntries, centering_may_wait, entries
from .kind import is_sparse
from .namespace import Place, host_double

LARGEST = 1e153  # squares of larger numbers, and sums of them, overflow
NO_DIGIT = 1e-6 * np.finfo(np.float64).eps  # of the means: what rounding leaves of rows that are all the same
CHUNK = 1 << 18  # stored entries handled at once where each needs its row and column


class Group(NamedTuple):
    """Weighted sums over the rows of one group, x about the mean of all rows and in units of `Summary.unit`."""

    weight: float
    x: Array  # (p,)
    y: Array  # (q,)
    xy: Array  # (p, q)
    yy: Array  # (q, q)
    xx: Array | None  # (p, p), with `second`

    def about(self, shift: Array, factor: float) -> "Group":
        """The same about a mean that lies `shift` lower, in units `factor` times as many."""
        if factor == 1.0 and not shift.any():
            return self
        x = self.x * factor
        moved = x + self.weight * shift
        xx = self.xx
        if xx is not None:
            xx = xx * factor**2
            if shift.any():
                xx += np.column_stack([x, shift]) @ np.stack([shift, moved])
        return Group(self.weight, moved, self.y, self.xy * factor + np.outer(shift, self.y), self.yy, xx)


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

    def __add__(self, other: "Summary") -> "Summary":
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
                add(a.about(-down, mine), b.about(up, theirs)) for a, b in zip(self.groups, other.groups, strict=True)
            )
        largest = float(np.maximum(self.largest, other.largest))
        return Summary(self.weight + other.weight, counts, mean, mean_low, squares, largest, unit, groups)

    def checked(self) -> "Summary":
        """The summary, without squares where all rows are the same; raises `NotFinite` where a sum is not finite."""
        if not (np.isfinite(self.mean).all() and self.largest <= LARGEST):
            raise NotFinite
        rounding = float(self.counts @ (NO_DIGIT * self.mean / self.unit) ** 2)
        if self.squares.sum() > rounding:
            return self
        none = np.zeros_like(self.mean)
        return replace(self, squares=none, groups=tuple(group.about(none, 0.0) for group in self.groups))

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
        X, w = block.X, block.weights
        with np.errstate(over="ignore", invalid="ignore"):
            counts, sums, largest = _sums(X, w, self.masked)
            some = np.where(counts > 0, counts, 1.0)
            mean, unit = sums / some, power_of_two(largest)
            about_zero = None if self.masked or unit != 1.0 else _squares_about_zero(X, w, mean, counts)
            here = entries(X, mean, unit, self.masked, late=about_zero is not None)
            if isinstance(here, SparseEntries):
                low, squares = _sparse_squares(X, w, mean / unit, unit)
            elif about_zero is not None:
                low, squares = np.zeros_like(mean), np.maximum(about_zero - counts * mean**2, 0.0)
            else:
                C, weights = here.scaled(), here.place.put(w)
                low = here.place.host(weights @ C) / some  # what rounding took from the mean
                squares = here.place.host(weights @ (C * C))
            groups = tuple(group.about(-low, 1.0) for group in _groups(block, self, here))
            mean, rest = two_sum(mean, low * unit)
            squares = squares - counts * low**2
        return Summary(float(w.sum()), counts, mean, rest, squares, largest, unit, groups)


def power_of_two(size: float) -> float:
    """The power of two next below a size whose square might overflow or vanish; one of others."""
    return float(2.0 ** np.floor(np.log2(size))) if 0.0 < size < 1e-75 or 1e75 < size < np.inf else 1.0


def _sums(X: Any, w: Array, masked: bool) -> tuple[Array, Array, float]:
    """Weights and sums (p,) of what each column observes, and the largest entry."""
    counts = np.full(X.shape[1], w.sum())
    if is_sparse(X):
        return counts, np.asarray(X.T @ w), float(np.abs(X.data).max(initial=0.0))
    place = Place(X)
    X, xp, weights = place.floats(X), place.xp, place.put(w)
    if masked:
        seen = xp.logical_not(xp.isnan(X))
        X = xp.where(seen, X, xp.zeros_like(X))
        counts = place.host(weights @ place.floats(seen))
    return counts, place.host(weights @ X), float(xp.maximum(xp.max(X), -xp.min(X)))


def _squares_about_zero(X: Any, w: Array, mean: Array, counts: Array) -> Array | None:
    """Weighted sums of squares (p,) of plain rows, without a copy of them; None where means are too large for it."""
    if not isinstance(X, np.ndarray) or X.dtype != np.float64 or X.size == 0:
        return None
    found = np.einsum("ij,ij->j", X, X) if (w == 1.0).all() else np.einsum("i,ij,ij->j", w, X, X)
    variance = float((found / counts - mean**2).mean())
    return found if centering_may_wait(mean, variance) else None


def _groups(block: Block, task: Summarize, here: DenseEntries | SparseEntries) -> tuple[Group, ...]:
    """Sums over the rows of each group."""
    Y = np.asarray(block.aligned.get("summary_y", np.zeros((len(block.at), 0))), dtype=np.float64)
    number, w, found = block.aligned.get("summary_group"), block.weights, []
    has_outputs = Y.any(axis=1)
    for g in range(task.n_groups):
        inside = np.ones(len(w), dtype=bool) if number is None else number == g
        w_g = np.where(inside, w, 0.0)
        some = np.flatnonzero(has_outputs & inside)
        y, wY = Y[some], w[some, None] * Y[some]
        xx = None
        if task.second:
            xx = here.second(w) if inside.all() else here.of_rows(np.flatnonzero(inside)).second(w[inside])
        xy = host_double((here if len(some) == len(w) else here.of_rows(some)).back(wY))
        x = host_double(here.back(w_g[:, None]))[:, 0]
        found.append(Group(float(w_g.sum()), x, wY.sum(axis=0), xy, wY.T @ y, xx))
    return tuple(found)


def _sparse_squares(X: Any, w: Array, mean: Array, unit: float) -> tuple[Array, Array]:
    """Weighted mean of what is left of x / unit after `mean` is taken away, and squares: no large sums cancel."""
    p = X.shape[1]
    seen, sums, squares, stored_in = np.zeros(p), np.zeros(p), np.zeros(p), np.zeros(p)
    indptr, by_rows, alike = X.indptr, X.format == "csr", bool((w == 1.0).all())
    cuts = np.searchsorted(indptr, np.arange(0, indptr[-1], CHUNK), side="left")
    edges = np.unique(np.concatenate([[0], cuts, [len(indptr) - 1]]))
    for start, stop in pairwise(edges):
        entries = slice(indptr[start], indptr[stop])
        major = np.repeat(np.arange(start, stop), np.diff(indptr[start : stop + 1]))
        minor = X.indices[entries]
        row, column = (major, minor) if by_rows else (minor, major)
        column = column.astype(np.intp, copy=False)  # as each of the three sums wants it
        left = X.data[entries].astype(np.float64) / unit - mean[column]
        stored = None if alike else w[row]
        once = left if stored is None else stored * left
        seen += np.bincount(column, weights=stored, minlength=p)
        stored_in += 0.0 if alike else np.bincount(column, minlength=p)
        sums += np.bincount(column, weights=once, minlength=p)
        squares += np.bincount(column, weights=once * left, minlength=p)
    unseen = np.where(stored_in == len(w), 0.0, np.maximum(w.sum() - seen, 0.0))  # but for rounding of the weights
    total = w.sum() or 1.0
    return (sums - unseen * mean) / total, squares + unseen * mean**2
