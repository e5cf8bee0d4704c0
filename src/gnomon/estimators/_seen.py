"""Which rows a model has been fitted to, known by a number for each."""

import numpy as np

from .._types import Array, BoolArray
from ..numerics.scramble import random_rows
from ..rows.contract import Rows
from ..rows.prints import Numbers, prints

N_COLUMNS = 64  # of a dense table, those with the largest loadings
TINY = 1e-300
MANY = 20  # rows for each column, beyond which it does not matter what a row has pulled to itself


def remembered(rows: Rows, loadings: Array, unit: float, dimension: float | None = None) -> Numbers:
    """Prints of the rows of a fit; none of very many, for the columns or for the `dimension` of their noise."""
    n, p = rows.shape
    return np.zeros(0, dtype=np.uint64) if n > MANY * (dimension or p) else np.unique(_prints(rows, loadings, unit))


def seen(rows: Rows, loadings: Array, unit: float, known: Numbers) -> BoolArray:
    """Mask (n,) of the rows that the fit was to."""
    if len(known) == 0:
        return np.zeros(rows.shape[0], dtype=bool)
    return np.isin(_prints(rows, loadings, unit), known)


def some_of(rows: Rows, mean: Array, unit: float, most: int) -> Rows:
    """All rows, or as many as `most`, which follow from their distances from a mean and not from any order."""
    if rows.shape[0] <= most:
        return rows
    lengths = rows.in_units(mean, unit).lengths()
    return rows.take(random_rows(most, lengths / max(float(lengths.mean()), TINY), np.random.default_rng(0)))


def _prints(rows: Rows, loadings: Array, unit: float) -> Numbers:
    strongest = np.argsort(-(loadings**2).sum(axis=0), kind="stable")[:N_COLUMNS]
    return prints(rows, np.sort(strongest), unit)
