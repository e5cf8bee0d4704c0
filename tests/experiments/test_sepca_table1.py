"""Table 1 of the SEPCA paper: the protocol on a small set, a few draws on real data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from gnomon import SEPCA
from gnomon.experiments import sepca_table1 as table


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


def test_every_method_runs_on_the_same_draws_and_beats_guessing(digits):
    X, y = digits
    found = table.accuracies(X, y, n_draws=2, random_state=3)
    assert set(found) == set(table.METHODS)
    assert min(values.mean() for values in found.values()) > 0.6  # guessing: 0.25
    rng = np.random.default_rng(3)
    for draw in range(2):
        train, test = table.draw_rows(y, 5, None, rng)
        predicted = SEPCA(10).fit(X[train], y[train]).predict(X[test])
        assert_allclose(found["SEPCA"][draw], np.mean(predicted == y[test]))


def test_records_put_the_printed_number_beside_ours(monkeypatch, digits):
    monkeypatch.setattr(table, "load", lambda name: digits)
    records = list(table.reproduce(("yale",), methods=("SEPCA", "SEPCA-LR"), n_draws=2))
    assert [r["printed"] for r in records] == [64.4, 64.4]
    assert all(60 < r["mean"] <= 100 for r in records)
    assert "64.4" in table.format_table(records)


@pytest.mark.realdata
def test_usps_is_near_the_printed_column():
    (record,) = table.reproduce(("usps3456",), methods=("SEPCA",), n_draws=10)
    assert record["mean"] > record["printed"] - 3 * record["sd"] / np.sqrt(10)
