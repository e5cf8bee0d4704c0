"""The objective against its definition, gradients against differences, monotone steps for every pair of families."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from gnomon._types import Status
from gnomon.models.sdr_glm import factors, model
from gnomon.models.sdr_glm.factors import Loadings, loadings_terms, project, score_terms
from models.sdr_glm_tables import ALPHA, NAMES, RIDGE, K, dense_objective, pairs, problem, some_params, table
from oracles import sdr_glm as oracle


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_entries_of_x_that_are_missing_are_left_out(family, rng):
    """Objective and gradient of the definition without them; the path never rises, and their values do not matter."""
    X, Y, views = problem((family, "multinomial"), rng)
    holes = rng.random(X.shape) < 0.3
    holes[4] = True  # a row without any x
    views = (model.make_view(family, np.where(holes, 0.0, X), 1.0 - holes, ALPHA), views[1])
    X = np.where(holes, np.nan, X)
    params = some_params(views, rng)
    families = (family, "multinomial")
    assert_allclose(model.objective(params, views, RIDGE), dense_objective(X, Y, families, views, params), rtol=1e-10)
    seen = model.make_view(family, X[~holes[:, 0], :1], None, 1.0)
    assert_allclose(views[0].prior[0], seen.prior[0])

    def at(U):
        return dense_objective(X, Y, families, views, params._replace(U=U))

    gradient, _ = score_terms(list(views), [params.x, params.y], params.U, RIDGE)
    assert_allclose(gradient, oracle.numeric_gradient(at, params.U), rtol=1e-5, atol=1e-6)
    result = model.solve(views, model.Options(K, ALPHA, RIDGE, 1e-8), np.random.default_rng(0))
    assert (np.diff(result.path) >= -1e-9 * np.abs(result.path[:-1])).all()
    assert result.path[-1] > result.path[0] + 1e-3
    assert_allclose(dense_objective(X, Y, families, views, result.value), -result.path[-1], rtol=1e-8)


@pairs
def test_the_objective_is_that_of_the_definition(families, rng):
    X, Y, views = problem(families, rng)
    params = some_params(views, rng)
    assert_allclose(model.objective(params, views, RIDGE), dense_objective(X, Y, families, views, params), rtol=1e-10)


@pairs
def test_the_fit_is_a_stationary_point_and_balanced(families):
    rng = np.random.default_rng(2)
    X, Y, views = problem(families, rng)
    result = model.solve(views, model.Options(K, ALPHA, RIDGE, tol=1e-8, max_iter=5000), np.random.default_rng(0))
    assert result.status is Status.CONVERGED
    p = result.value
    gradient, _ = score_terms(list(views), [p.x, p.y], p.U, RIDGE)
    assert_allclose(gradient, 0, atol=1e-4)
    for view, part in zip(views, (p.x, p.y)):
        assert_allclose(loadings_terms(view, p.U, part, RIDGE)[0], 0, atol=1e-3)
    joint = ALPHA * p.x.V @ p.x.V.T + p.y.V @ p.y.V.T
    assert_allclose(p.U.T @ p.U, joint, atol=1e-6)
    assert_allclose(joint, np.diag(np.diag(joint)), atol=1e-6)
    assert joint[0, 0] >= joint[1, 1]
    best = dense_objective(X, Y, families, views, p)
    for _ in range(20):
        other = p._replace(U=p.U + 0.01 * rng.normal(size=p.U.shape))
        assert dense_objective(X, Y, families, views, other) > best


@pytest.mark.parametrize("family", NAMES)
def test_a_sparse_table_is_the_dense_one(family, rng):
    X, Y, (x, y) = problem((family, "multinomial"), rng)
    sparse = model.make_view(family, sp.csr_matrix(X), None, ALPHA)
    options = model.Options(K, ALPHA, RIDGE, max_iter=50)
    first, second = (model.solve((view, y), options, np.random.default_rng(0)) for view in (x, sparse))
    assert_allclose(second.value.U, first.value.U, atol=1e-7)
    assert_allclose(project(sparse, second.value.x, 0.3)[0], project(x, first.value.x, 0.3)[0], atol=1e-7)


def test_blocks_of_rows_change_nothing(rng, monkeypatch):
    for families in (("poisson", "bernoulli"), ("gaussian", "multinomial")):
        _, _, views = problem(families, rng)
        options = model.Options(K, ALPHA, RIDGE, max_iter=20)
        whole = model.solve(views, options, np.random.default_rng(0)).value
        monkeypatch.setattr(factors, "BLOCK", 30)
        assert_allclose(model.solve(views, options, np.random.default_rng(0)).value.U, whole.U, atol=1e-7)
        monkeypatch.undo()


def test_one_gaussian_table_is_soft_thresholded_pca(rng):
    """Without labels and with alpha = 1 the minimizer is known: singular values less the ridge."""
    X = rng.normal(size=(40, 5)) @ rng.normal(size=(5, 8))
    X -= X.mean(axis=0)
    views = model.make_view("gaussian", X, None, 1.0), model.make_view("gaussian", np.zeros((40, 0)), None, 1.0)
    p = model.solve(views, model.Options(3, 1.0, 0.7, tol=1e-11, max_iter=5000), np.random.default_rng(0)).value
    left, sizes, right = np.linalg.svd(X, full_matrices=False)
    expected = (left[:, :3] * (sizes[:3] - 0.7)) @ right[:3]
    assert_allclose(p.U @ p.x.V + p.x.b, expected, atol=1e-6)
    assert_allclose(
        project(views[0], p.x, 0.7)[0], p.U, atol=1e-6
    )  # with the ridge of the fit, x alone gives the scores


def test_a_column_that_never_varies_has_a_finite_intercept(rng):
    for family in ("bernoulli", "poisson", "multinomial"):
        X, Y, views = problem((family, "gaussian"), rng)
        X[:, 0] = 0
        x = model.make_view(family, X, None, ALPHA)
        result = model.solve((x, views[1]), model.Options(K, ALPHA, RIDGE), np.random.default_rng(0))
        assert np.isfinite(result.path).all()
        assert np.abs(result.value.x.b).max() < 20


@pairs
def test_the_start_of_a_table_of_any_size_is_the_same(families, monkeypatch):
    """Exact below a number of operations, by iteration above it."""
    _, _, views = problem(families, np.random.default_rng(4))
    exact = model.init(views, K, RIDGE, np.random.default_rng(0))
    monkeypatch.setattr(model, "EXACT", 0.0)
    iterated = model.init(views, K, RIDGE, np.random.default_rng(0))
    assert_allclose(iterated.U @ iterated.U.T, exact.U @ exact.U.T, atol=1e-3 * np.abs(exact.U).max() ** 2)


def labels_of(family, rng, n=40):
    """Projected scores and targets that depend on them, with a row that has none."""
    U = rng.normal(size=(n, K)) * np.array([3.0, 0.1])
    Y = table(family, (U / U.std(axis=0)) @ rng.normal(size=(K, 3)), rng)
    observed = np.ones((n, 1)) if family == "multinomial" else np.ones((n, 3))
    observed[0] = 0.0
    return U, Y, observed, model.make_view(family, Y * observed, observed, 1.0)


@pytest.mark.parametrize("family", NAMES)
def test_the_regression_on_projected_scores_is_the_minimum(family, rng):
    U, Y, observed, view = labels_of(family, rng)
    found, left = model.regress(view, U)
    size = U.std(axis=0)[:, None]

    def objective(C):
        theta = U[1:] / U.std(axis=0) @ C[:-1] + C[-1]
        return oracle.table_nll(family, Y[1:], theta) + 0.5 * ((C[:-1] ** 2).sum() + ((C[-1] - view.prior) ** 2).sum())

    C = np.vstack([found.V * size, found.b])
    assert_allclose(oracle.numeric_gradient(objective, C), 0.0, atol=1e-4)
    for _ in range(10):
        assert objective(C + 0.01 * rng.normal(size=C.shape)) > objective(C)
    assert left < 1e-8


@pytest.mark.parametrize("family", NAMES)
def test_the_regression_says_what_it_left_undone(family, rng):
    U, _, _, view = labels_of(family, rng)
    (best, _), (cut, left) = model.regress(view, U), model.regress(view, U, steps=1)

    def cost(found):
        size = U.std(axis=0)
        part = Loadings(found.V * size[:, None], found.b)
        return factors.row_nll(view, U / size, part).sum() + factors.penalty(view, part, 1.0)

    missing = (cost(cut) - cost(best)) / max(abs(cost(cut)), len(U))
    assert 1e-8 < missing <= left
