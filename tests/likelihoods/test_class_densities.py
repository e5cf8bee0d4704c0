"""Distances from the centers of classes, of any size."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.likelihoods.class_densities import log_square


@pytest.mark.parametrize("exponent", [-300, -200, -100, 0, 100, 200, 300])
def test_squares_of_any_size_have_their_logarithm(rng, exponent):
    away = rng.normal(size=(3, 20, 5))
    wanted = np.log((away**2).sum(axis=-1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = log_square(away * 10.0**exponent)
    assert_allclose(found, wanted + 2.0 * exponent * np.log(10.0), rtol=1e-12, atol=1e-12)


def test_sizes_that_differ_and_nothing_at_all():
    away = np.array([[1e300, 1e300], [3.0, 4.0], [1e-300, 0.0], [0.0, 0.0]])
    wanted = [np.log(2.0) + 600 * np.log(10.0), np.log(25.0), -600 * np.log(10.0), -np.inf]
    assert_allclose(log_square(away), wanted, rtol=1e-12)
