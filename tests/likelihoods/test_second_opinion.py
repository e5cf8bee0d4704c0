"""A model and densities of labeled points agree on classes: definition, units, weights, what cannot be learned."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.likelihoods.second_opinion import Mean, agree, opinion_of, said, told
from gnomon.numerics.normalize import normalized
from oracles import second_opinion as oracle


@pytest.fixture
def points(rng):
    """Points of three classes, of which twelve are labeled, and what a model that is too sure says of them."""
    truth = np.arange(60) % 3
    Z = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)) + 2.0 + np.eye(3, 4)[truth]
    proba = normalized(6.0 * (np.eye(3)[truth] + 0.7 * rng.normal(size=(60, 3))))[0]
    return Z, proba, np.where(np.arange(60) < 12, truth, -1)


def test_it_is_the_definition(points):
    Z, proba, index = points
    found = opinion_of(Z, proba, index)
    expected, temperature = oracle.of_points(Z, proba, index, 3)
    assert_allclose(found.mean.temperature, temperature, rtol=1e-6)
    assert_allclose(told(proba, Z, found), expected, atol=1e-7)
    assert temperature > 1.0


def test_units_and_rotations_of_points_change_nothing(points, rng):
    Z, proba, index = points
    moved = Z @ rng.normal(size=(4, 4)) * 1e4 - 3.0
    assert_allclose(
        told(proba, moved, opinion_of(moved, proba, index)), told(proba, Z, opinion_of(Z, proba, index)), atol=1e-8
    )


def test_weights_count_rows(points):
    Z, proba, index = points
    weights = 1.0 + np.arange(60) % 2
    again = np.repeat(np.arange(60), weights.astype(int))
    one, other = opinion_of(Z, proba, index, weights), opinion_of(Z[again], proba[again], index[again])
    assert_allclose(one.mean, other.mean, rtol=1e-9)
    assert_allclose(told(proba, Z, one), told(proba, Z, other), atol=1e-9)


def test_with_labels_the_model_comes_into_its_own(points):
    _, proba, _ = points
    logs = np.log(normalized(np.random.default_rng(1).normal(size=(60, 3)))[0])
    gaps = [
        np.abs(said(proba, logs, agree(proba, logs, np.ones(60), np.full(3, n))) - proba).max()
        for n in (1.0, 30.0, 1e3, 1e6)
    ]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 0.1
    assert gaps[-1] < 1e-3


def test_coordinates_that_do_not_vary_say_nothing(points):
    Z, proba, index = points
    wide = np.column_stack([Z, np.ones(60), Z[:, 0]])
    assert_allclose(
        told(proba, wide, opinion_of(wide, proba, index)), told(proba, Z, opinion_of(Z, proba, index)), atol=1e-7
    )
    still = opinion_of(np.ones((60, 2)), proba, index)
    assert_allclose(told(proba, np.ones((60, 2)), still).sum(axis=1), 1.0)


def test_a_class_without_labels_leaves_the_model_alone(points):
    Z, proba, index = points
    assert opinion_of(Z, proba, np.where(index == 2, -1, index)) is None
    assert opinion_of(Z, np.ones((60, 1)), np.zeros(60, dtype=int)) is None
    assert_array_equal(told(proba, Z, None), proba)


def test_certain_probabilities_stay_numbers():
    proba = np.eye(2)[np.arange(10) % 2]
    found = said(proba, np.zeros((10, 2)), Mean(50.0, 0.5, 0.9))
    assert np.isfinite(found).all()
    assert_array_equal(found.argmax(axis=1), proba.argmax(axis=1))


def test_points_that_are_very_far_away_have_probabilities(points):
    Z, proba, index = points
    far = Z.copy()
    far[:2] = [[np.inf, -np.inf, 1.0, 0.0], [1e300, 1e300, 0.0, 1.0]]
    found = told(proba, far, opinion_of(Z, proba, index))
    assert_allclose(found.sum(axis=1), 1.0)
    assert_allclose(found[2:], told(proba, Z, opinion_of(Z, proba, index))[2:])
    large = told(proba, 1e150 * Z, opinion_of(1e150 * Z, proba, index))
    assert_allclose(large, told(proba, Z, opinion_of(Z, proba, index)), atol=1e-9)
