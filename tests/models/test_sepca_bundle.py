"""Proximal bundle method on convex functions of probabilities."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from gnomon.models.sepca.bundle import Cut, Rule, begin, simplex_projection, step


def test_simplex_projection_is_nearest(rng):
    V = 2 * rng.normal(size=(5, 4))
    P = simplex_projection(V)
    assert_allclose(P.sum(axis=1), 1.0)
    assert (P >= 0).all()
    for i in range(5):  # what is positive moved by one amount, what is zero was below it
        moved = V[i] - P[i]
        shift = moved[P[i] > 0].mean()
        assert_allclose(moved[P[i] > 0], shift)
        assert (V[i][P[i] == 0] <= shift + 1e-12).all()


def test_largest_of_planes_is_minimized_within_few_steps(rng):
    """max over j of (slopes T)_j: a linear program, whose kinks plain descent cannot pass."""
    slopes = rng.normal(size=(6, 5))

    def oracle(T):
        heights = slopes @ T[0][0]
        best = int(heights.argmax())
        return Cut(float(heights[best]), (slopes[best][None],), np.eye(6)[best][:, None])

    state = begin(oracle, (np.full((1, 5), 0.2),))
    values, predicted = [state.value], []
    for _ in range(60):
        state = step(state, oracle, lambda T: oracle(T).value, Rule(1.0, 10, 0.1))
        values.append(state.value)
        predicted.append(state.decrease)
    program = linprog(
        np.r_[np.zeros(5), 1.0], A_ub=np.c_[slopes, -np.ones(6)], b_ub=np.zeros(6),
        A_eq=np.r_[np.ones(5), 0.0][None], b_eq=[1.0], bounds=[(0, None)] * 5 + [(None, None)],
    )  # fmt: skip
    assert (np.diff(values) <= 1e-12).all()
    assert_allclose(values[-1], program.fun, atol=1e-3)
    assert values[0] > values[-1] + 0.1
    assert predicted[-1] < 1e-3 * predicted[0] + 1e-6
    planes = state.planes
    for error, slope in zip(planes.errors, planes.slopes, strict=True):  # every plane stays below the function
        for p in simplex_projection(rng.normal(size=(20, 5))):
            height = state.value - error + slope @ (p - state.best[0][0])
            assert height <= (slopes @ p).max() + 1e-9
