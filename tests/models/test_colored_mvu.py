"""The program against its definition, stated once more in cvxpy; label kernels; the map to new rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_swiss_roll

from gnomon.models.colored_mvu import model, sdp
from gnomon.numerics import gram
from gnomon.numerics.ridge_map import ridge_map
from gnomon.rows import read
from oracles import colored_mvu as oracle

WHY = "the extra gnomon[convex] is not installed"


def solver():
    pytest.importorskip("clarabel", reason=WHY)


def problem(rng, n=12):
    X = rng.normal(size=(n, 3))
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    index = np.arange(n) % 3 - (np.arange(n) % 4 == 0) * 9
    return X, squared, model.class_kernel(np.maximum(index, -1))


@pytest.mark.parametrize("n_basis", [4, 11])
@pytest.mark.parametrize("penalty", [0.5, 100.0])
def test_the_kernel_is_that_of_the_program_as_written(rng, n_basis, penalty):
    solver()
    pytest.importorskip("cvxpy", reason=WHY)
    X, squared, L = problem(rng)
    result = model.fit(read(X), L, model.Options(3, n_basis, penalty))
    Z, edges = result.value.Z * result.value.unit, result.value.edges
    K = Z @ Z.T
    Q = model.smooth_basis(edges, 12, n_basis)
    expected, value = oracle.maximize(X, L, edges, penalty, Q)
    assert_allclose(oracle.objective(K, X, L, edges, penalty), value, rtol=1e-5, atol=1e-6)
    assert_allclose(K, expected, atol=2e-3 * np.abs(expected).max())
    assert_allclose(result.value.squared * result.value.unit**2, squared[edges[:, 0], edges[:, 1]])


def test_a_tie_of_eigenvalues_is_not_cut():
    """Of a ring all but the first come in pairs: an odd number would cut one, and rounding say where."""
    ring = np.column_stack([np.arange(12), (np.arange(12) + 1) % 12])
    order = np.random.default_rng(0).permutation(12)
    for m, least, kept in ((5, 1, 4), (4, 1, 4), (5, 5, 5), (1, 1, 1), (11, 1, 11)):
        Q, turned = model.smooth_basis(ring, 12, m, least), model.smooth_basis(order[ring], 12, m, least)[order]
        assert Q.shape == (12, kept)
        if kept in (4, 11):
            assert_allclose(turned @ turned.T, Q @ Q.T, atol=1e-10)


def test_no_nearby_kernel_is_better_and_the_bound_holds(rng):
    solver()
    X, _, L = problem(rng)
    result = model.fit(read(X), L, model.Options(3, 11, 10.0))
    Z, edges = result.value.Z * result.value.unit, result.value.edges
    best = oracle.objective(Z @ Z.T, X, L, edges, 10.0)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(20):
            other = Z + size * rng.normal(size=Z.shape)
            assert oracle.objective(other @ other.T, X, L, edges, 10.0) < best
    assert result.value.optimum.value >= result.value.optimum.bound - 1e-9
    assert result.stats["residual"] < 1e-5
    assert_allclose(Z.sum(axis=0), 0, atol=1e-8)
    assert_allclose(Z.T @ Z, np.diag((Z**2).sum(axis=0)), atol=1e-8)


def test_a_large_penalty_keeps_distances_in_a_full_basis(rng):
    """All of the space of centered kernels: the rows themselves are feasible, so the distances can be kept."""
    solver()
    X, _, L = problem(rng)
    result = model.fit(read(X), L, model.Options(3, 11, 1e4))
    Z, edges = result.value.Z, result.value.edges
    kept = ((Z[edges[:, 0]] - Z[edges[:, 1]]) ** 2).sum(axis=1)
    assert_allclose(kept, result.value.squared, atol=2e-3 * result.value.mean_squared)


def test_a_roll_is_unrolled():
    solver()
    X, t = make_swiss_roll(300, random_state=0)
    Z = model.fit(read(X), np.eye(300), model.Options(5, 10, 10.0)).value.Z
    assert abs(np.corrcoef(Z[:, 0], t)[0, 1]) > 0.97
    assert max(abs(np.corrcoef(X.T, t)[-1, :-1])) < 0.6


def test_label_kernels_are_those_of_the_definition(rng):
    index = np.array([0, 1, -1, 0, -1, 1, 2])
    labels = [None if i < 0 else int(i) for i in index]
    assert_allclose(model.class_kernel(index), oracle.label_kernel(labels))
    Y = rng.normal(size=(6, 2)) * [1.0, 50.0]
    labeled = np.array([True, True, False, True, True, True])
    L = model.real_kernel(Y, labeled)
    std = Y[labeled].std(axis=0)
    assert_allclose(L[0, 3], np.exp(-(((Y[0] - Y[3]) / std) ** 2).sum() / 4))
    assert_allclose(L[2], np.eye(6)[2])
    assert np.linalg.eigvalsh(L)[0] > -1e-12


@pytest.mark.parametrize("m", [1, 2, 5])
def test_triangles_keep_inner_products(m, rng):
    A, B = (S + np.swapaxes(S, -1, -2) for S in (rng.normal(size=(3, m, m)), rng.normal(size=(3, m, m))))
    assert_allclose((sdp.triangle(A) * sdp.triangle(B)).sum(axis=1), np.trace(A @ B, axis1=1, axis2=2))
    assert_allclose(sdp.from_triangle(sdp.triangle(A[0]), m), A[0])


def test_a_quadratic_with_its_minimum_off_the_cone(rng):
    """The nearest positive semi-definite matrix drops negative eigenvalues."""
    solver()
    S = rng.normal(size=(4, 4))
    S += S.T
    found = sdp.minimize_quadratic(np.eye(10), -sdp.triangle(S), 4, tol=1e-10, max_iter=100)
    values, vectors = np.linalg.eigh(S)
    assert_allclose(found.value.Y, (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-6)
    assert_allclose(found.value.value, found.value.bound, atol=1e-7)


def test_the_ridge_is_the_best_of_leave_one_out(rng):
    X = rng.normal(size=(15, 4))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=-1) / 4)
    Z = X[:, :2] + 0.3 * rng.normal(size=(15, 2))
    feature_map, T = gram.exact_map(K)
    Z -= Z.mean(axis=0)
    unit = (T**2).sum() / 15
    chosen = ridge_map(T, Z, None, grid=model.RIDGES).ridge / unit
    errors = [oracle.leave_one_out_error(K, Z, r * unit) for r in model.RIDGES]
    assert errors[int(np.argmin(np.abs(model.RIDGES - chosen)))] <= 1.001 * min(errors)
    assert max(errors) > 1.1 * min(errors)
    H = np.eye(15) - 1 / 15
    dual = np.linalg.solve(H @ K @ H + 0.3 * unit * np.eye(15), Z)
    assert_allclose(T @ ridge_map(T, Z, 0.3 * unit).weights, H @ K @ H @ dual, atol=1e-9)
    assert_allclose(T @ ridge_map(T, Z, 0.0).weights, Z, atol=1e-8)
