"""Sufficient statistics: what they hold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.numerics.moments import output_sets, sums_by_group


@pytest.mark.parametrize("q", [3, 20, 60])
def test_output_sets_are_the_distinct_rows(rng, q):
    observed = rng.random((30, 3))[:, np.arange(q) % 3] < 0.5
    sets, of_row = output_sets(observed)
    assert_array_equal(sets[of_row], observed)
    assert_array_equal(sets, np.unique(observed, axis=0))


def test_sums_by_group_leave_an_empty_one_at_zero(rng):
    A, of_row = rng.normal(size=(20, 3)), rng.choice([0, 2], 20)
    expected = [A[of_row == g].sum(axis=0) for g in range(3)]
    assert_allclose(sums_by_group(A, of_row, 3), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("shape", [(0, 3), (5, 0)])
def test_output_sets_of_nothing(shape):
    sets, of_row = output_sets(np.zeros(shape, dtype=bool))
    assert sets.shape == (1, shape[1])
    assert_array_equal(of_row, np.zeros(shape[0]))
