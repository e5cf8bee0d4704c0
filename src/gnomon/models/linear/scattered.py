"""Real outputs of rows that are kept one by one, at several parameters at once; see `stack`.

Rows that observe the same outputs are a set, to which one precision belongs. Sets of about as many rows are filled up
with empty ones to the same length, and handled together as far as they stay in cache.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from ..._types import Array, IntArray
from ...numerics.moments import output_sets
from ...rows.threads import MIN_WORK, in_shares
from .evidence import LabeledRows

FILLED = 0.8  # least share of rows in the longest sets of a part that are not empty, in the shortest ones
AT_ONCE = 1 << 11  # rows of a part

T = TypeVar("T")


class Said(NamedTuple):
    """Sums over rows of what their outputs say of their predictors, by weight, at s models."""

    products: Array  # (s,)   of slopes and what x leaves of the outputs
    slope: Array  # (s, q)
    slope_x: Array  # (s, q, r)   slope times x'
    slopes: Array  # (s, q, q)   slope times slope'


class Part(NamedTuple):
    """Some sets of outputs, and their rows, so many of each."""

    sets: slice
    rows: slice
    length: int


class ScatteredRows:
    """Rows (x, 1) by sets of outputs, with x in its principal axes; an empty row is zero."""

    def __init__(self, rows: LabeledRows, axes: Array) -> None:
        sets, of_row = output_sets(~np.isnan(rows.Y))
        counts = np.bincount(of_row, minlength=len(sets))
        by_count = np.argsort(-counts, kind="stable")
        self.observed, counts = sets[by_count], counts[by_count]
        self.parts, lengths = _parts(counts)
        begin = np.cumsum(lengths) - lengths
        of_row = np.argsort(by_count)[of_row]
        order = np.argsort(of_row, kind="stable")
        place = np.arange(len(order)) + np.repeat(begin - np.cumsum(counts) + counts, counts)
        n, q, r = int(lengths.sum()), rows.Y.shape[1], rows.T.shape[1]
        self.x1, self.Y, self.weights = np.zeros((n, r + 1)), np.zeros((n, q)), np.zeros(n)
        self.x1[place, :r], self.x1[place, r] = rows.T[order] @ axes, 1.0
        self.Y[place], self.weights[place] = np.nan_to_num(rows.Y[order]), rows.weights[order]
        self.seen = np.repeat(self.observed.astype(float), lengths, axis=0)
        self.set_weights = np.add.reduceat(self.weights, begin)

    def sums(self, gain: Array, V: Array, b: Array, P: Array) -> Said:
        """The sums for predictors V gain' x + b and precisions P (s, g, q, q) of each set of outputs."""
        back = np.concatenate([gain @ V.swapaxes(1, 2), b[:, None]], axis=1)
        shares = self._in_shares(lambda parts: self._sums(parts, back, P), back.size)
        products, fold, slopes = (np.sum(part, axis=0) for part in zip(*shares, strict=True))
        return Said(products, fold[:, :, -1], fold[:, :, :-1], slopes)

    def _sums(self, parts: list[Part], back: Array, P: Array) -> tuple[Array, Array, Array]:
        s, r, q = back.shape
        products, fold, slopes = np.zeros(s), np.zeros((s, q, r)), np.zeros((s, q, q))
        for sets, rows, length in parts:
            x1 = self.x1[rows]
            left = (self.Y[rows] - x1 @ back) * self.seen[rows]
            slope = (left.reshape(s, -1, length, q) @ P[:, sets]).reshape(left.shape)
            weighted = slope * self.weights[rows, None]
            products += (left.reshape(s, 1, -1) @ weighted.reshape(s, -1, 1))[:, 0, 0]
            fold += weighted.swapaxes(1, 2) @ x1
            slopes += weighted.swapaxes(1, 2) @ slope
        return products, fold, slopes

    def moments(self, gain: Array) -> Array:
        """Weighted sums (s, g, k + 1, k + 1) of products of (gain' x, 1) over the rows of each set."""
        s, r, k = gain.shape
        gain1 = np.zeros((s, r + 1, k + 1))
        gain1[:, :r, :k], gain1[:, r, k] = gain, 1.0
        out = np.empty((s, len(self.observed), k + 1, k + 1))
        self._in_shares(lambda parts: self._moments(parts, gain1, out), gain1.size)
        return out

    def _moments(self, parts: list[Part], gain1: Array, out: Array) -> None:
        s, _, m = gain1.shape
        for sets, rows, length in parts:
            z1 = (self.x1[rows] @ gain1).reshape(s, -1, length, m)
            weighted = z1 * self.weights[rows].reshape(-1, length, 1)
            np.matmul(weighted.swapaxes(2, 3), z1, out=out[:, sets])

    def _in_shares(self, task: Callable[[list[Part]], T], work: int) -> list[T]:
        """What a task says of shares of the parts."""
        return in_shares(lambda some: task(self.parts[some]), len(self.parts), len(self.x1) * float(work), MIN_WORK)


def _parts(counts: IntArray) -> tuple[list[Part], IntArray]:
    """The parts of sets with so many rows, falling, and the length that each set is filled up to."""
    parts, lengths, first, row = list[Part](), np.empty_like(counts), 0, 0
    while first < len(counts):
        length = int(counts[first])
        alike = int(np.searchsorted(-counts, -FILLED * length, side="right"))
        last = min(alike, first + max(1, AT_ONCE // length))
        end = row + (last - first) * length
        parts.append(Part(slice(first, last), slice(row, end), length))
        lengths[first:last] = length
        first, row = last, end
    return parts, lengths
