"""Folds of labeled rows: even in every class, the same whatever the order of rows and columns and names of classes."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from gnomon.numerics.folds import deal_folds, ranks


def test_folds_split_every_class_evenly_and_never_hide_the_only_row_of_one(rng):
    classes = np.r_[np.zeros(7, int), np.ones(5, int), [2]]
    folds = deal_folds(rng.normal(size=(13, 4)), classes, 3, rng)
    assert sorted(np.bincount(folds[:7])) == [2, 2, 3]
    assert sorted(np.bincount(folds[7:12])) == [1, 2, 2]
    assert folds[12] == -1


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("of_length_one", [False, True])
def test_folds_follow_from_what_rows_hold(rng, form, of_length_one):
    T, classes = rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.7), rng.integers(0, 3, 40)
    T /= np.linalg.norm(T, axis=1)[:, None] if of_length_one else 1.0
    rows, columns, names = rng.permutation(40), rng.permutation(6), np.array([2, 0, 1])
    plain = deal_folds(form(T), classes, 4, np.random.default_rng(0))
    other = deal_folds(form(T[rows][:, columns]), names[classes[rows]], 4, np.random.default_rng(0))
    assert_array_equal(other, plain[rows])
    assert (deal_folds(form(T), classes, 4, np.random.default_rng(1)) != plain).any()


def test_ranks_go_by_the_next_key_where_one_is_the_same_but_for_rounding():
    assert_array_equal(ranks(np.array([3.0, 1.0, 1.0 + 1e-13, 2.0]), np.array([0.0, 5.0, 4.0, 0.0])), [3, 1, 0, 2])
    assert_array_equal(ranks(np.array([1.0, 1.0])), [0, 0])
    assert_array_equal(ranks(np.array([1e-17, -2e-17, 0.0]), np.array([1.0, 2.0, 0.0]), unit=1.0), [1, 2, 0])
