"""The table of unequal classes: its protocol on small data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits

from gnomon.experiments import breadth_unbalanced as module


def test_the_smaller_class_is_fifteen_percent_of_the_rows():
    y = np.repeat([0, 1, 2], [40, 200, 90])
    X, minority = module.unequal(np.arange(330.0)[:, None], y, 0)
    assert minority.sum() == 35
    assert_allclose(minority.mean(), 0.15, atol=0.002)
    assert set(y[X[:, 0].astype(int)[minority == 1]]) == {2}
    assert set(y[X[:, 0].astype(int)[minority == 0]]) == {1}
    assert module.unequal(np.zeros((50, 1)), y[190:240], 0) is None


@pytest.mark.parametrize("seed", range(5))
def test_labels_are_drawn_as_they_come_with_two_of_either_class(seed):
    y = (np.arange(300) < 12).astype(int)
    labeled = module.draw_unequal(y, seed)
    assert labeled.sum() == 40
    assert y[labeled].sum() >= 2
    counts = [y[module.draw_unequal((np.arange(300) < 45).astype(int), s)].sum() for s in range(20)]
    assert len(set(counts)) > 3


def test_digits_have_a_table_of_errors_and_of_how_sure_probabilities_are(monkeypatch):
    X, y = load_digits(return_X_y=True)
    monkeypatch.setattr(module, "load", lambda name: (X[:500], (y[:500] == 8).astype(int)))
    records = list(module.reproduce(("digits",), n_draws=1))
    ours = {r["score"]: r["mean"] for r in records if r["method"] == "GuidedProjection"}
    assert ours["error"] < ours["balanced error"] < 0.25
    assert 0.0 < ours["ECE"] < 0.2
    assert 0.0 < ours["log-loss"] < 0.4
    text = module.format_table(records)
    assert "GuidedProjection beside logistic: won 1 : lost 0" in text
