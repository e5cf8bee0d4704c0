"""CPPCA: likelihood and posterior from the definition, a monotone objective, predictions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from estimators.support import quietly
from gnomon import CPPCA, PPCA
from oracles import cppca as oracle


def binary(rng, n=80, p=5, labelled=0.5, strength=2.0):
    X, Z = oracle.draw(rng, n, p)
    y = (rng.random(n) < 1 / (1 + np.exp(-(strength * Z[:, 0] - Z[:, 1] + 0.5)))).astype(int)
    y[rng.random(n) > labelled] = -1
    return X, y


@pytest.mark.parametrize("likelihood", ["logit", "probit"])
def test_quadrature_is_the_integral_over_the_latent_plane(rng, likelihood):
    X, y = binary(rng)
    model = CPPCA(2, likelihood=likelihood).fit(X, y)
    assert model.inference_ == "quadrature"
    X, Y = X[:12], np.where(y[:12, None] >= 0, y[:12, None], np.nan)
    logs, mean, cov = oracle.rows(oracle.of(model), X, Y)
    found = model.posterior(X, y[:12])
    assert_allclose(found[0], mean, atol=1e-7)
    assert_allclose(found[1], cov, atol=1e-7)
    assert_allclose(model.score_samples(X, y[:12]), logs, rtol=1e-8)
    ones = oracle.rows(oracle.of(model), X, np.ones((12, 1)))[0] - oracle.rows(oracle.of(model), X)[0]
    assert_allclose(model.predict_proba(X)[:, 1], np.exp(ones), rtol=1e-6)


def test_without_labels_it_is_ppca(rng):
    X, _ = binary(rng)
    a, b = CPPCA(2, tol=1e-8).fit(X), PPCA(2).fit(X)
    assert_allclose(a.components_, b.components_, atol=1e-5)
    assert_allclose(a.log_likelihood_, b.log_likelihood_, rtol=1e-9)
    assert_allclose(a.score_samples(X), multivariate_normal(a.mean_, a.get_covariance()).logpdf(X), rtol=1e-9)


@pytest.mark.parametrize("acceleration", [None, "alternating"])
def test_the_objective_is_the_likelihood_and_never_falls(rng, acceleration):
    X, y = binary(rng)
    model = CPPCA(2, acceleration=acceleration).fit(X, y)
    path = model.objective_path_
    assert (np.diff(path) >= -1e-10 * np.abs(path[:-1])).all()
    assert path[-1] > path[0] + 1e-3
    assert_allclose(model.score_samples(X, y).sum(), model.log_likelihood_, rtol=1e-10)
    assert_allclose(model.log_likelihood_ - model.objective_, 0.05 * (model.coef_**2).sum(), rtol=1e-8)


def objective(model, X, y, **changes):
    """Objective of a model some attributes of which are replaced."""
    other = quietly(CPPCA(**model.get_params()), X, y)
    for name, value in changes.items():
        setattr(other, name, value)
    return other.score_samples(X, y).sum() - 0.5 * model.ridge * (other.coef_**2).sum()


def test_no_nearby_point_is_better(rng):
    X, y = binary(rng, 60)
    model = CPPCA(2, tol=1e-9).fit(X, y)
    best = objective(model, X, y)
    assert_allclose(best, model.objective_, rtol=1e-10)
    for name in ("components_", "coef_", "intercept_", "mean_", "noise_variance_"):
        value = np.asarray(getattr(model, name))
        direction = rng.normal(size=value.shape)
        h = 1e-3 * (np.abs(value).max() + 0.1)
        up, down = (objective(model, X, y, **{name: value + s * h * direction}) for s in (1, -1))
        assert up < best, name
        assert down < best, name
        assert abs(up - down) < 1e-2 * (2 * best - up - down) + 1e-6, name  # the slope is zero beside the curvature


def test_probabilities_are_calibrated():
    rng = np.random.default_rng(5)
    X, y = binary(rng, 6000, labelled=1.0)
    known = np.where(np.arange(6000) < 600, y, -1)
    proba = CPPCA(2).fit(X, known).predict_proba(X[600:])
    assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    for low in np.arange(0.0, 1.0, 0.2):
        some = (proba[:, 1] >= low) & (proba[:, 1] < low + 0.2)
        share, n = y[600:][some].mean(), some.sum()
        assert n > 100
        assert abs(share - proba[some, 1].mean()) < 3.5 / np.sqrt(4 * n) + 0.03


def test_separable_labels_stay_finite(rng):
    X, y = binary(rng, strength=0.0)
    y = np.where(y < 0, -1, (X[:, 0] > np.median(X[:, 0])).astype(int))
    X[:, 0] += 50.0 * (X[:, 0] > np.median(X[:, 0]))
    model = CPPCA(2).fit(X, y)
    assert model.converged_
    assert np.isfinite(model.coef_).all()
    assert (model.predict(X)[y >= 0] == y[y >= 0]).all()


def test_missing_entries_need_complete_rows_in_fit_only(rng):
    X, y = binary(rng)
    model = CPPCA(2).fit(X, y)
    holes = X.copy()
    holes[0, 1] = np.nan
    with pytest.raises(ValueError, match="impute"):
        CPPCA(2).fit(holes, y)
    assert np.isfinite(model.transform(holes)).all()
    assert_allclose(model.predict_proba(holes)[1:], model.predict_proba(X)[1:], rtol=1e-10)
    assert np.isfinite(model.posterior(holes, y)[0]).all()
