"""Shares in proportion to exponentials, and the logarithms of their sums."""

from typing import Any

import numpy as np

from .._types import Array

FEW = 16  # columns up to which one after the other is faster than along rows


def normalized(logs: Array, axis: int = 1) -> tuple[Array, Array]:
    """Return exp(logs) over its sum along an axis, and the log of that sum, at any size of the logarithms."""
    few = logs.ndim == 2 and axis == 1 and 0 < logs.shape[1] <= FEW
    top = _by_column(np.maximum, logs) if few else logs.max(axis=axis, keepdims=True)
    shares = np.subtract(logs, top)
    np.exp(shares, out=shares)
    total = _by_column(np.add, shares) if few else shares.sum(axis=axis, keepdims=True)
    shares /= total
    return shares, np.asarray(np.squeeze(top + np.log(total), axis))


def _by_column(step: Any, of: Array) -> Array:
    """A step of two numbers over the columns of (n, c), from the left (n, 1)."""
    found = of[:, 0].copy()
    for j in range(1, of.shape[1]):
        step(found, of[:, j], out=found)
    return found[:, None]
