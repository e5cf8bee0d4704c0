"""CPPCA: how far predicted numbers may lie from the truth."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon import CPPCA, SPPCA


def planted(rng, n=3000):
    """Rows, and per row a real output, a count and a class of the same latent plane."""
    Z = rng.normal(size=(n, 2))
    X = Z @ rng.normal(size=(2, 6)) + 0.8 * rng.normal(size=(n, 6))
    Y = np.empty((n, 3), dtype=object)
    Y[:, 0] = Z @ [1.5, -1.0] + 0.5 * rng.normal(size=n)
    Y[:, 1] = rng.poisson(np.exp(0.8 * Z[:, 1] + 0.5)).astype(float)
    Y[:, 2] = np.where(Z[:, 0] + 0.3 * rng.normal(size=n) > 0, "high", "low")
    return X, Y


KINDS = ["gaussian", "poisson", "categorical"]


def test_intervals_cover_and_deviations_are_those_of_the_errors(rng):
    X, Y = planted(rng)
    seen = Y.copy()
    seen[300:] = None
    model = CPPCA(2, families=KINDS).fit(X, seen)
    mean, std = model.predict(X[300:], return_std=True)
    assert std.shape == mean.shape == (2700, 3)
    assert np.isnan(std[:, 2]).all()
    for j in range(2):
        error = (Y[300:, j].astype(float) - mean[:, j].astype(float)) / std[:, j]
        assert abs(error.mean()) < 0.15
        assert_allclose(np.mean(error**2), 1.0, atol=0.15)
    inside = np.abs(Y[300:, 0].astype(float) - mean[:, 0].astype(float)) < 1.959964 * std[:, 0]
    assert abs(inside.mean() - 0.95) < 0.02


def test_they_are_those_of_draws_from_the_posterior(rng):
    X, Y = planted(rng, 200)
    model = CPPCA(2, families=KINDS).fit(X, Y)
    mean, std = model.predict(X[:2], return_std=True, uncertainty="plug-in")
    center, cov = model.posterior(X[:2], uncertainty="plug-in")
    for i in range(2):
        Z = rng.multivariate_normal(center[i], cov, size=400_000)
        predictors = Z @ model.y_loadings_.T + model.y_intercept_
        real = predictors[:, 0] + np.sqrt(model.y_noise_variance_[0]) * rng.normal(size=len(Z))
        count = rng.poisson(np.exp(predictors[:, 1]))
        assert_allclose(mean[i, :2].astype(float), [real.mean(), count.mean()], rtol=0.01, atol=0.01)
        assert_allclose(std[i, :2], [real.std(), count.std()], rtol=0.01)


def test_one_real_output_is_as_in_sppca(rng):
    X, Y = planted(rng, 300)
    y = np.where(np.arange(300) < 100, Y[:, 0].astype(float), np.nan)
    mean, std = CPPCA(2, tol=1e-8).fit(X, y).predict(X, return_std=True)
    other = SPPCA(2, tol=1e-8).fit(X, y).predict(X, return_std=True)
    assert mean.shape == std.shape == (300,)
    assert_allclose(std, other[1], rtol=0.02)
    assert_allclose(mean, other[0], atol=0.05)


def test_classes_have_probabilities_instead(rng):
    X, Y = planted(rng, 60)
    model = CPPCA(2).fit(X, Y[:, 2])
    with pytest.raises(
        ValueError, match="return_std=True is for real outputs and counts; for classes use predict_prob"
    ):
        model.predict(X, return_std=True)
