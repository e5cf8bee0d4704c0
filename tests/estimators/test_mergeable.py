"""Fits of batches and of parts are the fit of all rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris

from gnomon import DPPCA, PPCA, SPPCA, merge
from gnomon.export import load_model, save_model

X, Y = load_iris(return_X_y=True)
LABELS = np.where(np.arange(150) % 4 > 0, -1, Y)
TEXT = np.where(LABELS < 0, None, np.array(["a", "b", "c"])[Y])
NUMBERS = np.where((np.arange(300) % 3 > 0).reshape(150, 2), X[:, :2] ** 2, np.nan)
LATE = np.where(np.arange(150) < 100, np.nan, X[:, 0] ** 2)  # nothing is known of targets at first
WEIGHTS = 1.0 + np.arange(150) % 3

CASES = {
    "PPCA": (PPCA(2), None, {}),
    "PPCA weighted": (PPCA(2), None, {"sample_weight": WEIGHTS}),
    "classes": (SPPCA(2), LABELS, {"classes": [0, 1, 2]}),
    "text": (SPPCA(2), TEXT, {"classes": ["a", "b", "c"]}),
    "all labeled": (SPPCA(2), Y, {"classes": [0, 1, 2]}),
    "label_weight": (SPPCA(2, label_weight=20.0), LABELS, {"classes": [0, 1, 2]}),
    "private": (SPPCA(1, n_private=1), LABELS, {"classes": [0, 1, 2]}),
    "numbers": (SPPCA(2), NUMBERS, {}),
    "per output": (SPPCA(2, output_noise="per_output"), NUMBERS, {}),
    "late": (SPPCA(2), LATE, {}),
    "weighted": (SPPCA(2), NUMBERS, {"sample_weight": WEIGHTS}),
}


def batch(model, rows, y, more):
    found = {key: value[rows] if key == "sample_weight" else value for key, value in more.items()}
    return model.partial_fit(X[rows], None if y is None else y[rows], **found)


def whole(model, y, more):
    return clone(model).fit(X, y, **{key: value for key, value in more.items() if key == "sample_weight"})


def check_equal(model, want):
    assert_allclose(model.log_likelihood_ / 150, want.log_likelihood_ / 150, rtol=0, atol=1e-8)
    assert_allclose(model.transform(X), want.transform(X), atol=1e-6)
    assert_allclose(model.components_, want.components_, atol=1e-6)
    assert (model.n_samples_, model.converged_) == (150, True)
    if hasattr(want, "n_labeled_"):
        assert model.n_labeled_ == want.n_labeled_
        assert model.target_kind_ == want.target_kind_
        assert_allclose(model.score_samples(X, None), want.score_samples(X, None), atol=1e-7)
        if want.target_kind_ == "classes":
            assert_array_equal(model.classes_, want.classes_)
            assert_allclose(model.predict_proba(X), want.predict_proba(X), atol=1e-7)
        else:
            assert_allclose(model.predict(X), want.predict(X), atol=1e-6)
            assert model.predict(X).shape == want.predict(X).shape
            assert_allclose(model.predict(X, return_std=True)[1], want.predict(X, return_std=True)[1], rtol=1e-6)


@pytest.mark.filterwarnings("ignore:y marks every row")
@pytest.mark.parametrize("name", CASES)
def test_batches_in_any_order_and_parts_are_the_whole(name, rng):
    model, y, more = CASES[name]
    want = whole(model, y, more)
    in_order = np.array_split(np.arange(150), 3)
    scattered = np.array_split(rng.permutation(150), 5)
    for parts in (in_order, scattered):
        streamed = clone(model)
        for part in parts:
            batch(streamed, part, y, more)
        check_equal(streamed, want)
        check_equal(merge(*(batch(clone(model), part, y, more) for part in parts)), want)


def test_sparse_batches_and_kept_models_go_on(rng, tmp_path):
    table = np.where(rng.random((90, 12)) < 0.4, rng.normal(size=(90, 12)), 0.0)
    labels = np.arange(90) % 2
    model = SPPCA(2).partial_fit(sp.csr_array(table[:50]), labels[:50])
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz").partial_fit(table[50:], labels[50:])
    want = SPPCA(2).fit(table, labels)
    assert_allclose(again.log_likelihood_, want.log_likelihood_, rtol=1e-9)
    assert_allclose(again.transform(table), want.transform(table), atol=1e-6)


def test_a_class_that_never_comes_is_possible_still():
    some = np.where(Y == 2, -1, LABELS)
    model = SPPCA(2).partial_fit(X, some, classes=[0, 1, 2])
    assert model.predict_proba(X).shape == (150, 3)
    assert set(model.predict(X)) <= {0, 1}


def test_regions_take_the_rows_that_are_meant():
    plain, streamed = PPCA(2).fit(X), PPCA(2).partial_fit(X[:70]).partial_fit(X[70:])
    new = X + 1e-3
    for one, two in zip(*(m.posterior(new, uncertainty="full") for m in (plain, streamed)), strict=True):
        assert_allclose(two, one, atol=1e-6)


def test_bad_batches_are_refused():
    model = SPPCA(2).partial_fit(X, np.where(LABELS == 2, -1, LABELS))
    before = model.transform(X)
    with pytest.raises(ValueError, match=r"classes that were not in fit: 2.*classes=\[\.\.\.\]"):
        model.partial_fit(X, Y)
    with pytest.raises(ValueError, match="y has 2 columns"):
        model.partial_fit(X, NUMBERS)
    with pytest.raises(ValueError, match="3 features"):
        model.partial_fit(X[:, :3], Y)
    with pytest.raises(ValueError, match="moments of complete rows"):
        model.partial_fit(np.where(X[3, 1] == X, np.nan, X), Y)
    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit(np.where(X[3, 1] == X, np.inf, X), Y)
    assert_array_equal(model.transform(X), before)
    with pytest.raises(ValueError, match="at most 2000"):
        PPCA(2).partial_fit(np.zeros((3, 2001)))


def test_models_that_do_not_belong_together_are_not_merged():
    one = SPPCA(2).partial_fit(X, Y)
    with pytest.raises(TypeError, match="without models"):
        merge()
    with pytest.raises(TypeError, match="PPCA or SPPCA; got SPPCA, PPCA"):
        merge(one, PPCA(2).partial_fit(X))
    with pytest.raises(TypeError, match="got DPPCA"):
        merge(DPPCA(n_factors=1, shrinkage=0.1, unlabeled_weight=1.0).fit(X, Y))
    with pytest.raises(ValueError, match="model 1 keeps no moments"):
        merge(one, SPPCA(2).fit(X, Y))
    with pytest.raises(ValueError, match="other parameters"):
        merge(one, SPPCA(3).partial_fit(X, Y))
    with pytest.raises(ValueError, match="other features"):
        merge(one, SPPCA(2).partial_fit(X[:, :3], Y))
    with pytest.raises(ValueError, match="other targets"):
        merge(one, SPPCA(2).partial_fit(X, NUMBERS))
    with pytest.raises(ValueError, match="other targets"):
        merge(one, SPPCA(2).partial_fit(X, TEXT))


def test_fit_begins_anew():
    model = PPCA(2).partial_fit(X[:70])
    model.fit(X)
    check_equal(model, PPCA(2).fit(X))
    with pytest.warns(UserWarning, match="partial_fit of this PPCA begins anew"):
        model.partial_fit(X[:70])
    assert model.n_samples_ == 70
