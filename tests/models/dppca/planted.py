"""Rows of a planted model, some of them labeled, for the tests of DPPCA."""

import numpy as np

from gnomon.models.dppca.reduction import reduce_rows
from gnomon.rows import read
from oracles import dppca as oracle


def planted(rng, n=120, **kwargs):
    true = oracle.random_model(rng, **kwargs)
    X, index = oracle.draw(rng, true, n)
    index[:6] = np.tile(np.arange(3), 2)
    X[:6] = true.means[index[:6]] + rng.normal(size=(6, X.shape[1]))
    return X, np.where(np.arange(n) < 24, index, -1)


def reduced(X, index):
    return reduce_rows(read(X), np.eye(3)[index] * (index >= 0)[:, None])
