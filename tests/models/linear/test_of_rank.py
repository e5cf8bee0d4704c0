"""Loadings of a bounded rank: the nearest ones, and the directions that leave the rank."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.models.linear.of_rank import Normal, of_rank, turn_of


def drawn(s=2, q=4, k=5, rank=2):
    """Matrices (s, q, k) of a rank, and directions of the same shape."""
    rng = np.random.default_rng(0)
    V = rng.standard_normal((s, q, rank)) @ rng.standard_normal((s, rank, k))
    return rng, V, rng.standard_normal((s, q, k))


def test_the_nearest_matrix_of_a_rank_leaves_the_smallest_singular_values():
    _, V, G = drawn()
    assert_allclose(of_rank(V, 2), V, atol=1e-12)
    found = of_rank(V + 0.1 * G, 2)
    left = np.linalg.svd(V + 0.1 * G, compute_uv=False)[:, 2:]
    assert_allclose(((V + 0.1 * G - found) ** 2).sum(axis=(1, 2)), (left**2).sum(axis=1), rtol=1e-9)


def test_along_a_tangent_the_rank_stays_to_first_order():
    (_, V, G), step = drawn(), 1e-4
    normal = Normal.of(V, 2)
    tangent = normal.left_out(G)
    assert_allclose(of_rank(V + step * G, 2), V + step * tangent, atol=50 * step**2)
    assert_allclose(normal.left_out(tangent), tangent, atol=1e-12)
    assert np.abs(G - tangent).max() > 0.1


def test_the_projection_is_what_a_tangent_leaves_out_and_the_last_column_is_free():
    rng, V, G = drawn()
    normal = Normal.of(V, 2)
    wide = np.concatenate([G, rng.standard_normal((2, 4, 1))], axis=2)
    found = (normal.projection() @ wide.reshape(2, 20 + 4, 1)).reshape(wide.shape)
    assert_allclose(found[:, :, :-1], G - normal.left_out(G), atol=1e-12)
    assert_allclose(found[:, :, -1], 0.0, atol=1e-12)


def test_a_step_that_is_held_is_the_best_of_the_tangents():
    """Of slope R and curvature inv(A) (x) inv(B): what is left of the slope at its end is normal."""
    rng, V, G = drawn()
    A, B = (M @ M.swapaxes(1, 2) for M in (rng.standard_normal((2, 4, 6)), rng.standard_normal((2, 6, 8))))
    R = np.concatenate([G, rng.standard_normal((2, 4, 1))], axis=2)
    normal, step = Normal.of(V, 2), A @ R @ B
    left, right = normal.held(A, B)
    step -= left @ step @ right
    assert_allclose(normal.left_out(step[:, :, :-1]), step[:, :, :-1], atol=1e-9)
    slope = R - np.linalg.solve(A, step) @ np.linalg.inv(B)
    assert_allclose(normal.left_out(slope[:, :, :-1]), 0.0, atol=1e-8)
    assert_allclose(slope[:, :, -1], 0.0, atol=1e-8)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_what_is_normal_beside_private_dimensions_is_in_columns_that_are_not_there(rank):
    _, V, G = drawn(1, rank=2)
    V = np.hstack([V[0, :, :rank], np.zeros((4, 5 - rank))])  # of two guided dimensions
    found = Normal.beside(V, 2).left_out(G)[0]
    assert_allclose(found[:, :2], G[0, :, :2])
    U = np.linalg.qr(V[:, :rank])[0]
    assert_allclose(found[:, 2:], U @ U.T @ G[0, :, 2:], atol=1e-12)


@pytest.mark.parametrize(("rank", "n_guided"), [(0, 2), (1, 2), (2, 2), (2, 3)])
def test_a_turn_brings_what_is_explained_to_the_guided_dimensions_and_no_more(rank, n_guided):
    _, V, _ = drawn(1, rank=2)
    V = V[0] if rank == 2 else rank * np.outer(V[0, :, 0], V[0, 0])
    R = turn_of(V, n_guided)
    assert_allclose(R @ R.T, np.eye(5), atol=1e-12)
    assert_allclose((V @ R)[:, n_guided:], 0.0, atol=1e-12)
    small = V * ([1.0] * n_guided + [1e-5] * (5 - n_guided))  # hardly anything is to be turned
    assert_allclose(turn_of(small, n_guided), np.eye(5), atol=1e-4)


def test_of_what_has_a_lower_rank_every_direction_is_tangent():
    rng, V, G = drawn()
    V[1] = np.outer(V[1, :, 0], V[1, 0])
    normal = Normal.of(V, 2)
    found = normal.left_out(G)
    assert_allclose(found[1], G[1])
    assert np.abs(found[0] - G[0]).max() > 0.1
    A, B = (M @ M.swapaxes(1, 2) for M in (rng.standard_normal((2, 4, 6)), rng.standard_normal((2, 6, 8))))
    left, _ = normal.held(A, B)
    assert not left[1].any()
    assert left[0].any()
