"""Algorithm 1 of the paper: its likelihood, its gradient, and what the printed scores would do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from gnomon import IFA
from gnomon.models.ifa import gem
from gnomon.models.ifa.likelihood import Rows
from gnomon.models.ifa.starts import random_start
from oracles import ifa as oracle


@pytest.fixture
def problem(rng):
    """White rows, a point, and plausibilities of two latents of two components."""
    U = rng.laplace(size=(4, 80))
    U = np.linalg.solve(np.linalg.cholesky(np.cov(U, bias=True)), U - U.mean(axis=1, keepdims=True))
    ids = np.where(rng.random((80, 2)) < 0.3, rng.integers(0, 2, (80, 2)), -1)
    pl = [oracle.one_of_k(ids[:, s], 2) for s in range(2)]
    with np.errstate(divide="ignore"):
        rows = Rows(U, np.log(np.stack(pl).transpose(0, 2, 1)))
    start = random_start(rows, rng)
    W = np.vstack([start.V, rng.normal(size=(2, 4))])
    point = gem.Square(W, *start[1:], rng.normal(size=2), rng.uniform(0.5, 1.5, 2), 0.1, 0.0)
    return rows, point, pl


def mixtures_of(point):
    own = [(np.exp(point.log_weights[s]), point.means[s], point.variances[s]) for s in range(2)]
    return own + [(np.ones(1), point.rest_means[[j]], point.rest_variances[[j]]) for j in range(2)]


def test_likelihood_is_equation_9(problem):
    rows, point, pl = problem
    found = gem.evaluate(point, point.W @ rows.U, rows.log_pl)[1]
    want = oracle.log_likelihood(rows.U.T, np.zeros(4), point.W, mixtures_of(point), pl) / 80
    assert_allclose(found, want, rtol=1e-10)


def test_gradient_is_that_of_finite_differences(problem):
    rows, point, _ = problem

    def value(w):
        W = w.reshape(4, 4)
        return gem.evaluate(point._replace(W=W), W @ rows.U, rows.log_pl)[1]

    Z = point.W @ rows.U
    found = gem.gradient(point, Z, gem.evaluate(point, Z, rows.log_pl)[0], rows.U)
    assert_allclose(found.ravel(), approx_fprime(point.W.ravel(), value, 1e-7), atol=1e-5)


def test_scores_need_fresh_responsibilities(problem):
    rows, point, _ = problem
    Z = point.W @ rows.U
    old, value_before = gem.evaluate(point, Z, rows.log_pl)
    moved = gem.em_part(point, gem.State(Z, old, value_before), np.ones((2, 2), bool))
    fresh = gem.evaluate(moved, Z, rows.log_pl)[0]
    stale = fresh._replace(resp=old.resp)

    def value(w):
        W = w.reshape(4, 4)
        return gem.evaluate(moved._replace(W=W), W @ rows.U, rows.log_pl)[1]

    want = approx_fprime(moved.W.ravel(), value, 1e-7).reshape(4, 4)
    assert_allclose(gem.gradient(moved, Z, fresh, rows.U), want, atol=1e-5)
    assert np.abs(gem.gradient(moved, Z, stale, rows.U) - want).max() > 1e-3
    after = gem.gradient_part(moved, gem.State(Z, old, value_before), rows, np.eye(4))
    assert_allclose((after.W - moved.W) / after.step, want, atol=1e-5)


def test_steps_are_those_along_the_gradient_in_the_coordinates_of_the_rows(problem, rng):
    rows, point, _ = problem
    C = rng.normal(size=(4, 4))
    Z = point.W @ rows.U
    post, value = gem.evaluate(point, Z, rows.log_pl)
    moved = gem.gradient_part(point, gem.State(Z, post, value), rows, C.T @ C)
    in_rows = point._replace(W=np.linalg.solve(C.T, point.W.T).T)  # W x with x = C u
    G = gem.gradient(in_rows, Z, post, C @ rows.U)
    assert_allclose(moved.W @ np.linalg.inv(C), in_rows.W + moved.step * G, atol=1e-10)


def test_each_part_raises_the_likelihood_and_normalizing_keeps_it(problem):
    rows, point, _ = problem
    present = np.ones((2, 2), bool)
    for _ in range(5):
        Z = point.W @ rows.U
        post, value = gem.evaluate(point, Z, rows.log_pl)
        state = gem.State(Z, post, value)
        after_em = gem.em_part(point, state, present)
        middle = gem.evaluate(after_em, Z, rows.log_pl)[1]
        moved = gem.gradient_part(after_em, state, rows, np.eye(4))
        assert value <= middle <= moved.value
        point = gem.normalize(moved)
        assert_allclose(gem.evaluate(point, point.W @ rows.U, rows.log_pl)[1], moved.value, rtol=1e-10)
        variance = np.exp(point.log_weights) * (point.variances + point.means**2)
        mean = (np.exp(point.log_weights) * point.means).sum(axis=1)
        assert_allclose(variance.sum(axis=1) - mean**2, 1.0)


def test_natural_steps_are_the_same_in_all_coordinates(problem, rng):
    rows, point, _ = problem
    C = rng.normal(size=(4, 4))
    state = gem.State(point.W @ rows.U, *gem.evaluate(point, point.W @ rows.U, rows.log_pl))
    in_rows = point._replace(W=np.linalg.solve(C.T, point.W.T).T)  # W x with x = C u
    moved = gem.gradient_part(point, state, rows, None)
    value = gem.evaluate(in_rows, state.Z, rows.log_pl)[1]
    found = gem.gradient_part(in_rows, state._replace(value=value), Rows(C @ rows.U, rows.log_pl), None)
    assert_allclose(found.W @ C, moved.W, atol=1e-10)
    scores = np.vstack([
        (state.post.resp * state.post.deviation / point.variances[:, :, None]).sum(axis=1),
        (state.Z[2:] - point.rest_means[:, None]) / point.rest_variances[:, None],
    ])  # fmt: skip
    want = (np.eye(4) - scores @ state.Z.T / 80) @ point.W  # (I - E[g(z) z']) W
    assert_allclose((moved.W - point.W) / moved.step, want, atol=1e-9)


def test_natural_steps_are_fewer_where_columns_are_correlated(rng):
    columns = rng.laplace(size=(300, 4)) @ (np.eye(4) + 3.0)
    how = {"init": "random", "n_init": 1, "max_iter": 2000, "random_state": 0}
    plain, natural = (IFA([2] * 4, solver=solver, **how).fit(columns) for solver in ("gem", "gem-natural"))
    assert natural.converged_
    assert 4 * natural.n_iter_ < plain.n_iter_
