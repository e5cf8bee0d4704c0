"""The EM driver and its accelerations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon._types import Status
from gnomon.numerics.linear_gaussian import Params
from gnomon.solvers.acceleration import Alternating, Anderson, Squarem
from gnomon.solvers.em import run_em
from numerics import build

ACCELERATIONS = [None, "anderson", "squarem", "alternating"]


def start(X, Y, k=2):
    """A starting point that does not depend on chance."""
    p, q = X.shape[1], Y.shape[1]
    W_y = np.zeros((q, k)) + 0.1
    return Params(np.eye(p, k) + 0.1, np.zeros(p), 1.0, W_y, np.nanmean(Y, axis=0), np.ones(q))


def maximize(X, Y, *, acceleration=None, tol=1e-9, max_iter=20_000):
    X = X - X.mean(axis=0)
    return build.em(X, Y).maximize(start(X, Y), tol, max_iter, acceleration)


@pytest.mark.parametrize("acceleration", ACCELERATIONS)
@pytest.mark.parametrize("targets", ["labeled", "semi", "entries"])
def test_climbs_monotonely_to_the_same_maximum(rng, targets, acceleration):
    _, X, Y = build.draw(rng, n=60, targets=targets)
    reference, found = maximize(X, Y), maximize(X, Y, acceleration=acceleration)
    assert found.status is Status.CONVERGED
    assert (np.diff(found.path) >= -1e-9 * np.abs(found.path[:-1])).all()
    assert found.path[-1] > found.path[0] + 10.0
    assert_allclose(found.path[-1], reference.path[-1], atol=1e-6)
    params, stats = found.value
    assert_allclose(stats.objective, build.loglik(params, X - X.mean(axis=0), Y), rtol=1e-10)
    assert found.stats["residual"] <= 1e-9
    assert found.stats["n_iter"] == len(found.path) - 1


def test_acceleration_saves_iterations():
    rng = np.random.default_rng(0)
    _, X, Y = build.draw(rng, n=60, targets="semi", s2_x=3.0)
    steps = [maximize(X, Y, acceleration=a, tol=1e-6).stats["n_iter"] for a in ACCELERATIONS]
    plain, anderson, squarem, alternating = steps
    assert max(anderson, alternating) < 0.3 * plain
    assert squarem < plain


def test_stops_at_max_iter():
    _, X, Y = build.draw(np.random.default_rng(0))
    found = maximize(X, Y, max_iter=3)
    assert found.status is Status.MAX_ITER
    assert found.stats["n_iter"] == 3
    assert found.stats["residual"] > 1e-9


def test_acceleration_needs_a_packing():
    with pytest.raises(TypeError, match="packing"):
        run_em(
            lambda x: x, lambda s, x: x, 1.0,
            log_likelihood=float, residual=lambda s, x, y: 1.0, tol=1e-3, max_iter=3, acceleration="anderson",
        )  # fmt: skip


class Numbers:
    """A packing for plain numbers."""

    def pack(self, params):
        return np.array([params])

    def unpack(self, vector, like):
        return float(vector[0])


def run_on_parabola(m_step, acceleration=None, max_iter=50):
    """The objective is -(x - 1)^2."""
    return run_em(
        lambda x: x, m_step, 4.0,
        log_likelihood=lambda x: -((x - 1.0) ** 2),
        residual=lambda s, x, y: abs(x - 1.0),
        tol=1e-10, max_iter=max_iter, packing=Numbers(), acceleration=acceleration,
    )  # fmt: skip


def test_a_step_that_falls_is_refused_and_reported():
    found = run_on_parabola(lambda s, x: x + 1.0)
    assert found.status is Status.STALLED
    assert found.value[0] == 4.0
    assert found.path.tolist() == [-9.0]


@pytest.mark.parametrize("acceleration", ["anderson", "squarem", "alternating"])
def test_bad_proposals_are_refused_and_counted(acceleration):
    class Bad(Numbers):
        def unpack(self, vector, like):
            return 100.0

    found = run_em(
        lambda x: x, lambda s, x: 1.0 + 0.5 * (x - 1.0), 4.0,
        log_likelihood=lambda x: -((x - 1.0) ** 2), residual=lambda s, x, y: abs(x - 1.0),
        tol=1e-6, max_iter=100, packing=Bad(), acceleration=acceleration,
    )  # fmt: skip
    assert found.status is Status.CONVERGED
    assert found.stats["n_refused"] == found.stats["n_iter"]


def test_a_proposal_that_is_not_finite_is_refused():
    class Broken(Numbers):
        def pack(self, params):
            return np.array([np.nan])

    found = run_em(
        lambda x: x, lambda s, x: 1.0 + 0.5 * (x - 1.0), 4.0,
        log_likelihood=lambda x: -((x - 1.0) ** 2), residual=lambda s, x, y: abs(x - 1.0),
        tol=1e-6, max_iter=100, packing=Broken(), acceleration="squarem",
    )  # fmt: skip
    assert found.status is Status.CONVERGED


def test_anderson_solves_a_linear_map_in_as_many_steps_as_dimensions(rng):
    A = rng.normal(size=(4, 4))
    A *= 0.9 / np.abs(np.linalg.eigvals(A)).max()
    b = rng.normal(size=4)
    answer = np.linalg.solve(np.eye(4) - A, b)
    mixing, x = Anderson(), np.zeros(4)
    for _ in range(7):
        x = mixing.propose(x, A @ x + b)
    assert_allclose(x, answer, rtol=1e-6, atol=1e-6)


def test_anderson_forgets():
    mixing = Anderson()
    mixing.propose(np.zeros(2), np.ones(2))
    mixing.reset()
    assert_allclose(mixing.propose(np.ones(2), np.full(2, 3.0)), 3.0)


def test_anderson_keeps_a_bounded_past():
    mixing = Anderson(depth=2)
    for i in range(10):
        mixing.propose(np.full(2, float(i)), np.full(2, i + 0.5**i))
    assert len(mixing.points) == 3


def test_anderson_of_a_map_that_stands_still_is_the_plain_step():
    mixing = Anderson()
    mixing.propose(np.ones(2), np.full(2, 2.0))
    assert_allclose(mixing.propose(np.ones(2), np.full(2, 2.0)), 2.0)


def test_squarem_solves_a_linear_map_of_one_dimension():
    jump, x = Squarem(), np.array([5.0])
    x = jump.propose(x, 0.9 * x + 1.0)
    x = jump.propose(x, 0.9 * x + 1.0)
    assert_allclose(x, 10.0, rtol=1e-12)


def test_squarem_forgets_and_takes_no_step_without_curvature():
    jump = Squarem()
    jump.propose(np.zeros(1), np.ones(1))
    jump.reset()
    assert_allclose(jump.propose(np.ones(1), np.full(1, 7.0)), 7.0)
    straight = Squarem()
    straight.propose(np.zeros(1), np.ones(1))
    assert_allclose(straight.propose(np.ones(1), np.full(1, 2.0)), 2.0)


def test_alternating_forgets_and_changes_over_when_refused_twice():
    both = Alternating()
    for _ in range(2):
        both.propose(np.zeros(1), np.ones(1))
        assert isinstance(both.active, Anderson)
        both.reset()
    assert isinstance(both.active, Squarem)
    assert not both.resting.points
    both.propose(np.zeros(1), np.ones(1))
    both.reset()
    assert isinstance(both.active, Anderson)
