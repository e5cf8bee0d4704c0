"""The multi-label table: its protocol on small data, its figures on real data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import f1_score

from gnomon.experiments import multi_label_table
from gnomon.experiments._draw import draw_positive
from gnomon.experiments.multi_label_table import (
    METHODS,
    format_table,
    reproduce,
    scores_of_draw,
)
from oracles.dppca_table import random_rows

FAST = {"n_factors": 4, "shrinkage": 1e-2, "unlabeled_weight": 1.0}


@pytest.fixture
def small(rng, monkeypatch):
    class Data:
        data, target = random_rows(rng, n=120, p=12)

    Data.target = Data.target.astype(float)
    monkeypatch.setattr(multi_label_table.datasets, "fetch_yeast", lambda: Data)
    return Data


def test_draws_label_enough_positive_rows_of_each_label(small):
    labeled = draw_positive(small.target, 5, 100)
    assert (small.target[labeled].sum(axis=0) >= 5).all()
    assert labeled.sum() <= 15
    assert_array_equal(labeled, draw_positive(small.target, 5, 100))
    assert (labeled != draw_positive(small.target, 5, 101)).any()


def test_no_hidden_label_reaches_a_method(small):
    X, Y = small.data, small.target.astype(int)
    labeled = draw_positive(Y, 5, 100)
    found = scores_of_draw(X, Y, labeled, (3, 5), **FAST)
    wrong = scores_of_draw(X, np.where(labeled[:, None], Y, 1 - Y), labeled, (3, 5), **FAST)
    assert set(found) == {(method, k) for method in METHODS for k in (3, 5)}
    for cell in found:  # the area under the curve of the opposite labels is one less it, if the ranking is the same
        assert_allclose(wrong[cell][2], 1 - found[cell][2], atol=1e-9)
    assert found["DPPCA", 3][2] > 0.8


def test_scores_are_those_of_the_definition():
    truth = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])
    predicted = np.array([[1, 0], [0, 1], [0, 1], [1, 1]])
    macro, micro, area = multi_label_table._scores(truth, predicted, predicted)
    f1 = [2 * 1 / (2 * 1 + 1 + 1), 2 * 2 / (2 * 2 + 1 + 0)]
    assert_allclose(macro, np.mean(f1))
    assert_allclose(micro, 2 * 3 / (2 * 3 + 2 + 1))
    assert_allclose(micro, f1_score(truth.ravel(), predicted.ravel()))
    assert_allclose(area, (0.5 + 0.75) / 2)


def test_the_table_shows_the_printed_figures_beside_ours(small):
    records = list(reproduce(dims=(5, 10), n_draws=2, methods=("FULL", "PLS", "DPPCA", "predictions"), **FAST))
    lines = format_table(records).splitlines()
    assert [line.split()[:2] for line in lines[1:4]] == [["FULL", "5"], ["FULL", "10"], ["PLS", "5"]]
    assert "(0.3432)" in lines[3]
    assert "(" not in lines[-1]
    assert all(r["n_draws"] == 2 and 0 <= r["mean"] <= 1 for r in records)


@pytest.mark.realdata
@pytest.mark.slow
def test_plain_methods_come_near_the_printed_f1():
    records = list(reproduce(n_draws=5, methods=("FULL", "PCA", "PLS")))
    for r in records:
        if r["score"] != "AUC":
            assert abs(r["mean"] - r["printed"]) < 0.06, r
