"""Steps in loadings and scores: gradients and curvature beside differences, minima of every row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.models.sdr_glm import factors, model
from gnomon.models.sdr_glm.factors import Loadings, loadings_terms, project, score_terms
from models.sdr_glm_tables import ALPHA, NAMES, RIDGE, K, dense_objective, pairs, problem, some_params
from oracles import sdr_glm as oracle


@pairs
def test_gradients_are_those_of_differences(families):
    rng = np.random.default_rng(3)
    X, Y, views = problem(families, rng, n=6)
    params = some_params(views, rng, n=6)

    def J(**new):
        return dense_objective(X, Y, families, views, params._replace(**new))

    for newton in (False, True):
        gradient, _ = score_terms(list(views), [params.x, params.y], params.U, RIDGE, newton=newton)
        assert_allclose(gradient, oracle.numeric_gradient(lambda U: J(U=U), params.U), atol=1e-6)
    for name, view, part in (("x", views[0], params.x), ("y", views[1], params.y)):
        found = view.strength * loadings_terms(view, params.U, part, RIDGE)[0]
        stacked = np.vstack([part.V, part.b])
        expected = oracle.numeric_gradient(lambda C, name=name: J(**{name: Loadings(C[:-1], C[-1])}), stacked)
        assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("family", NAMES)
def test_the_newton_curvature_is_that_of_differences(family, rng):
    _, _, views = problem((family, "gaussian"), rng, n=4)
    part = some_params(views, rng).x
    U = rng.normal(size=(4, K))
    _, H = score_terms([views[0]], [part], U, RIDGE, newton=True)
    for a in range(K):
        move = 1e-5 * np.eye(K)[a]
        high, low = (score_terms([views[0]], [part], U + s * move, RIDGE)[0] for s in (1, -1))
        assert_allclose(H[:, a], (high - low) / 2e-5, atol=1e-6)


@pairs
def test_every_step_and_every_sweep_lowers_the_objective(families):
    rng = np.random.default_rng(1)
    X, Y, views = problem(families, rng)
    options = model.Options(K, ALPHA, RIDGE, tol=1e-7, max_iter=300)
    params = some_params(views, rng)._replace(U=3 * rng.normal(size=(30, K)))
    values = [dense_objective(X, Y, families, views, params)]
    for _ in range(5):
        for step in (
            lambda p: p._replace(x=factors.loadings_step(views[0], p.U, p.x, RIDGE)),
            lambda p: p._replace(y=factors.loadings_step(views[1], p.U, p.y, RIDGE)),
            lambda p: p._replace(U=factors.scores_step(list(views), [p.x, p.y], p.U, RIDGE)),
            lambda p: model.balanced(p, ALPHA, p.U),
        ):
            params = step(params)
            values.append(dense_objective(X, Y, families, views, params))
    assert (np.diff(values) <= 1e-9 * np.abs(values[:-1])).all()
    assert values[-1] < values[0] - 10.0
    result = model.solve(views, options, np.random.default_rng(0))
    assert (np.diff(result.path) >= -1e-9 * np.abs(result.path[:-1])).all()
    assert_allclose(-result.path[-1], dense_objective(X, Y, families, views, result.value), rtol=1e-9)
    assert -result.path[-1] <= values[-1] + 0.5


@pytest.mark.parametrize("family", NAMES)
def test_projection_is_the_minimum_for_every_row(family, rng):
    _, _, views = problem((family, "gaussian"), rng)
    view, part = views[0]._replace(strength=1.0), some_params(views, rng).x
    U, _ = project(view, part, 0.4)
    if family == "gaussian":
        assert_allclose(U, oracle.gaussian_projection(view.values, *part, 0.4), rtol=1e-9)
    gradient, _ = score_terms([view], [part], U, 0.4)
    assert_allclose(gradient, 0, atol=1e-7)
    assert_allclose(project(view.rows(np.array([3, 7])), part, 0.4)[0], U[[3, 7]], atol=1e-9)


@pytest.mark.parametrize("family", ["bernoulli", "multinomial", "poisson"])
def test_a_projection_that_runs_out_of_steps_says_so(family, rng):
    _, _, views = problem((family, "gaussian"), rng)
    part = some_params(views, rng).x
    assert project(views[0], part, 0.4)[1] <= 1e-9
    assert project(views[0], part, 0.4, max_iter=1)[1] > 1e-3


@pytest.mark.parametrize("family", NAMES)
def test_the_loss_of_rows_is_that_of_the_definition(family, rng, monkeypatch):
    monkeypatch.setattr(factors, "BLOCK", 30)
    X, _, views = problem((family, "gaussian"), rng)
    params = some_params(views, rng)
    theta = params.U @ params.x.V + params.x.b
    each = [oracle.table_nll(family, X[i : i + 1], theta[i : i + 1]) for i in range(len(X))]
    assert_allclose(factors.row_nll(views[0], params.U, params.x), each, rtol=1e-9, atol=1e-9)


def test_a_gaussian_step_is_ridge_regression(rng):
    X, _, views = problem(("gaussian", "gaussian"), rng)
    params = some_params(views, rng)
    D, C0 = np.column_stack([params.U, np.ones(30)]), np.vstack([np.zeros((K, 6)), views[0].prior])
    expected = C0 + np.linalg.solve(D.T @ D + RIDGE * np.eye(K + 1), D.T @ (X - D @ C0))
    assert_allclose(np.vstack(factors.loadings_step(views[0], params.U, params.x, RIDGE)), expected, atol=1e-10)
