"""How many components a table carries."""

from typing import Any

import numpy as np

from .._types import Array
from .kind import is_sparse
from .summary import power_of_two

SEVERAL, BESIDE = 64, 10  # directions in which a rank is looked for; so many beside those of interest are enough
EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)  # no noise variance is below TINY
NOTHING = 1e-12  # of the energy: directions with less are rounding of second moments


def spare_rank(X: Any, most: int = SEVERAL - 1) -> int:
    """The most components, up to `most`, that leave variance for noise: rank of the centered rows less one.

    In the units of the columns: the smallest are lost beside the largest where second moments are summed.
    """
    n, p = X.shape
    n_draws = min(n - 1, p, SEVERAL, most + 1 + BESIDE)
    values = X.data if is_sparse(X) else X
    unit = power_of_two(float(np.nanmax(np.abs(values), initial=0.0)))
    X = (X if unit == 1.0 else X * (1.0 / unit)).astype(np.float64, copy=False)
    if is_sparse(X):  # centered in its products
        mean, total = np.asarray(X.mean(axis=0)).ravel(), float(X.multiply(X).sum())
    else:
        X, total = _centered(X)
        mean = np.zeros(X.shape[1])
    energy = total - n * float(mean @ mean)
    draws = np.random.default_rng(0).normal(size=(len(mean), n_draws))
    U = X @ draws - mean @ draws
    basis = np.linalg.qr(X.T @ U - np.outer(mean, U.sum(axis=0)))[0]
    energies = np.linalg.svd(X @ basis - mean @ basis, compute_uv=False) ** 2
    least = max(NOTHING * energy, (n * EPS) ** 2 * total, n * p * TINY / unit / unit)
    return min(most, max(0, int((energies > least).sum()) - 1))


def _centered(X: Array) -> tuple[Array, float]:
    """Columns around their means that vary by more than rounding, zero where missing, and the sum of their squares."""
    missing = np.isnan(X)
    if not missing.any():
        mean = X.mean(axis=0)
        X = X - mean
    else:
        mean = np.nanmean(X, axis=0)
        X = np.where(missing, 0.0, X - mean)
    squares = np.einsum("ij,ij->j", X, X)
    varies = squares > len(X) * (len(X) * EPS * mean) ** 2
    return X if varies.all() else X[:, varies], float(squares[varies].sum())


def of_one_unit(X: Any) -> Any:
    """Dense columns in units of their deviations, as models see them that scale columns themselves."""
    if is_sparse(X):
        return X
    return X / units_of_columns(X)


def units_of_columns(X: Array) -> Array:
    """Deviations (p,) of dense columns, maybe with gaps; one where a column does not vary but by rounding."""
    unit = power_of_two(float(np.nanmax(np.abs(X), initial=0.0)))
    X = X / unit
    std = np.nanstd(X, axis=0)
    return np.where(std > len(X) * EPS * np.abs(np.nanmean(X, axis=0)), std * unit, 1.0)
