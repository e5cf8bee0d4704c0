"""Rows of a dense NumPy array, centred block by block in a small buffer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._types import Array, IntArray
from .products import row_counts
from .source import GroupMoments, RowSource, Step, add_stats

BLOCK_ENTRIES = 1 << 19  # 4 MiB of float64: near the caches, large enough for matrix products
FOLD = 40  # rows read as one by a sum over columns
OFFSET_LIMIT = 30.0  # largest squared mean, in variances, that may be subtracted after the sums: one digit and a half


class DenseRows(RowSource):
    """A (n, p) NumPy array of any float or integer type, memory-mapped or not; it is never copied or changed.

    Memory beyond X: one block of about 4 MiB (at least 16 rows).
    """

    def __init__(self, X: np.ndarray[Any, Any], weights: Array | None = None) -> None:
        super().__init__((X.shape[0], X.shape[1]), weights)
        self.X = X

    def _block_rows(self) -> int:
        return max(16, BLOCK_ENTRIES // max(1, self.shape[1]))

    def _blocks(self, rows: IntArray | None = None) -> Iterator[tuple[Array, IntArray]]:
        n = self.shape[0] if rows is None else len(rows)
        size = max(1, min(self._block_rows(), n))
        buffer = np.empty((size, self.shape[1]))
        for start in range(0, n, size):
            stop = min(start + size, n)
            index = np.arange(start, stop) if rows is None else rows[start:stop]
            block = buffer[: stop - start]
            np.subtract(self.X[start:stop] if rows is None else self.X[index], self.mean, out=block)
            yield block, index

    def _sums(self, U: Array) -> tuple[Array, float]:
        out = np.zeros((self.shape[1], U.shape[1]))
        largest = 0.0
        with_values = np.asarray(U[:, 1:].any(axis=1))
        size = self._block_rows()
        for start in range(0, self.shape[0], size):
            block = np.asarray(self.X[start : start + size], dtype=np.float64)
            largest = max(largest, float(np.abs(block.max(initial=0.0))), float(np.abs(block.min(initial=0.0))))
            out[:, 0] += U[start : start + size, 0] @ block
            some = np.flatnonzero(with_values[start : start + size])
            if len(some):
                out[:, 1:] += block[some].T @ U[start + some, 1:]
        return out, largest

    def _sweep(self, V: Array | None, step: Step, rows: IntArray | None) -> tuple[Array, Any]:
        out: Array | None = None
        total: Any = None
        measure = rows is None and self._energy is None  # the block is at hand: no separate pass for the energy
        energy = 0.0
        for block, index in self._blocks(rows):
            if measure:
                energy += self._block_energy(block / self.scale, index)
            T = block @ V if V is not None else np.empty((len(index), 0))
            T /= self.scale
            U, stats = step(T, index)
            total = add_stats(total, stats)
            product = block.T @ self._apply_weights(U, index)
            out = product if out is None else np.add(out, product, out=out)
        if measure:
            self._energy = energy
        return (np.zeros((self.shape[1], 0)) if out is None else out), total

    def _block_energy(self, block: Array, index: IntArray) -> float:
        squares = np.einsum("ij,ij->i", block, block)
        return float(squares.sum() if self.weights is None else squares @ self.weights[index])

    def _raw_energy(self) -> float:
        return sum(self._block_energy(block / self.scale, index) for block, index in self._blocks())

    def _raw_second_moment(self, rows: IntArray | None) -> Array:
        out = np.zeros((self.shape[1], self.shape[1]))
        for block, index in self._blocks(rows):
            block /= self.scale
            if self.weights is not None:
                block *= np.sqrt(self.weights[index])[:, None]
            out += block.T @ block
        return out

    def group_moments(self, groups: list[IntArray], Y: Array) -> list[GroupMoments]:
        """As in `RowSource`, in one read of the rows where centring afterwards costs no precision."""
        some = np.asarray(self.X[:: max(1, self.shape[0] // 64)], dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            if not _centring_may_wait(some.mean(axis=0), float(some.var(axis=0).mean())):
                return super().group_moments(groups, Y)
            raw = self._raw_group_moments(groups, Y)
            mean = np.sum([g.x for g in raw], axis=0) / self.count
            squares = float(np.sum([np.trace(g.xx) for g in raw]))
        self.n_passes += 1
        variance = (squares / self.count - float(mean @ mean)) / self.shape[1]
        if not _centring_may_wait(mean, variance):  # the sample misled, or an entry is not finite: a lost read, counted
            return super().group_moments(groups, Y)
        self.mean, self.scale = mean, float(np.sqrt(variance))
        self.set_energy(self.count * self.shape[1])
        w = np.ones(self.shape[0]) if self.weights is None else self.weights
        for g, rows in zip(raw, groups, strict=True):
            weight, y = float(w[rows].sum()), w[rows] @ Y.take(rows, axis=0)
            centred = g.x - weight * mean
            np.subtract(g.xx, np.column_stack([g.x, mean]) @ np.stack([mean, centred]), out=g.xx)
            np.copyto(g.x, centred)
            np.subtract(g.xy, np.outer(mean, y), out=g.xy)
            for array, unit in ((g.x, self.scale), (g.xx, variance), (g.xy, self.scale)):
                np.divide(array, unit, out=array)
        return raw

    def _raw_group_moments(self, groups: list[IntArray], Y: Array) -> list[GroupMoments]:
        """Uncentred sums in units of X; the first group by subtraction from the total."""
        p, q = self.shape[1], Y.shape[1]
        sums = [GroupMoments(np.zeros(p), np.zeros((p, p)), np.zeros((p, q))) for _ in groups]
        group = np.where(row_counts(Y != 0) > 0, 0, -1)  # -1: of the first group, and without a value in Y
        for g, rows in enumerate(groups[1:], start=1):
            group[rows] = g
        plain = self.X.dtype == np.float64 and self.weights is None
        if plain and (self.X.flags.c_contiguous or self.X.flags.f_contiguous):
            self._sum_in_place(sums, group, Y)
        else:
            self._sum_by_blocks(sums, group, Y)
        for other in sums[1:]:
            np.subtract(sums[0].x, other.x, out=sums[0].x)
            np.subtract(sums[0].xx, other.xx, out=sums[0].xx)
        return sums

    def _sum_in_place(self, sums: list[GroupMoments], group: IntArray, Y: Array) -> None:
        """One product over all rows, where they lie; the rows of a group are gathered, up to 32 MiB at once."""
        _add_rows(sums[0], self.X, None, None)
        size = 8 * self._block_rows()
        for g, out in enumerate(sums):
            inside = np.flatnonzero(group == g)
            for start in range(0, len(inside), size):
                rows = inside[start : start + size]
                _add_part(out, g, self.X.take(rows, axis=0), None, Y.take(rows, axis=0))

    def _sum_by_blocks(self, sums: list[GroupMoments], group: IntArray, Y: Array) -> None:
        """One read of the rows, which are converted to double precision block by block."""
        size = self._block_rows()
        for start in range(0, self.shape[0], size):
            here = slice(start, start + size)
            block = np.asarray(self.X[here], dtype=np.float64)
            w = None if self.weights is None else self.weights[here]
            _add_rows(sums[0], block, w, None)
            for g, out in enumerate(sums):
                inside = np.flatnonzero(group[here] == g)
                if len(inside):
                    weights = None if w is None else w[inside]
                    _add_part(out, g, block.take(inside, axis=0), weights, Y[here].take(inside, axis=0))

    def _raw_gram(self) -> Array:
        if self.X.dtype == np.float64 and 1e-100 < self.scale < 1e100:
            out = np.asarray(self.X @ self.X.T)
            squares = float(np.mean(self.mean**2))
            variance = float(np.trace(out)) / (self.shape[0] * self.shape[1]) - squares
            if _centring_may_wait(np.sqrt([squares]), variance):
                w = np.full(len(out), 1.0 / len(out)) if self.weights is None else self.weights / self.count
                offset = out @ w  # the inner products of the rows with their mean
                out -= offset
                out -= offset[:, None]
                out += float(w @ offset)
                out /= self.scale**2
                return out
        return self._centred_gram()

    def _centred_gram(self) -> Array:
        n, p = self.shape
        out = np.zeros((n, n))
        size = min(p, max(16, BLOCK_ENTRIES // max(1, n)))
        buffer = np.empty((n, size))
        for start in range(0, p, size):
            columns = slice(start, min(start + size, p))
            block = buffer[:, : columns.stop - start]
            np.subtract(self.X[:, columns], self.mean[columns], out=block)
            np.divide(block, self.scale, out=block)
            out += block @ block.T
        return out


def _centring_may_wait(mean: Array, variance: float) -> bool:
    """Whether sums of squares may be centred afterwards: no overflow, and means not large beside deviations."""
    largest = float(np.abs(mean).max())
    return 1e-200 < variance < 1e200 and largest < np.sqrt(OFFSET_LIMIT * variance)


def _weighted(A: Array, weights: Array | None) -> Array:
    return A if weights is None else A * weights[:, None]


def _column_sums(rows: Array) -> Array:
    """Sum the rows; where they lie one after another, as a product with fewer and longer ones, which is faster."""
    n, p = rows.shape
    n = n - n % FOLD if rows.flags.c_contiguous else 0
    folded = np.ones(n // FOLD) @ rows[:n].reshape(n // FOLD, FOLD * p)
    return np.asarray(folded.reshape(FOLD, p).sum(axis=0) + np.ones(len(rows) - n) @ rows[n:])


def _add_part(sums: GroupMoments, g: int, rows: Array, weights: Array | None, Y: Array) -> None:
    """Add rows of group g; those of the first are in the sums over x already, which are of all rows."""
    if g:
        _add_rows(sums, rows, weights, Y)
    else:
        np.add(sums.xy, rows.T @ _weighted(Y, weights), out=sums.xy)


def _add_rows(sums: GroupMoments, rows: Array, weights: Array | None, Y: Array | None) -> None:
    np.add(sums.x, _column_sums(rows) if weights is None else weights @ rows, out=sums.x)
    scaled = rows if weights is None else rows * np.sqrt(weights)[:, None]
    np.add(sums.xx, scaled.T @ scaled, out=sums.xx)
    if Y is not None:
        np.add(sums.xy, rows.T @ _weighted(Y, weights), out=sums.xy)
