"""Rows as coordinates: exact where a side is short, leading directions and what they leave out otherwise."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from gnomon.models.dppca.reduction import Limits, principal_rows, reduce_rows
from gnomon.rows import read
from rows.copied import copied_rows


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shape, exact", [((40, 9), True), ((12, 30), True), ((40, 30), False)])
def test_coordinates_and_what_they_leave_out(rng, shape, exact, form):
    limits = Limits() if exact else Limits(exact_side=8, n_leading=5, n_spare=3)
    X = rng.normal(size=shape) * np.geomspace(1.0, 0.01, shape[1]) + 2.0
    extra = rng.normal(size=(shape[0], 2))
    found = reduce_rows(copied_rows(form(X)), extra, limits)
    C = (X - X.mean(axis=0)) / found.standard.scale
    assert_allclose((C**2).mean(), 1.0, rtol=1e-12)
    assert found.exact == exact
    r = found.T.shape[1]
    B = found.expand(np.eye(r))
    assert_allclose(B.T @ B, np.eye(r), atol=1e-9)
    assert_allclose(C @ B, found.T, atol=1e-9)
    assert_allclose((C**2).sum(axis=1) - (found.T**2).sum(axis=1), found.outside, atol=1e-8)
    if exact:
        assert_allclose(found.T @ B.T, C, atol=1e-8)
    else:
        assert r == 7
        assert_allclose(B @ (B.T @ (C.T @ extra)), C.T @ extra, atol=1e-9)  # the sums lie in the basis


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    "shape, side, eigenproblem",
    [((60, 9), 80, 3.0), ((12, 30), 80, 3.0), ((60, 30), 8, 1e9), ((60, 30), 8, 3.0), ((30, 60), 8, 3.0)],
)
def test_principal_rows_are_the_leading_directions(rng, shape, side, eigenproblem, form):
    X = rng.normal(size=shape) * np.geomspace(1.0, 1e-3, shape[1]) + 2.0
    limits = Limits(exact_side=side, n_spare=3, reads=8, eigenproblem=eigenproblem)
    found = principal_rows(copied_rows(form(X)), 5, limits)
    C = (X - X.mean(axis=0)) / found.standard.scale
    sizes = np.linalg.svd(C)[1][:5]
    B = found.expand(np.eye(5))
    assert_allclose(B.T @ B, np.eye(5), atol=1e-9)
    assert_allclose(C @ B, found.T, atol=1e-8)
    assert_allclose(found.T.T @ found.T, np.diag(sizes**2), atol=1e-5 * sizes[0] ** 2)
    assert_allclose((C**2).sum(axis=1) - (found.T**2).sum(axis=1), found.outside, atol=1e-8)
    everything = principal_rows(copied_rows(form(X)), 300, Limits(exact_side=80))
    assert everything.T.shape[1] == min(shape[0] - 1, shape[1])


def test_principal_rows_are_exact_where_that_is_no_slower(rng):
    """One round of the iteration on a flat spectrum is far from the leading directions; of sparse rows it is cheap."""
    X, limits = rng.normal(size=(60, 90)), Limits(exact_side=8, n_spare=45, reads=1)
    for dense, form in ((X, np.asarray), (X.T, np.asarray), (X, sp.csr_array)):
        found = principal_rows(read(form(dense)), 5, limits)
        sizes = np.sqrt((found.T**2).sum(axis=0)) * found.standard.scale
        largest = np.linalg.svd(dense - dense.mean(axis=0))[1][:5]
        assert np.allclose(sizes, largest, rtol=1e-9) == (form is np.asarray)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_large_table_is_reduced_alike_in_any_order(rng, form):
    """Far from converged: one round on a flat spectrum, with columns that are equal and columns of equal variance."""
    X = rng.poisson(0.3, size=(90, 70)).astype(float)
    X[:, 1], X[:, 2] = X[:, 0], X[rng.permutation(90), 0]
    extra, limits = rng.normal(size=(90, 2)), Limits(exact_side=8, n_leading=10, n_spare=3, reads=1)
    rows, columns = rng.permutation(90), rng.permutation(70)
    first = reduce_rows(read(form(X)), extra, limits)
    moved = reduce_rows(read(form(X[np.ix_(rows, columns)] * (1 + 1e-13))), extra[rows], limits)
    B, other = (found.expand(np.eye(12)) for found in (first, moved))
    assert_allclose((B @ B.T)[np.ix_(columns, columns)], other @ other.T, atol=1e-9)
    exact = np.linalg.svd(X - X.mean(axis=0))[2][:10]
    assert np.linalg.norm(exact @ B) ** 2 < 9.9  # so it is the start that agrees
