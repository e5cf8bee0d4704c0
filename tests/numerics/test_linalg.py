"""Laws of the dense linear algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.numerics import linalg
from gnomon.numerics.linalg import (
    AT_ONCE,
    LITTLE,
    MANY,
    SEVERAL,
    PositiveSolver,
    batch_inverse,
    canonical_rotation,
    guided_rotation,
    inverse_logdet,
    inverses,
    orthonormal_columns,
    parting_none,
    rank_of,
    rotation_toward,
    sign_of_columns,
    solve_positive,
    symmetrize,
    top_eigenvalues,
    top_eigh,
)


def orthonormal(rng, p, k):
    return np.linalg.qr(rng.normal(size=(p, k)))[0]


def assert_orthonormal(Q, B=None):
    assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-13)
    if B is not None:
        assert_allclose(B.T @ Q, 0.0, atol=1e-13)


def test_symmetrize(rng):
    S = rng.normal(size=(4, 4))
    out = symmetrize(S)
    assert_array_equal(out, out.T)
    assert_allclose(out, (S + S.T) / 2)


def test_inverse_logdet(rng):
    S = np.cov(rng.normal(size=(6, 30)))
    inverse, logdet = inverse_logdet(S)
    assert_allclose(inverse @ S, np.eye(6), atol=1e-11)
    assert_allclose(logdet, np.linalg.slogdet(S)[1], rtol=1e-12)


def test_logdet_of_many_small_variances_is_finite():
    assert_allclose(inverse_logdet(1e-8 * np.eye(200))[1], 200 * np.log(1e-8), rtol=1e-12)


def test_where_a_driver_of_lapack_gives_up_another_finds_the_largest(rng, monkeypatch):
    """As at almost equal values, those of a kernel in which all rows are unlike, it does now and then."""
    S = symmetrize(rng.normal(size=(70, 70)))
    (values, vectors), alone = top_eigh(S, 3), top_eigenvalues(S, 3)

    def gives_up(*_, **__):
        raise np.linalg.LinAlgError("Internal Error.")

    monkeypatch.setattr(linalg, "eigh", gives_up)
    assert_allclose(top_eigenvalues(S, 3), alone, rtol=1e-12)
    again, turned = top_eigh(S, 3)
    assert_allclose(again, values, rtol=1e-12)
    assert_allclose(np.abs(turned.T @ vectors), np.eye(3), atol=1e-10)


@pytest.mark.parametrize("k", [1, 3, 6, 9])
def test_top_eigh(rng, k):
    S = np.cov(rng.normal(size=(6, 30)))
    values, vectors = top_eigh(S, k)
    assert_allclose(values, np.sort(np.linalg.eigvalsh(S))[::-1][:k], rtol=1e-11)
    assert_orthonormal(vectors)
    assert_allclose(S @ vectors, vectors * values, atol=1e-11)


class TestOrthonormalColumns:
    def test_spans_the_block_beside_the_basis(self, rng):
        B, D = orthonormal(rng, 12, 3), rng.normal(size=(12, 4))
        Q = orthonormal_columns(D, B)
        assert Q.shape == (12, 4)
        assert_orthonormal(Q, B)
        both = np.hstack([B, Q])
        assert_allclose(both @ (both.T @ D), D, atol=1e-12)

    def test_without_a_basis(self, rng):
        D = rng.normal(size=(12, 4))
        Q = orthonormal_columns(D)
        assert_orthonormal(Q)
        assert_allclose(Q @ (Q.T @ D), D, atol=1e-12)

    def test_leaves_out_repeated_columns(self, rng):
        D = rng.normal(size=(12, 2))
        Q = orthonormal_columns(np.hstack([D, D @ rng.normal(size=(2, 5)), np.zeros((12, 2))]))
        assert Q.shape == (12, 2)
        assert_orthonormal(Q)

    def test_leaves_out_near_dependent_columns(self, rng):
        D = rng.normal(size=(12, 1))
        near = D + 1e-13 * rng.normal(size=(12, 1))
        assert orthonormal_columns(np.hstack([D, near])).shape == (12, 1)
        apart = D + 1e-5 * rng.normal(size=(12, 1))
        kept = orthonormal_columns(np.hstack([D, apart]))
        assert kept.shape == (12, 2)
        assert_orthonormal(kept)
        assert_allclose(kept @ (kept.T @ (apart - D)), apart - D, atol=1e-14)
        assert orthonormal_columns(np.hstack([D, apart]), drop=1e-3).shape == (12, 1)

    def test_a_block_inside_the_basis_leaves_nothing(self, rng):
        B = orthonormal(rng, 12, 4)
        Q = orthonormal_columns(B @ rng.normal(size=(4, 3)), B)
        assert_orthonormal(Q, B)  # rounding noise may stay, but only orthogonal to the basis
        assert Q.shape[1] < 3 or np.abs(B.T @ Q).max() < 1e-13

    def test_a_tiny_part_outside_the_basis_is_found_exactly(self, rng):
        B = orthonormal(rng, 12, 4)
        outside = orthonormal_columns(rng.normal(size=(12, 1)), B)
        Q = orthonormal_columns(B @ rng.normal(size=(4, 1)) + 1e-9 * outside, B)
        assert_orthonormal(Q, B)
        assert abs(float(Q[:, 0] @ outside[:, 0])) > 1 - 1e-6

    @pytest.mark.parametrize("shape", [(5, 0), (5, 2)])
    def test_an_empty_or_zero_block_gives_no_column(self, shape):
        assert orthonormal_columns(np.zeros(shape)).shape == (5, 0)
        assert orthonormal_columns(np.zeros(shape), np.eye(5)[:, :2]).shape == (5, 0)

    def test_a_full_basis_leaves_no_room(self, rng):
        assert orthonormal_columns(rng.normal(size=(4, 2)), np.eye(4)).shape == (4, 0)

    @pytest.mark.parametrize("size", [1e-150, 1e150])
    def test_does_not_depend_on_the_magnitude(self, rng, size):
        B, D = orthonormal(rng, 9, 2), rng.normal(size=(9, 3))
        Q, scaled = orthonormal_columns(D, B), orthonormal_columns(D * size, B)
        assert_allclose(scaled @ scaled.T, Q @ Q.T, atol=1e-12)

    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(seed=st.integers(0, 10**6), p=st.integers(1, 12), held=st.integers(0, 6), rank=st.integers(0, 4))
    def test_is_always_orthonormal_and_never_too_wide(self, seed, p, held, rank):
        rng = np.random.default_rng(seed)
        B = orthonormal(rng, p, min(held, p))
        D = rng.normal(size=(p, rank)) @ rng.normal(size=(rank, 5)) * 10.0 ** rng.integers(-12, 3, size=5)
        Q = orthonormal_columns(D, B)
        assert Q.shape[1] <= min(rank, p - B.shape[1])
        assert_orthonormal(Q, B)


def test_signs_make_the_largest_entry_positive():
    W = np.array([[1.0, -2.0, 0.0], [-3.0, 1.0, 0.0]])
    assert_array_equal(sign_of_columns(W), [-1.0, -1.0, 1.0])


def test_signs_of_near_ties_follow_the_first_entry():
    W = np.array([[1.0], [-1.0 - 1e-9]])
    assert_array_equal(sign_of_columns(W), [1.0])
    assert_array_equal(sign_of_columns(W[::-1]), [-1.0])


def test_rotation_toward_undoes_a_rotation_and_is_the_closest(rng):
    W, turn = rng.normal(size=(7, 3)), orthonormal(rng, 3, 3)
    assert_allclose(rotation_toward(W, W @ turn), turn, atol=1e-12)
    target = rng.normal(size=(7, 3))
    R = rotation_toward(W, target)
    assert_orthonormal(R)
    others = [orthonormal(rng, 3, 3) for _ in range(50)]
    assert np.linalg.norm(W @ R - target) < min(np.linalg.norm(W @ other - target) for other in others)


class TestCanonicalRotation:
    def test_orders_by_explained_variance(self, rng):
        W = rng.normal(size=(7, 3))
        R = canonical_rotation(W)
        assert_orthonormal(R)
        gram = (W @ R).T @ (W @ R)
        assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-12)
        assert (np.diff(np.diag(gram)) < 0).all()

    def test_undoes_any_rotation(self, rng):
        W, turn = rng.normal(size=(7, 3)), orthonormal(rng, 3, 3)
        assert_allclose((W @ turn) @ canonical_rotation(W @ turn), W @ canonical_rotation(W), atol=1e-11)

    def test_signs_come_from_the_second_matrix(self, rng):
        W, V = rng.normal(size=(7, 3)), rng.normal(size=(4, 3))
        signed = V @ canonical_rotation(W, V)
        assert (signed[np.abs(signed).argmax(axis=0), np.arange(3)] > 0).all()
        own = W @ canonical_rotation(W)
        assert (own[np.abs(own).argmax(axis=0), np.arange(3)] > 0).all()


def test_solve_positive(rng):
    A, B = rng.standard_normal((5, 5)), rng.standard_normal((5, 3))
    S = A @ A.T + np.eye(5)
    assert_allclose(S @ solve_positive(S, B), B, atol=1e-12)
    S[4, 4] -= 100.0  # indefinite
    assert_allclose(S @ solve_positive(S, B), B, atol=1e-12)


def test_several_right_hand_sides_by_one_factor(rng):
    A, b = rng.standard_normal((5, 5)), rng.standard_normal((2, 5))
    S = A @ A.T + np.eye(5)
    for matrix in (S, S - 100.0 * np.diag([0.0, 0.0, 0.0, 0.0, 1.0])):  # the second is indefinite
        solve = PositiveSolver(matrix)
        for one in b:
            assert_allclose(matrix @ solve(one), one, atol=1e-12)


@pytest.mark.parametrize("size", [1, 4, LITTLE, LITTLE + 1])
@pytest.mark.parametrize("m", [SEVERAL - 1, SEVERAL, AT_ONCE + 1])
def test_inverses_of_few_and_of_many(rng, size, m):
    A = rng.standard_normal((m, size, size))
    S = A @ A.swapaxes(1, 2) + np.eye(size)
    assert_allclose(inverses(S) @ S, np.broadcast_to(np.eye(size), S.shape), atol=1e-9)
    S[7] -= 2.0 * np.trace(S[7]) * np.eye(size)  # indefinite
    assert_allclose(inverses(S) @ S, np.broadcast_to(np.eye(size), S.shape), atol=1e-9)


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_rank_counts_what_is_above_a_share_of_the_largest(unit):
    assert rank_of(unit * np.array([4.0, 1.0, 1e-3, 1e-9, -1e-3]), 1e-6) == 3


def test_rank_of_nothing_is_zero():
    assert rank_of(np.zeros(0), 1e-6) == rank_of(np.zeros(3), 1e-6) == rank_of(np.array([-1.0, -2.0]), 1e-6) == 0
    assert rank_of(np.array([1e-21, 1e-22]), 1e-10, 1e-10) == 0


@pytest.mark.parametrize("size", [1, 4, LITTLE, LITTLE + 1])
def test_many_little_matrices_are_inverted_as_each_alone(rng, size):
    B = rng.normal(size=(AT_ONCE + MANY, size, size + 2))
    S = B @ np.swapaxes(B, 1, 2) + 0.1 * np.eye(size)
    found = batch_inverse(S)
    assert_allclose(found.inverse @ S, np.broadcast_to(np.eye(size), S.shape), atol=1e-9)
    assert_allclose(found.log_det, np.linalg.slogdet(S)[1], rtol=1e-12, atol=1e-12)
    S[7] -= 2.0 * np.trace(S[7]) * np.eye(size)
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        batch_inverse(S)


def test_dimensions_without_y_are_turned_together(rng):
    W, V = rng.normal(size=(8, 5)), np.zeros((1, 5))
    V[:, :3] = rng.normal(size=(1, 3))
    R = guided_rotation(W, V, 3, W)
    assert_allclose(R.T @ R, np.eye(5), atol=1e-12)
    assert_allclose((V @ R)[:, 1:], 0.0, atol=1e-12)
    products = (W @ R).T @ (W @ R)
    assert_allclose(products[1:, 1:], np.diag(np.sort(np.diagonal(products)[1:])[::-1]), atol=1e-9)
    turn = np.eye(5)  # nothing tells guided dimensions without y from private ones
    turn[:, 1:] = R[:, 1:] @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    turn[:, 0] = R[:, 0]
    again = guided_rotation(W @ turn, V @ turn, 3, W @ turn)
    assert_allclose(W @ turn @ again, W @ R, atol=1e-9)


def test_values_that_are_the_same_are_not_parted():
    values = np.array([4.0, 2.0, 2.0 - 1e-12, 2.0 - 2e-12, 1.0])
    assert [parting_none(values, k) for k in range(1, 8)] == [1, 4, 4, 4, 5, 5, 5]
