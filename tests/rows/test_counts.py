"""Rows of a group in which a feature occurs, sparse and dense, against a comparison of the whole table."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from gnomon.rows import read
from gnomon.rows.counts import Presence


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array])
def test_counts_are_those_of_the_comparison(rng, form):
    X = rng.integers(-2, 3, size=(50, 6)) * (rng.random((50, 6)) < 0.5)
    group = rng.integers(-1, 3, size=50)
    expected = [(X[group == g] != 0).sum(axis=0) for g in range(3)]
    found = read(form(X.astype(float))).fold(Presence(3), columns={"group": group})
    assert_array_equal(found, expected)
