"""Means of rows that belong together."""

import numpy as np

from .._types import Array, IntArray


def group_means(values: Array, place: IntArray) -> Array:
    """Means of the rows (n, ...) of each group 0, 1, ..., of which `place` (n,) is that of a row."""
    sizes = np.bincount(place)
    sums = np.add.reduceat(values[np.argsort(place, kind="stable")], np.cumsum(sizes) - sizes, axis=0)
    return np.asarray((sums.T / sizes).T)
