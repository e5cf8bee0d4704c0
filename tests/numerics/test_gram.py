"""Centering, spectra and feature maps of kernel matrices, against explicit features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.numerics import gram
from oracles import dual


def features(rng, n=25, p=6):
    return rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 3.0, rng.normal(size=(9, p)) + 3.0


def test_centering_is_that_of_explicit_features(rng):
    phi, new = features(rng)
    K, cross = dual.centered(phi, new)
    found, columns = gram.center_gram(phi @ phi.T)
    assert_allclose(found, K, atol=1e-10)
    values = new @ phi.T
    assert_allclose(values - values.mean(axis=1, keepdims=True) - columns + columns.mean(), cross, atol=1e-10)


@pytest.mark.parametrize("n", [25, 4], ids=["more rows", "fewer rows"])
def test_coordinates_keep_inner_products(rng, n):
    phi, new = features(rng, n)
    K, cross = dual.centered(phi, new)
    feature_map, T = gram.exact_map(phi @ phi.T)
    assert T.shape == (n, min(n - 1, 6))
    assert_allclose(T @ T.T, K, atol=1e-9)
    assert_allclose(feature_map.coordinates(phi @ phi.T), T, atol=1e-7)
    assert_allclose(feature_map.coordinates(new @ phi.T) @ T.T, cross, atol=1e-7)
    moments = T.T @ T
    assert_allclose(moments, np.diag(np.diag(moments)), atol=1e-9)
    assert (np.diff(np.diag(moments)) <= 0).all()


def test_coordinates_are_those_of_centered_kernel_values(rng):
    phi, new = features(rng, 4)
    feature_map, _ = gram.exact_map(phi @ phi.T)
    _, centered = dual.centered(phi, new)
    assert_allclose(feature_map.coordinates(new @ phi.T), centered @ feature_map.basis, atol=1e-9)


def test_every_row_a_landmark_is_the_exact_map(rng):
    phi, new = features(rng)
    exact, T = gram.exact_map(phi @ phi.T)
    landmarks, T_all = gram.nystrom_map(phi @ phi.T, phi @ phi.T)
    assert_allclose(T_all @ T_all.T, T @ T.T, atol=1e-8)
    a, b = exact.coordinates(new @ phi.T), landmarks.coordinates(new @ phi.T)
    assert_allclose(a @ T.T, b @ T_all.T, atol=1e-7)


def test_landmarks_project_on_their_span(rng):
    phi, new = features(rng, p=6)
    chosen = phi[:3]
    P = chosen.T @ np.linalg.solve(chosen @ chosen.T, chosen)
    K, cross = dual.centered(phi @ P, new @ P)
    feature_map, T = gram.nystrom_map(phi @ chosen.T, chosen @ chosen.T)
    assert T.shape == (25, 3)
    assert_allclose(T @ T.T, K, atol=1e-8)
    assert_allclose(feature_map.coordinates(new @ chosen.T) @ T.T, cross, atol=1e-8)
    assert_allclose(T.mean(axis=0), 0.0, atol=1e-10)


def test_negative_eigenvalues_are_named(rng):
    Q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    values = np.array([4.0, 2.0, 1.0, 0.5, -0.25])
    with pytest.raises(ValueError, match=r"eigenvalue -0\.25 \(the largest is 4\)"):
        gram.spectrum((Q * values) @ Q.T)


def test_rounding_is_no_dimension(rng):
    phi = features(rng)[0]
    K = (phi @ phi.T).astype(np.float32)
    _, T = gram.exact_map(gram.checked_gram(K, "K"), gram.entry_error(K) * float(np.abs(K).max()))
    assert T.shape[1] == 6
    Q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    values = np.array([4.0, 2.0, 1.0, 3e-7, -4e-7])  # undeclared rounding: the negative one gives its size away
    assert_allclose(gram.spectrum((Q * values) @ Q.T)[0], [4.0, 2.0, 1.0])


def test_rounding_of_sums_is_no_dimension(rng):
    near = 1.0 + 0.002 * rng.normal(size=(24, 40))  # rows that point almost the same way: what is left of 1 is small
    near[1] = near[0]
    near /= np.linalg.norm(near, axis=1)[:, None]
    for _ in range(20):
        off = 64.0 * np.finfo(np.float64).eps * rng.uniform(-1.0, 1.0, size=(24, 24))
        _, T = gram.exact_map(near @ near.T + 0.5 * (off + off.T))
        assert T.shape[1] == 22


def test_matrices_that_are_no_kernel_matrix():
    with pytest.raises(ValueError, match=r"X has shape \(3, 2\); .* square"):
        gram.checked_gram(np.ones((3, 2)), "X")
    K = np.eye(3)
    K[0, 2] = 0.5
    with pytest.raises(ValueError, match=r"entry \(0, 2\) is 0\.5, entry \(2, 0\) is 0"):
        gram.checked_gram(K, "X")


def test_weighted_coordinates_are_those_of_repeated_rows(rng):
    phi, new = features(rng)
    times = rng.integers(1, 4, size=len(phi))
    w, many = times.astype(float), np.repeat(phi, times, axis=0)
    chosen = phi[:8]
    for weighted, repeated, cross, cross_many in (
        (gram.exact_map(phi @ phi.T, 0.0, w), gram.exact_map(many @ many.T), new @ phi.T, new @ many.T),
        (
            gram.nystrom_map(phi @ chosen.T, chosen @ chosen.T, 0.0, w),
            gram.nystrom_map(many @ chosen.T, chosen @ chosen.T),
            new @ chosen.T,
            new @ chosen.T,
        ),
    ):
        (feature_map, T), (other, T_many) = weighted, repeated
        moments = T.T @ (T * w[:, None])
        assert_allclose(moments, np.diag(np.diag(moments)), atol=1e-9)
        assert_allclose(np.diag(moments), np.diag(T_many.T @ T_many), rtol=1e-9)
        assert_allclose(np.repeat(T, times, axis=0) @ T.T, T_many @ T_many[np.cumsum(times) - 1].T, atol=1e-8)
        flip = np.sign(T[0] * T_many[0])
        assert_allclose(feature_map.coordinates(cross) * flip, other.coordinates(cross_many), atol=1e-7)


def test_training_rows_keep_their_coordinates_far_from_the_origin(rng):
    """The map of new rows loses no more digits than kernel values of 1e8 cost."""
    X = rng.normal(size=(40, 3)) * [100.0, 1.0, 0.1] + 1e4
    weights = rng.uniform(0.5, 2.0, size=40)
    for w in (None, weights):
        feature_map, T = gram.exact_map(X @ X.T, weights=w)
        assert_allclose(feature_map.coordinates(X @ X.T)[:, :3], T[:, :3], atol=1e-6)


def test_rows_of_zeros_have_no_dimension():
    """All kernel values are zero: no eigenvalue is left, whichever way the map is made."""
    for feature_map, T in (
        gram.exact_map(np.zeros((5, 5))),
        gram.nystrom_map(np.zeros((5, 2)), np.zeros((2, 2))),
    ):
        assert T.shape == (5, 0)
        assert feature_map.basis.shape[1] == 0
    assert gram.spectrum(np.zeros((0, 0)))[0].shape == (0,)


def test_values_whose_sums_are_too_large_are_refused():
    with pytest.raises(ValueError, match="sums of kernel values are too large"):
        gram.exact_map(np.full((3, 3), 1e308) + np.diag([1e307, 0.0, 1e306]))
    with pytest.raises(ValueError, match="sums of kernel values are too large"):
        gram.exact_map(np.full((3, 3), 1e306), weights=np.full(3, 1e3))


@pytest.mark.parametrize("weighted", [False, True])
def test_elimination_gives_the_same_inner_products(rng, weighted):
    X, new = rng.standard_normal((80, 4)), rng.standard_normal((7, 4))
    K, cross = (np.exp(-0.3 * ((A[:, None] - X) ** 2).sum(axis=2)) for A in (X, new))
    weights = rng.uniform(0.5, 3.0, 80) if weighted else None
    exact, T = gram.exact_map(K, weights=weights)
    quick, L = gram.eliminated_map(K, weights=weights)
    assert L.shape == T.shape == (80, 79)
    assert (exact.principal, quick.principal) == (True, False)
    assert_allclose(L @ L.T, T @ T.T, atol=1e-10)
    assert_allclose(quick.coordinates(K), L, atol=1e-9)
    assert_allclose(quick.coordinates(cross) @ L.T, exact.coordinates(cross) @ T.T, atol=1e-9)


@pytest.mark.parametrize("gamma", [3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 1.0])
def test_elimination_is_done_only_where_the_rank_is_plain(rng, gamma):
    X = rng.standard_normal((60, 3))
    K = np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))
    quick, rank = gram.eliminated_map(K), gram.exact_map(K)[1].shape[1]
    assert quick is None or rank == 59
    assert (quick is not None) == (gamma == 1.0) or gamma == 0.1  # which lies between
    assert gram.eliminated_map(X @ X.T) is None
    assert gram.eliminated_map(np.full((60, 60), np.inf)) is None
