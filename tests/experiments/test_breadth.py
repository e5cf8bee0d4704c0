"""The table of few labels on many kinds of data: its protocol on small data."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from gnomon import GuidedProjection
from gnomon.experiments import breadth
from gnomon.experiments._draw import draw_labeled
from gnomon.experiments.breadth import errors_of_draw, format_table, reproduce, scaled


@pytest.fixture
def two_sets(monkeypatch):
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, X[:, ::-1] ** 2])
    monkeypatch.setattr(breadth, "load", lambda name: (sp.csr_array(X) if name == "sparse" else X, y))
    return X, y


def test_no_hidden_label_reaches_a_method(two_sets):
    X, y = two_sets
    labeled = draw_labeled(y, 5, 100)
    found = errors_of_draw(X, y, labeled)
    assert set(found) == set(breadth.METHODS)
    hidden = np.where(labeled, y, (y + 1) % 3)  # names of the hidden rows are turned round
    turned = errors_of_draw(X, hidden, labeled)
    model = GuidedProjection(5).fit(X, np.where(labeled, y, -1))
    predicted = model.predict(X[~labeled])
    assert_allclose(found["GuidedProjection"], np.mean(predicted != y[~labeled]))
    assert_allclose(turned["GuidedProjection"], np.mean(predicted != hidden[~labeled]))


def test_the_table_says_who_won(two_sets):
    records = list(reproduce(("dense", "sparse"), n_labels=(4,), n_draws=2))
    assert {r["scaling"] for r in records if r["data"] == "sparse"} == {"as given", "unit rows"}
    assert all(r["n_draws"] == 2 for r in records)
    text = format_table(records)
    assert "GuidedProjection minus logistic: " in text
    assert "sign test p = " in text
    assert text.splitlines()[1].startswith("4       as given")


def test_scalings(two_sets):
    X, _ = two_sets
    constant = np.column_stack([X, np.ones(len(X))])
    assert_allclose(scaled(constant, "standardized").std(axis=0), np.ones(8))
    assert_allclose(np.linalg.norm(scaled(X, "unit rows"), axis=1), 1.0)


def test_without_data_it_says_so(monkeypatch):
    monkeypatch.delenv("GNOMON_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="GNOMON_DATA is not set"):
        breadth.load("khan")
