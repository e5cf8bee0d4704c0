"""Quasi-Newton ascent on landscapes whose top is known."""

import numpy as np
from numpy.testing import assert_allclose

from gnomon._types import Status
from gnomon.solvers.quasi_newton import Place, ascend


class Bowl:
    """Minus a function of a vector, with a metric, a largest length of steps and an error of its values."""

    def __init__(self, value, slope, metric=1.0, most=np.inf, rounding=0.0):
        self.value, self.slope, self.scale, self.most, self.rounding = value, slope, metric, most, rounding
        self.seen = 0

    def at(self, vector, near=None):
        self.seen += 1
        return Place(vector, -self.value(vector), self.rounding, -self.slope(vector), None)

    def metric(self, place):
        return lambda slope: self.scale * slope

    def longest(self, place, step):
        return min(1.0, self.most / float(np.linalg.norm(step)))

    def residual(self, place):
        return float(np.linalg.norm(place.slope))


def climb(bowl, start, tol=1e-10, max_iter=200):
    return ascend(bowl, bowl.at(np.array(start)), tol, max_iter)


def rosenbrock(**more):
    return Bowl(
        lambda v: (1.0 - v[0]) ** 2 + 100.0 * (v[1] - v[0] ** 2) ** 2,
        lambda v: np.array([-2.0 * (1.0 - v[0]) - 400.0 * v[0] * (v[1] - v[0] ** 2), 200.0 * (v[1] - v[0] ** 2)]),
        **more,
    )


def test_reaches_the_top_along_a_rising_path():
    found = climb(rosenbrock(), [-1.2, 1.0])
    assert found.status is Status.CONVERGED
    assert_allclose(found.value.vector, 1.0, atol=1e-8)
    assert (np.diff(found.path) > 0.0).all()
    assert found.stats["n_iter"] == len(found.path) - 1


def test_the_exact_metric_needs_one_step():
    curvatures = 10.0 ** np.arange(-3, 4)
    exact = Bowl(lambda v: 0.5 * curvatures @ v**2, lambda v: curvatures * v, metric=1.0 / curvatures)
    assert climb(exact, np.ones(7)).stats["n_iter"] == 1
    plain = Bowl(exact.value, exact.slope)
    assert climb(plain, np.ones(7)).stats["n_iter"] > 5


def test_steps_are_no_longer_than_is_trusted():
    bowl = Bowl(lambda v: 0.5 * v @ v, lambda v: v, most=0.25)
    found = climb(bowl, [2.0, 0.0])
    assert found.status is Status.CONVERGED
    assert found.stats["n_iter"] >= 8


def test_gains_below_rounding_are_judged_by_the_slope():
    noise = iter(np.random.default_rng(0).uniform(0.0, 1e-3, 1000))
    curvatures = np.array([1.0, 3.0, 10.0, 30.0])
    bowl = Bowl(
        lambda v: 0.5 * curvatures @ v**2 + next(noise), lambda v: curvatures * v, metric=1.0 / 30.0, rounding=1e-3
    )  # fmt: skip
    assert climb(bowl, np.ones(4), tol=1e-8).status is Status.CONVERGED
    bowl.rounding = 0.0
    assert climb(bowl, np.ones(4), tol=1e-8).status is Status.STALLED


def test_stops_at_max_iter():
    found = climb(rosenbrock(), [-1.2, 1.0], max_iter=3)
    assert found.status is Status.MAX_ITER
    assert found.stats["n_iter"] == 3
