"""Sizes and weights are chosen by labels that a fit has not seen."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import CPPCA, DPPCA, KDA, PPCA, SDRGLM, SPPCA, KernelSPPCA
from gnomon.selection import choose_components, choose_supervision, permutation_test
from gnomon.selection.baselines import PCAClassifier
from selection.drawn import blobs, few_labels

QUICK = {"n_splits": 2, "n_permutations": 0}


def test_the_size_that_separates_the_classes_is_chosen():
    X, y = blobs(n_classes=4, p=6, distance=8.0)
    search = choose_components(PCAClassifier(), X, few_labels(y, 5), **QUICK)
    tried = [row["settings"]["n_components"] for row in search.results_.rows]
    assert tried == [1, 2, 3, 4, 5]
    assert search.results_.chosen_row["settings"] == {"n_components": 3}
    assert search.transform(X).shape == (80, 3)
    assert {row["model"] for row in search.results_.rows} == {"PCAClassifier"}  # no baselines


def test_the_model_of_a_pipeline_is_sized():
    X, y = blobs(distance=8.0)
    whole = make_pipeline(StandardScaler(), PCAClassifier())
    search = choose_components(whole, X, few_labels(y, 5), values=[2, 1], **QUICK)
    assert search.best_estimator_[-1].n_components == search.results_.chosen_row["settings"]["n_components"] == 2
    assert whole[-1].n_components is None


def test_labels_weigh_more_where_other_directions_are_larger():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 8)) * np.array([1.0, 6, 6, 6, 1, 1, 1, 1])
    seen = np.where(np.arange(120) < 30, X[:, 0] + 0.1 * rng.normal(size=120), np.nan)
    search = choose_supervision(SPPCA(1), X, seen, values=[1.0, 300.0], **QUICK)
    assert search.results_.chosen_row["settings"] == {"label_weight": 300.0}


MODELS = {
    "SPPCA": SPPCA(),
    "DPPCA": DPPCA(n_factors=1, shrinkage=0.1, unlabeled_weight=1.0),
    "KDA": KDA(),
    "PPCA": PPCA(),
    "PCA": make_pipeline(StandardScaler(), PCA()),
    "LDA": make_pipeline(StandardScaler(), LinearDiscriminantAnalysis()),
}


KERNEL = [
    pytest.param(KernelSPPCA(), id="KernelSPPCA", marks=pytest.mark.slow)
]  # it is chosen as SPPCA is, whose steps it takes
every = pytest.mark.parametrize("model", [*(pytest.param(model, id=name) for name, model in MODELS.items()), *KERNEL])


@pytest.mark.parametrize("fitted", [False, True])
@every
def test_any_model_is_sized_fitted_or_not(model, fitted):
    X, y = blobs(distance=8.0)
    if fitted:
        model = clone(model).fit(X, y)
    search = choose_components(model, X, few_labels(y, 5), values=[1, 2], **QUICK)
    assert search.transform(X).shape == (60, search.results_.chosen_row["settings"]["n_components"])
    scores = [row["score"] for row in search.results_.rows]
    if isinstance(model, PPCA) or (isinstance(model, Pipeline) and isinstance(model[-1], PCA)):
        assert scores[1] > scores[0]  # what only projects is scored by the nearest labeled row
        assert search.transform(X).shape == (60, 2)
    assert max(scores) > 0.8


@every
def test_any_model_is_tested_by_permutations(model):
    X, y = blobs(distance=8.0)
    last = model[-1] if isinstance(model, Pipeline) else model
    last.set_params(n_components=2)
    test = permutation_test(model, X, few_labels(y, 5))
    assert test.above_chance
    assert test.repeats_choice


WEIGHTED = {
    "SPPCA": (SPPCA(2), "label_weight"),
    "KernelSPPCA": (KernelSPPCA(2), "label_weight"),
    "CPPCA": (CPPCA(2, max_iter=20), "label_weight"),
    "DPPCA": (DPPCA(2, n_factors=1, shrinkage=0.1), "unlabeled_weight"),
    "SDRGLM": (SDRGLM(2, projection_ridge=1.0, max_iter=20), "alpha"),
    "Pipeline": (make_pipeline(StandardScaler(), SPPCA(2)), "label_weight"),
}


@pytest.mark.parametrize("model, weight", WEIGHTED.values(), ids=WEIGHTED)
def test_the_weight_of_labels_is_chosen(model, weight):
    X, y = blobs(distance=8.0)
    search = choose_supervision(model, X, few_labels(y, 5), n_splits=1, n_permutations=0)
    assert [list(row["settings"]) for row in search.results_.rows] == [[weight]] * 3
    assert (search.predict(X) == y).mean() > 0.9


def test_a_model_without_such_a_weight_is_refused():
    with pytest.raises(ValueError, match="PPCA has no weight of its labels"):
        choose_supervision(PPCA(1), np.eye(4), [0, 1, 0, 1])
