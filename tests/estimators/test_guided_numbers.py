"""GuidedProjection of numbers and of several targets: predictions, intervals, projections, and real spectra."""

import os

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.signal import savgol_filter
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.preprocessing import scale

from estimators.support import load
from gnomon import GuidedProjection
from gnomon.datasets import fetch_corn
from gnomon.estimators._of_predictions import show
from gnomon.estimators._preparations import Preparation, bring
from gnomon.export import load_model, save_model


def spectra(n=60, seed=0):
    """Smooth rows of 120 channels with an offset of their own, and the height of one of three peaks."""
    rng = np.random.default_rng(seed)
    channel = np.linspace(0.0, 1.0, 120)
    peaks = np.array([np.exp(-(((channel - at) / 0.06) ** 2)) for at in (0.3, 0.5, 0.7)])
    heights = rng.random((n, 3)) * [1.0, 1.0, 0.2]
    offset = rng.standard_normal((n, 1)) + rng.standard_normal((n, 1)) * channel
    return heights @ peaks + offset + 1e-3 * rng.standard_normal((n, 120)), heights[:, 2]


def hidden(y, n_labeled, seed=0):
    out = np.full(len(y), np.nan)
    some = np.random.default_rng(seed).permutation(len(y))[:n_labeled]
    out[some] = y[some]
    return out


@pytest.fixture(scope="module")
def fitted():
    X, y = spectra()
    seen = hidden(y, 20)
    return X, y, seen, GuidedProjection(2).fit(X, seen)


def test_numbers_are_told_from_few_labels_with_intervals_that_hold(fitted):
    X, y, seen, model = fitted
    unlabeled = np.isnan(seen)
    mean, std = model.predict(X[unlabeled], return_std=True)
    assert np.corrcoef(mean, y[unlabeled])[0, 1] > 0.95
    assert np.mean(np.abs(mean - y[unlabeled]) < 1.96 * std) >= 0.85
    assert_allclose(model.predict(X[unlabeled]), mean, rtol=1e-9)
    assert_allclose(model.predict(X[:5]), model.predict(X)[:5], rtol=1e-9)


def test_the_first_dimension_foretells_and_the_second_is_beside_it(fitted):
    X, _, _, model = fitted
    Z = model.transform(X)
    assert_allclose(Z, (X - model.mean_) @ model.components_.T, atol=1e-9)
    assert np.corrcoef(Z[:, 0], model.predict(X))[0, 1] > 0.99
    assert abs(np.corrcoef(Z.T)[0, 1]) < 1e-6
    assert_allclose(Z[:, 1].std(), 0.3 * Z[:, 0].std())
    assert model.projection_scores_[model.projection_] > 0.98


def test_teachers_say_their_weight_and_what_they_tell_of_rows_left_out(fitted):
    model = fitted[3]
    assert_allclose(sum(weight for _, _, weight, _ in model.teachers_), 1.0)
    assert all(r2 <= 1.0 for *_, r2 in model.teachers_)
    assert {"derivative", "derivative, standardized"} <= {preparation for preparation, *_ in model.teachers_}


def test_preparations_of_spectra_are_the_tables_they_are_named_after(fitted):
    X, _, _, model = fitted
    preparations = {preparation[0]: Preparation(*preparation) for preparation in model._number_preparations}
    normal = (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)
    derivative, second = (savgol_filter(X, window, 2, deriv=i, axis=1) for i, window in ((1, 15), (2, 21)))
    tables = {
        "rows": X,
        "standardized columns": scale(X),
        "derivative": derivative,
        "second derivative": second,
        "normal rows, standardized": scale(normal),
        "derivative, standardized": scale(derivative),
        "second derivative, standardized": scale(second),
        "derivative of normal rows, standardized": scale(savgol_filter(normal, 15, 2, deriv=1, axis=1)),
    }
    assert list(preparations) == list(tables)
    for name, table in tables.items():
        T, preparation = bring(preparations[name], X).T, preparations[name]
        assert_allclose(T, (table - table.mean(axis=0)) / preparation.scale @ preparation.basis, atol=1e-8)
    for name in ("standardized columns", "derivative, standardized"):
        far = bring(preparations[name], np.array([[-1e6], [1e6]]) * X[:1]).T  # held to what was seen, a deviation more
        assert np.abs(far).max() < 1e3


def test_columns_that_are_not_channels_have_two_preparations():
    X, y = load_diabetes(return_X_y=True)
    model = GuidedProjection(2, target="real").fit(X, hidden(y, 40))
    assert [preparation[0] for preparation in model._number_preparations] == ["rows", "standardized columns"]


def test_columns_of_very_different_scales_are_shown_standardized():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 350)) * np.where(np.arange(350) < 345, 1e6, 1.0)
    y = X[:, -3:] @ [1.0, 1.0, 1.0]
    model = GuidedProjection(2).fit(X, hidden(y, 300))
    assert model.projection_ == "standardized columns"
    assert_allclose(model.transform(X), (X - model.mean_) @ model.components_.T, rtol=1e-6, atol=1e-9)
    assert np.corrcoef(model.transform(X)[:, 0], y)[0, 1] > 0.9


def test_projections_foretell_several_numbers_in_as_many_directions():
    rng = np.random.default_rng(0)
    T = scale(rng.standard_normal((50, 6)))
    predictions = T[:, :2] @ [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    shown = show(T, predictions, 4)
    assert shown.n_guided == 2
    assert shown.explained > 0.999
    Z = T @ shown.directions
    centered = predictions - predictions.mean(axis=0)
    assert np.linalg.lstsq(Z[:, :2] - Z[:, :2].mean(axis=0), centered, rcond=None)[1].sum() < 1e-3
    assert_allclose(Z[:, 2:].T @ Z[:, :2], 0.0, atol=1e-8)


def test_rows_and_columns_in_another_order_give_the_same(fitted):
    X, _, seen, model = fitted
    turned = np.random.default_rng(3).permutation(len(X))
    again = GuidedProjection(2).fit(X[turned], seen[turned])
    assert_allclose(again.predict(X), model.predict(X), atol=1e-6)
    assert_allclose(again.transform(X), model.transform(X), atol=1e-6)


def test_several_numbers_are_read_each_for_itself(fitted):
    X, y, seen, model = fitted
    other = hidden(X[:, 20], 25, seed=1)
    both = GuidedProjection(2).fit(X, np.column_stack([seen, other]))
    mean, std = both.predict(X, return_std=True)
    alone = model.predict(X, return_std=True)
    assert_allclose([mean[:, 0], std[:, 0]], alone, rtol=1e-9)
    assert np.corrcoef(mean[:, 1], X[:, 20])[0, 1] > 0.95
    assert len(both.teachers_) == 2
    assert both.score(X, np.column_stack([y, X[:, 20]])) > 0.9
    Z = both.transform(X)
    assert min(LinearRegression().fit(Z, y).score(Z, y), LinearRegression().fit(Z, X[:, 20]).score(Z, X[:, 20])) > 0.8


def test_classes_beside_numbers():
    X, y = load("wine")
    X = scale(X)
    classes, numbers = np.full(178, None, dtype=object), hidden(X[:, 0] + X[:, 5], 30)
    classes[::6] = np.array(["a", "b", "c"])[y[::6]]
    both = np.column_stack([classes, numbers.astype(object)])
    model = GuidedProjection(3).fit(X, both)
    assert model.target_kind_ == "mixed"
    assert (model.predict(X)[:, 0] == np.array(["a", "b", "c"])[y]).mean() > 0.9
    found, std = model.predict(X, return_std=True)
    assert np.corrcoef(found[:, 1].astype(float), X[:, 0] + X[:, 5])[0, 1] > 0.95
    assert np.isnan(std.astype(float)[:, 0]).all()
    assert not np.isnan(std.astype(float)[:, 1]).any()
    proba, none = model.predict_proba(X)
    assert none is None
    alone = GuidedProjection(3).fit(X, classes)
    assert_allclose(proba, alone.predict_proba(X), atol=1e-9)
    Z = model.transform(X)
    assert LinearRegression().fit(Z, np.eye(3)[y]).score(Z, np.eye(3)[y]) > 0.75
    assert [prior is None for prior in model.class_prior_] == [False, True]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_model_files_and_sparse_rows(tmp_path, form, fitted):
    X, _, seen, _ = fitted
    X = form(np.maximum(X, 0.0))
    model = GuidedProjection(2).fit(X, seen)
    save_model(model, tmp_path / "numbers.gnomon")
    again = load_model(tmp_path / "numbers.gnomon")
    assert_allclose(again.predict(X, return_std=True), model.predict(X, return_std=True))
    assert_allclose(again.transform(X), model.transform(X))
    assert again.teachers_ == model.teachers_


def test_missing_entries_are_filled_first(fitted):
    X, y, seen, _ = fitted
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    model = GuidedProjection(2).fit(holes, seen)
    filled = model.impute(holes)
    assert_allclose(model.predict(holes), GuidedProjection(2).fit(filled, seen).predict(filled), atol=1e-6)
    assert np.corrcoef(model.predict(holes), y)[0, 1] > 0.9


@pytest.mark.realdata
@pytest.mark.parametrize("column", range(4))
def test_corn_is_read_about_as_well_as_by_the_best_peer_in_hindsight(column):
    corn = fetch_corn(data_home=os.environ["GNOMON_DATA"])
    X, y, ours, peers = corn.data, corn.target[:, column], [], []
    for seed in range(3):
        seen = hidden(y, 40, seed)
        labeled, unlabeled = ~np.isnan(seen), np.isnan(seen)
        ours.append(np.sqrt(np.mean((GuidedProjection().fit(X, seen).predict(X[unlabeled]) - y[unlabeled]) ** 2)))
        found = [PLSRegression(k, scale=False) for k in (5, 10, 15)] + [RidgeCV(np.logspace(-8, 1, 20))]
        peers.append([
            np.sqrt(np.mean((one.fit(X[labeled], y[labeled]).predict(X[unlabeled]) - y[unlabeled]) ** 2))
            for one in found
        ])  # fmt: skip
    assert np.mean(ours) < 1.25 * np.mean(peers, axis=0).min()
