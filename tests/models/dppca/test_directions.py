"""The projection of mixtures: Fisher's directions by a generalized eigenproblem, the mean of covariances."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh

from gnomon.models.dppca.directions import FILLED_STD, directions, mean_within, separations
from gnomon.models.dppca.mixture import Params, Within

R = 7


def mixture(rng, n_classes=4, n_factors=3):
    Q = np.linalg.qr(rng.normal(size=(R, n_factors)))[0]
    values = np.sort(rng.uniform(1.0, 4.0, n_factors))[::-1]
    prior = rng.dirichlet(np.full(n_classes, 5.0))
    return Params(prior, rng.normal(size=(n_classes, R)), Within(Q, values, rng.uniform(0.2, 0.6)))


def dense(within):
    Q, values, noise = within
    return (Q * (values - noise)) @ Q.T + noise * np.eye(R)


def between(params):
    away = params.means - params.prior @ params.means
    return (away * params.prior[:, None]).T @ away


@pytest.mark.parametrize("n_targets", [1, 2])
def test_directions_solve_the_generalized_eigenproblem(rng, n_targets):
    parts = [mixture(rng) for _ in range(n_targets)]
    S = sum(dense(one.within) for one in parts) / n_targets
    B = sum(between(one) for one in parts)
    D, separate = directions(parts, 3)
    assert separate == 3
    values, vectors = eigh(B, S)
    expected = vectors[:, ::-1][:, :3]
    assert_allclose(separations(parts), values[::-1][: 3 * n_targets], atol=1e-9)
    expected *= np.sign((expected * D).sum(axis=0))
    assert_allclose(D, expected, atol=1e-8)


def test_filled_directions_are_orthogonal_to_the_others_and_short(rng):
    one = mixture(rng, n_classes=3)
    D, separate = directions([one], 5)
    assert separate == 2
    lengths = np.r_[np.ones(2), np.full(3, FILLED_STD**2)]
    assert_allclose(D.T @ dense(one.within) @ D, np.diag(lengths), atol=1e-10)
    assert_allclose(D[:, 2:].T @ (one.means - one.prior @ one.means).T, 0.0, atol=1e-9)


@pytest.mark.parametrize("n_factors", [2, 4])
def test_the_mean_of_covariances_is_that_of_the_matrices(rng, n_factors):
    parts = [mixture(rng, n_factors=n_factors).within for _ in range(2)]
    found = mean_within(parts)
    assert_allclose(dense(found), (dense(parts[0]) + dense(parts[1])) / 2, atol=1e-10)
    assert_allclose(found.Q.T @ found.Q, np.eye(found.Q.shape[1]), atol=1e-10)
    assert (np.diff(found.values) <= 1e-12).all()
