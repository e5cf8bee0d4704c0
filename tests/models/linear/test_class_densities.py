"""Classes by Bayes' rule: densities beside scipy's, rows that miss entries beside simulation, and what is far away."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_t

from gnomon.likelihoods.class_densities import CHUNK
from gnomon.models.linear.class_densities import learn, log_joint
from gnomon.numerics import linear_gaussian as lg


@pytest.fixture
def fitted(rng):
    """Parameters with three latent variables of which codes of three classes follow two, and labeled positions."""
    W_y = np.array([[1.0, 0.5, 0.0], [0.0, 0.8, 0.0]])
    params = lg.Params(rng.normal(size=(8, 3)), np.zeros(8), 0.7, W_y, np.zeros(2), np.full(2, 0.3))
    index = np.repeat([0, 1, 2], [4, 2, 6])
    return params, rng.normal(size=(12, 3)) + np.eye(3)[index], index


def test_densities_are_those_of_student(fitted, rng):
    params, Z, index = fitted
    weights, mean = np.ones(12), rng.normal(size=(5, 3))
    found = learn(params, Z, index, weights, 3)
    counts, U = np.array([4, 2, 6]), Z[:, :2]  # the third latent variable foretells nothing
    centers = np.array([U[index == c].sum(axis=0) / (counts[c] + 1) for c in range(3)])
    W = params.W_x
    total = (np.eye(3) - np.linalg.inv(np.eye(3) + W.T @ W / 0.7))[:2, :2]
    freedom = 2 + 2 + 12 - 3
    within = ((U - centers[index]).T @ (U - centers[index]) + 4 * total) / freedom
    expected = np.column_stack(
        [
            multivariate_t(centers[c], within * (1 + 1 / (counts[c] + 1)), freedom).logpdf(mean[:, :2])
            + np.log(counts[c] + 1)
            for c in range(3)
        ]
    )
    logs = log_joint(params, found, mean, lg.given_x(params).cov)
    assert_allclose(logs - logs[:, :1], expected - expected[:, :1], rtol=1e-9)


def test_weights_count_rows(fitted):
    params, Z, index = fitted
    weights = np.tile([1.0, 2.0, 3.0], 4)
    weighted, repeated = (
        learn(params, Z, index, weights, 3),
        learn(params, np.repeat(Z, weights.astype(int), axis=0), np.repeat(index, weights.astype(int)), np.ones(24), 3),
    )
    for one, other in zip(weighted, repeated, strict=True):
        assert_allclose(one, other, atol=1e-12)


def test_rows_that_miss_nothing_or_everything(fitted, rng):
    params, Z, index = fitted
    found, mean, cov = learn(params, Z, index, np.ones(12), 3), rng.normal(size=(4, 3)), lg.given_x(params).cov
    whole = log_joint(params, found, mean, cov)
    assert_allclose(log_joint(params, found, mean, np.tile(cov, (4, 1, 1))), whole, atol=1e-5)
    nothing = log_joint(params, found, np.zeros((1, 3)), np.eye(3)[None])[0]
    assert_allclose(nothing - nothing[0], np.log([1.0, 3 / 5, 7 / 5]), atol=1e-6)


def test_rows_that_miss_entries_follow_those_of_complete_rows(fitted, rng):
    """Positions of rows of one class that lose five of eight entries, drawn: their mean and covariance."""
    params, Z, index = fitted
    found, n, W = learn(params, Z, index, np.full(12, 1e4), 3), 200_000, params.W_x
    gain, total = lg.given_x(params).gain, np.eye(3) - lg.given_x(params).cov
    complete = rng.multivariate_normal(np.zeros(3), total, n)  # of rows of all classes, then moved to one class
    U = rng.multivariate_normal(found.centers[1], found.cov, n)
    axes = found.axes
    complete += (U - complete @ axes) @ np.linalg.solve(axes.T @ total @ axes, axes.T @ total)
    cov_x = W @ W.T + 0.7 * np.eye(8)
    back = np.linalg.solve(gain @ cov_x @ gain.T, gain @ cov_x)  # rows given their position: mean, and what is left
    left = cov_x - (gain @ cov_x).T @ back
    X = complete @ back + rng.multivariate_normal(np.zeros(8), left, n)
    few = lg.given_x(lg.Params(W[:3], np.zeros(3), 0.7, params.W_y, np.zeros(2), np.full(2, 0.3)))
    mean = X[:, :3] @ few.gain.T
    logs = log_joint(params, found, mean[:3], np.tile(few.cov, (3, 1, 1)))
    drawn = mean @ axes
    expected = [-0.5 * (u - drawn.mean(0)) @ np.linalg.solve(np.cov(drawn.T), u - drawn.mean(0)) for u in drawn[:3]]
    assert_allclose(logs[:, 1] - logs[0, 1], np.subtract(expected, expected[0]), atol=0.05)


def test_codes_that_nothing_foretells_leave_the_shares(fitted):
    params, Z, index = fitted
    blind = params._replace(W_y=np.zeros((2, 3)))
    logs = log_joint(blind, learn(blind, Z, index, np.ones(12), 3), Z, np.eye(3))
    assert_allclose(np.exp(logs), np.tile([5.0, 3.0, 7.0], (12, 1)))


def test_what_is_very_far_away_has_no_class_of_its_own(fitted):
    params, Z, index = fitted
    found = learn(params, Z, index, np.ones(12), 3)
    logs = log_joint(params, found, np.array([[1e200, -1e200, 0.0]]), np.eye(3))[0]
    assert np.isfinite(logs).all()
    assert np.ptp(logs) < 5


def test_many_rows_are_handled_some_at_a_time(fitted, rng):
    params, Z, index = fitted
    found, cov = learn(params, Z, index, np.ones(12), 3), lg.given_x(params).cov
    mean = rng.normal(size=(CHUNK // found.centers.size + 2, 3))
    logs = log_joint(params, found, mean, cov)
    assert_allclose(logs[-3:], log_joint(params, found, mean[-3:], cov), rtol=1e-12)
    assert_allclose(logs[:2], log_joint(params, found, mean[:2], cov), rtol=1e-12)


@pytest.mark.parametrize("loading, told", [([1e-160] * 3, 0), ([1.0, 1e-160, 1.0], 1)])
def test_axes_that_rows_tell_nothing_of_are_left_out(fitted, loading, told):
    params, Z, index = fitted
    blind = params._replace(W_x=params.W_x * loading)
    found = learn(blind, Z * loading, index, np.ones(12), 3)
    assert found.axes.shape == (3, told)
    logs = log_joint(blind, found, Z * loading, lg.given_x(blind).cov)
    assert np.isfinite(logs).all()
