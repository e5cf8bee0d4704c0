"""Which entries of a table are missing, and filling them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import Array, IntArray
from .kind import is_foreign, is_sparse
from .namespace import Place, row_slices, to_host


def incomplete_rows(X: Any) -> IntArray:
    """Indices of the rows with a NaN, of any dense X; none in a sparse one."""
    xp = Place(X).xp
    if is_sparse(X) or not bool(xp.isnan(xp.sum(X))):  # one sum tells of any NaN
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(to_host(xp.any(xp.isnan(X), axis=1)))


def column_range(X: Any) -> tuple[Array, Array]:
    """Smallest and largest observed entry of each column (p,), NaN where none is; on the host."""
    if not is_foreign(X):
        return np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    place, lowest, highest = Place(X), np.full(X.shape[1], np.nan), np.full(X.shape[1], np.nan)
    for rows in row_slices(X):
        block = X[rows, :]
        missing, far = place.xp.isnan(block), place.xp.full_like(block, np.inf)
        low = place.host(place.xp.min(place.xp.where(missing, far, block), axis=0))
        high = place.host(place.xp.max(place.xp.where(missing, -far, block), axis=0))
        lowest = np.fmin(lowest, np.where(np.isinf(low), np.nan, low))
        highest = np.fmax(highest, np.where(np.isinf(high), np.nan, high))
    return lowest, highest


def filled(X: Any, mean: Array, Z: Array, components: Array) -> Any:
    """A copy of a dense X with mean + Z components in place of NaN; where X is and in its type."""
    if not is_foreign(X):
        out, rows = np.array(X), incomplete_rows(X)
        if len(rows):
            out[rows] = np.where(np.isnan(X[rows]), Z[rows] @ components + mean, X[rows])
        return out
    place, parts = Place(X), []
    components_put, mean_put = place.put(components), place.put(mean)
    for here in row_slices(X):
        expected = place.xp.astype(place.put(Z[here]) @ components_put + mean_put, X.dtype, copy=False)
        parts.append(place.xp.where(place.xp.isnan(X[here, :]), expected, X[here, :]))
    return place.xp.concat(parts, axis=0)
