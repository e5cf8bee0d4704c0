"""Products of new rows with a few vectors, in the precision of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import Array, IntArray

CHUNK = 1 << 19


def missing_rows(X: Any) -> IntArray:
    """Indices of the rows with a NaN; none in a sparse X."""
    if hasattr(X, "tocsr") or not np.isnan(np.sum(X)):  # one sum tells of any NaN
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(np.isnan(X).any(axis=1))


def project(X: Any, mean: Array, V: Array) -> Array:
    """(X - mean) V (n, r) without a centred copy of X: float32 rows give float32, all others float64."""
    if hasattr(X, "tocsr"):
        return np.asarray(X @ V - mean @ V).astype(X.dtype)  # the difference of two large products, in double
    if X.dtype != np.float32:
        return np.asarray(X @ V - mean @ V)
    out = np.empty((X.shape[0], V.shape[1]), dtype=np.float32)
    size = max(16, CHUNK // max(1, X.shape[1]))
    V32 = V.astype(np.float32)
    for start in range(0, len(X), size):  # in single precision a large mean must go before the product
        out[start : start + size] = (X[start : start + size] - mean).astype(np.float32) @ V32
    return out


def squared_lengths(X: Any, mean: Array, scale: float) -> Array:
    """|(x - mean) / scale|^2 per row (n,), float64, in blocks."""
    if hasattr(X, "tocsr"):
        scaled = X.astype(np.float64) * (1.0 / scale)
        m = np.asarray(mean / scale)
        own = np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel()
        return np.asarray(np.maximum(own - 2.0 * (scaled @ m) + m @ m, 0.0))
    out = np.empty(X.shape[0])
    size = max(16, CHUNK // max(1, X.shape[1]))
    for start in range(0, len(X), size):
        block = np.asarray(X[start : start + size] - mean, dtype=np.float64) / scale
        out[start : start + size] = np.einsum("ij,ij->i", block, block)
    return out
