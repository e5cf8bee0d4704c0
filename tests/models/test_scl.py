"""Pivot predictors from one factorization, against one ridge regression per pivot."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.models import scl
from oracles import scl as oracle
from rows.copied import copied_rows

PIVOTS = np.array([3, 0, 7, 4])


@pytest.fixture
def counts(rng):
    """Counts whose features vary together, one feature much larger than the others."""
    X = rng.poisson(np.exp(rng.normal(size=(40, 2)) @ rng.normal(size=(2, 9)) * 0.5)).astype(float)
    X[:, 4] *= 50.0
    return X


@pytest.mark.parametrize("solver", ["covariance", "gram"])
@pytest.mark.parametrize("ridge", [0.02, 3.0])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_array])
def test_predictors_are_masked_ridge_regressions(counts, solver, ridge, form):
    rows = copied_rows(form(counts))
    summary = rows.summarize(second=True)
    second = summary.standard_groups()[0].xx if solver == "covariance" else None
    weights = scl.predictor_weights(rows.standard(summary), second, PIVOTS, ridge / summary.scale**2)
    assert_allclose(weights, oracle.pivot_predictors(counts, PIVOTS, ridge), rtol=1e-6, atol=1e-8)
    assert (weights[PIVOTS, np.arange(4)] == 0).all()


@pytest.mark.parametrize("solver", ["covariance", "gram"])
def test_more_features_than_rows(rng, solver):
    X = rng.normal(size=(8, 15)) * 1e-4
    fitted = scl.fit(copied_rows(X), PIVOTS, 3, 2e-8, solver)
    U, s, _ = np.linalg.svd(oracle.pivot_predictors(X, PIVOTS, 2e-8))
    assert_allclose(fitted.projection.theta @ fitted.projection.theta.T, U[:, :3] @ U[:, :3].T, atol=1e-8)
    assert_allclose(fitted.singular_values, s[:3], rtol=1e-8)
    assert_allclose([fitted.x_variance, fitted.ridge], [X.var(axis=0).sum(), 2e-8])
    assert_allclose(fitted.z_variance, ((X - X.mean(axis=0)) @ fitted.projection.theta).var(axis=0).sum())
    assert (fitted.projection.theta[np.abs(fitted.projection.theta).argmax(axis=0), range(3)] > 0).all()


def test_auto_takes_the_smaller_side_and_ten_mean_variances(counts):
    tall, wide = (
        scl.fit(copied_rows(counts), PIVOTS, 2, None, "auto"),
        scl.fit(copied_rows(counts[:6]), PIVOTS, 2, None, "auto"),
    )
    assert (tall.solver, wide.solver) == ("covariance", "gram")
    assert_allclose(tall.ridge, 10 * counts.var(axis=0).mean())
    assert_allclose(wide.ridge, 10 * counts[:6].var(axis=0).mean())


def test_mutual_information_is_that_of_the_joint_frequencies(counts, rng):
    y = rng.integers(3, size=40)
    occurs = oracle.occurs(counts)
    table, sizes = np.array([occurs[y == c].sum(axis=0) for c in range(3)]), np.bincount(y)
    assert_allclose(
        scl.mutual_information(table.astype(float), sizes.astype(float)), oracle.mutual_information(counts, y)
    )
    told = scl.mutual_information(np.array([[5.0, 3.0], [0.0, 3.0]]), np.array([5.0, 5.0]))
    assert_allclose(told, [np.log(2), 0], atol=1e-12)  # the label itself, and nothing


def test_pivots_are_the_best_and_among_equals_those_that_vary_most():
    score = np.array([0.1, 0.5, 0.5, 0.9])
    assert_array_equal(scl.choose_pivots(score, 3), [3, 1, 2])
    assert_array_equal(scl.choose_pivots(score, 3, np.array([1.0, 0.2, 0.3, 0.0])), [3, 2, 1])
    assert_array_equal(scl.choose_pivots(score, 2, np.ones(4), np.array([0.0, 0.2, 0.3, 0.0])), [3, 2])
    frequency = scl.pivot_frequency(np.array([[8.0, 4.0], [1.0, 2.0]]), np.array([10.0, 4.0]))
    assert_allclose(frequency, [0.25, 0.4])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_what_tells_features_apart_is_that_of_the_definition(counts, form):
    X = counts - counts.mean(axis=0)
    squares, products = scl.variation(copied_rows(form(counts)))
    assert_allclose(squares, X.var(axis=0) / X.var(axis=0).max(), rtol=1e-9)
    lengths = (X**2).sum(axis=1)
    of_length = X.T @ lengths
    assert_allclose(products, of_length / np.abs(of_length).max(), atol=1e-9)


def test_what_cannot_be_fitted_says_why(counts, monkeypatch):
    with pytest.raises(ValueError, match="n_components=5 must be at most 4, the rank of the predictors of 4 pivots"):
        scl.fit(copied_rows(counts), PIVOTS, 5, 1.0, "auto")
    alone = np.zeros((5, 3))
    alone[:, 1] = np.arange(5)
    with pytest.raises(ValueError, match="nothing predicts the pivots"):
        scl.fit(copied_rows(alone), np.array([1]), 1, 1.0, "auto")
    for solver in ("covariance", "gram"):
        with pytest.raises(ValueError, match="nothing predicts the pivots"):
            scl.fit(copied_rows(alone), np.array([0]), 1, None, solver)
        with pytest.raises(ValueError, match="ridge is too small"):
            scl.fit(copied_rows(np.repeat(counts[:4], 2, axis=0)), PIVOTS, 1, 1e-300, solver)
    monkeypatch.setattr(scl, "LARGEST_SIDE", 8)
    with pytest.raises(ValueError, match=r"matrix of 9 rows and columns for X of shape \(40, 9\); at most 8"):
        scl.fit(copied_rows(counts), PIVOTS, 1, 1.0, "auto")
