"""Fits over a grid of spectra, labels, patterns and tails: each converges, to what independent EM does not exceed."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from estimators.support import oracle
from gnomon import SPPCA
from oracles import em, gaussian

N, P, Q = 60, 8, 2
TOGETHER = list(product((0, 2, 6), (1, 3, 6), (0.1, 0.5, 1.0), (False, True)))
SCATTERED = list(product((0, 2, 6), (1, 3, 6), (None,), (False, True)))
QUICK = 11  # every so many cells, which meet each value of each axis; the others with the slow tests


def cells():
    every = TOGETHER + SCATTERED
    return [pytest.param(*cell, marks=[] if i % QUICK == 0 else pytest.mark.slow) for i, cell in enumerate(every)]


def table(rank, share, heavy, seed=0):
    """X, and Y of unit variance, NaN in all but a share of the rows, or with None in half of the entries."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_t(3, (N, rank)) if heavy else rng.standard_normal((N, rank))
    X = rng.standard_normal((N, P))
    if heavy:
        for j in range(1, P):
            X[:, j] = 0.6 * X[:, j - 1] + 0.8 * X[:, j]
    X += Z @ (np.linspace(1.5, 0.4, rank)[:, None] * rng.standard_normal((rank, P)))
    Y = Z @ rng.standard_normal((rank, Q)) + 0.5 * rng.standard_normal((N, Q))
    if share is None:
        Y[rng.random(Y.shape) < 0.5] = np.nan
    else:
        Y[max(round(share * N), 2 * Q) :] = np.nan
    return X, (Y - np.nanmean(Y, axis=0)) / np.nanstd(Y, axis=0)


def moved(model, rng, size):
    """Loadings and noise variances a little away."""
    s2_y = model.s2_y * np.exp(size * rng.standard_normal())
    return model._replace(
        W_x=model.W_x + size * np.sqrt(model.s2_x) * rng.standard_normal(model.W_x.shape),
        W_y=model.W_y + size * np.sqrt(model.s2_y[0]) * rng.standard_normal(model.W_y.shape),
        s2_x=model.s2_x * np.exp(size * rng.standard_normal()),
        s2_y=s2_y,
    )


@pytest.mark.parametrize(("rank", "K", "share", "heavy"), cells())
def test_it_converges_where_independent_em_finds_nothing_better(rank, K, share, heavy):
    X, Y = table(rank, share, heavy)
    model = SPPCA(K).fit(X, Y)
    assert model.converged_
    assert model.objective_residual_ <= model.tol
    found = oracle(model)
    best = gaussian.log_density(found, X, Y).sum()
    assert_allclose(model.log_likelihood_, best, rtol=1e-9)
    rng, slack = np.random.default_rng(1), 1e-6 * N
    for size in (1e-3, 1e-2, 0.1):
        assert gaussian.log_density(moved(found, rng, size), X, Y).sum() <= best + slack
    if share is not None:  # that EM takes rows with all targets or none
        for start in (moved(found, rng, 0.3), em.start(rng, X, Y, K)):
            assert em.fit(start, X, Y, 40)[1].max() <= best + slack
