"""In how many rows of a group each feature is above a level of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import Array, IntArray
from .kind import is_sparse

BLOCK_ENTRIES = 1 << 19


def counts_above(X: Any, level: Array, group: IntArray, n_groups: int) -> Array:
    """Count the rows of each group whose feature exceeds `level`.

    Sparse rows are read entry by entry, dense ones in blocks.

    Parameters
    ----------
    X : (n, p) NumPy array or scipy sparse csr or csc
    level : (p,)
    group : (n,)        0 ... n_groups - 1; rows of a negative group count nowhere

    Returns
    -------
    (n_groups, p) counts
    """
    kept = np.flatnonzero(group >= 0)
    member = np.zeros((n_groups, X.shape[0]))
    member[group[kept], kept] = 1.0
    if is_sparse(X):
        # an entry that is not stored is zero: above a negative level, where the stored ones below it are taken away
        columns = X.indices if X.format == "csr" else np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
        below = level[columns] < 0
        marks = np.where(below, -(X.data <= level[columns]).astype(float), X.data > level[columns])
        marked = type(X)((marks, X.indices, X.indptr), shape=X.shape)
        return np.asarray((marked.T @ member.T).T + member.sum(axis=1)[:, None] * (level < 0))
    out: Array = np.zeros((n_groups, X.shape[1]))
    size = max(16, BLOCK_ENTRIES // max(1, X.shape[1]))
    for start in range(0, X.shape[0], size):
        rows = slice(start, start + size)
        out += member[:, rows] @ (X[rows] > level)
    return out
