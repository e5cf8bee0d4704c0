"""Rows as coordinates: exact where a side is short, leading directions and what they leave out otherwise."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from gnomon.models.dppca.reduction import Limits, reduce_rows
from rows.copied import copied_rows


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shape, exact", [((40, 9), True), ((12, 30), True), ((40, 30), False)])
def test_coordinates_and_what_they_leave_out(rng, shape, exact, form):
    limits = Limits() if exact else Limits(exact_side=8, n_leading=5, n_spare=3)
    X = rng.normal(size=shape) * np.geomspace(1.0, 0.01, shape[1]) + 2.0
    extra = rng.normal(size=(shape[0], 2))
    found = reduce_rows(copied_rows(form(X)), extra, rng, limits)
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
