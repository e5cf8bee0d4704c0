"""How many components a table carries."""

from typing import Any

import numpy as np

from .kind import is_sparse
from .summary import power_of_two

SEVERAL = 64  # directions in which a rank is looked for
EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)  # no noise variance is below TINY
NOTHING = 1e-12  # of the energy: directions with less are rounding of second moments


def spare_rank(X: Any) -> int:
    """The most components, up to 63, that leave variance for noise: rank of the centered rows less one.

    In the units of the columns: the smallest are lost beside the largest where second moments are summed.
    """
    n, p = X.shape
    most = min(n - 1, p, SEVERAL)
    values = X.data if is_sparse(X) else X
    unit = power_of_two(float(np.nanmax(np.abs(values), initial=0.0)))
    X = (X if unit == 1.0 else X * (1.0 / unit)).astype(np.float64)
    mean = np.asarray(X.mean(axis=0)).ravel() if is_sparse(X) else np.nanmean(X, axis=0)
    if not is_sparse(X):  # a sparse X is centered in its products
        X = np.nan_to_num(X - mean)
        varies = np.sqrt((X**2).mean(axis=0)) > n * EPS * np.abs(mean)
        X, mean = X[:, varies], np.zeros(varies.sum())
    total = float((X.multiply(X) if is_sparse(X) else X**2).sum())
    energy = total - n * float(mean @ mean)
    draws = np.random.default_rng(0).normal(size=(len(mean), most))
    U = X @ draws - mean @ draws
    basis = np.linalg.qr(X.T @ U - np.outer(mean, U.sum(axis=0)))[0]
    energies = np.linalg.svd(X @ basis - mean @ basis, compute_uv=False) ** 2
    least = max(NOTHING * energy, (n * EPS) ** 2 * total, n * p * TINY / unit / unit)
    return max(0, int((energies > least).sum()) - 1)
