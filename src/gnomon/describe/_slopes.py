"""Least squares of the columns of a table on a few numbers of its rows."""

from typing import Any

import numpy as np

from .._types import Array
from ..rows.kind import is_sparse

BLOCK = 1 << 20  # entries that are looked at at once where some are missing
RANK = 1e-12  # of the largest eigenvalue: directions of Z of less variance are rounding


def slopes(X: Any, Z: Array) -> Array:
    """Slopes (k, p) of every column of X (n, p) on Z (n, k), with an intercept: what a unit of Z adds to the columns.

    NaN marks entries that are not there, which a column is regressed without. Where Z has a direction without variance
    the slopes are the shortest; a constant column of Z has none.

    Examples
    --------
    >>> Z = np.array([[0.0], [1.0], [2.0]])
    >>> slopes(np.array([[5.0, 1.0], [3.0, np.nan], [1.0, 7.0]]), Z).round(12).tolist()
    [[-2.0, 3.0]]
    """
    Z = np.asarray(Z, dtype=np.float64)
    C = Z - Z.mean(axis=0)
    size = np.sqrt(np.einsum("ij,ij->j", C, C))
    C = C / np.where(size > 0, size, 1.0)
    if is_sparse(X):
        found = _inverse(C.T @ C) @ np.asarray((X.T @ C).T)
    else:
        gaps = np.isnan(X.sum(axis=0)) if X.dtype.kind == "f" else np.zeros(X.shape[1], dtype=bool)
        found = np.empty((C.shape[1], X.shape[1]))
        found[:, ~gaps] = _inverse(C.T @ C) @ (C.T @ (X[:, ~gaps] if gaps.any() else X))
        width = max(1, BLOCK // len(C))
        for some in np.split(np.flatnonzero(gaps), range(width, int(gaps.sum()), width)):
            found[:, some] = _with_gaps(X[:, some], C)
    return np.asarray(found / np.where(size > 0, size, 1.0)[:, None])


def _inverse(gram: Array) -> Array:
    return np.asarray(np.linalg.pinv(gram, rcond=RANK, hermitian=True))


def _with_gaps(X: Array, C: Array) -> Array:
    """The same (k, b) for columns of which each is regressed on the rows that have it."""
    seen = np.isfinite(X).astype(np.float64)
    A = np.column_stack([np.ones(len(C)), C])
    squares = (seen.T @ (A[:, :, None] * A[:, None, :]).reshape(len(A), -1)).reshape(-1, A.shape[1], A.shape[1])
    cross = np.where(seen > 0, X, 0.0).T @ A
    return np.asarray((_inverse(squares) @ cross[:, :, None])[:, 1:, 0].T)
