"""Rows of a dense array with missing entries (NaN), read block by block together with the mask of what is observed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._types import Array, IntArray
from .dense import BLOCK_ENTRIES
from .source import add_stats

MaskedStep = Callable[[Array, Array, IntArray], tuple[Array, Array, Any]]


class MaskedRows:
    """A (n, p) NumPy array in which NaN means missing; it is never copied or changed.

    Rows are centred by the mean of the observed entries of each column and divided by one number, so that the mean
    squared deviation of the observed entries is one; missing entries become zero, and the mask tells them apart.
    Memory beyond X: two blocks of about 4 MiB, entries and mask.

    Attributes
    ----------
    shape, weights, count, mean, scale, n_passes : as in `RowSource`
    n_entries : float       weighted number of observed entries
    observed_weight : (p,)  weight of the rows that observe each column
    energy : float          weighted sum of squared deviations of the observed entries, in standard units
    """

    def __init__(self, X: np.ndarray[Any, Any], weights: Array | None = None) -> None:
        self.X = X
        self.shape = (X.shape[0], X.shape[1])
        self.weights = np.ones(X.shape[0]) if weights is None else weights
        self.count = float(self.weights.sum())
        self.n_passes = 0.0
        sums, seen, largest = np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0.0
        for block, mask, index in self._blocks(np.zeros(X.shape[1]), 1.0):
            w = self.weights[index]
            sums += w @ block
            seen += w @ mask
            largest = max(largest, float(np.abs(block).max(initial=0.0)))
        self.observed_weight, self.n_entries = seen, float(seen.sum())
        self.mean: Array = sums / np.maximum(seen, 1e-300)
        self.scale = largest or 1.0
        energy = 0.0
        for block, _, index in self._blocks(self.mean, self.scale):
            energy += float(self.weights[index] @ np.einsum("ij,ij->i", block, block))
        factor = float(np.sqrt(energy / self.n_entries)) or 1.0
        self.scale *= factor
        self.energy = energy / factor**2

    def _blocks(self, mean: Array, scale: float) -> Iterator[tuple[Array, Array, IntArray]]:
        self.n_passes += 1
        n, p = self.shape
        size = max(16, BLOCK_ENTRIES // max(1, p))
        for start in range(0, n, size):
            index = np.arange(start, min(start + size, n))
            block = (self.X[start : start + size] - mean) / scale
            missing = np.isnan(block)
            block[missing] = 0.0
            yield block, (~missing).astype(np.float64), index

    def sweep(self, V: Array, V_mask: Array, step: MaskedStep) -> tuple[Array, Array, Any]:
        """Read the rows once and return (X' diag(weights) U, M' diag(weights) U_mask, the sum of stats).

        Parameters
        ----------
        V : (p, r)          what the centred rows, zero where missing, are multiplied by
        V_mask : (p, s)     what the mask M is multiplied by
        step : callable     step(X V, M V_mask, index) -> (U, U_mask, stats), one block of rows at a time
        """
        out: Array = np.zeros((self.shape[1], 0))
        out_mask: Array = np.zeros((self.shape[1], 0))
        total: Any = None
        for block, mask, index in self._blocks(self.mean, self.scale):
            U, U_mask, stats = step(block @ V, mask @ V_mask, index)
            w = self.weights[index, None]
            product, product_mask = block.T @ (w * U), mask.T @ (w * U_mask)
            out = out + product if out.shape == product.shape else product
            out_mask = out_mask + product_mask if out_mask.shape == product_mask.shape else product_mask
            total = add_stats(total, stats)
        return out, out_mask, total

    def gram_product(self, V: Array) -> Array:
        """X' diag(weights) X V with missing entries at their mean: a start, not a statistic of the model."""
        none = np.zeros((self.shape[1], 0))
        return self.sweep(V, none, lambda T, _, index: (T, np.zeros((len(index), 0)), None))[0]
