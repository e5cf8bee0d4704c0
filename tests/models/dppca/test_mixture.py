"""Densities from coordinates of the rows, and the projection without its noise, beside the joint Gaussian."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.models.dppca.mixture import Params, Within, log_joint, noise_free
from gnomon.numerics.normalize import normalized
from oracles import dppca as oracle

P, R = 8, 6


def both(rng):
    """A model in all of eight features whose means and factors lie in six of them, and in those six."""
    V, means = rng.normal(size=(R, 3)), rng.normal(size=(3, R)) + 2.0
    prior, noise = rng.dirichlet(np.full(3, 5.0)), 0.4
    Q, sizes, _ = np.linalg.svd(V, full_matrices=False)
    beyond = np.zeros((P - R, 3))
    dense = oracle.Model(prior, np.hstack([means, beyond.T]), np.vstack([V, beyond]), noise)
    return Params(prior, means, Within(Q, sizes**2 + noise, noise)), dense


def test_densities_are_those_of_all_features(rng):
    params, dense = both(rng)
    X = 2.0 + rng.normal(size=(20, P))
    joint = log_joint(params, X[:, :R], (X**2).sum(axis=1), P)
    assert_allclose(joint, oracle.log_joint(dense, X), rtol=1e-10)
    resp, density = normalized(joint)
    assert_allclose(resp, oracle.responsibilities(dense, X, np.full(20, -1)), rtol=1e-8, atol=1e-12)
    assert_allclose(density, np.logaddexp.reduce(oracle.log_joint(dense, X), axis=1), rtol=1e-10)


def test_a_class_of_no_weight_has_no_rows(rng):
    params, _ = both(rng)
    X = rng.normal(size=(5, P))
    none = params._replace(prior=np.array([0.3, 0.0, 0.7]))
    resp, density = normalized(log_joint(none, X[:, :R], (X**2).sum(axis=1), P))
    assert (resp[:, 1] == 0).all()
    assert np.isfinite(density).all()


@pytest.mark.parametrize("k", [2, 4])
def test_the_projection_without_noise_is_that_of_the_joint_gaussian(rng, k):
    params, dense = both(rng)
    X, D = 2.0 + rng.normal(size=(5, P)), rng.normal(size=(R, k))
    X[:, R:] = 0.0
    resp = oracle.responsibilities(dense, X, np.full(5, -1))
    mean, cov = noise_free(params, D).moments(X[:, :R], resp)
    for i, x in enumerate(X):
        expected = oracle.noise_free_moments(dense, np.vstack([D, np.zeros((2, k))]), np.zeros(P), x, resp[i])
        assert_allclose(mean[i], expected[0], rtol=1e-8, atol=1e-10)
        assert_allclose(cov[i], expected[1], rtol=1e-7, atol=1e-9)
