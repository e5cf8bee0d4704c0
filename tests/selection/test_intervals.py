"""Intervals of shares and means beside brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import beta, binom

from gnomon.selection.intervals import of_error, of_mean


@pytest.mark.parametrize("wrong", [0, 1, 7, 14, 15])
def test_an_interval_of_rows_of_one_weight_is_exact_below_and_that_of_a_flat_prior_above(wrong):
    losses = (np.arange(15) < wrong).astype(float)
    value, low, high = of_error(losses, np.full(15, 1 / 15))
    grid = np.linspace(0, 1, 200_001)
    density = grid**wrong * (1 - grid) ** (15 - wrong)
    below = np.cumsum(density) / density.sum()
    assert_allclose(value, wrong / 15)
    at_least = binom.sf(wrong - 1, 15, low) if wrong else 0.025  # the exact low end: so many wrong are as rare there
    assert_allclose([at_least, low == 0.0], [0.025, wrong == 0])
    assert_allclose(high, grid[np.searchsorted(below, 0.975)] if wrong < 15 else 1.0, atol=2e-5)


def test_rows_of_unlike_weights_count_as_fewer():
    weights = np.array([0.4, 0.4, 0.1, 0.1])
    value, low, high = of_error(np.array([0.0, 0.0, 1.0, 0.0]), weights)
    n = 1 / (weights**2).sum()
    assert_allclose([value, low, high], [0.1, *beta.ppf([0.025, 0.975], [0.1 * n, 1 + 0.1 * n], 1 + 0.9 * n)])


def test_few_rows_that_are_meant_and_few_labels_to_learn_from_widen_it():
    losses, weights = (np.arange(20) < 5).astype(float), np.full(20, 0.05)
    _, low, high = of_error(losses, weights)
    _, _, of_ten = of_error(losses, weights, n_meant=10)
    assert_allclose(of_ten, beta.ppf(0.975, 1 + 0.25 * 20 / 3, 1 + 0.75 * 20 / 3))  # 1 / (1/20 + 1/10)
    _, lower, same = of_error(losses, weights, overlap=1.0)
    assert_allclose([lower, same], [beta.ppf(0.025, 1.25, 4.75), high])  # as of five rows
    assert lower < low


@pytest.mark.parametrize("n, rate", [(15, 0.05), (15, 0.3), (60, 0.1)])
def test_it_holds_the_rate_as_often_as_it_says(n, rate):
    rng = np.random.default_rng(0)
    found = [of_error((rng.random(n) < rate).astype(float), np.full(n, 1 / n)) for _ in range(2000)]
    assert np.mean([low <= rate <= high for _, low, high in found]) > 0.925


def test_means_of_draws_and_of_splits():
    value, low, high = of_mean([1.0, 2.0, 3.0])
    assert_allclose([value, high - value], [2.0, 4.302653 / np.sqrt(3)], rtol=1e-6)
    assert_allclose(of_mean([1.0, 2.0, 3.0], 1.0)[2] - 2.0, (high - value) * 2.0)
    assert np.isnan(of_mean([1.0])[1:]).all()
    assert of_mean([0.5, 0.5]) == (0.5, 0.5, 0.5)
