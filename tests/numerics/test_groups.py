"""Means of rows that belong together, beside their definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.numerics.groups import group_means


@pytest.mark.parametrize("shape", [(7,), (7, 3)])
def test_means_are_those_of_each_group(shape):
    values, place = np.random.default_rng(0).normal(size=shape), np.array([2, 0, 1, 0, 2, 2, 1])
    found = group_means(values, place)
    assert_allclose(found, [values[place == g].mean(axis=0) for g in range(3)], rtol=1e-14)
    assert_array_equal(group_means(values, np.arange(7)), values)
