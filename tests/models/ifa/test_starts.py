"""Starts: discriminant directions of the labels, random directions of the rows, whatever the axes and the order."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ortho_group

from gnomon import IFA
from gnomon.models.ifa.likelihood import Rows, log_likelihood
from gnomon.models.ifa.starts import (
    discriminant_directions,
    draw_starts,
    label_weights,
    labeled_start,
    mixtures_along,
    random_directions,
    random_start,
    searched_start,
)


def white(rng, n=120, d=4):
    """White rows of two bimodal directions among `d`."""
    Z = rng.laplace(size=(d, n))
    Z[:2] += 3.0 * rng.integers(0, 2, (2, n))
    return np.linalg.solve(np.linalg.cholesky(np.cov(Z, bias=True)), Z - Z.mean(axis=1, keepdims=True))


def labels(rng, n=120, size=3, share=0.3):
    """Log-plausibilities (size, n) of labels in some rows."""
    log_pl = np.zeros((size, n))
    known = np.flatnonzero(rng.random(n) < share)
    log_pl[:, known] = -np.inf
    log_pl[rng.integers(0, size, len(known)), known] = 0.0
    return log_pl


def test_label_weights_are_zero_in_rows_without_information():
    log_pl = np.log(np.array([[1.0, 1.0, 0.5, 1e-300], [0.2, 1.0, 0.5, 1.0]]))
    assert_allclose(label_weights(log_pl), [[5 / 6, 0, 0, 0], [1 / 6, 0, 0, 1]], atol=1e-12)
    padded = np.vstack([np.zeros(2), np.zeros(2), np.full(2, -np.inf)])
    assert_allclose(label_weights(padded), 0.0)


def test_labeled_start_looks_along_the_shrunken_discriminant(rng):
    U, log_pl = white(rng), labels(rng, size=2)
    first, second = U[:, np.isneginf(log_pl[1])], U[:, np.isneginf(log_pl[0])]
    m, d = first.shape[1] + second.shape[1], len(U)
    pooled = np.cov(first, bias=True) * first.shape[1] + np.cov(second, bias=True) * second.shape[1]
    want = np.linalg.solve((pooled + d * np.eye(d)) / (m + d), first.mean(axis=1) - second.mean(axis=1))
    found = discriminant_directions(U, label_weights(log_pl), 1)[0]
    cosine = found @ want / np.linalg.norm(found) / np.linalg.norm(want)
    assert abs(cosine) > 1 - 1e-10
    start = labeled_start(Rows(U, log_pl[None]), rng)
    assert_allclose(abs(start.V[0] @ found), np.linalg.norm(found), rtol=1e-10)


@pytest.mark.parametrize("n_tied", [0, 2])
def test_starts_are_proper_points(rng, n_tied):
    log_pl = labels(rng)[None]
    rows = Rows(white(rng), log_pl if n_tied else np.concatenate([log_pl, log_pl]), n_tied)
    for make in (labeled_start, random_start, searched_start):
        start = make(rows, rng)
        assert_allclose(np.linalg.norm(start.V, axis=1), 1.0)
        assert_allclose(np.exp(start.log_weights).sum(axis=1), 1.0)
        assert np.isfinite(log_likelihood(start, rows))
        assert np.linalg.svd(start.V, compute_uv=False)[-1] > 0.01


@pytest.mark.parametrize("known", [(), (0,), (0, 1)], ids=["no labels", "one latent", "the same labels twice"])
def test_starts_turn_with_the_rows_and_know_nothing_of_their_order(rng, known):
    U, own = white(rng), labels(rng, size=2)
    log_pl = np.stack([own if s in known else np.zeros_like(own) for s in range(2)])
    R, order = ortho_group.rvs(4, random_state=1), rng.permutation(U.shape[1])
    plain = draw_starts(Rows(U, log_pl), "both", 4, np.random.default_rng(0)).params
    turned = draw_starts(Rows(R @ U[:, order], log_pl[:, :, order]), "both", 4, np.random.default_rng(0)).params
    for one, other in zip(plain, turned, strict=True):
        assert_allclose(other.V @ R, one.V, atol=1e-6)
        assert_allclose(other.means, one.means, atol=1e-6)
        assert_allclose(other.variances, one.variances, atol=1e-6)


def test_renamed_labels_give_the_same_start(rng):
    U, log_pl = white(rng), labels(rng)
    log_pl[2, np.isneginf(log_pl).any(axis=0)] = -np.inf  # the third component has no label of its own
    log_pl[:, np.isneginf(log_pl).all(axis=0)] = 0.0
    names = [2, 0, 1]
    one, other = (labeled_start(Rows(U, A[None]), np.random.default_rng(0)) for A in (log_pl, log_pl[names]))
    for A, B in zip(one, other, strict=True):
        assert_allclose(B, A[:, names] if A.shape[1] == 3 else A)


def test_random_directions_differ_and_fill_the_space(rng):
    U = white(rng, n=300)
    rows = Rows(U, np.zeros((1, 2, 300)))
    found = np.array([random_directions(rows, 1, rng)[0] for _ in range(400)])
    assert_allclose(np.linalg.norm(found, axis=1), 1.0)
    shares = np.linalg.eigvalsh(found.T @ found / 400)
    assert shares[0] > 0.1  # no direction is rare
    assert shares[-1] < 0.5


def test_components_that_every_row_excludes_are_absent(rng):
    log_pl = np.zeros((1, 3, 120))
    log_pl[0, 1] = -np.inf
    start = random_start(Rows(white(rng), log_pl), rng)
    assert np.isneginf(start.log_weights[0, 1])
    assert_allclose(np.exp(start.log_weights[0, [0, 2]]), 0.5)
    assert_allclose([start.means[0, 1], start.variances[0, 1]], [0.0, 1.0])


def test_latents_are_searched_for_one_after_the_other(rng):
    Z = 0.2 * rng.normal(size=(8, 400))
    Z[:4] += rng.integers(0, 2, (4, 400)) * np.array([4.0, 3.0, 2.5, 2.0])[:, None]
    Z = np.linalg.solve(np.linalg.cholesky(np.cov(Z, bias=True)), Z - Z.mean(axis=1, keepdims=True))
    R = ortho_group.rvs(8, random_state=1)
    start = searched_start(Rows(R @ Z, np.zeros((4, 2, 400))), rng)
    assert_allclose(start.V @ start.V.T, np.eye(4), atol=1e-10)
    assert_allclose(np.sort(np.abs(start.V @ R).argmax(axis=1)), np.arange(4))  # all four, none of them twice
    assert np.abs(start.V @ R).max(axis=1).min() > 0.98


def test_latents_beyond_doubt_have_one_start(rng):
    Z = np.vstack([rng.laplace(size=(4, 3000)), rng.uniform(size=(4, 3000))])
    U = np.linalg.solve(np.linalg.cholesky(np.cov(Z, bias=True)), Z - Z.mean(axis=1, keepdims=True))
    clear = draw_starts(Rows(U, np.zeros((8, 3, 3000))), "both", 4, rng)
    assert (len(clear.params), clear.n_sweeps) == (1, 0)
    assert np.abs(clear.params[0].V).max(axis=1).min() > 0.97
    assert len(draw_starts(Rows(U, np.zeros((3, 3, 3000))), "both", 3, rng).params) == 3  # which three of them?
    few = np.ascontiguousarray(U[:4, :800])
    assert len(draw_starts(Rows(few, np.zeros((4, 3, 800))), "both", 3, rng).params) == 3  # a search costs little
    doubtful = rng.normal(size=(8, 3000)) * rng.exponential(size=3000)
    doubtful = np.linalg.solve(np.linalg.cholesky(np.cov(doubtful, bias=True)), doubtful)
    assert len(draw_starts(Rows(doubtful, np.zeros((8, 3, 3000))), "both", 2, rng).params) == 2


def test_latents_without_labels_start_beside_those_with(rng):
    ids = rng.integers(0, 2, (3, 900))
    Z = rng.normal(size=(5, 900))
    Z[:3] += 5.0 * ids
    U = np.linalg.solve(np.linalg.cholesky(np.cov(Z, bias=True)), Z - Z.mean(axis=1, keepdims=True))
    log_pl = np.zeros((3, 2, 900))
    log_pl[1, :, :100] = -np.inf
    log_pl[1, ids[1, :100], np.arange(100)] = 0.0
    start = labeled_start(Rows(U, log_pl), rng)
    assert sorted(np.abs(start.V).argmax(axis=1).tolist()) == [0, 1, 2]
    assert np.abs(start.V[1, 1]) > 0.95


@pytest.mark.parametrize("seed", [0, 1])
def test_words_that_occur_once_are_split_off_by_what_else_their_rows_have(seed):
    """Every direction along such a word is as likely, and white rows do not tell one from another."""
    draw, n, common, own = np.random.default_rng(seed), 80, 5, 15
    X = np.hstack([draw.poisson(1.0, (n, common)) * draw.uniform(0.5, 1.5, (n, 1)), np.eye(n)[:, :own]])
    rows, columns = draw.permutation(n), draw.permutation(common + own)
    model = IFA([2, 2], tol=1e-8)
    want = model.fit(X).transform(X)
    assert model.mix_variances_[0].max() < 1e-3  # the most likely components are one row and the others
    for moved, wanted in ((X * (1.0 + 1e-13), want), (X[rows], want[rows]), (X[:, columns], want)):
        assert_allclose(IFA([2, 2], tol=1e-8).fit(moved).transform(moved), wanted, rtol=0, atol=1e-7)


@pytest.mark.parametrize("size", [2, 3])
def test_components_start_apart_where_most_rows_are_as_one(size):
    U = np.zeros((2, 200))
    U[0, :3], U[1, 3:6] = 5.0, -4.0
    U[:, 6:] += 1e-5 * np.arange(194) / 194
    start = mixtures_along(np.eye(2), Rows(U, np.zeros((2, size, 200))))
    assert np.diff(start.means).min() > 0.5
