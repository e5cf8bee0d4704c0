"""Supervised exponential family PCA: the convex problem, its certificate, codes, projection."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from gnomon._types import Status
from gnomon.models.sepca import data as of
from gnomon.models.sepca import dual, model, rank
from models.sepca_problem import at, full_labels, problem, squared_norm
from oracles import sepca as oracle

TIGHT_TOL = 1e-9
ROOT = np.sqrt(3) / 2
TRIANGLE = np.array([[0, 1], [-ROOT, -0.5], [ROOT, -0.5]])


@pytest.mark.parametrize("unlabeled", [0, 4])
@pytest.mark.parametrize("beta", [0.02, 0.3, 5.0])
def test_every_bound_is_above_every_value(rng, beta, unlabeled):
    data = problem(rng, beta=beta, unlabeled=unlabeled)
    solved = model.solve(data, model.Options(tol=TIGHT_TOL))
    assert solved.status is Status.CONVERGED
    assert solved.value.upper - solved.value.lower <= 1e-8 * abs(solved.value.lower)
    for scale in (0.01, 0.3, 3.0):
        F = solved.value.point[0] + scale * rng.normal(size=(9, 6))
        slope, _ = at(data, F)
        value = slope.value - beta / 2 * squared_norm(F, 2)
        assert value <= solved.value.upper + 1e-9
        assert slope.upper >= solved.value.lower - 1e-9
        assert slope.upper - value > 1e-4 * scale**2  # away from the optimum the bounds are apart


def test_path_of_lower_bounds_rises(rng):
    path = model.solve(problem(rng, n=30, k=2), model.Options()).path
    assert (np.diff(path) >= 0).all()
    assert path[-1] > path[0]


def test_triangle_shows_that_the_relaxation_is_not_tight():
    data = of.Data(TRIANGLE, TRIANGLE, np.ones((3, 1)), np.arange(3), 1, 0.2)
    fitted = model.fit(data, model.Options(tol=TIGHT_TOL, rank_exact=True)).value
    assert_allclose([fitted.lower, fitted.upper], -1.700160, atol=1e-6)
    assert_allclose(fitted.ranked.value, -2.142814, atol=1e-6)


def test_triangle_has_no_better_code_of_rank_one():
    """Brute force over directions of the code: the rank-constrained optimum, from the definition."""
    data = of.Data(TRIANGLE, TRIANGLE, np.ones((3, 1)), np.arange(3), 1, 0.2)
    directions = np.random.default_rng(0).normal(size=(300, 3, 1))
    values = [rank.refit(data, z / np.linalg.norm(z), np.zeros(1)).value for z in directions]
    assert max(values) <= -2.142814 + 1e-6
    assert max(values) >= -2.15


def test_refit_value_is_the_papers_problem(rng):
    data = problem(rng)
    Z = np.linalg.qr(rng.normal(size=(9, 2)))[0]
    fitted = rank.refit(data, Z, np.zeros(3))
    value = oracle.rank_value(Z, fitted.W, fitted.Omega, fitted.b, data.rows, full_labels(data), data.penalty)
    assert_allclose(fitted.value, value, rtol=1e-10)
    for scale in (1e-3, 0.1):
        W, Omega, b = (v + scale * rng.normal(size=v.shape) for v in (fitted.W, fitted.Omega, fitted.b))
        assert oracle.rank_value(Z, W, Omega, b, data.rows, full_labels(data), data.penalty) < value


def test_rank_constrained_ascent_beats_the_relaxed_codes_and_stays_below_the_bound(rng):
    data = problem(rng, n=25, k=1, beta=0.1)
    relaxed = model.fit(data, model.Options(tol=TIGHT_TOL)).value
    climbed = model.fit(data, model.Options(tol=TIGHT_TOL, rank_exact=True)).value
    best = climbed.ranked
    assert relaxed.ranked.value < best.value - 1e-3
    assert best.value < climbed.upper
    assert_allclose(climbed.optima[0], best.value)
    assert (np.diff(climbed.optima) <= 0).all()
    assert_allclose(best.Z.T @ best.Z, np.eye(1), atol=1e-10)
    for _ in range(20):
        Z = np.linalg.qr(best.Z + 0.02 * rng.normal(size=(25, 1)))[0]
        assert rank.refit(data, Z, best.b).value < best.value + 1e-9


def test_codes_tend_to_principal_components_of_rows_and_labels(rng):
    data = problem(rng, n=20, beta=1e5)
    Z = model.fit(data, model.Options()).value.ranked.Z
    target = np.hstack([data.rows - data.rows.mean(axis=0), data.Y - 1 / 3])
    U = np.linalg.svd(target)[0][:, :2]
    assert_allclose(np.abs(Z.T @ U), np.eye(2), atol=1e-3)


def test_duplicated_rows_get_equal_codes(rng):
    data = problem(rng, n=12)
    twice = of.Data(*(np.vstack([v, v]) for v in data[:3]), np.arange(24), 2, 0.3)
    Z = model.fit(twice, model.Options(tol=TIGHT_TOL)).value.ranked.Z
    assert_allclose(Z[:12], Z[12:], atol=1e-4)


def conic_optimum(data):
    """The problem before its saddle dual, by an interior point solver: T and the fantope's dual variables."""
    cvxpy = pytest.importorskip("cvxpy")
    n, (m, r), q = len(data.rows), data.base.shape, data.Y.shape[1]
    T_x, T_y = cvxpy.Variable((n, m), nonneg=True), cvxpy.Variable(data.Y.shape, nonneg=True)
    labels = np.eye(n)[:, data.labeled]
    R = cvxpy.hstack([data.rows - T_x @ data.base, labels @ (data.Y - T_y)])
    # sum of the k largest eigenvalues of RR': min k s + tr P with RR' <= s I + P, P >= 0 (Schur complement)
    s, P = cvxpy.Variable(), cvxpy.Variable((n, n), symmetric=True)
    block = cvxpy.bmat([[s * np.eye(n) + P, R], [R.T, np.eye(r + q)]])
    total = cvxpy.sum_squares(cvxpy.sum(data.Y - T_y, axis=0))
    entropy = -cvxpy.sum(cvxpy.entr(T_x)) - cvxpy.sum(cvxpy.entr(T_y))
    cost = entropy + (data.k * s + cvxpy.trace(P) + total) / (2 * data.penalty)
    constraints = [P >> 0, block >> 0, cvxpy.sum(T_x, axis=1) == 1, cvxpy.sum(T_y, axis=1) == 1]
    tight = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}
    return cvxpy.Problem(cvxpy.Minimize(cost), constraints).solve(solver="CLARABEL", **tight)


@pytest.mark.parametrize("unlabeled, k, beta", [(0, 1, 0.3), (0, 2, 0.1), (3, 2, 0.1), (3, 1, 2.0)])
def test_bounds_agree_with_a_conic_solver(unlabeled, k, beta):
    data = problem(np.random.default_rng(0), k=k, beta=beta, unlabeled=unlabeled)
    expected = conic_optimum(data)
    found = model.solve(data, model.Options(tol=1e-8)).value
    assert_allclose([found.lower, found.upper], expected, rtol=1e-6)


def test_landmarks_agree_with_a_conic_solver():
    data = problem(np.random.default_rng(1), n=8)
    data = data._replace(base=data.rows[::2])
    found = model.solve(data, model.Options(tol=1e-8)).value
    assert_allclose([found.lower, found.upper], conic_optimum(data), rtol=1e-6)


def test_weights_of_rows_and_of_the_base_are_repetitions(rng):
    data, w = problem(rng, unlabeled=3), rng.integers(1, 4, 9)
    weighted = data._replace(base=data.rows[::2], weights=w.astype(float), base_weights=w[::2].astype(float))
    rows = np.repeat(np.arange(9), w)
    seen = np.flatnonzero(rows < 6)
    base = np.repeat(data.rows[::2], w[::2], axis=0)
    twice = of.Data(data.rows[rows], base, data.Y[rows[seen]], seen, data.k, data.penalty)
    found, expected = (model.fit(d, model.Options(tol=1e-8)).value for d in (weighted, twice))
    assert_allclose([found.lower, found.ranked.value], [expected.lower, expected.ranked.value], rtol=1e-8)
    assert_allclose(found.ranked.Z[rows], expected.ranked.Z, atol=1e-5)


def interior(rng, data):
    """Random T inside the simplices."""
    m, q = len(data.base), data.Y.shape[1]
    return oracle.softmax(rng.normal(size=(len(data.rows), m))), oracle.softmax(rng.normal(size=(len(data.Y), q)))


def test_bound_at_any_T_is_the_papers_objective(rng):
    data = problem(rng)
    T = interior(rng, data)
    expected = oracle.objective(*T, data.rows @ data.rows.T, data.Y, data.k, data.penalty)
    assert_allclose(dual.Bound(data).value(T), expected, rtol=1e-10)


@pytest.mark.parametrize("unlabeled", [0, 3])
def test_subgradient_is_that_of_finite_differences(rng, unlabeled):
    """Generic points have no ties, so that there is a gradient; E belongs into the part of T_y."""
    data = problem(rng, unlabeled=unlabeled)
    bound, T = dual.Bound(data), interior(rng, data)
    slope = bound.cut(T).slope
    expected = [
        approx_fprime(T[0].ravel(), lambda v: bound.value((v.reshape(T[0].shape), T[1])), 1e-7),
        approx_fprime(T[1].ravel(), lambda v: bound.value((T[0], v.reshape(T[1].shape))), 1e-7),
    ]
    for found, numeric in zip(slope, expected):
        assert_allclose(found.ravel(), numeric, atol=1e-4)
    if not unlabeled:
        K = data.rows @ data.rows.T
        for found, typed in zip(slope, oracle.subgradient(*T, K, data.Y, data.k, data.penalty)):
            assert_allclose(found, typed, atol=1e-9)
        M = oracle.top_projector(*T, K, data.Y, data.k)  # (10) as printed, without E
        printed = np.log(T[1]) + 1 - M @ (data.Y - T[1]) / data.penalty
        assert np.abs(printed.ravel() - expected[1]).max() > 0.1


def test_any_matrix_of_the_fantope_certifies_from_below(rng):
    data = problem(rng)
    best = model.solve(data, model.Options(tol=1e-8)).value
    for _ in range(5):
        V, share = np.linalg.qr(rng.normal(size=(9, 9)))[0], rng.uniform()
        M = (V * np.r_[1.0, share, 1.0 - share, np.zeros(6)]) @ V.T  # eigenvalues in [0, 1], trace 2
        assert dual.Bound(data).certify(interior(rng, data), M)[0] <= best.upper + 1e-9


@pytest.mark.parametrize("solver", ["bundle", "coordinate"])
def test_solvers_of_the_paper_agree_with_fista(solver):
    data = problem(np.random.default_rng(0), n=8, q=2, beta=1.0)
    expected = model.solve(data, model.Options(tol=1e-8)).value
    found = model.solve(data, model.Options(solver=solver, tol=1e-3, max_iter=100))
    assert found.status is Status.CONVERGED
    assert_allclose(found.value.upper, expected.upper, rtol=1e-3)
    assert found.value.lower <= expected.upper + 1e-9
    assert found.value.upper >= expected.lower - 1e-9
    assert (np.diff(found.path) >= 0).all()
    assert len(found.path) > 1


def test_coordinate_descent_in_several_blocks_falls():
    data = problem(np.random.default_rng(0), n=45, q=2, beta=1.0)
    bound = dual.Bound(data)
    T, values = bound.start(), [bound.value(bound.start())]
    for _ in range(3):
        T, _ = dual.sweep_blocks(bound, T, np.random.default_rng(1))
        values.append(bound.value(T))
    assert (np.diff(values) <= 1e-9).all()
    assert values[0] - values[-1] > 0.1 * values[0]
    assert_allclose(T[0].sum(axis=1), 1.0)


@pytest.mark.parametrize("rank_exact", [False, True])
def test_converged_means_that_the_loadings_are_found_too(rng, rank_exact):
    """The relaxation alone was solved in both; a search for loadings of one step is not."""
    data, options = problem(rng, n=25, k=1, beta=0.1), model.Options(rank_exact=rank_exact)
    found = model.fit(data, options)
    cut = model.fit(data, options._replace(ascent_steps=1))
    assert found.status is Status.CONVERGED
    assert found.stats["residual"] <= options.tol
    assert cut.status is Status.STALLED
    assert cut.stats["residual"] > options.tol
    assert cut.value.upper - cut.value.lower <= options.tol * abs(cut.value.lower)
    assert cut.value.ranked.value < found.value.ranked.value


def test_the_residual_of_a_refit_bounds_what_is_missing(rng):
    data = problem(rng, n=25)
    Z = np.linalg.qr(rng.normal(size=(25, 2)))[0]
    best = rank.refit(data, Z, np.zeros(3))
    for steps in (1, 2, 4):
        cut = rank.refit(data, Z, np.zeros(3), steps=steps)
        missing = (best.value - cut.value) / abs(cut.value)
        assert 0 < missing <= cut.residual
    assert best.residual < 1e-10
