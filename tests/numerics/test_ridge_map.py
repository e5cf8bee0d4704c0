"""Kernel ridge regression of codes: leave-one-out errors, the pseudo-inverse."""

import numpy as np
from numpy.testing import assert_allclose

from gnomon.numerics.ridge_map import held_out_errors, ridge_map


def leave_one_out(T, Z, ridge):
    """Errors of rows that took no part, one fit a row."""
    errors = np.empty_like(Z)
    for i in range(len(Z)):
        rest = np.arange(len(Z)) != i
        center, offset = T[rest].mean(axis=0), Z[rest].mean(axis=0)
        inner = (T[rest] - center).T @ (T[rest] - center) + ridge * np.eye(T.shape[1])
        weights = np.linalg.solve(inner, (T[rest] - center).T @ (Z[rest] - offset))
        errors[i] = Z[i] - offset - (T[i] - center) @ weights
    return (errors**2).sum()


def centered_problem(rng):
    T = rng.normal(size=(30, 5))
    T -= T.mean(axis=0)
    U, s, _ = np.linalg.svd(T, full_matrices=False)
    T = U * s
    return T, T[:, :2] @ rng.normal(size=(2, 2)) + 3 * rng.normal(size=(30, 2))


def test_held_out_errors_are_those_of_refits(rng):
    T, Z = centered_problem(rng)
    ridges = np.array([1e-3, 1.0, 40.0])
    expected = [leave_one_out(T, Z, ridge) for ridge in ridges]
    assert_allclose(held_out_errors(T, Z, ridges), expected, rtol=1e-9)


def test_ridge_map_has_the_least_leave_one_out_error(rng):
    T, Z = centered_problem(rng)
    found = ridge_map(T, Z, None)
    step = 10 ** (11 / 55)
    best = leave_one_out(T, Z, found.ridge)
    assert best <= min(leave_one_out(T, Z, found.ridge * f) for f in (1 / step, step)) + 1e-9
    offset, weights = Z.mean(axis=0), np.linalg.solve(T.T @ T + found.ridge * np.eye(5), T.T @ (Z - Z.mean(axis=0)))
    assert_allclose(found.weights, weights, rtol=1e-8)
    assert_allclose(found.offset, offset)


def test_pseudo_inverse_is_eq_11(rng):
    rows, new = rng.normal(size=(10, 3)), rng.normal(size=(4, 3))
    U, s, Vt = np.linalg.svd(rows, full_matrices=False)
    Z = rng.normal(size=(10, 2))
    found = ridge_map(U * s, Z, 0.0, centered=False)
    expected = (new @ rows.T) @ np.linalg.pinv(rows @ rows.T) @ Z
    assert_allclose(found.offset + new @ Vt.T @ found.weights, expected, atol=1e-10)
