"""A growing basis of labeled and unlabeled rows: three ways to the same products, each that of the dense formulas."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from gnomon import SPPCA
from gnomon.models.linear.basis import CAPACITY, Basis
from gnomon.models.linear.cppca import products_of
from gnomon.solvers.rank import check_rank
from rows.copied import copied_rows

WAYS = [("subspace", (25, 8)), ("moments", (25, 8)), ("subspace", (10, 20)), ("moments", (10, 20))]
ways = pytest.mark.parametrize("solver, shape", WAYS)


def case(rng, solver, shape):
    """Products, and X in standard units, labeled rows, targets and weights."""
    n, p = shape
    raw, w = 3.0 * rng.normal(size=shape) * np.geomspace(1, 0.1, p) + 5.0, rng.uniform(0.5, 2.0, n)
    labeled = np.flatnonzero(rng.random(n) < 0.6)
    Y = rng.normal(size=(len(labeled), 2))
    every = np.zeros((n, 2))
    every[labeled] = Y
    X = raw - w @ raw / w.sum()
    X /= np.sqrt(w @ (X**2).sum(axis=1) / (w.sum() * p))
    return products_of(copied_rows(raw, w), labeled, every, held=solver == "moments")[0], X, labeled, Y, w


@ways
def test_products_are_those_of_the_rows(rng, solver, shape):
    products, X, labeled, Y, w = case(rng, solver, shape)
    Q, U, wl = rng.normal(size=(products.size, 3)), rng.normal(size=(len(labeled), 2)), w[labeled, None]
    V = products.features(Q)
    gram, T = products.both(Q)
    assert_allclose(products.features(gram), X.T @ (w[:, None] * (X @ V)), atol=1e-8)
    assert_allclose(T, X[labeled] @ V, atol=1e-9)
    kept = products.features(np.eye(products.size))
    assert_allclose(products.back(U), kept.T @ X[labeled].T @ (wl * U), atol=1e-8)
    assert_allclose(products.xy, kept.T @ X[labeled].T @ (wl * Y), atol=1e-8)


@ways
def test_the_view_of_a_basis_is_that_of_the_rows(rng, solver, shape):
    products, X, labeled, _, w = case(rng, solver, shape)
    basis = Basis(products, 6)
    Q = np.linalg.qr(rng.normal(size=(products.size, 5)))[0]
    basis.expand(Q[:, :3])
    basis.view()
    basis.expand(Q[:, 3:])
    C = np.linalg.qr(rng.normal(size=(5, 4)))[0]
    basis.rotate(C)
    V, view = products.features(Q @ C), basis.view()
    assert_allclose(view.xx, V.T @ X.T @ (w[:, None] * X) @ V, atol=1e-8)
    assert_allclose(view.axes * view.values @ view.axes.T, view.xx, atol=1e-9)
    assert_allclose(basis.T, X[labeled] @ V, atol=1e-9)
    assert_allclose(view.energy, w @ (X**2).sum(axis=1), rtol=1e-9)
    gain, shift = rng.normal(size=(2, 4)), rng.normal(size=(len(labeled), 2))
    cross = X.T @ (w[:, None] * (X @ V @ gain.T))
    cross += X[labeled].T @ (w[labeled, None] * shift)
    found = basis.cross(gain, shift)
    assert_allclose(np.linalg.norm(found), np.linalg.norm(cross), rtol=1e-8)
    assert_allclose(products.features(basis.outside(found)), cross - V @ (V.T @ cross), atol=1e-8)


@ways
def test_shrinking_keeps_loadings_targets_and_what_leads(rng, solver, shape):
    products, *_ = case(rng, solver, shape)
    basis = Basis(products, 7)
    basis.expand(np.linalg.qr(rng.normal(size=(products.size, 7)))[0])
    old, W, targets = basis.vectors.copy(), rng.normal(size=(7, 2)), products.xy
    C = basis.shrink(W, 3)
    assert basis.vectors.shape[1] == 4
    assert_allclose(basis.vectors, old @ C, atol=1e-12)
    for held in (old @ W, old @ (old.T @ targets)):
        assert_allclose(basis.vectors @ (basis.vectors.T @ held), held, atol=1e-8)


def test_a_start_of_few_dimensions_is_whole_and_the_rank_is_refused(rng):
    products, *_ = case(rng, "moments", (10, 20))
    basis = Basis(products, 5)
    basis.start(2, rng)
    assert basis.whole
    assert basis.vectors.shape == (9, 9)
    check_rank(basis.xx, products.space.energy, 8)
    with pytest.raises(ValueError, match="less than the rank of X, 9"):
        check_rank(basis.xx, products.space.energy, 9)


def test_a_fit_of_sparse_rows_takes_the_memory_of_two_bases_and_a_few_blocks():
    rng = np.random.default_rng(0)
    n, p, k, classes = 2_000, 20_000, 20, 20
    places = np.sort([rng.choice(p, 40, replace=False) for _ in range(n)]).ravel()
    X = csr_array((rng.random(len(places)), places, np.arange(0, len(places) + 1, 40)), shape=(n, p))
    y = rng.integers(0, classes, n)
    y[classes * 5 :] = -1
    tracemalloc.start()
    try:
        SPPCA(k, tol=0.1, solver="subspace").fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * p * (2 * CAPACITY + 11 * k)
