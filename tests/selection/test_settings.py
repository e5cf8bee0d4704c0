"""Sizes and weights are chosen by labels that a fit has not seen."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon import PPCA, SPPCA
from gnomon.selection import choose_components, choose_supervision
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


def test_a_model_without_such_a_weight_is_refused():
    with pytest.raises(ValueError, match="PPCA has no weight of its labels"):
        choose_supervision(PPCA(1), np.eye(4), [0, 1, 0, 1])
