"""Hotelling's T2, SPE and their limits, typed from the definitions on the eigenvectors of the sample covariance."""

import numpy as np
from scipy import stats


def monitor(X, k, rows):
    """T2 and SPE of rows (m, p) by k principal components of X (n, p)."""
    mean, S = X.mean(axis=0), np.cov(X, rowvar=False)
    values, vectors = np.linalg.eigh(S)
    values, P = values[::-1][:k], vectors[:, ::-1][:, :k]
    t = (rows - mean) @ P
    t2 = np.array([sum(t[i, j] ** 2 / values[j] for j in range(k)) for i in range(len(rows))])
    e = (rows - mean) - t @ P.T
    return t2, np.array([row @ row for row in e])


def limits(X, k, alpha):
    """Limit of T2 for a new row, and of SPE by Jackson and Mudholkar."""
    n = len(X)
    t2 = k * (n - 1) * (n + 1) / (n * (n - k)) * stats.f.ppf(1 - alpha, k, n - k)
    left = np.linalg.eigvalsh(np.cov(X, rowvar=False))[::-1][k:]
    one, two, three = (float((left**i).sum()) for i in (1, 2, 3))
    h = 1 - 2 * one * three / (3 * two**2)
    c = stats.norm.ppf(1 - alpha)
    spe = one * (c * np.sqrt(2 * two * h**2) / one + 1 + two * h * (h - 1) / one**2) ** (1 / h)
    return t2, spe
