"""Sufficient statistics: what they hold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.numerics.moments import output_sets, pattern_from_rows, pattern_from_sums


def test_a_pattern_from_sums_is_that_from_rows(rng):
    T, Y, w = rng.normal(size=(20, 3)) + 5.0, rng.normal(size=(20, 2)), rng.uniform(0.5, 2, 20)
    o, wT, wY = np.arange(2), w[:, None] * T, w[:, None] * Y
    a = pattern_from_rows(o, T, Y, w)
    b = pattern_from_sums(o, w.sum(), wT.sum(0), wY.sum(0), wT.T @ T, wT.T @ Y, wY.T @ Y)
    V = np.hstack([T, Y])
    assert_allclose(a.mean, w @ V / w.sum(), rtol=1e-12)
    assert_allclose(a.scatter, w.sum() * np.cov(V.T, aweights=w, ddof=0), rtol=1e-10, atol=1e-12)
    for x, y in zip(a, b, strict=True):
        assert_allclose(x, y, rtol=1e-10, atol=1e-10)


def test_output_sets_are_the_distinct_rows(rng):
    observed = rng.random((30, 3)) < 0.5
    sets, of_row = output_sets(observed)
    assert_array_equal(sets[of_row], observed)
    assert len(np.unique(sets, axis=0)) == len(sets)


@pytest.mark.parametrize("shape", [(0, 3), (5, 0)])
def test_output_sets_of_nothing(shape):
    sets, of_row = output_sets(np.zeros(shape, dtype=bool))
    assert sets.shape == (1, shape[1])
    assert_array_equal(of_row, np.zeros(shape[0]))
