"""Shares in proportion to exponentials, and the logarithms of their sums."""

import numpy as np

from .._types import Array


def normalized(logs: Array, axis: int = 1) -> tuple[Array, Array]:
    """Return exp(logs) over its sum along an axis, and the log of that sum, at any size of the logarithms."""
    top = logs.max(axis=axis, keepdims=True)
    shares = np.subtract(logs, top)
    np.exp(shares, out=shares)
    total = shares.sum(axis=axis, keepdims=True)
    shares /= total
    return shares, np.asarray(np.squeeze(top + np.log(total), axis))
