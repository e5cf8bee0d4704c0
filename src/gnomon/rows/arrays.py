"""Rows of an array of another library, read block by block where they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._types import Array, IntArray
from .namespace import Place, block_rows, take_rows
from .source import RowSource, Step, add_stats


class ArrayRows(RowSource):
    """A (n, p) array of PyTorch, CuPy, JAX or any other array API library; it is never copied, moved or changed.

    Blocks of rows are centred and multiplied where X is, in float64 whatever the type of X, and sums stay there until
    they are complete: p x r and r x r numbers come to the host, with n x n for `gram`. The step of a `sweep` is host
    code, so its T and U, rows x r, come and go block by block; `gram_product` moves neither.

    Where the device has no float64, blocks are centred and multiplied in float32 and their sums added on the host in
    float64. That keeps six or seven digits of a block: too few for the default `tol` of an iterative solver, which then
    says that it stalled.

    Memory beyond X: two blocks, of 4 MiB each on a host and 128 MiB on another device.
    """

    def __init__(self, X: Any, weights: Array | None = None) -> None:
        super().__init__((X.shape[0], X.shape[1]), weights)
        self.X = X
        self._place = Place(X)
        self._xp, self._put, self._add = self._place.xp, self._place.put, self._place.add

    def _blocks(self, rows: IntArray | None, mean: Any, scale: float) -> Iterator[tuple[Any, IntArray]]:
        """(x - mean) / scale for some rows at a time, on the device."""
        n = self.shape[0] if rows is None else len(rows)
        size = block_rows(self.X)
        for start in range(0, n, size):
            stop = min(start + size, n)
            index = np.arange(start, stop) if rows is None else rows[start:stop]
            block = self.X[start:stop, :] if rows is None else take_rows(self.X, index)
            block = self._place.floats(block)
            if mean is not None:
                block = block - mean
            yield (block if scale == 1.0 else block / scale), index

    def _finish(self, total: Any, shape: tuple[int, int]) -> Array:
        if total is None:
            return np.zeros(shape)
        return self._place.host(total)

    def _sums(self, U: Array) -> tuple[Array, float]:
        xp, p = self._xp, self.shape[1]
        first, others, largest = None, None, 0.0
        with_values = np.asarray(U[:, 1:].any(axis=1))
        for block, index in self._blocks(None, None, 1.0):
            largest = max(largest, float(xp.max(xp.abs(block))))
            first = self._add(first, self._put(U[index, :1]).T @ block)
            some = np.flatnonzero(with_values[index])
            if len(some):
                others = self._add(others, take_rows(block, some).T @ self._put(U[index[some], 1:]))
        return np.hstack([self._finish(first, (1, p)).T, self._finish(others, (p, U.shape[1] - 1))]), largest

    def _sweep(self, V: Array | None, step: Step, rows: IntArray | None) -> tuple[Array, Any]:
        out: Any = None
        total: Any = None
        V_put = None if V is None else self._put(V)
        measure = rows is None and self._energy is None
        energy, width = 0.0, 0
        for block, index in self._blocks(rows, self._put(self.mean), self.scale):
            if measure:
                energy += self._block_energy(block, index)
            T_put = None if V_put is None else block @ V_put
            T = np.empty((len(index), 0)) if T_put is None else self._place.host(T_put)
            U, stats = step(T, index)
            total, width = add_stats(total, stats), U.shape[1]
            weighted = self._apply_weights(U, index)
            out = self._add(out, block.T @ self._put(weighted))
        if measure:
            self._energy = energy
        return self._finish(out, (self.shape[1], width)) * self.scale, total

    def gram_product(self, V: Array) -> Array:
        """As in `RowSource`; no number per row leaves the device."""
        self.n_passes += 1
        V_put, out = self._put(V), None
        for block, index in self._blocks(None, self._put(self.mean), self.scale):
            T = block @ V_put
            if self.weights is not None:
                T = T * self._put(self.weights[index, None])
            out = self._add(out, block.T @ T)
        return self._finish(out, V.shape)

    def _block_energy(self, block: Any, index: IntArray) -> float:
        xp = self._xp
        if self.weights is None:
            return float(xp.sum(block * block))
        return float(xp.sum(block * block * self._put(self.weights[index, None])))

    def _raw_energy(self) -> float:
        return sum(self._block_energy(*block) for block in self._blocks(None, self._put(self.mean), self.scale))

    def _raw_second_moment(self, rows: IntArray | None) -> Array:
        out = None
        for block, index in self._blocks(rows, self._put(self.mean), self.scale):
            if self.weights is not None:
                block = block * self._put(np.sqrt(self.weights[index])[:, None])
            out = self._add(out, block.T @ block)
        return self._finish(out, (self.shape[1], self.shape[1]))

    def _raw_gram(self) -> Array:
        n, p = self.shape
        mean, out = self._put(self.mean), None
        size = max(16, block_rows(self.X) * p // n)
        for start in range(0, p, size):
            columns = slice(start, min(start + size, p))
            block = self._place.floats(self.X[:, columns])
            block = (block - mean[columns]) / self.scale
            out = self._add(out, block @ block.T)
        return self._finish(out, (n, n))
