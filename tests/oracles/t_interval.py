"""Half-widths of 95 % intervals of numbers foretold from latent positions, typed from the textbook, row by row."""

import numpy as np
from scipy.stats import t


def shares(covs, w, var, pull):
    """What share of the departure of a label its own row has taken over, with loadings w (k,) of y."""
    found = []
    for C, v, g in zip(covs, var, pull, strict=True):
        found.append(w @ np.linalg.inv(np.eye(len(w)) - g * C) @ (g * C) @ C @ w / v)
    return np.array(found)


def half_widths(Z, y, mean, var, share, weights, new_Z, new_var):
    """Of labeled rows at Z (n, k) with values y, which the model foretells with mean and var; of rows at new_Z."""
    n, k = weights.sum(), Z.shape[1]
    A, B = (np.column_stack([np.ones(len(rows)), rows]) for rows in (Z, new_Z))
    unit = np.average(var, weights=weights)
    total = weights @ (y - np.average(y, weights=weights)) ** 2 / (n - 1) / unit
    information = sum(w / v * np.outer(a, a) for w, v, a in zip(weights, var, A, strict=True))
    if n - k - 1 >= 1:
        freedom = n - k - 1
        plain = weights @ ((y - mean) ** 2 / var) / freedom
        apart = weights @ ((y - mean) ** 2 / var / (1 - share) ** 2) / freedom
        scale = min(apart, max(plain, total))
    else:  # nothing is left to tell the noise by: it is taken to be all there is, and loadings to explain no more
        freedom, scale = n - 1, total
        information += np.diag([0.0] + [1 / max(total, 1.0) / unit] * k)
    leverage = np.array([b @ np.linalg.solve(information, b) for b in B])
    return t.ppf(0.975, freedom) * np.sqrt(scale * (new_var + leverage))
