"""Products of new rows with a few vectors, in the precision of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import Array, BoolArray
from .kind import is_foreign, is_sparse
from .namespace import from_host, namespace, row_slices, widest

CHUNK = 1 << 19


def row_counts(mask: BoolArray) -> Array:
    """How many entries of each row (n, q) are true (n,); many times faster than a sum along short rows."""
    return np.asarray(mask @ np.ones(mask.shape[1]))


def project(X: Any, mean: Array, V: Array) -> Any:
    """(X - mean) V (n, r) without a centered copy of X: float32 rows give float32, all others float64.

    The result of a foreign X is foreign too.
    """
    if is_foreign(X):
        return _project_foreign(X, mean, V)
    if is_sparse(X):
        return np.asarray(X @ V - mean @ V).astype(X.dtype)  # the difference of two large products, in double
    if X.dtype != np.float32:
        return np.asarray(X @ V - mean @ V)
    out = np.empty((X.shape[0], V.shape[1]), dtype=np.float32)
    size = max(16, CHUNK // max(1, X.shape[1]))
    V32 = V.astype(np.float32)
    for start in range(0, len(X), size):  # in single precision a large mean must go before the product
        out[start : start + size] = (X[start : start + size] - mean).astype(np.float32) @ V32
    return out


def _project_foreign(X: Any, mean: Array, V: Array) -> Any:
    xp = namespace(X)
    if X.dtype == xp.float64:
        return X @ from_host(V, X) - from_host(mean @ V, X)
    center, V32, parts = from_host(mean, X, widest(X)), from_host(V, X), []
    for rows in row_slices(X):
        block = xp.astype(X[rows, :], widest(X), copy=False) - center
        parts.append(xp.astype(block, X.dtype, copy=False) @ V32)
    return xp.concat(parts, axis=0)


def side_by_side(X: Any, Z: Array) -> Any:
    """[X, Z] (n, p + k) of the kind and type of X: NumPy, or scipy sparse in csr form."""
    if is_sparse(X):
        columns = (sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix)(Z)
        return sp.hstack([X, columns], format="csr").astype(X.dtype, copy=False)
    return np.hstack([X, np.asarray(Z, dtype=X.dtype)])
