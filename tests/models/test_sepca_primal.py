"""The convex problem over F: its value and bound beside the printed formulas, its gradient beside differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from gnomon.models.sepca import model, primal
from models.sepca_problem import at, full_labels, problem, squared_norm
from oracles import sepca as oracle


def test_value_and_bound_are_the_papers_formulas(rng):
    data = problem(rng)
    F = rng.normal(size=(9, 6))
    slope, sums = at(data, F)
    Y, K = full_labels(data), data.rows @ data.rows.T
    T_x, T_y = oracle.softmax(F[:, :3] @ data.rows.T), oracle.softmax(F[:, 3:] + sums.b)
    assert_allclose(sums.T_x, T_x, rtol=1e-10)
    assert_allclose(slope.upper, oracle.objective(T_x, T_y, K, Y, 2, data.penalty), rtol=1e-10)
    value = oracle.dual_value(F, sums.b, data.rows, Y, 2, data.penalty, squared_norm)
    assert_allclose(slope.value - data.penalty / 2 * squared_norm(F, 2), value, rtol=1e-10)


def test_bound_without_labels_leaves_their_part_out(rng):
    data = problem(rng, unlabeled=4)
    F = rng.normal(size=(9, 6))
    slope, sums = at(data, F)
    T_x, T_y = oracle.softmax(F[:, :3] @ data.rows.T), oracle.softmax(F[:5, 3:] + sums.b)
    R = np.hstack([data.rows - T_x @ data.rows, np.vstack([data.Y - T_y, np.zeros((4, 3))])])
    largest = (np.linalg.svd(R, compute_uv=False)[:2] ** 2).sum()
    total = ((data.Y - T_y).sum(axis=0) ** 2).sum()
    expected = oracle.entropy(T_x) + oracle.entropy(T_y) + (largest + total) / (2 * data.penalty)
    assert_allclose(slope.upper, expected, rtol=1e-10)


@pytest.mark.parametrize("unlabeled", [0, 4])
def test_gradient_is_that_of_finite_differences(rng, unlabeled):
    data = problem(rng, unlabeled=unlabeled)
    F = rng.normal(size=(9, 6))
    found = at(data, F)[0].gradient[0]
    expected = approx_fprime(F.ravel(), lambda v: at(data, v.reshape(9, 6))[0].value, 1e-6)
    assert_allclose(found.ravel(), expected, atol=1e-5)


@pytest.mark.parametrize("unlabeled", [0, 3])
def test_gradient_with_weights_is_that_of_finite_differences_and_bounds_hold(rng, unlabeled):
    """At F times the roots of the weights; the bound is above every value."""
    data = problem(rng, unlabeled=unlabeled)._replace(weights=rng.uniform(0.3, 3, 9), base_weights=rng.uniform(1, 2, 9))

    def value(G):
        G = G.reshape(9, 6)
        return primal.Multinomial(data).smooth((G, data.scores(G)))

    best = model.solve(data, model.Options(tol=1e-8)).value
    for scale in (0.1, 1.0):
        G = scale * rng.normal(size=(9, 6))
        slope = primal.Multinomial(data).slope((G, data.scores(G)))
        expected = approx_fprime(G.ravel(), value, 1e-6).reshape(9, 6)
        assert_allclose(slope.gradient[0], expected, atol=1e-4)
        assert slope.upper > best.upper - 1e-6
        assert slope.value - data.penalty / 2 * squared_norm(G, 2) < best.lower


def test_a_proximal_point_beats_its_neighbors(rng):
    """Of penalty / 2 ||F||^2 + |F - G|^2 / (2 step), G the point after a gradient step."""
    data, step = problem(rng, beta=0.7), 0.4
    F, gradient = rng.normal(size=(2, 9, 6))
    found, size = primal.Multinomial(data).proximal((F, data.scores(F)), (gradient,), step)
    assert_allclose(found[1], found[0][:, :3] @ data.base.T, rtol=1e-10)
    assert_allclose(size, 0.35 * squared_norm(found[0], 2), rtol=1e-8)

    def cost(at):
        return 0.35 * squared_norm(at, 2) + ((at - F - step * gradient) ** 2).sum() / (2 * step)

    for scale in (1e-3, 1e-1):
        assert cost(found[0] + scale * rng.normal(size=F.shape)) > cost(found[0])
