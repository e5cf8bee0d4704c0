"""Spectral k-support norm and its proximal map, against their definitions."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from gnomon.models.sepca import k_support as ks

SHAPES = [(7, 5), (4, 6)]


def bisection(total, low, high, wanted):
    """Where a falling function of one number takes a value."""
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if total(middle) > wanted else (low, middle)
    return 0.5 * (low + high)


def singular(S):
    return np.linalg.svd(S, compute_uv=False)


def theta_by_bisection(s, k, shift):
    log_nu = bisection(lambda u: np.clip(s * np.exp(-u) - shift, 0, 1).sum(), -60.0, 60.0, k)
    return np.clip(s * np.exp(-log_nu) - shift, 0, 1)


@pytest.mark.parametrize("shift", [0.0, 0.03, 2.0, 500.0])
@pytest.mark.parametrize("k", [1, 3, 7])
def test_weights_are_those_of_a_long_bisection(rng, k, shift):
    s = np.exp(2 * rng.normal(size=8))
    theta = ks.capped_weights(s, k, shift)
    assert_allclose(theta, theta_by_bisection(s, k, shift), atol=1e-10)
    assert_allclose(theta.sum(), k, rtol=1e-12)
    assert_allclose(ks.capped_weights(1e-200 * s, k, shift), theta, atol=1e-10)


def test_weights_with_ties_zeros_and_few_values():
    assert_allclose(ks.capped_weights(np.ones(5), 2, 0.3), np.full(5, 0.4))
    assert_allclose(ks.capped_weights(np.array([3.0, 0.0, 1.0]), 2, 0.3), [1, 0, 1])
    assert_allclose(ks.capped_weights(np.zeros(3), 2, 0.3), np.zeros(3))


@pytest.mark.parametrize("k", [1, 2, 4])
def test_squared_norm_is_the_largest_inner_product_with_the_dual_ball(rng, k):
    s = np.abs(rng.normal(size=5))

    ball = [  # on vectors the dual norm is that of the k largest entries: all subsets of k are in the unit ball
        {"type": "ineq", "fun": lambda v, i=list(i): 1.0 - (v[i] ** 2).sum()} for i in combinations(range(5), k)
    ]
    found = minimize(lambda v: -s @ v, np.full(5, 0.1), method="SLSQP", constraints=ball, tol=1e-14).fun
    assert_allclose(ks.squared_norm(s, k), found**2, rtol=1e-6)


def test_squared_norm_between_nuclear_and_frobenius(rng):
    s = np.abs(rng.normal(size=6))
    assert_allclose(ks.squared_norm(s, 1), s.sum() ** 2)
    assert_allclose(ks.squared_norm(s, 6), (s**2).sum())
    values = [ks.squared_norm(s, k) for k in range(1, 7)]
    assert (np.diff(values) <= 1e-12).all()
    assert values[0] > values[-1] + 0.1


@pytest.mark.parametrize("shape", SHAPES)
def test_dual_norm_counts_the_largest_k(rng, shape):
    R = rng.normal(size=shape)
    assert_allclose(ks.squared_dual_norm(ks.small_gram(R), 2), (singular(R)[:2] ** 2).sum())


@pytest.mark.parametrize("strength", [1e-3, 0.4, 30.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_proximal_point_meets_its_optimality_condition(rng, shape, strength):
    """S - F is in strength times the subdifferential: Fenchel's inequality with the dual norm holds as an equation."""
    S, k = rng.normal(size=shape), 2
    F, size = ks.proximal_map(S, k, strength)
    assert_allclose(size, ks.squared_norm(singular(F), k), rtol=1e-8)
    G = (S - F) / strength
    assert_allclose((F * G).sum(), 0.5 * size + 0.5 * (singular(G)[:k] ** 2).sum(), rtol=1e-8)


def test_no_nearby_point_beats_the_proximal_point(rng):
    S, k, strength = rng.normal(size=(6, 4)), 2, 0.7
    F, size = ks.proximal_map(S, k, strength)

    def cost(F):
        return 0.5 * ((F - S) ** 2).sum() + 0.5 * strength * ks.squared_norm(singular(F), k)

    best = 0.5 * ((F - S) ** 2).sum() + 0.5 * strength * size
    for scale in (1e-4, 1e-2, 1.0):
        for _ in range(30):
            assert cost(F + scale * rng.normal(size=F.shape)) > best - 1e-12


@pytest.mark.parametrize("k", [1, 3])
def test_subsets_bound_the_norm(rng, k):
    """Every k singular values alone have their Frobenius norm: the ball is their convex hull."""
    s = np.abs(rng.normal(size=4))
    for chosen in combinations(range(4), k):
        part = np.zeros(4)
        part[list(chosen)] = s[list(chosen)]
        assert_allclose(ks.squared_norm(part, k), (part**2).sum())
