"""Label weight, output noise, private dimensions, prior, fixed means, BIC: neutral values and what each one does."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon import PPCA, SPPCA
from oracles import gaussian

from .support import assert_same_fit, load

MODEL = gaussian.random_model(np.random.default_rng(8), 12, 4, 3)
SOLVERS = ["moments", "subspace", "em"]


def rows(n=120, labeled=50, seed=0):
    X, Y = gaussian.draw(np.random.default_rng(seed), MODEL, n)
    Y[labeled:] = np.nan
    return X, Y


@cache
def without_options(solver):
    """All rows with one noisy output, some with two, and the fits of both without options; read only."""
    X, Y = rows(labeled=120)
    y = Y[:, 0] + 0.7 * Y[:, 0].std() * np.random.default_rng(1).normal(size=len(Y))  # its noise is above the floor
    few = Y[:, :2].copy()
    few[50:] = np.nan
    return X, y, few, SPPCA(2, solver=solver, tol=1e-8).fit(X, y), SPPCA(2, solver=solver).fit(X, few)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "neutral",
    [{"label_weight": 3.0}, {"output_noise": "per_output"}, {"means": "fixed"}, {"sample_weight": 2.0}],
    ids=lambda d: next(iter(d)),
)
def test_options_that_change_nothing_on_labeled_rows_with_one_output(neutral, solver):
    """All rows weigh the same, one output has one noise, and the sample means are those of maximum likelihood."""
    X, y, few, plain, plain_of_few = without_options(solver)
    options = dict(neutral)
    weight = options.pop("sample_weight", None)
    times = weight or options.get("label_weight", 1.0)
    found = SPPCA(2, solver=solver, tol=1e-8, **options).fit(X, y, sample_weight=weight and np.full(120, weight))
    found.log_likelihood_ /= times
    assert_same_fit(found, plain, tol=1e-6)
    if weight is None:  # where the option does mean something, it is not ignored
        apart = SPPCA(2, solver=solver, **options).fit(X, few)
        assert np.abs(apart.components_ - plain_of_few.components_).max() > 1e-5


@pytest.mark.parametrize("solver", SOLVERS)
def test_without_outputs_private_dimensions_are_dimensions(solver):
    X, _ = rows()
    found, plain = SPPCA(1, n_private=2, solver=solver, tol=1e-9).fit(X), PPCA(3).fit(X)
    assert_allclose(found.get_covariance(), plain.get_covariance(), atol=1e-6 * np.abs(plain.get_covariance()).max())
    assert_allclose(found.log_likelihood_, plain.log_likelihood_, rtol=1e-10)


def test_a_tiny_prior_is_almost_none():
    X, Y = rows()
    assert_same_fit(SPPCA(2, prior_precision=1e-9).fit(X, Y), SPPCA(2).fit(X, Y), tol=1e-5)


def test_label_weight_repeats_labeled_rows():
    X, Y = rows()
    times = np.where(np.isnan(Y[:, 0]), 1, 5)
    weighted = SPPCA(2, label_weight=5.0).fit(X, Y)
    assert_same_fit(weighted, SPPCA(2).fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0)), tol=1e-6)
    assert (weighted.y_noise_variance_ < SPPCA(2).fit(X, Y).y_noise_variance_).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_noise_variance_per_output(solver):
    X, Y = rows(n=300, labeled=300)
    model = SPPCA(4, output_noise="per_output", solver=solver).fit(X, Y)
    assert model.y_noise_variance_.shape == (3,)
    truth = gaussian.Model(
        model.components_.T,
        model.mean_,
        model.noise_variance_,
        model.y_loadings_,
        model.y_intercept_,
        model.y_noise_variance_,
    )
    assert_allclose(model.log_likelihood_, gaussian.log_density(truth, X, Y).sum(), rtol=1e-9)
    assert_allclose(model.score_samples(X, Y), gaussian.log_density(truth, X, Y), rtol=1e-8)
    assert model.log_likelihood_ > SPPCA(4).fit(X, Y).log_likelihood_ + 0.1
    assert_allclose(model.y_noise_variance_, MODEL.s2_y, rtol=0.5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_output_noise_is_held(solver):
    X, Y = rows()
    model = SPPCA(2, output_noise=0.05, solver=solver).fit(X, Y)
    assert_allclose(model.y_noise_variance_, 0.05, rtol=1e-12)
    free = SPPCA(2).fit(X, Y[:, 0])
    at_the_free_value = SPPCA(2, output_noise=free.y_noise_variance_, solver=solver).fit(X, Y[:, 0])
    assert_allclose(at_the_free_value.components_, free.components_, atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_private_dimensions_load_on_x_alone(solver):
    X, Y = rows(n=400, labeled=200)
    model = SPPCA(2, n_private=2, solver=solver).fit(X, Y)
    assert model.converged_
    assert model.transform(X).shape == (400, 4)
    assert_allclose(model.y_loadings_[:, 2:], 0.0, atol=1e-12)
    loadings = model.y_loadings_ / np.sqrt(model.y_noise_variance_)[:, None]  # each output in its unit
    explained = (loadings[:, :2] ** 2).sum(axis=0)
    assert explained[0] >= explained[1] > 0
    assert_allclose(loadings[:, 0] @ loadings[:, 1], 0.0, atol=1e-8 * explained[0])
    private = model.components_[2:]
    assert_allclose(private[0] @ private[1], 0.0, atol=1e-6 * (private**2).sum())
    bounds = SPPCA(2).fit(X, Y).log_likelihood_, SPPCA(4).fit(X, Y).log_likelihood_
    assert bounds[0] < model.log_likelihood_ < bounds[1]
    truth = gaussian.Model(
        model.components_.T, model.mean_, model.noise_variance_, model.y_loadings_, model.y_intercept_,
        model.y_noise_variance_,
    )  # fmt: skip
    assert_allclose(model.log_likelihood_, gaussian.log_density(truth, X, Y).sum(), rtol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_prior_reaches_the_maximum_a_posteriori(solver):
    X, Y = rows(n=60, labeled=30)
    precision = 40.0
    model = SPPCA(2, prior_precision=precision, solver=solver).fit(X, Y)
    assert (np.diff(model.objective_path_) >= -1e-9 * np.abs(model.objective_path_[:-1])).all()
    x_unit, y_units = X.var(axis=0).mean(), np.nanvar(Y, axis=0)

    def log_posterior(W_x, W_y):
        m = gaussian.Model(W_x, model.mean_, model.noise_variance_, W_y, model.y_intercept_, model.y_noise_variance_)
        penalty = (W_x**2).sum() / x_unit + (W_y**2 / y_units[:, None]).sum()
        return gaussian.log_density(m, X, Y).sum() - 0.5 * precision * penalty

    best = log_posterior(model.components_.T, model.y_loadings_)
    assert_allclose(model.objective_path_[-1], best, rtol=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(10):
        W_x = model.components_.T + 1e-3 * rng.normal(size=(12, 2))
        W_y = model.y_loadings_ + 1e-3 * rng.normal(size=(3, 2))
        assert log_posterior(W_x, W_y) < best
    assert (model.components_**2).sum() < (SPPCA(2).fit(X, Y).components_ ** 2).sum()


@pytest.mark.parametrize("solver", SOLVERS)
def test_fixed_means_are_the_sample_means(solver):
    X, Y = rows()
    model = SPPCA(2, means="fixed", solver=solver).fit(X, Y)
    assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-10)
    assert_allclose(model.y_intercept_, np.nanmean(Y, axis=0), rtol=1e-10)
    assert model.log_likelihood_ < SPPCA(2).fit(X, Y).log_likelihood_


def test_solver_paper_is_algorithm_3_from_a_random_start():
    X, y = load("iris", 0.5)
    paper = SPPCA(2, solver="paper", max_iter=40, tol=1e-12)
    with pytest.warns(match="max_iter"):
        paper.fit(X, y)
    literal = SPPCA(2, solver="dual", init="random", noise_init=1e-5, max_iter=40, tol=1e-12)
    with pytest.warns(match="max_iter"):
        literal.fit(X, y)
    assert_same_fit(paper, literal, tol=1e-12)
    assert len(paper.objective_path_) == 41


def test_auto_takes_the_least_of_all_criteria():
    """Not the last of those that are below the one before."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(23, 11)) * np.geomspace(1.0, 30.0, 11)
    model = PPCA("auto").fit(X)
    assert 0 < model.bic_path_.argmin() < np.flatnonzero(np.diff(model.bic_path_) < 0)[-1] + 1
    assert model.n_components_ == model.bic_path_.argmin() + 1


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 3, 4])
def test_auto_recovers_the_planted_size(k):
    model = gaussian.random_model(np.random.default_rng(k), 15, k, 2)
    X, Y = gaussian.draw(np.random.default_rng(1), model, 600)
    Y[200:] = np.nan
    found = SPPCA("auto", output_noise="per_output").fit(X, Y)  # the planted noise is one number in units of y
    assert found.n_components_ == k
    assert found.components_.shape == (k, 15)
    assert found.bic_path_.argmin() == k - 1
    assert_allclose(found.bic_path_[k - 1], found.bic(X, Y), rtol=1e-9)
    assert PPCA("auto").fit(X).n_components_ == k


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"label_weight": 0.0}, "label_weight=0.0 must be finite and above 0"),
        ({"n_private": -1}, "n_private=-1 must be at least 0"),
        ({"output_noise": -1.0}, "output_noise=-1.0"),
        ({"prior_precision": -1}, "prior_precision=-1 must be finite and at least 0"),
        ({"means": "none"}, "means='none' must be one of"),
        ({"n_private": 10}, "n_components=2 plus n_private=10 must be less than the rank"),
        ({"solver": "ratio", "n_private": 1}, "solver='ratio' needs"),
    ],
)
def test_bad_values_are_named(bad, message):
    X, Y = gaussian.draw(np.random.default_rng(0), MODEL, 50)
    with pytest.raises(ValueError, match=message):
        SPPCA(2, **bad).fit(X, Y)


def test_per_output_noise_needs_independent_outputs():
    X, y = load("iris")
    with pytest.raises(ValueError, match="linearly independent"):
        SPPCA(2, output_noise="per_output").fit(X, np.eye(3)[y])


@pytest.mark.parametrize("shape", [(40, 12), (25, 60)])
def test_the_dual_form_reaches_the_maximum_of_fixed_means(shape):
    model = gaussian.random_model(np.random.default_rng(8), shape[1], 2, 3)
    X, Y = gaussian.draw(np.random.default_rng(0), model, shape[0])
    Y[15:] = np.nan
    dual = SPPCA(2, solver="dual", tol=1e-10, max_iter=20_000).fit(X, Y)
    primal = SPPCA(2, means="fixed").fit(X, Y)
    assert dual.solver_ == "dual"
    assert_same_fit(dual, primal, tol=1e-5)


def test_the_dual_form_is_the_papers_alone():
    X, Y = rows()
    for extra in ({"label_weight": 2.0}, {"n_private": 1}, {"prior_precision": 1.0}, {"output_noise": 0.1}):
        with pytest.raises(ValueError, match="algorithm 3 of the paper"):
            SPPCA(2, solver="dual", **extra).fit(X, Y)
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="needs complete rows"):
        SPPCA(2, solver="dual").fit(X, Y)


@pytest.mark.parametrize("seed", [4, 15, 17])
def test_latent_dimensions_that_turn_slowly_into_private_ones_converge(seed):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(250, 5))
    X = Z @ rng.normal(size=(5, 18)) + rng.normal(size=(250, 18))
    Y = Z[:, :3] @ rng.normal(size=(3, 3)) + 0.5 * rng.normal(size=(250, 3))
    Y[rng.random((250, 3)) < 0.6] = np.nan
    assert SPPCA(3, n_private=1).fit(X, Y).converged_
