"""Kernels of principal coordinates: their height, pairs beside the definition, and what lies outside."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.models.readout.kernels import Kernel, Seen
from oracles import averaged_readout as oracle

KERNELS = [Kernel(0, 1.0, np.inf), Kernel(0, 0.5, 2.0), Kernel(0, 0.0, np.inf, 3), Kernel(0, 0.0, 2.0, 2)]


@pytest.fixture
def rows():
    T = np.random.default_rng(0).standard_normal((40, 6)) * [3.0, 2.0, 1.0, 0.5, 0.2, 0.1]
    return Seen(T, np.zeros(40), np.mean(T**2, axis=0), 40)


def test_a_kernel_is_one_in_the_mean_for_a_row_and_itself(rows):
    seen = rows
    for kernel in KERNELS[:3:2]:
        assert_allclose(kernel.of_rows(seen).mean(), 1.0)
    assert_allclose(KERNELS[1].of_rows(seen), 4.0)
    for kernel in KERNELS:
        pairs = kernel.of_pairs(kernel.coordinates(seen), kernel.coordinates(seen))
        assert_allclose(np.diag(pairs), kernel.of_rows(seen))
        coordinates = kernel.coordinates(seen)
        assert_allclose(pairs, oracle.kernel(coordinates, coordinates, kernel.length))


def test_what_lies_outside_the_directions_counts_as_one_more(rows):
    seen = rows
    kernel = Kernel(0, 1.0, np.inf)
    away = seen._replace(outside=np.full(40, 0.004))  # less than the variance along the last direction
    share = seen.variances[-1] / seen.variances.sum()
    assert_allclose(kernel.of_rows(away) - kernel.of_rows(seen), 0.004 / seen.variances[-1] * share)
    assert_allclose(KERNELS[1].of_rows(away), 4.0)
