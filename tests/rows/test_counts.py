"""Counts of rows above a level, sparse and dense, against a comparison of the whole table."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from gnomon.rows import counts
from gnomon.rows.counts import counts_above


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array])
def test_counts_are_those_of_the_comparison(rng, form, monkeypatch):
    monkeypatch.setattr(counts, "BLOCK_ENTRIES", 1)  # several blocks of 16 rows
    X = rng.integers(-2, 3, size=(50, 6)) * (rng.random((50, 6)) < 0.5)
    level = np.array([0.0, 0.5, -0.5, -2.0, 1.0, -1.0])
    group = rng.integers(-1, 3, size=50)
    expected = [(X[group == g] > level).sum(axis=0) for g in range(3)]
    assert_array_equal(counts_above(form(X.astype(float)), level, group, 3), expected)
