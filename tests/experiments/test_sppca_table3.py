"""Table 3 of the SPPCA paper: its protocol on small data, its figures on real data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import f1_score, roc_auc_score

from gnomon.experiments import sppca_table3 as table
from gnomon.experiments._cells import Cell, rows_of
from gnomon.experiments._draw import draw_positive
from gnomon.experiments._registry import chosen
from oracles.dppca_table import random_rows


@pytest.fixture
def small(rng, monkeypatch):
    """Random rows in place of yeast."""
    X, Y = random_rows(rng, n=120, p=12)
    held = {"Y": Y.astype(int)}
    monkeypatch.setattr(table, "load", lambda name: (X, held["Y"]))
    monkeypatch.setattr(table, "DIMS", (3, 5))
    table.principal.cache_clear()
    table.model_of.cache_clear()
    yield held
    table.principal.cache_clear()


def test_draws_label_enough_positive_rows_of_each_label(small):
    labeled = draw_positive(small["Y"], 5, 100)
    assert (small["Y"][labeled].sum(axis=0) >= 5).all()
    assert labeled.sum() <= 15
    assert_array_equal(labeled, draw_positive(small["Y"], 5, 100))
    assert (labeled != draw_positive(small["Y"], 5, 101)).any()


def test_no_hidden_label_reaches_a_method(small):
    Y = small["Y"]
    labeled = draw_positive(Y, 5, 100)
    for method in table.METHODS:
        cell = Cell("yeast", method, None if method in table.WHOLE else 3, 100)
        small["Y"] = Y
        found = table.scores(cell)["AUC of decisions"]
        small["Y"] = np.where(labeled[:, None], Y, 1 - Y)
        table.draw_positive = lambda *_: labeled
        table.model_of.cache_clear()
        try:
            wrong = table.scores(cell)["AUC of decisions"]
        finally:
            table.draw_positive = draw_positive
        # the area under the curve of the opposite labels is one less it, if the ranking is the same
        assert_allclose(wrong, 1 - found, atol=1e-9, err_msg=method)


def test_methods_beside_the_papers_are_classifiers_of_all_features(small):
    X, Y = table.load("yeast")
    labeled = draw_positive(Y, 5, 0)
    for method in ("LDA", "logistic"):
        assert table.scores(Cell("yeast", method, None, 0))["AUC of decisions"] > 0.8
    for column in Y.T:
        model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=1e-3).fit(X[labeled], column[labeled])
        found = table.DECISIONS["LDA"](X[labeled], column[labeled], X[~labeled])
        assert_array_equal(found > 0, model.decision_function(X[~labeled]) > 0)
    kinds = {(cell.task, cell.method, cell.k) for cell in table.cells()}
    assert {("rcv1", "LDA", None), ("rcv1", "logistic", None), ("yeast", "GuidedProjection", 3)} <= kinds
    assert {table.printed("yeast", method, None, "F1-micro") for method in ("LDA", "logistic", "predictions")} == {None}
    assert not set(table.SLOW) & {cell.method for cell in table.cells(quick=True)}


def test_scores_are_those_of_the_definition():
    truth = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])
    predicted = np.array([[1, 0], [0, 1], [0, 1], [1, 1]])
    macro, micro, area, curve = table._scores(truth, predicted, np.array([[3, 1], [0, 2], [1, 1], [2, 3]])).values()
    f1 = [2 * 1 / (2 * 1 + 1 + 1), 2 * 2 / (2 * 2 + 1 + 0)]
    assert_allclose(macro, np.mean(f1))
    assert_allclose(micro, 2 * 3 / (2 * 3 + 2 + 1))
    assert_allclose(micro, f1_score(truth.ravel(), predicted.ravel()))
    assert_allclose(area, (0.5 + 0.75) / 2)  # means of sensitivity and specificity
    assert_allclose(curve, (0.5 + 1.0) / 2)


def test_the_printed_numbers_are_of_labels_and_not_of_decisions():
    assert table.printed("rcv1", "S2PPCA", 20, "AUC") == (0.6090, 0.0076, 50)
    assert table.printed("yeast", "FULL", None, "F1-micro") == (0.5161, 0.0154, 50)
    assert table.printed("yeast", "PCA", 5, "AUC of decisions") is None
    assert table.printed("rcv1", "PLS", 5, "AUC") is None


def test_areas_are_those_of_scikit_learn(rng):
    truth = (rng.random((200, 3)) < [0.5, 0.1, 0.9]).astype(int)
    decisions = np.round(rng.standard_normal((200, 3)) + truth, 1)  # some are equal
    found = table.areas_under_curves(truth, decisions)
    assert_allclose(found, roc_auc_score(truth, decisions, average=None), rtol=1e-12)


@pytest.mark.realdata
@pytest.mark.slow
def test_plain_methods_come_near_the_printed_scores():
    cells = chosen(table.cells(5), ("yeast", "FULL", "PCA", "PLS"))
    for row in rows_of([{**cell._asdict(), "scores": table.scores(cell)} for cell in cells], table.TABLE):
        assert row.printed is None or abs(row.mean - row.printed.mean) < 0.06, row
