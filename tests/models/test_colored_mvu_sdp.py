"""A quadratic over positive semi-definite matrices: a known projection, the conditions of a minimum, what is left."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon._types import Status
from gnomon.models.colored_mvu import sdp

M = 5
EXACT = {"tol": 1e-9, "max_iter": 200}


@pytest.fixture
def solver():
    return pytest.importorskip("clarabel", reason="the extra gnomon[convex] is not installed")


def symmetric(rng):
    A = rng.normal(size=(M, M))
    return A + A.T


def test_triangles_keep_inner_products_and_are_undone(rng):
    A, B = symmetric(rng), symmetric(rng)
    assert_allclose(sdp.triangle(A) @ sdp.triangle(B), np.trace(A @ B), rtol=1e-12)
    assert_allclose(sdp.triangle(np.stack([A, B]))[1], sdp.triangle(B), rtol=1e-15)
    assert_allclose(sdp.from_triangle(sdp.triangle(A), M), A, rtol=1e-15)


def test_the_nearest_matrix_of_the_cone_has_the_positive_eigenvalues(rng, solver):
    S = symmetric(rng)
    values, vectors = np.linalg.eigh(S)
    found = sdp.minimize_quadratic(np.eye(M * (M + 1) // 2), -sdp.triangle(S), M, **EXACT)
    assert found.status is Status.CONVERGED
    assert_allclose(found.value.Y, (vectors * np.maximum(values, 0.0)) @ vectors.T, atol=1e-6)
    assert_allclose(found.value.value, -0.5 * (np.maximum(values, 0.0) ** 2).sum(), rtol=1e-7)


def test_a_minimum_has_a_gradient_in_the_cone_that_is_orthogonal_to_it(rng, solver):
    t = M * (M + 1) // 2
    A, q = rng.normal(size=(t, t)), rng.normal(size=t)
    P = A @ A.T + 0.1 * np.eye(t)
    found = sdp.minimize_quadratic(P, q, M, **EXACT).value
    y = sdp.triangle(found.Y)
    gradient = sdp.from_triangle(P @ y + q, M)
    assert np.linalg.eigvalsh(found.Y).min() >= -1e-12
    assert np.linalg.eigvalsh(gradient).min() >= -1e-5
    assert_allclose(np.trace(gradient @ found.Y), 0.0, atol=1e-5)
    assert_allclose([found.value, found.bound], 0.5 * y @ P @ y + q @ y, rtol=1e-6, atol=1e-8)


def test_a_minimum_is_exact_but_for_rounding_at_any_accuracy_of_the_solver(rng, solver):
    t = M * (M + 1) // 2
    A, q = rng.normal(size=(t, t)), rng.normal(size=t)
    P = A @ A.T + 0.1 * np.eye(t)
    loose, tight = (sdp.minimize_quadratic(P, q, M, tol=tol, max_iter=200).value for tol in (1e-4, 1e-9))
    assert_allclose(loose.Y, tight.Y, rtol=0, atol=1e-11)
    gradient = sdp.from_triangle(P @ sdp.triangle(tight.Y) + q, M)
    assert_allclose(gradient @ tight.Y, 0.0, atol=1e-11)
    assert np.linalg.eigvalsh(gradient).min() >= -1e-11


def test_what_is_no_minimum_of_its_rank_is_left_as_it_is(rng):
    Y, S = np.zeros((M, M)), np.eye(M)
    assert_allclose(sdp.sharpened(np.eye(15), -sdp.triangle(S), Y), Y)  # the minimum is S, of full rank
    near = np.diag([0.9, 0.9, 0.9, 0.9, 0.0])
    assert_allclose(sdp.sharpened(np.eye(15), -sdp.triangle(S), near), near)
    assert_allclose(sdp.sharpened(np.eye(15), -sdp.triangle(S), 0.9 * S), S, atol=1e-13)


def test_a_search_that_was_cut_short_says_so(rng, solver):
    found = sdp.minimize_quadratic(np.eye(15), -sdp.triangle(symmetric(rng)), M, tol=1e-9, max_iter=2)
    assert found.status is Status.MAX_ITER
    assert found.stats["residual"] > 1e-9


def test_without_the_solver_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match="convex"):
        sdp.conic_solver()
