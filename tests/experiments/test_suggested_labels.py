"""Suggested rows beside random ones and those of small margin: the protocol on small data."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from gnomon.experiments import suggested_labels
from gnomon.experiments.suggested_labels import METHODS, errors_of_draw, format_table, reproduce


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(suggested_labels, "load", lambda name: load_iris(return_X_y=True))


def test_every_method_labels_as_many_rows(monkeypatch):
    labels, fit = [], suggested_labels.GuidedProjection.fit

    def noted(self, X, y):
        labels.append(int((y >= 0).sum()))
        return fit(self, X, y)

    monkeypatch.setattr(suggested_labels.GuidedProjection, "fit", noted)
    found = errors_of_draw(*load_iris(return_X_y=True), 2, 100)
    assert set(found) == set(METHODS)
    assert labels == [6, 11, 11, 11, 11, 11]


def test_one_class_with_labels_enough_is_no_task():
    X, y = load_iris(return_X_y=True)
    assert errors_of_draw(X[:60], np.repeat([0, 1], [57, 3]), 2, 100) is None


def test_the_table_says_who_won():
    text = format_table(list(reproduce(("iris",), n_labels=(2,), n_draws=2)))
    assert text.splitlines()[1].startswith("2 ")
    assert "suggested minus random: " in text
    assert "suggested minus margin: " in text
