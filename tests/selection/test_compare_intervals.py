"""What the interval of an error is made of: rows that are meant and splits that learn from fewer labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine

from gnomon.selection import compare, comparison
from gnomon.selection.intervals import Interval


def wine():
    X, y = load_wine(return_X_y=True)
    return X, y, np.random.default_rng(0).random(len(y)) < 0.4


def test_intervals_are_of_the_unlabeled_rows_and_of_splits_that_learn_from_fewer_labels(monkeypatch):
    X, y, labeled = wine()
    asked = []
    monkeypatch.setattr(comparison, "of_error", lambda *given: asked.append(given[2:]) or Interval(0.1, 0.0, 0.2))
    compare(X, np.where(labeled, y, -1), n_splits=5, random_state=0)
    n_unlabeled = np.count_nonzero(~labeled)
    assert {n for _, n in asked} == {n_unlabeled}
    assert_allclose(sorted({overlap for overlap, _ in asked}), 0.25, atol=0.02)  # five folds
    asked.clear()
    compare(X[labeled], y[labeled], n_splits=5, random_state=0)
    assert {n for _, n in asked} == {np.inf}
    asked.clear()
    compare(X, np.where(labeled, y, -1), y_true=y, random_state=0)
    assert set(asked) == {(0.0, np.inf)}


@pytest.mark.parametrize("arguments", [{"n_splits": 0}, {"n_splits": 2.5}, {"n_draws": 0}, {"n_draws": True}])
def test_numbers_of_splits_and_draws_are_refused_by_name(arguments):
    X, y, labeled = wine()
    truth = y if "n_draws" in arguments else None
    with pytest.raises(ValueError, match=f"{next(iter(arguments))}=.* must be a whole number of at least 1"):
        compare(X, np.where(labeled, y, -1), y_true=truth, **arguments)
