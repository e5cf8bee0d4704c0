"""With how many components a model should fill missing entries: as many as foretell entries that it has not seen.

Where few entries are observed, components beyond those of the signal fit noise, and what they fill in is further off
than column means are.
"""

import warnings
from collections.abc import Callable

import numpy as np

from .._types import Array, BoolArray, IntArray
from .spare import spare_rank, units_of_columns
from .summary import power_of_two

FEWER = (5, 3, 2, 1)  # components that are tried beside the most
ENOUGH = 1000  # observed entries of a column: so many bear all components
HELD_OUT = 10  # one entry of so many
MOST_COLUMNS = 1000  # that tell how many components there are
TOGETHER = 8  # rows that observe two columns, from which on one foretells the other better than its mean does
ROUGH = 1e-3  # tolerance of fits that are compared


def parts_together(seen: BoolArray) -> list[IntArray]:
    """Columns of a mask (n, p) that `TOGETHER` rows observe, two by two in a chain; nearly always one part of all."""
    seen, left, parts = seen.astype(np.float32), np.ones(seen.shape[1], dtype=bool), []
    most = min(TOGETHER, int(seen.sum(axis=0).max()))
    while left.any():
        new = np.flatnonzero(left)[:1]
        part = [new]
        left[new] = False
        while len(new) and left.any():
            beside = np.flatnonzero(left)
            new = beside[(seen[:, new].T @ seen[:, beside] >= most).any(axis=0)]
            left[new] = False
            part.append(new)
        parts.append(np.sort(np.concatenate(part)))
    return parts


def n_foretelling(X: Array, most: int, fill: Callable[[Array, int], Array]) -> int:
    """How many components foretell best what is held out of rows (n, p) that miss entries, `most` where rows are many.

    `fill` fills rows with so many. Errors count in units of the deviations of columns.
    """
    if most < 2 or np.count_nonzero(~np.isnan(X)) >= ENOUGH * X.shape[1]:
        return most
    X, held = held_out(X)
    rest = np.where(held, np.nan, X)
    if not held.any() or spare_rank(rest, most) < most:
        return most
    units, tried = units_of_columns(X), (most, *(k for k in FEWER if k < most))
    errors = []
    for k in tried:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a fit that nobody sees
            errors.append(float((((fill(rest, k) - X) / units)[held] ** 2).sum()))
    return tried[int(np.argmin(errors))]


def held_out(X: Array) -> tuple[Array, BoolArray]:
    """Columns that vary, at most `MOST_COLUMNS`, and a mask of entries to hold out.

    Which ones follows from how far rows and columns are out, not from their order.
    """
    X = X.astype(np.float64) / power_of_two(float(np.nanmax(np.abs(X))))
    Z = (X - np.nanmean(X, axis=0)) / units_of_columns(X)
    varies = np.nanmean(Z**2, axis=0) > 0.5  # others have a deviation of rounding in place of one
    X, Z = X[:, varies], Z[:, varies]
    columns = np.argsort(np.nanmean(np.abs(Z), axis=0), kind="stable")
    if len(columns) > MOST_COLUMNS:
        columns = columns[np.arange(MOST_COLUMNS) * len(columns) // MOST_COLUMNS]
    X, Z = X[:, columns], Z[:, columns]
    seen = ~np.isnan(X)
    rows = np.argsort(np.nansum(Z**2, axis=1) / np.maximum(seen.sum(axis=1), 1), kind="stable")
    held = np.zeros(X.shape, dtype=bool)
    held[rows] = (np.arange(len(X))[:, None] + 3 * np.arange(X.shape[1])) % HELD_OUT == 0
    held &= seen
    held[:, (seen & ~held).sum(axis=0) < 2] = False
    return X, held
