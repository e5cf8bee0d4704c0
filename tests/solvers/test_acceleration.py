"""Accelerators: what they do on linear maps, where theory says it, and what a reset forgets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.solvers.acceleration import FEW_SINCE, Alternating, Anderson, Squarem


def contraction(rng, d=6):
    """A linear map with rates up to .99 and its fixed point."""
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    A = (Q * np.linspace(0.3, 0.99, d)) @ Q.T
    b = rng.normal(size=d)
    return lambda x: A @ x + b, np.linalg.solve(np.eye(d) - A, b)


def run(accelerator, step, x, n):
    for _ in range(n):
        x = accelerator.propose(x, step(x))
    return x


def test_anderson_solves_a_linear_map_in_as_many_steps_as_it_has_rates(rng):
    step, fixed = contraction(rng)
    start = rng.normal(size=6)
    assert_allclose(run(Anderson(8), step, start, 8), fixed, rtol=1e-4, atol=1e-4)
    plain = start
    for _ in range(8):
        plain = step(plain)
    assert np.linalg.norm(plain - fixed) > 1e-2 * np.linalg.norm(fixed)


def test_anderson_with_nothing_behind_it_and_after_a_reset_is_the_plain_step(rng):
    step, _ = contraction(rng)
    accelerator, x = Anderson(3), rng.normal(size=6)
    assert np.array_equal(accelerator.propose(x, step(x)), step(x))
    run(accelerator, step, x, 3)
    accelerator.reset()
    assert np.array_equal(accelerator.propose(x, step(x)), step(x))


def test_anderson_at_a_fixed_point_stays_there(rng):
    step, fixed = contraction(rng)
    accelerator = Anderson(3)
    for _ in range(3):
        assert np.array_equal(accelerator.propose(fixed, fixed), fixed)


def test_anderson_keeps_no_more_than_its_depth(rng):
    step, _ = contraction(rng)
    accelerator = Anderson(2)
    run(accelerator, step, rng.normal(size=6), 10)
    assert len(accelerator.points) == len(accelerator.images) == 3


def test_squarem_solves_a_map_of_one_rate_in_two_steps(rng):
    fixed = rng.normal(size=4)
    x = run(Squarem(), lambda x: fixed + 0.97 * (x - fixed), rng.normal(size=4), 2)
    assert_allclose(x, fixed, rtol=1e-9, atol=1e-9)


def test_squarem_never_steps_shorter_than_two_plain_steps():
    # a rate of -1/2: the ratio of differences is 2/3, below one
    x = run(Squarem(), lambda x: -0.5 * x, np.array([1.0]), 2)
    assert_allclose(x, [0.25])


@pytest.mark.parametrize("depth", [1, 8])
def test_alternating_changes_over_when_proposals_are_refused_soon_after_one_another(depth):
    accelerator = Alternating(depth)
    kinds = []
    for steps in (1, 2, 1, FEW_SINCE, 2):
        kinds.append(type(accelerator.active))
        for step in range(steps):
            accelerator.propose(np.zeros(2), np.full(2, 0.5**step))
        accelerator.reset()
    assert kinds == [Anderson, Anderson, Squarem, Anderson, Anderson]
    assert isinstance(accelerator.active, Squarem)


def test_squarem_steps_a_quarter_as_far_after_a_refusal():
    def slow(x):
        return 0.99 * x

    accelerator = Squarem()
    far = run(accelerator, slow, np.array([1.0]), 2)
    assert_allclose(far, 0.0, atol=1e-12)  # a hundred plain steps
    accelerator.reset()
    near = run(accelerator, slow, np.array([1.0]), 2)
    assert_allclose(near, (1.0 - 25.0 * 0.01) ** 2)


def test_alternating_changes_over_where_anderson_makes_no_way():
    accelerator, x = Alternating(2), np.zeros(3)
    kinds = []
    for _ in range(12):
        kinds.append(type(accelerator.active))
        accelerator.propose(x, x + 1.0)  # steps that never shorten
    assert kinds[:4] == [Anderson] * 4
    assert Squarem in kinds


def test_alternating_stays_with_anderson_where_steps_shorten(rng):
    step, _ = contraction(rng, d=60)  # of more rates than are solved in so many steps: lengths are no rounding yet
    accelerator = Alternating(8)
    run(accelerator, step, rng.normal(size=60), 40)
    assert isinstance(accelerator.active, Anderson)


def test_alternating_leaves_squarem_where_steps_turn_back():
    accelerator, x = Alternating(8), np.array([1.0, 2.0])
    for _ in range(2):
        accelerator.propose(x, 0.5 * x)
        accelerator.reset()
    assert isinstance(accelerator.active, Squarem)
    x = run(accelerator, lambda x: -0.97 * x, x, 2)
    assert isinstance(accelerator.active, Anderson)
    assert_allclose(run(accelerator, lambda x: -0.97 * x, x, 4), 0.0, atol=1e-6)
