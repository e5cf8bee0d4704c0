"""Conditioning and densities of the two-view model against brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.numerics import linear_gaussian as lg
from gnomon.numerics.moments import output_sets
from numerics import build
from oracles import gaussian

ALL_TARGETS = pytest.mark.parametrize("targets", build.TARGETS)


@ALL_TARGETS
def test_row_posterior_and_density_are_brute_force(rng, targets):
    model, X, Y = build.draw(rng, targets=targets)
    p = build.params(model)
    observed = ~np.isnan(Y)
    post = lg.row_posterior(p, (X - p.m_x) @ p.W_x, Y, observed, output_sets(observed))
    mean, cov = gaussian.posterior(model, X, Y)
    assert_allclose(post.mean, mean, rtol=1e-9, atol=1e-11)
    assert_allclose(post.covs[post.of_row], cov, rtol=1e-9, atol=1e-11)
    energy = ((X - p.m_x) ** 2).sum(axis=1) / p.x_noise_var
    assert_allclose(
        lg.log_density(p, post, energy, X.shape[1], Y, observed), gaussian.log_density(model, X, Y), rtol=1e-10
    )


def test_many_covariances_are_applied_row_by_row(rng, monkeypatch):
    covs, of_row, b = rng.normal(size=(4, 3, 3)), rng.integers(0, 4, 50), rng.normal(size=(50, 3))
    expected = np.array([covs[g] @ v for g, v in zip(of_row, b, strict=True)])
    assert_allclose(lg.apply_by_row(covs, of_row, b), expected, rtol=1e-12)
    wide = rng.normal(size=(2, 1500, 1500)), rng.integers(0, 2, 3), rng.normal(size=(3, 1500))  # one row a chunk
    expected = np.array([wide[0][g] @ v for g, v in zip(wide[1], wide[2], strict=True)])
    assert_allclose(lg.apply_by_row(*wide), expected, rtol=1e-9, atol=1e-9)
