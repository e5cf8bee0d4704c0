"""Missing entries in X, with or without missing targets: likelihood, posterior, prediction, imputation."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from gnomon import CPPCA, PPCA, SPPCA
from gnomon.selection import compare
from oracles import gaussian

from .support import coded, entries_missing, oracle

MODEL = gaussian.random_model(np.random.default_rng(5), 7, 2, 3)


def holes(X, share, seed=0):
    """X with a share of its entries missing, at least two left in each row and column."""
    rng = np.random.default_rng(seed)
    lost = rng.random(X.shape) < share
    lost[:, :2] &= rng.random((len(X), 2)) < 0.3
    lost[:3] = False
    return np.where(lost, np.nan, X)


def rows(n=60, targets="semi", share=0.25, seed=0):
    rng = np.random.default_rng(seed)
    X, Y = gaussian.draw(rng, MODEL, n)
    if targets == "semi":
        Y[n // 3 :] = np.nan
    if targets in ("entries", "repeated"):
        Y[rng.random(Y.shape) < 0.4] = np.nan
    if targets == "repeated":  # many rows share what they miss; their outputs differ
        few = np.isnan(holes(X, 0.4, seed))[[0, 3, 4, 5, 6]][np.arange(n) % 5]
        return np.where(few, np.nan, X), Y
    return holes(X, share, seed), Y


@pytest.mark.parametrize("targets", ["labeled", "semi", "entries", "repeated"])
def test_likelihood_posterior_and_prediction_are_brute_force(targets):
    X, Y = rows(targets=targets)
    model = SPPCA(2).fit(X, Y)
    assert model.solver_ == "em"
    assert model.converged_
    truth = oracle(model)
    assert_allclose(model.score_samples(X, Y), gaussian.log_density(truth, X, Y), rtol=1e-9)
    assert_allclose(model.log_likelihood_, gaussian.log_density(truth, X, Y).sum(), rtol=1e-9)
    assert_allclose(model.score_samples(X), gaussian.log_density(truth, X), rtol=1e-9)
    mean, cov = model.posterior(X, Y, uncertainty="plug-in")
    want_mean, want_cov = gaussian.posterior(truth, X, Y)
    assert_allclose(mean, want_mean, rtol=1e-8, atol=1e-10)
    assert_allclose(cov, want_cov, rtol=1e-8, atol=1e-10)
    Z, cov = model.transform(X, return_cov=True, uncertainty="plug-in")
    assert_allclose(Z, gaussian.posterior(truth, X)[0], rtol=1e-8, atol=1e-10)
    assert_allclose(cov, gaussian.posterior(truth, X)[1], rtol=1e-8, atol=1e-10)
    predicted, std = model.predict(X, return_std=True, uncertainty="plug-in")
    mean, cov = gaussian.predictive(truth, X)
    assert_allclose(predicted, mean, rtol=1e-8, atol=1e-10)
    assert_allclose(std**2, np.diagonal(cov, axis1=1, axis2=2), rtol=1e-8)
    assert_allclose(model.impute(X, Y), gaussian.expected_x(truth, X, Y), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("targets", ["semi", "repeated"])
def test_likelihood_climbs_and_ends_where_it_is_stationary(targets):
    X, Y = rows(n=40, targets=targets)
    model = SPPCA(2, tol=1e-10).fit(X, Y)
    assert (np.diff(model.objective_path_) >= -1e-9 * np.abs(model.objective_path_[:-1])).all()
    assert model.objective_path_[-1] > model.objective_path_[0] + 1.0
    best = oracle(model)
    for name in ("W_x", "m_x", "W_y", "m_y"):
        value = getattr(best, name)
        direction = np.random.default_rng(1).normal(size=value.shape)
        up, down = (
            gaussian.log_density(best._replace(**{name: value + s * 1e-5 * direction}), X, Y).sum() for s in (1, -1)
        )
        assert abs(up - down) / 2e-5 < 1e-4, name
    for name in ("s2_x", "s2_y"):
        value = getattr(best, name)
        changed = [gaussian.log_density(best._replace(**{name: value * f}), X, Y).sum() for f in (0.99, 1.01)]
        assert max(changed) < model.log_likelihood_, name


def test_complete_rows_give_the_complete_model():
    X, Y = rows(share=0.0)
    whole = SPPCA(2, solver="moments").fit(X, Y)
    X[0, 6] = np.nan  # EM for missing entries, one of them
    almost = SPPCA(2).fit(X, Y)
    assert almost.solver_ == "em"
    assert_allclose(np.abs(almost.components_ - whole.components_).max(), 0.0, atol=0.1)
    from gnomon.rows import read

    assert read(X, masked=True).summarize().counts.sum() == X.size - 1
    from gnomon.models.linear import sppca

    X[0, 6] = 0.3
    options = sppca.Options(2)
    masked = sppca.fit(read(X, masked=True), Y, options, np.random.default_rng(0))
    dense = sppca.fit(read(X), Y, options, np.random.default_rng(0))
    assert_allclose(masked.value.log_likelihood, dense.value.log_likelihood, rtol=1e-9)
    assert_allclose(masked.value.params.W_x, dense.value.params.W_x, atol=1e-5)


@pytest.mark.parametrize("solver", ["moments", "subspace", "em"])
def test_the_mean_of_x_is_that_of_the_rows_unless_entries_of_x_are_missing(solver):
    X, Y = entries_missing()
    model = SPPCA(2, solver=solver).fit(X, Y)
    assert_allclose(model.mean_, X.mean(axis=0), atol=1e-8 * X.std())
    assert np.abs(model.y_intercept_ - np.nanmean(Y, axis=0)).max() > 1e-4 * np.nanstd(Y)  # that of y does move
    partial = holes(X, 0.2)
    moved = SPPCA(2).fit(partial, Y).mean_ - np.nanmean(partial, axis=0)
    assert np.abs(moved / X.std(axis=0)).max() > 1e-3


def test_weights_are_repeated_rows():
    X, Y = rows(n=30)
    times = np.random.default_rng(2).integers(0, 3, 30)
    a = SPPCA(2).fit(X, Y, sample_weight=times)
    b = SPPCA(2).fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    assert_allclose(a.components_, b.components_, atol=1e-6)
    assert_allclose(a.log_likelihood_, b.log_likelihood_, rtol=1e-9)


def test_imputation_beats_column_means_on_digits():
    X = load_digits().data[:500]
    X = X[:, X.std(axis=0) > 0]
    gaps = holes(X, 0.2)
    model = PPCA(10, max_iter=300, tol=1e-5).fit(gaps)
    lost = np.isnan(gaps)
    means = np.broadcast_to(np.nanmean(gaps, axis=0), X.shape)
    assert ((model.impute(gaps) - X)[lost] ** 2).mean() < 0.6 * ((means - X)[lost] ** 2).mean()
    assert_array_equal(model.impute(gaps)[~lost], X[~lost])
    assert_array_equal(model.impute(X), X)


def test_intervals_cover_at_their_nominal_rate():
    """Of 95 % intervals for missing entries of new rows, 95 % hold the truth, within Monte Carlo error."""
    rng = np.random.default_rng(3)
    X, Y = gaussian.draw(rng, MODEL, 4000)
    model = SPPCA(2).fit(holes(X[:2000], 0.2), Y[:2000])
    new, truth = holes(X[2000:], 0.4, seed=9), Y[2000:]
    predicted, std = model.predict(new, return_std=True)
    inside = np.abs(predicted - truth) < 1.96 * std
    assert abs(inside.mean() - 0.95) < 4 * np.sqrt(0.95 * 0.05 / len(truth))  # outputs of a row are not independent
    mean, cov = model.posterior(new, uncertainty="plug-in")
    std = np.sqrt(np.einsum("pa,nab,pb->np", model.components_.T, cov, model.components_.T) + model.noise_variance_)
    expected = mean @ model.components_ + model.mean_
    lost = np.isnan(new)
    inside = np.abs(expected - X[2000:])[lost] < 1.96 * std[lost]
    assert abs(inside.mean() - 0.95) < 4 * np.sqrt(0.95 * 0.05 / len(truth))


def test_classes_with_missing_features():
    wine = load_wine()
    X = holes(StandardScaler().fit_transform(wine.data), 0.3)
    y = np.where(np.random.default_rng(0).random(178) < 0.5, wine.target, -1)
    model = SPPCA(3).fit(X, y)
    hidden = y < 0
    assert (model.predict(X)[hidden] == wine.target[hidden]).mean() > 0.85
    proba = model.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    assert_allclose(model.log_likelihood_, gaussian.log_density(oracle(model), X, coded(model, y)).sum(), rtol=1e-9)


def test_a_row_without_any_entry_has_the_prior():
    X, Y = rows()
    model = SPPCA(2).fit(X, Y)
    empty = np.full((1, 7), np.nan)
    Z, cov = model.transform(empty, return_cov=True, uncertainty="plug-in")
    assert_allclose(Z, 0.0, atol=1e-12)
    assert_allclose(cov[0], np.eye(2), atol=1e-12)
    assert_allclose(model.impute(empty)[0], model.mean_)
    assert_allclose(model.score_samples(empty), 0.0, atol=1e-12)


def test_single_precision_stays():
    X, Y = rows()
    exact = SPPCA(2).fit(X, Y)
    model = SPPCA(2).fit(X.astype(np.float32), Y)
    assert model.components_.dtype == np.float32
    assert model.impute(X.astype(np.float32)).dtype == np.float32
    assert_allclose(model.transform(X.astype(np.float32)), exact.transform(X), atol=1e-3)


def test_scales_do_not_matter():
    X, Y = rows()
    one = SPPCA(2).fit(X, Y)
    for scale in (1e-100, 1e100):
        scaled = SPPCA(2).fit(X * scale, Y)
        assert_allclose(scaled.components_ / scale, one.components_, rtol=1e-5, atol=1e-7)
        assert_allclose(scaled.transform(X * scale), one.transform(X), atol=1e-6)


class TestBadInput:
    def test_a_column_never_observed_is_named(self):
        X, Y = rows()
        X[:, 4] = np.nan
        with pytest.raises(ValueError, match="column 4 of X is never observed"):
            SPPCA(2).fit(X, Y)
        frame = pd.DataFrame(X, columns=list("abcdefghijkl")[: X.shape[1]])
        for ask in (SPPCA(2).fit, PPCA(2).fit, CPPCA(2).fit, compare):
            with pytest.raises(ValueError, match="column 'e' of X is never observed"):
                ask(frame, Y[:, 0])

    @pytest.mark.parametrize("solver", ["ratio", "moments", "subspace"])
    def test_other_solvers_need_complete_rows(self, solver):
        X, Y = rows()
        with pytest.raises(ValueError, match="missing entries"):
            SPPCA(2, solver=solver).fit(X, Y)

    def test_infinity_is_never_missing(self):
        X, Y = rows()
        X[3, 3] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            SPPCA(2).fit(X, Y)

    def test_same_columns_at_transform(self):
        X, Y = rows()
        model = SPPCA(2).fit(X, Y)
        with pytest.raises(ValueError, match="6 features"):
            clone(model).fit(X, Y).transform(X[:, :6])
