"""Slopes of columns on numbers of the rows are those of least squares."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from gnomon.describe import _slopes as module
from gnomon.describe import slopes


def wanted(X, Z):
    """Column by column, with an intercept, over the rows that have it."""
    out = np.zeros((Z.shape[1], X.shape[1]))
    for j, x in enumerate(X.T):
        seen = np.isfinite(x)
        A = np.column_stack([np.ones(seen.sum()), Z[seen]])
        out[:, j] = np.linalg.lstsq(A, x[seen], rcond=None)[0][1:]
    return out


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix, np.float32])
def test_they_are_those_of_least_squares(rng, form):
    X, Z = rng.normal(3.0, 1.0, (40, 6)), rng.normal(-2.0, [1.0, 50.0], (40, 2))
    assert_allclose(slopes(form(X), Z), wanted(X, Z), atol=1e-6 if form is np.float32 else 1e-10)


@pytest.mark.parametrize("block", [1, 1 << 20])
def test_entries_that_are_missing_are_left_out(rng, monkeypatch, block):
    monkeypatch.setattr(module, "BLOCK", block)
    X, Z = rng.normal(3.0, 1.0, (40, 7)), rng.normal(-2.0, 3.0, (40, 2))
    X[:, 1:] = np.where(rng.random((40, 6)) < 0.3, np.nan, X[:, 1:])
    assert_allclose(slopes(X, Z), wanted(X, Z), atol=1e-9)


def test_what_does_not_vary_has_no_slope(rng):
    X, z = rng.normal(size=(30, 4)), rng.normal(size=30)
    X[:, 2] = 7.0
    found = slopes(X, np.column_stack([z, np.full(30, 3.0)]))
    assert_allclose(found[1], 0.0)
    assert_allclose(found[0], wanted(X, z[:, None])[0], atol=1e-12)
    assert_allclose(found[:, 2], 0.0, atol=1e-12)
    twice = slopes(X, np.column_stack([z, 2.0 * z]))  # no one pair of slopes: the sum is known
    assert_allclose(twice[0] + 2.0 * twice[1], wanted(X, z[:, None])[0], atol=1e-10)
