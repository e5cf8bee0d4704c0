"""Typicality: shares counted on rows held out, a Pareto tail, and rows that are unlike those of a fit."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from gnomon import PPCA, GuidedProjection
from gnomon.describe import UNUSUAL, describe
from gnomon.estimators._typical import Tail, counts, distances, tail_of
from gnomon.export import load_model, save_model


@pytest.fixture(scope="module")
def halves():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    order = np.random.default_rng(0).permutation(len(X))
    first, second = order[:300], order[300:]
    seen = np.where(np.arange(300) < 20, y[first], -1)
    return X[first], X[second], GuidedProjection(2).fit(X[first], seen)


def test_distances_are_squared_ones_of_the_gaussian_for_each_entry(rng):
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4)) + 3.0
    model = PPCA(2).fit(X)
    D = X - model.mean_
    by_hand = np.einsum("ij,jk,ik->i", D, model.get_precision(), D) / 4
    assert_allclose(distances(model, X, np.full(50, 4.0)), by_hand, rtol=1e-8)


def test_shares_are_counted_and_then_follow_the_tail():
    tail = Tail(np.arange(1.0, 101.0), 90.0, 0.5)
    assert_allclose(tail.beyond(np.array([0.0, 50.0, 50.5, 90.0])), np.array([101, 52, 51, 12]) / 101)
    assert_allclose(tail.beyond(np.array([900.0, 9000.0])), [0.1 * 10**-2.0, 0.1 * 100**-2.0])
    assert np.diff(tail.beyond(np.linspace(0.0, 200.0, 999))).max() <= 1e-12  # farther is never more typical


@pytest.mark.parametrize("n", [40, 2500])
def test_rows_held_out_are_those_of_folds_in_order_of_distance(rng, n):
    X = rng.normal(size=(n, 5)) * [5.0, 3.0, 1.0, 1.0, 1.0]

    def fit(A):
        return PPCA(2).fit(A)

    whole, entries = fit(X), np.full(n, 5.0)
    tail = tail_of(fit, X, entries, whole)
    order = np.argsort(distances(whole, X, entries))
    parts = [order[i::5] for i in range(5)] if n == 40 else [order[np.linspace(0, n - 1, 500).astype(int)]]
    by_hand = [distances(fit(np.delete(X, some, axis=0)), X[some], entries[some]) for some in parts]
    assert_allclose(tail.distances, np.sort(np.concatenate(by_hand)), rtol=1e-8)
    turned = tail_of(fit, X[::-1], entries, whole)
    assert_allclose(turned.distances, tail.distances, rtol=1e-8)
    n_tail = max(5, len(tail.distances) // 10)
    assert_allclose(tail.start, tail.distances[-n_tail - 1])
    assert_allclose(tail.spread, np.log(tail.distances[-n_tail:] / tail.start).mean())


def test_entries_that_are_there_are_counted():
    X = np.array([[1.0, np.nan, 2.0], [np.nan, np.nan, np.nan]])
    assert counts(X).tolist() == [2.0, 1.0]
    assert counts(sp.csr_array(np.eye(3))).tolist() == [3.0, 3.0, 3.0]


def test_rows_like_those_of_the_fit_are_rarely_unusual(halves):
    train, new, model = halves
    assert (model.typicality(train) < UNUSUAL).mean() <= 0.02
    assert (model.typicality(new) < UNUSUAL).mean() <= 0.04
    assert 0.02 < (model.typicality(new) < 0.1).mean() < 0.2


def test_rows_that_no_table_like_it_holds_are_unusual(halves, rng):
    train, new, model = halves
    turned = new[:5].copy()
    turned[:, ::2] *= -1.0  # measurements that go together in every tumor go apart
    odd = np.vstack([10.0 * new[:5], new[:5] + 5.0 * rng.normal(size=(5, 30))])
    assert np.all(model.typicality(odd) < UNUSUAL)
    assert np.median(model.typicality(turned)) < 0.05
    assert np.all(model.typicality(10.0 * new[:5]) < model.typicality(new[:5]))
    assert np.all(model.typicality(np.full((1, 30), 1e150)) == 0.0)


def test_images_of_another_thing_and_spectra_without_light():
    X, y = load_digits(return_X_y=True)
    X = X[:600] / np.linalg.norm(X[:600], axis=1, keepdims=True)
    model = GuidedProjection(2).fit(X, np.where(np.arange(600) < 60, y[:600], -1))
    assert model.typicality(np.zeros((1, 64)))[0] < UNUSUAL
    assert model.typicality(np.eye(64)[:1])[0] < UNUSUAL


@pytest.mark.parametrize("form", [sp.csr_array, np.float32])
def test_forms_agree_and_files_keep_it(halves, form, tmp_path):
    train, new, model = halves
    rows = form(new) if form is sp.csr_array else new.astype(form)
    assert_allclose(model.typicality(rows), model.typicality(new), atol=1e-4)
    save_model(model, tmp_path / "m.gnomon")
    loaded = load_model(tmp_path / "m.gnomon")
    assert_allclose(loaded.typicality(new), model.typicality(new), rtol=1e-12)
    assert_allclose(describe(model).typicality(new), model.typicality(new))


def test_missing_entries_do_not_make_a_row_typical_or_odd(halves, rng):
    train, new, model = halves
    holes = np.where(rng.random(new.shape) < 0.2, np.nan, new)
    found = model.typicality(holes)
    assert (found < UNUSUAL).mean() < 0.06
    odd = holes[:20] * 10.0
    assert (model.typicality(odd) < UNUSUAL).mean() > 0.9


def test_too_few_rows_have_no_typicality():
    X, y = load_wine(return_X_y=True)
    some = [*range(0, 178, 22)]
    model = GuidedProjection(2).fit(X[some], y[some])
    assert describe(model).typicality is None
    with pytest.raises(ValueError, match="at least 10 rows"):
        model.typicality(X)
