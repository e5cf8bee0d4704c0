"""How many components a table carries."""

from typing import Any

import numpy as np

from .kind import is_sparse

SEVERAL = 64  # directions in which a rank is looked for
NOTHING = 1e-12  # of the energy: directions with less are rounding of second moments


def spare_rank(X: Any) -> int:
    """The most components, up to 63, that leave variance for noise: rank of the centered rows less one.

    In the units of the columns: the smallest are lost beside the largest where second moments are summed.
    """
    n, p = X.shape
    most = min(n - 1, p, SEVERAL)
    if is_sparse(X):
        return int(most - 1)
    X = np.asarray(X, dtype=np.float64)
    mean = np.nanmean(X, axis=0)
    std = np.nanstd(X, axis=0)
    varies = std > n * np.finfo(X.dtype).eps * np.abs(mean)
    if not varies.any():
        return 0
    centered = np.nan_to_num((X[:, varies] - mean[varies]) / std.max())
    draws = np.random.default_rng(0).normal(size=(varies.sum(), most))
    basis = np.linalg.qr(centered.T @ (centered @ draws))[0]
    energies = np.linalg.svd(centered @ basis, compute_uv=False) ** 2
    return max(0, int((energies > NOTHING * np.sum(centered**2)).sum()) - 1)
