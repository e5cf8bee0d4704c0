"""Independent factors in noise, drawn for tests."""

import numpy as np

from gnomon.models.ifa import noisy as model
from gnomon.models.ifa.noisy_factors import Noisy
from oracles import ifa as oracle

SIZES = (2, 3)


def log_pl_of(ids, sizes=SIZES):
    out = np.full((len(sizes), max(sizes), len(ids)), -np.inf)
    with np.errstate(divide="ignore"):
        for s, size in enumerate(sizes):
            out[s, :size] = np.log(oracle.one_of_k(ids[:, s], size).T)
    return out


def planted(rng, n=200, p=6, noise=0.3, gap=3.0, labeled=0.3):
    ids = np.stack([rng.integers(0, size, n) for size in SIZES], axis=1)
    Z = rng.normal(size=(n, 2)) + gap * ids
    A = rng.normal(size=(p, 2))
    X = Z @ A.T + noise * rng.normal(size=(n, p)) + rng.normal(size=p)
    return X, ids, np.where(rng.random(ids.shape) < labeled, ids, -1), A


def random_model(rng, p=4):
    mixtures = [(rng.dirichlet(np.full(k, 5.0)), rng.normal(size=k), rng.uniform(0.3, 1.0, k)) for k in SIZES]
    log_weights, means, variances = np.full((2, 3), -np.inf), np.zeros((2, 3)), np.ones((2, 3))
    for s, (w, m, v) in enumerate(mixtures):
        log_weights[s, : len(w)], means[s, : len(w)], variances[s, : len(w)] = np.log(w), m, v
    params = Noisy(rng.normal(size=(p, 2)), 0.4, log_weights, means, variances)
    return model.Fitted(params, SIZES, rng.normal(size=p)), mixtures
