"""Rows without a label are in every training part and in no score."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score

from gnomon import DPPCA, KDA, SPPCA
from gnomon.selection import PartialLabelKFold, labeled_scorer
from gnomon.selection.baselines import PLS, RidgeLDA
from selection.drawn import blobs, few_labels


def as_given(y):
    names = np.array(["a", "b", "c", None], dtype=object)
    return {"codes": y, "text": names[y], "frame": pd.Series(names[y]), "marked": np.where(y < 0, 9, y)}


@pytest.mark.parametrize("form", ["codes", "text", "frame", "marked"])
def test_unlabeled_rows_are_always_trained_on(form):
    X, y = blobs()
    seen = few_labels(y, 6)
    mark = 9 if form == "marked" else "auto"
    folds = PartialLabelKFold(3, unlabeled=mark, random_state=0)
    tested = []
    for train, test in folds.split(X, as_given(seen)[form]):
        assert set(np.flatnonzero(seen < 0)) <= set(train)
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(60))
        assert_array_equal(np.bincount(seen[test]), [2, 2, 2])  # stratified
        tested += test.tolist()
    assert sorted(tested) == np.flatnonzero(seen >= 0).tolist()
    assert folds.get_n_splits() == 3


def test_folds_are_drawn_by_the_seed():
    X, y = blobs()
    seen = few_labels(y, 6)
    drawn = [
        [test.tolist() for _, test in PartialLabelKFold(3, random_state=seed).split(X, seen)] for seed in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_numbers_are_split_without_strata():
    y = np.where(np.arange(30) < 9, np.arange(30) + 0.5, np.nan)
    tested = [test for _, test in PartialLabelKFold(3, random_state=0).split(np.zeros((30, 1)), y)]
    assert_array_equal(np.sort(np.concatenate(tested)), np.arange(9))


def test_too_few_labels_are_refused():
    with pytest.raises(ValueError, match="2 labeled rows, fewer than n_splits=5"):
        next(PartialLabelKFold().split(np.zeros((6, 1)), [0, 1, -1, -1, -1, -1]))


def test_cross_validation_and_grids_work_with_unlabeled_rows():
    X, y = blobs()
    seen = few_labels(y, 10)
    cv = PartialLabelKFold(5, random_state=0)
    assert cross_val_score(RidgeLDA(2), X, seen, cv=cv).mean() > 0.85
    names = np.array(["a", "b", "c", None], dtype=object)[seen]
    assert cross_val_score(RidgeLDA(2), X, names, cv=cv, scoring=labeled_scorer("accuracy")).mean() > 0.85
    grid = GridSearchCV(RidgeLDA(2), {"shrinkage": [1e-3, 0.5]}, cv=cv).fit(X, seen)
    assert grid.best_score_ > 0.85


def test_a_plain_splitter_refuses_none_and_takes_minus_one_for_a_class():
    X, y = blobs(distance=8.0)
    seen = few_labels(y, 10)
    for missing in (None, np.nan):
        marked = np.where(seen < 0, missing, seen.astype(object))
        with pytest.raises(ValueError, match=r"Supported target types are|contains NaN"):
            cross_val_score(RidgeLDA(2), X, marked, cv=StratifiedKFold(3))
        with pytest.raises((TypeError, ValueError)):
            cross_val_score(RidgeLDA(2), X, marked, cv=3, scoring="accuracy", error_score="raise")
    plain = cross_val_score(RidgeLDA(2), X, seen, cv=3)
    assert plain.max() <= 0.55  # half of each test part is named -1, which no model predicts
    assert cross_val_score(RidgeLDA(2), X, seen, cv=PartialLabelKFold(3, random_state=0)).min() > 0.9


def test_folds_hold_every_pattern_of_several_targets():
    Y = np.column_stack([np.where(np.arange(30) % 2, np.arange(30) + 0.5, np.nan), np.arange(30) + 0.25])
    for _, test in PartialLabelKFold(3, random_state=0).split(np.zeros((30, 1)), Y):
        assert np.isfinite(Y[test, 0]).sum() == 5


@pytest.mark.parametrize("model", [DPPCA(2), SPPCA(2), KDA()])
def test_grids_take_unlabeled_rows_and_meta_estimators_the_labeled_ones(model):
    X, y = blobs(distance=8.0)
    seen = few_labels(y, 8)
    grid = GridSearchCV(model, {"n_components": [1, 2]}, cv=PartialLabelKFold(4, random_state=0)).fit(X, seen)
    assert grid.best_score_ > 0.9
    rows = seen >= 0
    for meta in (VotingClassifier([("one", model), ("other", RidgeLDA(2))]), CalibratedClassifierCV(model, cv=2)):
        assert meta.fit(X[rows], seen[rows]).score(X, y) > 0.9
        assert -1 in meta.fit(X, seen).classes_  # what the recipe avoids


@pytest.mark.parametrize("form", ["codes", "text", "frame", "marked"])
def test_scores_leave_unlabeled_rows_out(form):
    X, y = blobs(distance=1.5)
    seen = few_labels(y, 8)
    mark = 9 if form == "marked" else "auto"
    given = as_given(seen)[form]
    model = RidgeLDA(2, unlabeled=mark).fit(X, given)
    rows = seen >= 0
    right = balanced_accuracy_score(np.asarray(given)[rows].tolist(), model.predict(X[rows]).tolist())
    assert_allclose(labeled_scorer("balanced_accuracy", unlabeled=mark)(model, X, given), right)
    assert_allclose(labeled_scorer("balanced_accuracy", unlabeled=mark)(model, pd.DataFrame(X), given), right)


def test_any_splitter_serves_with_a_labeled_scorer():
    X, y = blobs()
    binary = few_labels(np.minimum(y, 1), 14)
    scores = cross_val_score(
        RidgeLDA(1), X, binary, cv=KFold(3, shuffle=True, random_state=1), scoring=labeled_scorer()
    )
    assert scores.min() > 0.6


def test_a_fold_of_one_class_and_a_mark_is_not_ambiguous():
    X, y = blobs(n_classes=2)
    model = LogisticRegression().fit(X, y)
    some = np.where(np.arange(40) % 2, 1, -1)
    expected = (model.predict(X[some == 1]) == 1).mean()
    assert_allclose(labeled_scorer("accuracy")(model, X, some), expected)


def test_scores_of_numbers():
    X, _ = blobs()
    y = np.where(np.arange(60) % 2, X[:, 0] + 0.001, np.nan)
    assert labeled_scorer("r2")(PLS(3).fit(X, y), X, y) > 0.9


def test_nothing_to_score_is_an_error():
    X, y = blobs()
    model = RidgeLDA(2).fit(X, y)
    with pytest.raises(ValueError, match="no row to score has a label"):
        labeled_scorer("accuracy")(model, X, np.full(60, -1))
