"""Small problems of SEPCA, and the library's value and bound at a point."""

import numpy as np

from gnomon.models.sepca import data as of
from gnomon.models.sepca import k_support, primal


def problem(rng, n=9, r=3, q=3, k=2, beta=0.3, unlabeled=0):
    """Random rows, classes that depend on them, the last rows unlabeled."""
    rows = rng.normal(size=(n, r))
    rows -= rows.mean(axis=0)
    rows /= np.sqrt((rows**2).sum() / n)
    index = np.concatenate([np.arange(q), (rows[q:, 0] > 0).astype(int)])
    labeled = np.arange(n - unlabeled)
    return of.Data(rows, rows, np.eye(q)[index[labeled]], labeled, k, beta)


def full_labels(data):
    Y = np.zeros((len(data.rows), data.Y.shape[1]))
    Y[data.labeled] = data.Y
    return Y


def at(data, F):
    """Value and bound of the library at F, its best bias, and the softmax there."""
    multinomial = primal.Multinomial(data)
    point = (F, F[:, : data.rows.shape[1]] @ data.base.T)
    slope = multinomial.slope(point)
    sums = multinomial._sums(*point)
    return slope, sums


def squared_norm(F, k):
    return k_support.squared_norm(np.linalg.svd(F, compute_uv=False), k)
