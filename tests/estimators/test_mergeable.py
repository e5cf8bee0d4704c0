"""Fits of batches and of parts are the fit of all rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris

from gnomon import CPPCA, DPPCA, PPCA, SPPCA, merge
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
    "private": (SPPCA(1, n_private=1, tol=1e-8), LABELS, {"classes": [0, 1, 2]}),
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


GIVEN = {"n_factors": 2, "shrinkage": 1e-3, "uncertainty": "plug-in"}
ALIKE = {
    "labeled": (DPPCA(unlabeled_weight=1.0, **GIVEN), Y),
    "weight 0": (DPPCA(unlabeled_weight=0.0, **GIVEN), LABELS),
    "uniform": (DPPCA(unlabeled_weight=1.0, class_prior="uniform", noise_variance="ml", **GIVEN), Y),
    "noise": (DPPCA(unlabeled_weight=1.0, noise_variance=0.05, **GIVEN), Y),
}


@pytest.mark.parametrize("name", ALIKE)
def test_labeled_batches_and_parts_are_the_whole_of_dppca(name, rng):
    model, y = ALIKE[name]
    want = clone(model).fit(X, y)
    streamed, parts = clone(model), np.array_split(rng.permutation(150), 3)
    for part in parts:
        streamed.partial_fit(X[part], y[part], classes=[0, 1, 2])
    for found in (streamed, merge(*(clone(model).partial_fit(X[part], y[part]) for part in parts))):
        assert_allclose(found.log_likelihood_ / 150, want.log_likelihood_ / 150, rtol=0, atol=1e-8)
        assert_allclose(found.predict_proba(X), want.predict_proba(X), atol=1e-8)
        assert_allclose(found.components_, want.components_, atol=1e-8)
        assert (found.n_samples_, found.n_labeled_, found.converged_) == (150, want.n_labeled_, True)


def test_unlabeled_batches_of_dppca_are_as_near_to_the_whole_as_it_says(rng):
    rows, truth = load_digits(return_X_y=True)
    labels = np.where(np.arange(len(truth)) % 4, -1, truth)
    model = DPPCA(n_factors=20, shrinkage=1e-3, unlabeled_weight=1.0, n_init=1, uncertainty="plug-in")
    want, streamed, parts = clone(model).fit(rows, labels), clone(model), np.array_split(rng.permutation(len(rows)), 5)
    for part in parts:
        streamed.partial_fit(rows[part], labels[part])
    merged = merge(*(clone(model).partial_fit(rows[part], labels[part]) for part in parts))
    once = clone(model).partial_fit(rows, labels)
    for found, alike, lost in ((once, 0.999, 0.001), (streamed, 0.90, 0.05), (merged, 0.90, 0.05)):
        named = [one.predict(rows)[labels < 0] for one in (found, want)]
        assert (named[0] == named[1]).mean() >= alike
        right = [(one == truth[labels < 0]).mean() for one in named]
        assert right[0] >= right[1] - lost
    assert merged.log_likelihood_ < want.log_likelihood_


def test_reads_of_a_batch_of_dppca_are_counted(rng):
    model, rows = DPPCA(unlabeled_weight=1.0, **GIVEN), rng.permutation(150)
    first, second, third = rows[:80], rows[80:120], rows[120:]
    assert model.partial_fit(X[first], LABELS[first], classes=[0, 1, 2]).n_passes_ == 3.0  # a fit, and moments
    model.partial_fit(X[second], LABELS[second])
    assert_allclose(model.n_passes_, 1.0 + 2.0 * (LABELS[second] < 0).mean())  # those without a label are placed
    assert model.partial_fit(X[third], Y[third]).n_passes_ == 1.0
    assert merge(model).n_passes_ == 0.0


def test_bad_batches_of_dppca_are_refused():
    with pytest.raises(ValueError, match="cannot choose n_factors, shrinkage, unlabeled_weight, uncertainty"):
        DPPCA().partial_fit(X, Y)
    model = DPPCA(unlabeled_weight=1.0, **GIVEN)
    with pytest.raises(ValueError, match=r"no row of the first batch is labeled 2; .*missing: \[2\]"):
        model.partial_fit(X[:100], Y[:100], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="y marks every row as unlabeled"):
        clone(model).partial_fit(X, np.full(150, -1))
    with pytest.raises(ValueError, match="y has 2 columns; partial_fit of DPPCA takes one target"):
        clone(model).partial_fit(X, np.column_stack([Y, Y]))
    model = clone(model).partial_fit(X[:100], Y[:100])
    before = model.transform(X)
    with pytest.raises(ValueError, match=r"classes that were not in fit: 2.*classes=\[\.\.\.\]"):
        model.partial_fit(X[100:], Y[100:])
    with pytest.raises(ValueError, match="3 features"):
        model.partial_fit(X[:, :3], Y)
    assert_array_equal(model.transform(X), before)


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


@pytest.mark.filterwarnings("ignore:y marks every row")
def test_classes_may_be_announced_before_the_first_label(tmp_path):
    labels = np.where(np.arange(150) % 3 > 0, -1, Y)
    unlabeled, rest = labels < 0, labels >= 0
    model = SPPCA(2).partial_fit(X[unlabeled], labels[unlabeled], classes=[0, 1, 2])
    assert (model.target_kind_, model.n_labeled_) == ("none", 0)
    assert_allclose(model.score_samples(X), PPCA(2).fit(X[unlabeled]).score_samples(X), atol=1e-6)
    save_model(model, tmp_path / "model.npz")
    for first in (model, load_model(tmp_path / "model.npz")):  # which need not hear of the classes again
        check_equal(first.partial_fit(X[rest], labels[rest]), SPPCA(2).fit(X, labels))


def test_new_whole_numbers_say_how_numbers_are_meant():
    model = SPPCA(2).partial_fit(X[:70], np.arange(70) % 10)
    with pytest.raises(ValueError, match=r'classes that were not in fit: 100.*target="real"'):
        model.partial_fit(X[70:], np.arange(70, 150))
    texts = SPPCA(2).partial_fit(X[:70], TEXT[:70])
    with pytest.raises(ValueError, match=r"with the first labels\.$"):
        texts.partial_fit(X[70:], TEXT[70:])


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
    with pytest.raises(TypeError, match="PPCA, SPPCA or DPPCA; got SPPCA, PPCA"):
        merge(one, PPCA(2).partial_fit(X))
    with pytest.raises(TypeError, match="got CPPCA"):
        merge(CPPCA(2).fit(X, Y))
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
