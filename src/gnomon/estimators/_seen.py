"""Which rows a model has been fitted to, known by a number for each."""

import numpy as np

from .._types import Array, BoolArray
from ..rows.contract import Rows

N_COLUMNS = 64  # of a dense table, those with the largest loadings
MANY = 50  # rows for each column, beyond which it does not matter what a row has pulled to itself


def prints(rows: Rows, loadings: Array, unit: float) -> Array:
    """A number (n,) for every row, the same for the same entries to single precision; `unit` is of the size of X."""
    X = rows.gather()
    if isinstance(X, np.ndarray):
        values = X[:, np.sort(np.argsort(-(loadings**2).sum(axis=0), kind="stable")[:N_COLUMNS])]
    else:
        values = rows.in_units(np.zeros(rows.shape[1]), 1.0).times(loadings.T)
    with np.errstate(over="ignore"):
        bits = (values / 2.0 ** np.round(np.log2(unit)) + 0.0).astype(np.float32).view(np.uint32).astype(np.uint64)
    factors = np.random.default_rng(0).integers(1, 2**63, size=bits.shape[1], dtype=np.uint64) | np.uint64(1)
    return np.asarray((bits * factors).sum(axis=1, dtype=np.uint64))


def remembered(rows: Rows, loadings: Array, unit: float) -> Array:
    """Prints of the rows of a fit; none of very many."""
    n, p = rows.shape
    if n > MANY * p:
        return np.zeros(0, dtype=np.uint64)
    return np.unique(prints(rows, loadings, unit))


def seen(rows: Rows, loadings: Array, unit: float, known: Array) -> BoolArray:
    """Mask (n,) of the rows that the fit was to."""
    if len(known) == 0:
        return np.zeros(rows.shape[0], dtype=bool)
    return np.isin(prints(rows, loadings, unit), known)
