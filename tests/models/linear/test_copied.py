"""Fits on rows whose tasks, blocks and answers are copies equal fits on rows in memory."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from gnomon.likelihoods.layout import Layout
from gnomon.models.linear import cppca, sppca
from gnomon.rows import read
from rows.copied import copied_rows

N, P = 60, 20


def planted(rng):
    Z = rng.normal(size=(N, 3))
    X = Z @ rng.normal(size=(3, P)) + 0.5 * rng.normal(size=(N, P)) + 3.0
    Y = Z @ rng.normal(size=(3, 2)) + 0.3 * rng.normal(size=(N, 2))
    Y[rng.random(N) < 0.5] = np.nan
    Y[rng.random(N) < 0.2, 0] = np.nan
    return X, Y


@pytest.mark.parametrize(
    "form, solver", [*product([np.asarray, sp.csr_array], ["moments", "subspace", "em"]), ("masked", "em")]
)
def test_sppca(rng, form, solver):
    X, Y = planted(rng)
    masked = isinstance(form, str)
    if masked:
        X[rng.random(X.shape) < 0.1] = np.nan
    options = sppca.Options(2, solver=solver, tol=1e-8, max_iter=2000)
    here, there = (
        sppca.fit(rows, Y, options, np.random.default_rng(0))
        for rows in (
            (read(X, masked=True), copied_rows(X, masked=True)) if masked else (read(form(X)), copied_rows(form(X)))
        )
    )
    assert there.status is here.status
    assert_allclose(there.path[-1], here.path[-1], rtol=1e-9)
    assert_allclose(there.value.params.W_x, here.value.params.W_x, atol=1e-5)


@pytest.mark.parametrize("solver", ["moments", "subspace"])
def test_cppca(rng, solver):
    X, Y = planted(rng)
    labeled = np.flatnonzero(~np.isnan(Y[:, 1]))
    labels = (Y[labeled, 1:] > 0).astype(float)
    options = cppca.Options(2, solver=solver, tol=1e-8)
    here, there = (
        cppca.fit(rows, labeled, labels, Layout(("logit",), (2,)), options, np.random.default_rng(0))
        for rows in (read(X), copied_rows(X))
    )
    assert there.status is here.status
    assert_allclose(there.path[-1], here.path[-1], rtol=1e-9)
    assert_allclose(there.value.params.x.W_x, here.value.params.x.W_x, atol=1e-5)
