"""Posterior, density, predictions and samples against the joint Gaussian of x, y and z."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from gnomon.likelihoods.layout import Layout
from gnomon.models.linear.class_likelihood import LabelParams
from gnomon.models.linear.conditioning import Model, log_density, posterior, predict, sample
from gnomon.numerics.linear_gaussian import Params
from gnomon.rows import read

P, Q, K, N = 5, 2, 2, 6


def planted(rng):
    return Params(
        rng.normal(size=(P, K)),
        rng.normal(size=P),
        0.4,
        rng.normal(size=(Q, K)),
        rng.normal(size=Q),
        np.array([0.3, 0.7]),
    )


def as_model(params):
    """The same model, its outputs Gaussian sites."""
    x = params._replace(W_y=np.zeros((0, K)), m_y=np.zeros(0), y_noise_var=np.zeros(0))
    return Model(
        x, LabelParams(params.W_y, params.m_y, params.y_noise_var), Layout(("gaussian",) * Q, (0,) * Q), "exact"
    )


def dense(params, v):
    """Mean and covariance of z, and log-density, given the entries of v = (x, y) that are no NaN."""
    W, m = np.vstack([params.W_x, params.W_y]), np.concatenate([params.m_x, params.m_y])
    noise = np.append(np.full(P, params.x_noise_var), params.y_noise_var)
    o = ~np.isnan(v)
    S = W[o] @ W[o].T + np.diag(noise[o])
    gain = np.linalg.solve(S, W[o]).T
    return gain @ (v - m)[o], np.eye(K) - gain @ W[o], multivariate_normal(m[o], S).logpdf(v[o])


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("form", [lambda params: params, as_model])
def test_posterior_and_density_are_those_of_the_joint_gaussian(rng, form, holes):
    params = planted(rng)
    X, Y = rng.normal(size=(N, P)), rng.normal(size=(N, Q))
    X[[0, 1], [2, 4]] = np.nan if holes else 0.0
    Y[[0, 3, 3], [1, 0, 1]] = np.nan
    mean, cov = posterior(form(params), read(X, masked=holes), Y)
    logs = log_density(form(params), read(X, masked=holes), Y)
    for i, v in enumerate(np.hstack([X, Y])):
        z, S, log = dense(params, v)
        assert_allclose(mean[i], z, atol=1e-10)
        assert_allclose(np.broadcast_to(cov, (N, K, K))[i], S, atol=1e-10)
        assert_allclose(logs[i], log, atol=1e-9)


@pytest.mark.parametrize("holes", [False, True])
def test_predictions_are_the_conditional_law_of_y(rng, holes):
    params = planted(rng)
    X = rng.normal(size=(N, P))
    X[0, 2] = np.nan if holes else 0.0
    mean, cov = predict(params, read(X, masked=holes))
    values, deviations = predict(as_model(params), read(X, masked=holes))
    for i, x in enumerate(X):
        z, S, _ = dense(params, np.append(x, [np.nan] * Q))
        wanted = params.W_y @ S @ params.W_y.T + np.diag(params.y_noise_var)
        assert_allclose(mean[i], params.m_y + params.W_y @ z, atol=1e-10)
        assert_allclose(np.broadcast_to(cov, (N, Q, Q))[i], wanted, atol=1e-10)
        assert_allclose([v[i] for v in values], mean[i], atol=1e-10)
        assert_allclose(np.broadcast_to(deviations, (N, Q))[i] ** 2, np.diag(wanted), atol=1e-10)


@pytest.mark.parametrize("form", [lambda params: params, as_model])
def test_samples_have_the_moments_of_the_model(rng, form):
    params = planted(rng)
    v = np.hstack(sample(form(params), 200_000, rng))
    W = np.vstack([params.W_x, params.W_y])
    wanted = W @ W.T + np.diag(np.append(np.full(P, params.x_noise_var), params.y_noise_var))
    size = np.sqrt(np.diag(wanted))
    assert_allclose(v.mean(axis=0), np.concatenate([params.m_x, params.m_y]), atol=0.015 * size.max())
    assert np.abs((np.cov(v.T) - wanted) / np.outer(size, size)).max() < 0.02


@pytest.mark.parametrize("form", [lambda params: params, as_model])
def test_rows_that_observe_the_same_share_a_covariance(rng, form):
    n, p, k = 30_000, 12, 16  # a covariance of each row would be 61 MB
    params = Params(rng.normal(size=(p, k)), np.zeros(p), 0.4, rng.normal(size=(Q, k)), np.zeros(Q), np.full(Q, 0.5))
    X = rng.normal(size=(n, p))
    X[::50, 3] = X[::70, 5] = np.nan
    rows, model = read(X, masked=True), form(params)
    if isinstance(model, Model):
        model = model._replace(x=model.x._replace(W_y=np.zeros((0, k))))
    for ask in (lambda: posterior(model, rows, with_cov=False), lambda: log_density(model, rows)):
        tracemalloc.start()
        ask()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 45e6
