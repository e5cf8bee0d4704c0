"""SPPCA on rows: the likelihood of the fit by brute force, its solvers beside one another, parameters counted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.models.linear import patterns
from gnomon.models.linear import sppca as model
from gnomon.models.linear.sppca import Options, choose_solver, n_free_parameters
from gnomon.numerics.linalg import orthonormal_columns
from gnomon.rows import read
from numerics import build
from oracles import gaussian
from rows.copied import copied_rows


def fit(X, Y, **options):
    return model.fit(copied_rows(X, masked=bool(np.isnan(X).any())), Y, Options(2, **options), np.random.default_rng(0))


@pytest.mark.parametrize("solver", ["moments", "subspace", "em"])
@pytest.mark.parametrize("targets", ["labeled", "semi", "entries"])
def test_the_likelihood_of_the_fit_is_that_of_the_density(rng, solver, targets):
    """In the units of the data; no nearby parameters are better."""
    _, X, Y = build.draw(rng, n=40, p=5, targets=targets)
    if solver == "moments" and targets == "entries":
        Y[:, 1:] = np.where(np.isnan(Y[:, :1]), np.nan, Y[:, 1:])
        Y = Y[:, :1]  # few patterns
    X, Y = 30.0 * X + 7.0, 0.2 * Y - 3.0
    found = fit(X, Y, solver=solver, output_noise="per_output", max_iter=3000)
    fitted = found.value
    assert found.stats["solver"] == solver
    assert_allclose(fitted.log_likelihood, build.loglik(fitted.params, X, Y), rtol=1e-9)
    assert_allclose(found.path[-1], fitted.log_likelihood, rtol=1e-9)
    at = build.flat(fitted.params)
    for _ in range(10):
        other = build.unflat(at + 1e-2 * np.abs(at).clip(0.01) * rng.normal(size=at.shape), fitted.params)
        assert build.loglik(other, X, Y) < fitted.log_likelihood


def test_the_ratio_search_ends_where_em_does(rng):
    _, X, Y = build.draw(rng, n=60, p=5, targets="labeled")
    ratio, em = fit(X, Y), fit(X, Y, solver="em", tol=1e-12, max_iter=5000)
    assert ratio.stats["solver"] == "ratio"
    assert ratio.value.log_likelihood >= em.value.log_likelihood - 1e-6
    assert_allclose(ratio.stats["optima"][0], ratio.value.log_likelihood, rtol=1e-9)


def test_entries_that_are_missing_take_no_part(rng):
    _, X, Y = build.draw(rng, n=40, p=5, targets="semi")
    X[:, 1:][rng.random((40, 4)) < 0.2] = np.nan
    found = fit(X, Y, max_iter=3000).value
    expected = gaussian.log_density(build.model(found.params), X, Y).sum()
    assert_allclose(found.log_likelihood, expected, rtol=1e-9)


def test_free_parameters_are_the_rank_of_what_they_can_change(rng):
    """The dimension of the models near one: rank of the derivative of mean and covariance of (x, y)."""
    params = build.params(gaussian.random_model(rng, 5, 2, 3))
    at = build.flat(params)

    def image(v):
        mean, cov = gaussian.joint(build.model(build.unflat(v, params)))
        return np.concatenate([mean[2:], cov[2:, 2:][np.tril_indices(8)]])

    step = 1e-5
    J = np.array([(image(at + step * e) - image(at - step * e)) / (2 * step) for e in np.eye(len(at))])
    assert n_free_parameters(params, "per_output") == np.linalg.matrix_rank(J, tol=1e-6)
    assert n_free_parameters(params, "ml") == n_free_parameters(params, "per_output") - 2


@pytest.mark.parametrize(
    "n, p, complete, solver",
    [
        (100, 5, True, "ratio"),
        (100, 5, False, "moments"),
        (50, 90, False, "moments"),
        (5000, 1600, False, "subspace"),
        (1400, 3000, False, "subspace"),
        (500, 20_000, False, "moments"),
        (20_000, 1000, False, "moments"),
    ],
)
def test_the_choice_of_solver(n, p, complete, solver):
    assert choose_solver(n, p, 10, complete=complete, plain=True, supervised=True) == solver


@pytest.mark.parametrize("n, p", [(100, 150), (100, 10**6), (150, 100), (10**6, 100)])
def test_a_side_that_one_basis_holds_is_held(n, p):
    assert choose_solver(n, p, 2, complete=False, plain=True, supervised=True) == "moments"


@pytest.mark.parametrize("labeled", [80, 800])
def test_second_moments_are_read_where_a_basis_would_grow_on_and_on(rng, labeled):
    """Noise alone: no direction stands out, and a basis that reads the rows again and again has to hold most."""
    X = rng.normal(size=(800, 900))
    Y = X[:, :1] + rng.normal(size=(800, 1))
    Y[labeled:] = np.nan
    found, grown = (fit(X, Y, solver=solver, tol=1e-6) for solver in ("auto", "subspace"))
    assert found.stats["solver"] == ("moments" if labeled < 800 else "ratio")
    assert grown.stats["solver"] == "subspace"
    assert found.stats["n_passes"] < 10 < grown.stats["n_passes"]
    assert found.status.name == grown.status.name == "CONVERGED"
    assert found.value.log_likelihood >= grown.value.log_likelihood - 1e-3


@pytest.mark.parametrize("n_outputs", [2, 5])
def test_scattered_outputs_end_where_they_do_row_by_row(rng, n_outputs, monkeypatch):
    """Few patterns and many, beside all rows but those of the most frequent one kept one by one."""
    _, X, Y = build.draw(rng, n=400, p=8, q=n_outputs)
    Y = np.where(rng.random(Y.shape) < 0.5, np.nan, Y)
    found = fit(X, Y)
    monkeypatch.setattr(patterns, "MOST_MOMENTS", 0)
    by_row = fit(X, Y)
    assert found.stats["solver"] == by_row.stats["solver"] == "moments"
    assert found.status.name == by_row.status.name == "CONVERGED"
    assert_allclose(found.value.log_likelihood, by_row.value.log_likelihood, rtol=1e-9)


@pytest.mark.parametrize("noise, reads", [(1.0, 1), (1e-3, 2)], ids=["noisy", "nearly_exact"])
def test_large_tables_in_single_precision(rng, noise, reads):
    """Products in it are enough where noise is well above its rounding; else the rows are read again."""
    Z = rng.normal(size=(40_000, 3))
    X = (Z @ rng.normal(size=(3, 30)) + noise * rng.normal(size=(40_000, 30)) + 20.0).astype(np.float32)
    Y = np.where(np.arange(40_000)[:, None] % 10 == 0, Z[:, :2] + rng.normal(size=(40_000, 2)), np.nan)
    single, double = (model.fit(read(T), Y, Options(3), np.random.default_rng(0)) for T in (X, X.astype(float)))
    assert single.status.name == double.status.name == "CONVERGED"
    assert single.stats["n_passes"] == reads
    assert_allclose(single.value.log_likelihood, double.value.log_likelihood, rtol=1e-7 if reads == 1 else 1e-9)
    W, V = (orthonormal_columns(found.value.params.W_x) for found in (single, double))
    assert np.linalg.norm(W - V @ (V.T @ W)) < 1e-5


def test_a_large_table_in_single_precision_without_noise_is_refused(rng):
    X = (rng.integers(-9, 9, (40_000, 2)) @ rng.integers(-9, 9, (2, 30))).astype(np.float32)
    with pytest.raises(ValueError, match="less than the rank of X, 2"):
        model.fit(read(X), np.zeros((40_000, 0)), Options(2), np.random.default_rng(0))
