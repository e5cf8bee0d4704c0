"""The M-step of independent factors in noise, against regression and moments of latents that are known."""

import numpy as np
from numpy.testing import assert_allclose

from gnomon.models.ifa.noisy_factors import LatentMoments, Noisy, maximize


def test_maximum_for_known_latents_is_regression_with_an_intercept(rng):
    n, p, sizes = 120, 5, (2, 3)
    ids = np.stack([rng.integers(0, size, n) for size in sizes])
    Z = rng.normal(size=(n, 2)) + 2.0 * ids.T + 1.5  # latents whose mean is far from zero
    X = Z @ rng.normal(size=(2, p)) + 0.3 * rng.normal(size=(n, p))
    X -= X.mean(axis=0)
    member = ids[:, None, :] == np.arange(3)[:, None]  # (2, 3, n)
    counts, first, second = (np.einsum("skn,ns->sk", member, Z**power) for power in (0, 1, 2))
    log_weights = np.where(np.arange(3) < np.array(sizes)[:, None], -1.0, -np.inf)
    before = Noisy(np.zeros((p, 2)), 1.0, log_weights, np.zeros((2, 3)), np.ones((2, 3)))

    sums = LatentMoments(0.0, Z.T @ Z, counts, first, second)
    found = maximize(sums, X.T @ Z, float(np.sum(X**2)), n, before, (0.0, 0.0))

    design = np.column_stack([Z, np.ones(n)])
    slopes, squares = np.linalg.lstsq(design, X, rcond=None)[:2]
    assert_allclose(found.A, slopes[:2].T * Z.std(axis=0), rtol=1e-9)  # latents are given variance one
    assert_allclose(found.noise_var, squares.sum() / (n * p), rtol=1e-9)
    unit = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    for s, size in enumerate(sizes):
        for k in range(size):
            own = unit[ids[s] == k, s]
            assert_allclose(np.exp(found.log_weights[s, k]), len(own) / n)
            assert_allclose([found.means[s, k], found.variances[s, k]], [own.mean(), own.var()], rtol=1e-9)
