"""Moments of a table of another library where it is: sums about one shift, that come to the host once, at the end."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._types import Array, IntArray
from .entries import centering_may_wait
from .namespace import Place, block_rows, host_double, take_rows
from .products import row_counts
from .raw_moments import SAMPLE, TOTAL_SHARE, Sums, finished
from .summary import Summary


class Held(NamedTuple):
    """Sums over rows, where the rows are, about a shift."""

    x: Any  # (p,)
    xx: Any  # (p, p), or (p,) where squares are enough

    def plus(self, other: "Held | None") -> "Held":
        """These with those of other rows added; itself where there are none."""
        if other is None:
            return self
        return Held(self.x + other.x, self.xx + other.xx)


class Table(NamedTuple):
    """A foreign table without missing entries, and how it is read."""

    X: Any
    weights: Array | None
    shift: Array  # (p,)
    second: bool
    single: bool

    def held(self, rows: IntArray | None) -> Held:
        """Sums over some rows, or all."""
        n, p = self.X.shape if rows is None else (len(rows), self.X.shape[1])
        place, found, size = Place(self.X, self.single), None, block_rows(self.X)
        shift = place.put(self.shift)
        for start in range(0, n, size):
            here = slice(start, min(start + size, n))
            block = self.X[here, :] if rows is None else take_rows(self.X, rows[here])
            own = here if rows is None else rows[here]
            C = place.floats(block) - shift
            found = self._of(place, C, None if self.weights is None else self.weights[own]).plus(found)
        if found is None:
            return Held(np.zeros(p), np.zeros((p, p) if self.second else p))
        return Held(*(host_double(part) for part in found))

    def _of(self, place: Place, C: Any, w: Array | None) -> Held:
        wC = C if w is None else C * place.put(w[:, None])
        one = place.xp.ones_like(C[:, :1])  # sums as products, which take a device less time
        squares = place.sum_product(wC, C) if self.second else place.sum_product(wC * C, one)[:, 0]
        found = Held(place.sum_product(wC, one)[:, 0], squares)
        return found if place.double else Held(*(host_double(part) for part in found))

    def with_outputs(self, rows: IntArray, Y: Array) -> tuple[Array, Array, Array]:
        """Sums of y, of x y' and of y y' over rows that have outputs."""
        p, q = self.X.shape[1], Y.shape[1]
        y, xy, yy = np.zeros(q), np.zeros((p, q)), np.zeros((q, q))
        size = block_rows(self.X)
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            wY = Y[some] if self.weights is None else Y[some] * self.weights[some, None]
            place = Place(self.X, self.single)
            C = place.floats(take_rows(self.X, some)) - place.put(self.shift)
            y += wY.sum(axis=0)
            xy += host_double(place.sum_product(C, place.put(wY)))
            yy += wY.T @ Y[some]
        return y, xy, yy


def device_summary(
    X: Any, weights: Array | None, Y: Array | None, number: IntArray | None, n_groups: int, second: bool, single: bool
) -> Summary | None:  # fmt: skip
    """The summary of a foreign table, with second moments if asked for; None where an entry is not finite, or extreme.

    `number` (n,) is the group of every row, 0 ... n_groups - 1, the first the largest; None is one group. With `single`
    products are in single precision and their sums are not.
    """
    n, p = X.shape
    place = Place(X)
    some = place.floats(take_rows(X, np.arange(0, n, max(1, n // SAMPLE))))
    with np.errstate(over="ignore", invalid="ignore"):
        shift = host_double(place.xp.mean(some, axis=0))
        if not np.isfinite(shift).all() or (number is not None and number.min() < 0):
            return None
        if single:
            shift = shift.astype(np.float32).astype(np.float64)
        table, outputs = Table(X, weights, shift, second, single), np.zeros((n, 0)) if Y is None else Y
        sums = _groups(table, outputs, number, n_groups)
        weight = float(n if weights is None else weights.sum())
        mean = np.sum([found.x for found in sums], axis=0) / weight
        squares = np.sum([_squares(found.xx) for found in sums], axis=0)
        variance = (float(squares.sum()) / weight - float(mean @ mean)) / p
        if not centering_may_wait(mean, variance, single):
            return None
        largest = float(np.sqrt(squares.max()) + np.abs(shift).max())
    found = finished(sums, shift, mean, weight, largest)
    return found if Y is not None or second else replace(found, groups=())


def _squares(xx: Array) -> Array:
    return xx.diagonal() if xx.ndim == 2 else xx


def _weight(w: Array | None, rows: IntArray | None, n: int) -> float:
    """Weight of some of n rows, or of all."""
    if w is None:
        return float(n if rows is None else len(rows))
    return float((w if rows is None else w[rows]).sum())


def _groups(table: Table, Y: Array, number: IntArray | None, n_groups: int) -> list[Sums]:
    """Sums over each group.

    Where few rows are outside the first group, it is what they leave of the total.
    """
    n, w = len(Y), table.weights
    has_outputs = row_counts(Y != 0) > 0
    inside = [None if number is None else np.flatnonzero(number == g) for g in range(n_groups)]
    by_total = inside[0] is None or len(inside[0]) >= (1.0 - TOTAL_SHARE) * n
    out = []
    for g, rows in enumerate(inside):
        found, held = Sums(0, Y.shape[1]), table.held(None if g == 0 and by_total else rows)
        found.x, found.xx, found.weight = held.x, held.xx, _weight(w, rows, n)
        observed = np.flatnonzero(has_outputs) if rows is None else rows[has_outputs[rows]]
        found.y, found.xy, found.yy = table.with_outputs(observed, Y)
        out.append(found)
    for other in out[1:] if by_total else []:
        out[0].x = out[0].x - other.x
        out[0].xx = out[0].xx - other.xx
    return out
