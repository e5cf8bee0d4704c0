"""Whitening: covariance I exactly, maps there and back, few reads over wide tables, what cannot be whitened."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA

from gnomon.models.ifa import whitening
from gnomon.models.ifa.whitening import whiten_rows
from gnomon.rows import read
from rows.copied import copied_rows


def table(rng, n=60, p=5, offset=10.0):
    return rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) * np.logspace(-3, 3, p) + offset


def check_white(white, X, rtol=1e-8):
    d = len(white.U)
    assert_allclose(white.U @ white.U.T / white.U.shape[1], np.eye(d), atol=1e-12)
    assert_allclose(white.U.mean(axis=1), 0.0, atol=1e-12)
    assert_allclose((X - white.mean) @ white.whiten / white.scale, white.U.T, atol=1e-6)
    assert_allclose(white.whiten.T @ white.unwhiten, np.eye(d), atol=1e-8)


def test_every_direction_is_kept_and_comes_back(rng):
    X = table(rng)
    white = whiten_rows(copied_rows(X), None, rng)
    check_white(white, X)
    assert_allclose(white.mean + white.U.T @ white.unwhiten.T * white.scale, X, atol=1e-8)
    assert_allclose(white.log_volume, 0.5 * np.linalg.slogdet(np.cov(X.T, bias=True))[1], rtol=1e-8)


def test_columns_that_are_almost_the_same_are_white_as_well(rng):
    X = rng.normal(size=(60, 3))
    X = np.column_stack([X, X[:, 0] + 1e-5 * rng.normal(size=60)])
    white = whiten_rows(copied_rows(X), None, rng)
    assert len(white.U) == 4
    assert_allclose(white.U @ white.U.T / 60, np.eye(4), atol=1e-9)


def test_columns_without_variance_or_of_their_own_add_no_direction(rng):
    X = table(rng)
    X = np.column_stack([X, np.full(60, 7.0), X[:, 0] - 2.0 * X[:, 1]])
    white = whiten_rows(copied_rows(X), None, rng)
    assert white.U.shape == (5, 60)
    check_white(white, X)
    assert_allclose(white.whiten[5], 0.0)
    assert_allclose(white.mean + white.U.T @ white.unwhiten.T * white.scale, X, atol=1e-6)


@pytest.mark.parametrize("constant", [0.1, 0.3, 1e-9 / 7])
def test_a_constant_column_among_centered_ones_adds_no_direction(rng, constant):
    """Squares are summed before the mean is known, so that its variance there is rounding, 1e-8 of it or below zero."""
    X = rng.normal(size=(60, 4))
    for factor in (1.0, 1.0 + 1e-13, 3.0, 1.7):
        rows = np.column_stack([X, np.full(60, constant)]) * factor
        assert len(whiten_rows(read(rows), None, rng).U) == 4
    faint = np.column_stack([X, 0.5 + 1e-9 * rng.normal(size=60)])
    check_white(whiten_rows(read(faint), None, rng), faint)


@pytest.mark.parametrize("scale", [1e-150, 1e145])
def test_units_do_not_matter(rng, scale):
    X = table(rng, offset=1.0)
    plain, scaled = (whiten_rows(copied_rows(A), None, rng) for A in (X, scale * X))
    assert_allclose(scaled.log_volume, plain.log_volume + 5 * np.log(scale), rtol=1e-10)
    assert_allclose(np.abs(scaled.U), np.abs(plain.U), atol=1e-6)


@pytest.mark.parametrize("spread", [10, 35, 70])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_units_of_each_column_do_not_matter(spread):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5))
    powers = np.linspace(-spread, spread, 5)
    plain, scaled = (whiten_rows(copied_rows(A), None, rng) for A in (X, X * 10.0**powers))
    covariance = np.cov(X.T, bias=True)
    want = 0.5 * np.linalg.slogdet(covariance)[1]
    assert_allclose(plain.log_volume, want, rtol=1e-10)
    assert_allclose(scaled.log_volume, want + powers.sum() * np.log(10.0), rtol=1e-10)


@pytest.mark.parametrize("n, p", [(60, 9), (20, 30)])
@pytest.mark.parametrize("side", [1500, 0], ids=["whole", "few reads"])
@pytest.mark.parametrize("sparse", [False, True])
def test_principal_components_are_those_of_pca(rng, n, p, side, sparse, monkeypatch):
    monkeypatch.setattr(whitening, "SIDE", side)
    X = rng.normal(size=(n, p)) * np.linspace(1.0, 3.0, p) * (rng.random((n, p)) < 0.5) + 0.0
    source = copied_rows(sp.csr_array(X) if sparse else X)
    white = whiten_rows(source, 4, rng)
    check_white(white, X)
    pca = PCA(4).fit(X)
    assert_allclose(
        white.unwhiten @ white.unwhiten.T * white.scale**2,
        (pca.components_.T * pca.explained_variance_ * (n - 1) / n) @ pca.components_,
        atol=1e-6,
    )
    assert_allclose(white.log_volume, 0.5 * np.log(pca.explained_variance_ * (n - 1) / n).sum(), atol=1e-6)


def test_few_reads_are_few(rng, monkeypatch):
    monkeypatch.setattr(whitening, "SIDE", 0)
    X = rng.normal(size=(400, 10)) @ rng.normal(size=(10, 200)) * 3 + rng.normal(size=(400, 200))
    source = copied_rows(X)
    whiten_rows(source, 10, rng)
    assert source.reads <= 12


@pytest.mark.parametrize(
    "shape, kept, words",
    [
        ((6, 5), None, "at most 4"),
        ((5, 9), 4, "at most 3"),
        ((40, 6), 7, "rank of X, 6"),
    ],
)
def test_what_splits_rows_at_will_is_refused(rng, shape, kept, words):
    with pytest.raises(ValueError, match=words):
        whiten_rows(copied_rows(rng.normal(size=shape)), kept, rng)


def test_a_wide_table_needs_principal_components(rng, monkeypatch):
    monkeypatch.setattr(whitening, "SIDE", 4)
    with pytest.raises(ValueError, match="pass pca_components"):
        whiten_rows(copied_rows(rng.normal(size=(30, 5))), None, rng)


def test_rows_that_are_all_the_same_are_refused(rng):
    for kept in (None, 1):
        with pytest.raises(ValueError, match=r"rank of X|do not vary"):
            whiten_rows(copied_rows(np.ones((9, 3))), kept, rng)


def test_rows_that_are_alone_in_a_direction_are_known_with_the_lengths_of_all(rng):
    X = np.hstack([rng.normal(size=(40, 3)), np.eye(40)[:, [4, 9]]])
    rows = whiten_rows(copied_rows(X), None, rng).labeled(np.zeros((1, 2, 40)))
    assert np.flatnonzero(rows.alone).tolist() == [4, 9]
    unit = (X - X.mean(axis=0)) / X.std(axis=0)
    assert_allclose(rows.lengths, (unit**2).mean(axis=1), rtol=1e-8)
    other = whiten_rows(copied_rows(X * [1.0, 3.0, 0.1, 5.0, 1e4]), None, rng).labeled(np.zeros((1, 2, 40)))
    assert_allclose(other.lengths, rows.lengths, rtol=1e-6)
    numbers = rows.mean_squares()
    assert_allclose(numbers[[4, 9]], rows.lengths[[4, 9]])
    assert_allclose(np.delete(numbers, [4, 9]), np.delete((rows.U**2).mean(axis=0), [4, 9]))
    V = np.eye(5)[:1]
    assert_allclose(rows.sizes(V), rows.U[0] ** 2 @ rows.lengths)
