"""How many components a table carries."""

from typing import Any

import numpy as np

from .kind import is_sparse

SEVERAL = 64  # directions in which a rank is looked for


def spare_rank(X: Any) -> int:
    """The most components, up to 63, that leave variance for noise: rank of the centered rows less one."""
    n, p = X.shape
    most = min(n - 1, p, SEVERAL)
    if is_sparse(X):
        return int(most - 1)
    X = np.asarray(X, dtype=np.float64)
    eps = np.finfo(X.dtype).eps
    mean = np.nanmean(X, axis=0)
    std = np.nanstd(X, axis=0)
    varies = std > n * eps * np.abs(mean)
    if not varies.any():
        return 0
    scaled = np.nan_to_num((X - mean)[:, varies] / std[varies])
    rounding = (n + p) * eps * (1.0 + (np.abs(mean[varies]) / std[varies]).max())
    sizes = np.linalg.svd(scaled @ np.random.default_rng(0).normal(size=(varies.sum(), most)), compute_uv=False)
    return max(0, int((sizes > rounding * sizes[0]).sum()) - 1)
