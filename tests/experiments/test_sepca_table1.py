"""Table 1 of the SEPCA paper: the protocol on a small set, a few draws on real data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from gnomon import SEPCA
from gnomon.experiments import sepca_table1 as table
from gnomon.experiments._cells import Cell


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=4, return_X_y=True)
    return X[:160], y[:160]


def test_draws_take_the_same_number_of_each_class(rng):
    y = rng.permutation(np.repeat([0, 1, 2], [9, 12, 20]))
    train, test = table.draw_rows(y, 5, None, rng)
    assert_array_equal(np.bincount(y[train]), [5, 5, 5])
    assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(41))
    train, test = table.draw_rows(y, 3, 8, rng)
    assert_array_equal(np.bincount(y[test]), [5, 5, 5])
    assert not set(train) & set(test)


@pytest.fixture
def of_digits(digits, monkeypatch):
    monkeypatch.setattr(table, "load", lambda name: digits)


def accuracy(method, seed=3, task="yale, 5 a class"):
    return table.scores(Cell(task, method, 10, seed))["accuracy"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_method_runs_and_beats_guessing(of_digits):
    for method in table.METHODS:
        assert accuracy(method) > 60, method  # guessing: 25


def test_accuracy_is_that_of_the_rows_left(digits, of_digits):
    X, y = digits
    for task, per_class in (("yale, 5 a class", 5), ("yale, 3 a class", 3)):
        train, test = table.draw_rows(y, per_class, None, np.random.default_rng(3))
        predicted = SEPCA(10, uncertainty="plug-in").fit(X[train], y[train]).predict(X[test])
        assert_allclose(accuracy("SEPCA", task=task), 100 * np.mean(predicted == y[test]))


def test_variants_stand_beside_the_same_printed_number():
    printed = [table.printed("yale, 4 a class", name, 10, "").mean for name in ("SEPCA", "SEPCA-LR", "SEPCA-pinv")]
    assert printed == [64.4] * 3
    assert table.printed("yale, 4 a class", "DPPCA", None, "") is None


@pytest.mark.realdata
def test_usps_is_near_the_printed_column():
    found = [accuracy("SEPCA", seed, "usps3456, 5 a class") for seed in range(10)]
    assert np.mean(found) > 79.7 - 3 * np.std(found, ddof=1) / np.sqrt(10)
