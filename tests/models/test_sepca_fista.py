"""FISTA on a concave quadratic over a box: the optimum by the active set, bounds on both sides, restarts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon._types import Status
from gnomon.models.sepca.fista import Slope, fista, relative_gap


class Box:
    """Maximize c'x - x'A x / 2 for x in [0, 1]^d; the upper bound is that of the linear model over the box."""

    def __init__(self, A, c):
        self.A, self.c = A, c

    def smooth(self, point):
        (x,) = point
        return float(self.c @ x - 0.5 * x @ self.A @ x)

    def slope(self, point):
        (x,) = point
        gradient = self.c - self.A @ x
        value = self.smooth(point)
        return Slope(value, (gradient,), value + float(np.maximum(gradient * (1 - x), -gradient * x).sum()))

    def proximal(self, point, gradient, step):
        return (np.clip(point[0] + step * gradient[0], 0.0, 1.0),), 0.0


@pytest.fixture
def problem(rng):
    M = rng.normal(size=(7, 7))
    return Box(M @ M.T + 0.1 * np.eye(7), 3.0 * rng.normal(size=7))


def active_set_optimum(A, c):
    """The best of all points at which each coordinate is 0, 1 or free, feasible ones only."""
    best = -np.inf
    for code in np.ndindex(*(3,) * len(c)):
        state = np.array(code)
        x = (state == 1).astype(float)
        free = state == 2
        if free.any():
            x[free] = np.linalg.solve(A[np.ix_(free, free)], c[free] - A[np.ix_(free, ~free)] @ x[~free])
        if (x >= 0).all() and (x <= 1).all():
            best = max(best, float(c @ x - 0.5 * x @ A @ x))
    return best


@pytest.mark.parametrize("step", [1e-6, 1.0, 1e6])
def test_the_bounds_close_on_the_optimum(problem, step):
    found = fista(problem, (np.zeros(7),), step, 1e-9, 5000)
    truth = active_set_optimum(problem.A, problem.c)
    assert found.status is Status.CONVERGED
    assert_allclose(found.value.lower, truth, rtol=1e-8)
    assert found.value.lower <= truth + 1e-10 <= found.value.upper + 2e-10
    assert_allclose(problem.smooth(found.value.point), found.value.lower, rtol=1e-12)


def test_the_path_never_falls_and_running_out_is_said(problem):
    found = fista(problem, (np.zeros(7),), 1.0, 1e-12, 3)
    assert found.status is Status.MAX_ITER
    assert found.stats["n_iter"] == len(found.path) == 3
    assert (np.diff(found.path) >= 0).all()
    assert found.value.relative_gap > 1e-12


def test_the_gap_is_never_negative():
    assert relative_gap(2.0, 2.0 - 1e-16) == 0.0
    assert relative_gap(-2.0, -1.0) == 0.5
