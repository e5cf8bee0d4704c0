"""Quasi-Newton ascent on landscapes whose top is known."""

import numpy as np
from numpy.testing import assert_allclose

from gnomon._types import Status
from gnomon.solvers.quasi_newton import CRAWL, PAIRS, Pairs, Place, ascend


class Bowl:
    """Minus a function of a vector, with a metric, a largest length of steps and an error of its values."""

    def __init__(self, value, slope, metric=1.0, most=np.inf, rounding=0.0, floor=-np.inf):
        self.value, self.slope, self.scale, self.most, self.rounding = value, slope, metric, most, rounding
        self.floor, self.seen = floor, []

    def at(self, vector, near=None):
        self.seen.append(len(vector))
        vector = np.maximum(vector, self.floor)
        slope = -np.array([self.slope(v) for v in vector])
        slope[(vector == self.floor) & (slope < 0.0)] = 0.0
        value = -np.array([self.value(v) for v in vector])
        return Place(vector, value, np.full(len(vector), self.rounding), slope, np.linalg.norm(slope, axis=1), ())

    def metric(self, place):
        return lambda slope: self.scale * slope

    def longest(self, place, step):
        return np.minimum(1.0, self.most / np.linalg.norm(step, axis=1))

    def distinct(self, place):
        return np.arange(len(place.value))


def climb(bowl, *starts, tol=1e-10, max_iter=200, close=0.0):
    return ascend(bowl, bowl.at(np.array(starts, dtype=float)), tol, max_iter, close)


def rosenbrock(**more):
    return Bowl(
        lambda v: (1.0 - v[0]) ** 2 + 100.0 * (v[1] - v[0] ** 2) ** 2,
        lambda v: np.array([-2.0 * (1.0 - v[0]) - 400.0 * v[0] * (v[1] - v[0] ** 2), 200.0 * (v[1] - v[0] ** 2)]),
        **more,
    )


def test_reaches_the_top_along_a_rising_path():
    found = climb(rosenbrock(), [-1.2, 1.0])
    assert found.status is Status.CONVERGED
    assert_allclose(found.value.vector[0], 1.0, atol=1e-8)
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


def test_where_a_bound_holds_no_step_is_taken():
    """Over the inverse of the Hessian a coordinate at its bound would move with the other one."""
    H = np.array([[1.0, -0.9], [-0.9, 1.0]])
    bowl = Bowl(lambda v: 0.5 * v @ H @ v - v @ [1.0, -3.0], lambda v: H @ v - [1.0, -3.0], floor=np.array([-9.0, 0.5]))
    bowl.metric, at, vectors = lambda place: lambda slope: slope @ np.linalg.inv(H), bowl.at, []
    bowl.at = lambda vector, near=None: vectors.append(vector.copy()) or at(vector)
    found = climb(bowl, [0.0, 0.5])
    assert_allclose(found.value.vector[0], [1.45, 0.5])
    assert {float(vector[0, 1]) for vector in vectors} == {0.5}


def test_a_climb_that_crawls_is_left():
    """Along a quartic the metric is ever further from the curvature: steps are as short as the slope."""
    bowl = Bowl(lambda v: float((v**4).sum()), lambda v: 4.0 * v**3, metric=1e-4, most=1e-3)
    for starts in ([[1.0, 0.5]], [[1.0, 0.5], [0.9, -0.5]]):
        found = climb(bowl, *starts)
        assert found.status is Status.STALLED
        assert CRAWL <= found.stats["n_iter"] == len(found.path) - 1 <= CRAWL + 1
        assert (np.diff(found.path) > 0.0).all()
    assert climb(bowl, [1.0, 0.5], max_iter=CRAWL - 1).status is Status.MAX_ITER


def test_gains_below_rounding_are_judged_by_the_slope():
    noise = iter(np.random.default_rng(0).uniform(0.0, 1e-3, 1000))
    curvatures = np.array([1.0, 3.0, 10.0, 30.0])
    bowl = Bowl(
        lambda v: 0.5 * curvatures @ v**2 + next(noise), lambda v: curvatures * v, metric=1.0 / 40.0, rounding=1e-3
    )  # fmt: skip
    assert climb(bowl, np.ones(4), tol=1e-8).status is Status.CONVERGED
    bowl.rounding = 0.0
    assert climb(bowl, np.ones(4), tol=1e-8).status is Status.STALLED


def test_stops_at_max_iter():
    found = climb(rosenbrock(), [-1.2, 1.0], max_iter=3)
    assert found.status is Status.MAX_ITER
    assert found.stats["n_iter"] == 3


def two_tops(v):
    """A low top at -1 and a high one at 2."""
    return -1.0 / (1.0 + (v[0] + 1.0) ** 2) - 3.0 / (1.0 + (v[0] - 2.0) ** 2)


def slope_of_two_tops(v):
    left, right = v[0] + 1.0, v[0] - 2.0
    return np.array([2.0 * left / (1.0 + left**2) ** 2 + 6.0 * right / (1.0 + right**2) ** 2])


def test_of_several_starts_the_best_is_climbed_to_the_top():
    bowl = Bowl(two_tops, slope_of_two_tops, metric=0.3)
    low, high = climb(bowl, [-1.2]), climb(bowl, [1.0])
    assert low.value.vector[0, 0] < 0.0 < high.value.vector[0, 0]
    bowl.seen.clear()
    both = climb(bowl, [-1.2], [1.0], close=1e-3)
    assert both.status is Status.CONVERGED
    assert_allclose(both.value.vector, high.value.vector, atol=1e-8)
    assert bowl.seen[0] == 2
    assert bowl.seen[-1] == 1
    assert (np.diff(both.path) >= 0.0).all()


def test_several_starts_climb_as_each_does_alone():
    curvatures = np.array([1.0, 4.0, 9.0])
    bowl = Bowl(lambda v: 0.5 * curvatures @ v**2 + 0.1 * (v**4).sum(), lambda v: curvatures * v + 0.4 * v**3, 0.1)
    starts = [[3.0, -2.0, 1.0], [-1.0, 1.0, 4.0], [0.5, 0.0, 0.2]]
    paths = [climb(bowl, start).path for start in starts]
    together = climb(bowl, *starts, close=1e-10)
    best = np.array([max(path[min(i, len(path) - 1)] for path in paths) for i in range(len(together.path))])
    assert_allclose(together.path[:4], best[:4], rtol=1e-12)
    assert together.status is Status.CONVERGED


def test_a_start_that_cannot_come_up_with_the_best_is_left():
    bowl = Bowl(two_tops, slope_of_two_tops, metric=0.3)
    climb(bowl, [-1.05], [2.2], [2.4], close=1e-6)
    assert bowl.seen[0] == 3
    assert max(bowl.seen[1:]) == 2


def test_a_bound_is_kept_and_what_is_free_goes_on():
    corner = Bowl(
        lambda v: (v[0] + 1.0) ** 2 + (v[0] + v[1] - 1.0) ** 2 + 20.0 * (v[1] - v[2]) ** 2,
        lambda v: np.array([
            2.0 * (v[0] + 1.0) + 2.0 * (v[0] + v[1] - 1.0),
            2.0 * (v[0] + v[1] - 1.0) + 40.0 * (v[1] - v[2]),
            -40.0 * (v[1] - v[2]),
        ]),
        metric=0.1,
        floor=0.0,
    )  # fmt: skip
    found = climb(corner, [2.0, 3.0, 0.5])
    assert found.status is Status.CONVERGED
    assert_allclose(found.value.vector[0], [0.0, 1.0, 1.0], atol=1e-8)
    assert found.stats["n_iter"] < 40


def inverse_by_updates(steps, falls, metric):
    """The inverse of minus the Hessian by one BFGS update a pair, the oldest first, from a metric (d, d)."""
    H = metric
    for step, fall in zip(steps, falls, strict=True):
        left = np.eye(len(H)) - np.outer(step, fall) / (step @ fall)
        H = left @ H @ left.T + np.outer(step, step) / (step @ fall)
    return H


def test_directions_are_those_of_one_update_a_pair():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((2, 6, 6))
    curvatures = A @ A.swapaxes(1, 2) + np.eye(6)
    metric, pairs = np.diag(rng.uniform(0.1, 1.0, 6)), Pairs(2, 6)
    steps = rng.standard_normal((PAIRS + 5, 2, 6))
    falls = (curvatures @ steps[..., None])[..., 0] + 0.1 * rng.standard_normal(steps.shape)
    falls[7, 1] = -steps[7, 1]  # no curvature to learn from
    slope = rng.standard_normal((2, 6))
    for m, (step, fall) in enumerate(zip(steps, falls, strict=True), start=1):
        pairs.remember(step, fall)
        found = pairs.direction(slope, lambda slope: slope @ metric)
        for i in range(2):
            kept = [j for j in range(max(0, m - PAIRS), m) if steps[j, i] @ falls[j, i] > 0.0]
            H = inverse_by_updates(steps[kept, i], falls[kept, i], metric)
            assert_allclose(found[i], H @ slope[i], rtol=1e-6, atol=1e-9)
    pairs.forget(np.array([True, False]))
    assert_allclose(pairs.direction(slope, lambda slope: slope @ metric)[0], slope[0] @ metric)
