"""Log-likelihoods and posteriors of fitted models are those of the joint Gaussian, by brute force."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from estimators.support import coded, entries_missing, load, oracle, quietly
from gnomon import PPCA, SPPCA
from oracles import class_densities, gaussian

CASES = {
    "iris": load("iris"),
    "iris_half": load("iris", 0.5),
    "wine_few": load("wine", 0.85),
    "diabetes": load("diabetes"),
    "diabetes_half": load("diabetes", 0.5),
    "entries": entries_missing(),
}


@cache
def fitted(name):
    return SPPCA(2).fit(*CASES[name])


@pytest.fixture(params=CASES)
def case(request):
    X, y = CASES[request.param]
    model = fitted(request.param)
    return model, X, y, coded(model, y)


def test_log_likelihood_is_brute_force(case):
    model, X, y, Y = case
    expected = gaussian.log_density(oracle(model), X, Y)
    assert_allclose(model.log_likelihood_, expected.sum(), rtol=1e-9)
    assert_allclose(model.score_samples(X, y), expected, rtol=1e-8, atol=1e-8)
    assert_allclose(model.score_samples(X, y).mean(), expected.mean(), rtol=1e-8)
    assert_allclose(model.objective_path_[-1], model.log_likelihood_, rtol=1e-12)


def test_density_of_x_alone_is_brute_force(case):
    model, X, _, _ = case
    assert_allclose(model.score_samples(X), gaussian.log_density(oracle(model), X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("with_y", [False, True])
def test_posterior_is_brute_force_conditioning(case, with_y):
    model, X, y, Y = case
    mean, cov = model.posterior(X, y if with_y else None, uncertainty="plug-in")
    expected, covs = gaussian.posterior(oracle(model), X, Y if with_y else None)
    assert_allclose(mean, expected, rtol=1e-6, atol=1e-8)
    assert_allclose(np.broadcast_to(cov, covs.shape), covs, rtol=1e-6, atol=1e-9)


def test_one_covariance_when_rows_are_alike_else_one_per_row():
    model, (X, y) = fitted("iris_half"), CASES["iris_half"]
    assert model.posterior(X, uncertainty="plug-in")[1].shape == (2, 2)
    assert model.posterior(X, y, uncertainty="plug-in")[1].shape == (150, 2, 2)
    assert model.posterior(X, load("iris")[1], uncertainty="plug-in")[1].shape == (2, 2)


def test_transform_is_the_posterior_mean_given_x(case):
    model, X, _, _ = case
    mean, cov = model.posterior(X, uncertainty="plug-in")
    Z, same = model.transform(X, return_cov=True, uncertainty="plug-in")
    assert_allclose(Z, mean, rtol=1e-9, atol=1e-9)
    assert_allclose(same, cov, rtol=1e-12)
    assert_allclose(model.transform(X), Z)


def test_predictions_are_brute_force_conditioning(case):
    model, X, y, _ = case
    mean, covs = gaussian.predictive(oracle(model), X)
    cov = covs[0]  # the same for every complete row
    if model.target_kind_ == "real":
        found, std = model.predict(X, return_std=True, uncertainty="plug-in")
        assert_allclose(found.reshape(len(X), -1), mean, rtol=1e-6, atol=1e-6 * np.abs(mean).max())
        assert_allclose(std.reshape(len(X), -1), np.tile(np.sqrt(np.diag(cov)), (len(X), 1)), rtol=1e-7)
        return
    known, index = y >= 0, np.searchsorted(model.classes_, y)
    Z, spread = class_densities.positions(model.components_.T, model.mean_, model.noise_variance_, X)
    labeled = Z[known], index[known], len(model.classes_)
    proba = class_densities.probabilities(Z, spread, model.y_loadings_, *labeled)
    assert_allclose(model.predict_proba(X), proba, rtol=1e-6, atol=1e-9)
    assert (model.predict(X) == model.classes_[proba.argmax(axis=1)]).all()


def test_one_of_c_columns_are_the_contrasts_of_the_classes():
    X, y = load("iris")
    table = SPPCA(2).fit(X, np.eye(3)[y])
    labels = fitted("iris")
    assert_allclose(table.log_likelihood_, -507.3763, atol=1e-3)
    assert_allclose(table.log_likelihood_, labels.log_likelihood_, rtol=1e-10)
    assert_allclose(table.components_, labels.components_, atol=1e-8)
    assert_allclose(table.score_samples(X, np.eye(3)[y]), labels.score_samples(X, y), rtol=1e-9)
    assert_allclose(table.predict(X).sum(axis=1), 1.0, rtol=1e-10)
    assert table.y_basis_.shape == (3, 2)
    mean, _ = table.posterior(X, np.eye(3)[y], uncertainty="plug-in")
    assert_allclose(mean, labels.posterior(X, y, uncertainty="plug-in")[0], atol=1e-8)


def test_one_of_c_columns_with_unlabeled_rows():
    X, y = load("iris", 0.6)
    Y = np.where((y >= 0)[:, None], np.eye(3)[y], np.nan)
    table, labels = SPPCA(2).fit(X, Y), SPPCA(2).fit(X, y)
    assert_allclose(table.log_likelihood_, labels.log_likelihood_, rtol=1e-9)
    assert_allclose(table.score_samples(X, Y), labels.score_samples(X, y), rtol=1e-7)


def test_iris_takes_the_better_of_its_two_maxima():
    model = fitted("iris")
    assert round(model.log_likelihood_, 2) == -507.38
    optima = model.certificate_["optima"]
    assert [round(v, 2) for v in optima[:2]] == [-507.38, -548.15]
    assert model.objective_residual_ < 1e-8
    assert model.certificate_["lower"] == model.log_likelihood_


@pytest.mark.parametrize("solver", ["moments", "subspace", "em"])
def test_objective_path_never_falls_and_moves(solver):
    for name in ("iris_half", "diabetes_half", "entries"):
        X, y = CASES[name]
        solver = "subspace" if name == "entries" and solver == "moments" else solver
        path = SPPCA(2, solver=solver, init="random", random_state=3).fit(X, y).objective_path_
        assert (np.diff(path) >= -1e-9 * np.abs(path[:-1])).all()
        if solver == "em":
            assert path[-1] > path[0] + 100.0


def test_plain_em_never_falls_and_moves():
    X, y = load("wine", 0.5)
    model = SPPCA(2, solver="em", acceleration=None, init="random", noise_init=1e-5, max_iter=100, tol=1e-4)
    path = quietly(model, X, y).objective_path_
    assert (np.diff(path) >= -1e-9 * np.abs(path[:-1])).all()
    assert path[-1] > path[0] + 100.0


def test_bic_counts_parameters():
    X, y = CASES["diabetes_half"]
    model = fitted("diabetes_half")
    free = 10 * 2 + 10 + 1 + 1 * 2 + 1 + 1 - 1  # W_x, m_x, noise, W_y, m_y, noise, less one rotation
    assert_allclose(model.bic(X, y), -2 * model.log_likelihood_ + free * np.log(len(X)), rtol=1e-10)
    plain = PPCA(3).fit(X)
    assert_allclose(plain.bic(X), -2 * plain.log_likelihood_ + (10 * 3 + 10 + 1 - 3) * np.log(len(X)), rtol=1e-10)


@pytest.mark.parametrize("name", ["iris_half", "diabetes"])
def test_covariance_and_precision(name):
    model, (X, _) = fitted(name), CASES[name]
    cov = model.get_covariance()
    assert_allclose(cov, gaussian.joint(oracle(model))[1][2 : 2 + X.shape[1], 2 : 2 + X.shape[1]], rtol=1e-12)
    assert_allclose(cov @ model.get_precision(), np.eye(X.shape[1]), atol=1e-8)


def test_inverse_transform_is_the_mean_of_x():
    model, (X, _) = fitted("iris_half"), CASES["iris_half"]
    Z = model.transform(X)
    assert_allclose(model.inverse_transform(Z), Z @ model.components_ + model.mean_, rtol=1e-12)
    residual = ((X - model.inverse_transform(Z)) ** 2).mean()
    assert residual < 0.1 * X.var(axis=0).mean()
    with pytest.raises(ValueError, match=r"Z has shape \(2, 3\)"):
        model.inverse_transform(np.zeros((2, 3)))


def test_noise_shared_by_outputs_stays_shared_from_any_start():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((120, 2))
    X = Z @ rng.standard_normal((2, 8)) + 0.3 * rng.standard_normal((120, 8))
    Y = (Z @ rng.standard_normal((2, 3)) + 0.2 * rng.standard_normal((120, 3))) * [1.0, 10.0, 0.1]
    Y[60:] = np.nan
    variances = np.nanvar(Y, axis=0)
    derived = SPPCA(2, solver="em", random_state=0).fit(X, Y)
    given = SPPCA(2, solver="em", noise_init=1e-3, random_state=0).fit(X, Y)
    for model in (derived, given):
        relative = model.y_noise_variance_ / variances
        assert_allclose(relative, relative[0], rtol=1e-10)
    assert_allclose(given.log_likelihood_, derived.log_likelihood_, rtol=1e-9)
