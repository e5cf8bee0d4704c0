"""Which entries of a table are missing, and filling them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import Array, IntArray
from .kind import is_sparse
from .namespace import Place, namespace, row_slices, to_host


def incomplete_rows(X: Any) -> IntArray:
    """Indices of the rows with a NaN, of any dense X; none in a sparse one."""
    xp = Place(X).xp
    if is_sparse(X) or not bool(xp.isnan(xp.sum(X))):  # one sum tells of any NaN
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(to_host(xp.any(xp.isnan(X), axis=1)))


def column_range(X: Any) -> tuple[Array, Array]:
    """Smallest and largest observed entry of each column (p,), NaN where none is; on the host."""
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
    place, xp, parts = Place(X), namespace(X), []
    components_put, mean_put = place.put(components), place.put(mean)
    for here in row_slices(X):
        expected = xp.astype(place.put(Z[here]) @ components_put + mean_put, X.dtype, copy=False)
        parts.append(xp.where(xp.isnan(X[here, :]), expected, X[here, :]))
    return xp.concat(parts, axis=0)
