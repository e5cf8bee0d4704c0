"""Predictions and samples against simulation, and recovery of planted models in Monte Carlo standard errors."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from estimators.support import load, oracle
from gnomon import PPCA, SPPCA
from oracles import gaussian

X_CLASS, Y_CLASS = load("iris", 0.5)
X_REAL, Y_REAL = load("diabetes", 0.5)


@cache
def classes():
    return SPPCA(2).fit(X_CLASS, Y_CLASS)


@cache
def real():
    return SPPCA(2).fit(X_REAL, Y_REAL)


def unsupervised():
    return PPCA(2).fit(X_CLASS)


def test_probabilities_sum_to_one_and_agree_with_predict():
    proba = classes().predict_proba(X_CLASS)
    assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert (proba >= 0).all()
    assert (classes().classes_[proba.argmax(axis=1)] == classes().predict(X_CLASS)).all()
    assert (classes().predict(X_CLASS) == load("iris")[1]).mean() > 0.8


def test_probabilities_far_away_are_finite():
    proba = classes().predict_proba(X_CLASS * 1e6)
    assert np.isfinite(proba).all()
    assert_allclose(proba.sum(axis=1), 1.0)


def test_return_std_is_for_real_outputs():
    with pytest.raises(ValueError, match="predict_proba"):
        classes().predict(X_CLASS, return_std=True)
    with pytest.raises(AttributeError, match="predict_proba"):
        real().predict_proba(X_REAL)


def test_predictive_spread_is_that_of_simulation():
    """Draw z from its posterior and y from z: mean and spread of y at one row, in standard errors."""
    row, n = X_REAL[:1], 40_000
    mean, cov = real().posterior(row, uncertainty="plug-in")
    rng = np.random.default_rng(0)
    Z = rng.multivariate_normal(mean[0], cov, n)
    y = real().y_intercept_ + Z @ real().y_loadings_.T + np.sqrt(real().y_noise_variance_) * rng.normal(size=(n, 1))
    predicted, std = real().predict(row, return_std=True, uncertainty="plug-in")
    assert abs(y.mean() - predicted[0]) < 4 * std[0] / np.sqrt(n)
    assert abs(y.std() - std[0]) < 4 * std[0] / np.sqrt(2 * n)


def test_predictive_intervals_cover_hidden_outputs():
    hidden = np.isnan(Y_REAL)
    truth = load("diabetes")[1][hidden]
    predicted, std = real().predict(X_REAL[hidden], return_std=True)
    covered = (np.abs(truth - predicted) < 1.645 * std).mean()
    assert 0.85 < covered < 0.95


def test_predictive_std_of_dependent_outputs():
    Y = np.eye(3)[load("iris")[1]]
    model = SPPCA(2).fit(X_CLASS, Y)
    mean, std = model.predict(X_CLASS, return_std=True, uncertainty="plug-in")
    assert mean.shape == std.shape == (150, 3)
    assert_allclose(mean.sum(axis=1), 1.0)
    W, (_, cov) = model.y_loadings_, model.posterior(X_CLASS[:1], uncertainty="plug-in")
    spread = W @ cov @ W.T + model.y_noise_variance_ * model.y_basis_ @ model.y_basis_.T
    assert_allclose(std[0], np.sqrt(np.diag(spread)), rtol=1e-9)


@pytest.mark.parametrize("make", [classes, real, unsupervised])
def test_moments_of_samples(make):
    n, model = 40_000, make()
    X = model.sample(n, random_state=0)
    cov = model.get_covariance()
    spread = np.sqrt(np.diag(cov))
    assert (np.abs(X.mean(axis=0) - model.mean_) < 4.5 * spread / np.sqrt(n)).all()
    errors = np.sqrt((np.outer(spread**2, spread**2) + cov**2) / n)
    assert (np.abs(np.cov(X.T) - cov) < 4.5 * errors).all()


def test_samples_of_targets():
    n = 40_000
    X, y = real().sample(n, return_y=True, random_state=0)
    assert y.shape == (n,)
    joint = gaussian.joint(oracle(real()))[1]
    cross = joint[2:12, 12]
    found = (X - X.mean(axis=0)).T @ (y - y.mean()) / n
    errors = np.sqrt((np.diag(joint)[2:12] * joint[12, 12] + cross**2) / n)
    assert (np.abs(found - cross) < 4.5 * errors).all()
    labels = classes().sample(2000, return_y=True, random_state=0)[1]
    assert set(labels) == {0, 1, 2}
    assert abs((labels == 0).mean() - 1 / 3) < 0.08


def test_samples_of_dependent_outputs_obey_their_relation():
    model = SPPCA(2).fit(X_CLASS, np.eye(3)[load("iris")[1]])
    assert_allclose(model.sample(20, return_y=True, random_state=0)[1].sum(axis=1), 1.0)


def test_samples_depend_on_the_seed_alone():
    assert_allclose(classes().sample(5, random_state=3), classes().sample(5, random_state=3))
    assert np.abs(classes().sample(5, random_state=3) - classes().sample(5, random_state=4)).max() > 0.1
    assert_allclose(classes().sample(5), classes().sample(5))


def test_samples_need_a_count_and_targets():
    with pytest.raises(ValueError, match="n_samples=0"):
        classes().sample(0)
    with pytest.raises(ValueError, match="without any"):
        SPPCA(2).fit(X_CLASS).sample(3, return_y=True)


@pytest.mark.parametrize(
    "targets", ["entries", *(pytest.param(name, marks=pytest.mark.slow) for name in ("labeled", "semi"))]
)
def test_planted_loadings_are_recovered(targets):
    """Errors of W W' over 40 data sets: the average lies within four standard errors of the truth."""
    rng = np.random.default_rng(0)
    truth = gaussian.random_model(rng, 6, 2, 2, s2_x=0.5)
    truth = truth._replace(s2_y=np.full(2, 0.3))
    W = np.vstack([truth.W_x, truth.W_y])
    found = []
    for _ in range(40):
        X, Y = gaussian.draw(rng, truth, 400)
        if targets == "semi":
            Y[rng.permutation(400)[:200]] = np.nan
        elif targets == "entries":
            Y[rng.random(Y.shape) < 0.3] = np.nan
        model = SPPCA(2, output_noise="per_output").fit(X, Y)
        V = np.vstack([model.components_.T, model.y_loadings_])
        noise = [model.noise_variance_, *model.y_noise_variance_]
        found.append(np.concatenate([(V @ V.T)[np.triu_indices(8)], model.mean_, model.y_intercept_, noise]))
    found = np.array(found)
    expected = np.concatenate([(W @ W.T)[np.triu_indices(8)], truth.m_x, truth.m_y, [0.5, 0.3, 0.3]])
    bias = 3.0 / 400 * np.abs(expected)  # maximum likelihood divides by n
    errors = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - expected) < 4 * errors + bias).all()
    assert (errors < 0.1 * np.abs(expected).max()).all()


def test_labels_missing_by_x_do_not_bias_the_outputs():
    """The means of labeled rows differ from those of all rows; estimating them jointly corrects for it."""
    rng = np.random.default_rng(1)
    truth = gaussian.random_model(rng, 6, 2, 1, s2_x=0.1, s2_y=0.05)._replace(W_y=np.array([[1.0, -0.5]]))
    X, Y = gaussian.draw(rng, truth, 2000)
    Y[truth.W_y[0] @ np.linalg.pinv(truth.W_x) @ (X - truth.m_x).T < 0.5] = np.nan
    assert 500 < (~np.isnan(Y)).sum() < 800
    model = SPPCA(2).fit(X, Y[:, 0])
    observed = np.nanmean(Y) - truth.m_y[0]
    assert observed > 0.5
    assert abs(model.y_intercept_[0] - truth.m_y[0]) < 0.05 * observed
