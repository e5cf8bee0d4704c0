"""The table of class probabilities: its measures, and its protocol on small data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine

from gnomon.experiments import class_probabilities
from gnomon.experiments.class_probabilities import (
    LOGISTIC,
    OURS,
    calibration_error,
    format_table,
    reproduce,
    scores,
    scores_of_draw,
)

METHODS = ("CPPCA", "CPPCA plug-in", LOGISTIC)


def test_error_of_calibration_is_that_of_its_bins():
    proba = np.array([[0.95, 0.05], [0.93, 0.07], [0.4, 0.6], [0.35, 0.65]])
    right = np.array([True, False, True, True])
    assert calibration_error(proba, right) == pytest.approx((abs(1 - 0.95 - 0.93) + abs(2 - 0.6 - 0.65)) / 4)


def test_a_perfect_forecast_is_at_its_floor(rng):
    proba = rng.dirichlet([1.0, 1.0, 1.0], 4000)
    y = (rng.random(4000)[:, None] > np.cumsum(proba, axis=1)).sum(axis=1)
    found = scores(proba, y)
    assert found["ECE"] < 2 * found["floor"]
    assert abs(found["too sure"]) < 0.03
    assert scores(proba**3 / (proba**3).sum(axis=1, keepdims=True), y)["ECE"] > 5 * found["floor"]


def test_every_method_is_scored_without_the_hidden_classes():
    X, y = load_wine(return_X_y=True)
    labeled = np.arange(178) % 10 == 0
    found = scores_of_draw(X, y, labeled)
    assert set(found) == {*OURS, LOGISTIC}
    assert found["CPPCA"]["accuracy"] > 0.5
    other = np.where(labeled, y, (y + 1) % 3)
    sure = {name: one["too sure"] + one["accuracy"] for name, one in found.items()}
    for name, one in scores_of_draw(X, other, labeled, METHODS).items():
        assert_allclose(one["too sure"] + one["accuracy"], sure[name], atol=1e-9)


def test_the_table_goes_on_from_what_is_done(monkeypatch):
    X, y = load_wine(return_X_y=True)
    monkeypatch.setattr(class_probabilities, "load", lambda _: (X, y))
    records = list(reproduce(("first", "second"), n_draws=1, methods=METHODS))
    assert len(records) == 2 * 2 * len(class_probabilities.N_LABELS)
    assert list(reproduce(("first", "second"), n_draws=1, methods=METHODS, done=records[:-1])) == records[-1:]
    text = format_table(records)
    assert "3 labels per class" in text
    assert all(name in text for name in METHODS)
