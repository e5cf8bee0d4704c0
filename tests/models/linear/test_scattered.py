"""Sums over rows that are kept one by one, at several models at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.likelihoods.exact import GaussianSites, precisions
from gnomon.likelihoods.layout import Layout
from gnomon.models.linear import scattered
from gnomon.models.linear.evidence import LabeledRows
from gnomon.models.linear.scattered import ScatteredRows
from gnomon.rows import threads

N, R, Q, K, S = 150, 6, 3, 2, 2


@pytest.fixture(params=["one_share", "shares"])
def case(request, rng, monkeypatch):
    """Rows of uneven sets of outputs, with weights, and two models."""
    if request.param == "shares":
        monkeypatch.setattr(scattered, "MIN_WORK", 0)
        monkeypatch.setattr(threads, "n_threads", lambda: 3)
        monkeypatch.setattr(scattered, "AT_ONCE", 16)
    Y = np.where(rng.random((N, Q)) < [0.9, 0.6, 0.2], rng.standard_normal((N, Q)), np.nan)
    layout = Layout(("gaussian",) * Q, (0,) * Q)
    rows = LabeledRows(rng.standard_normal((N, R)), rng.random(N) + 0.5, Y, layout, GaussianSites())
    axes = np.linalg.qr(rng.standard_normal((R, R)))[0]
    gain, V, b = (rng.standard_normal(shape) for shape in [(S, R, K), (S, Q, K), (S, Q)])
    return rows, axes, gain, V, b


def test_sums_are_those_of_the_rows_one_by_one(case):
    rows, axes, gain, V, b = case
    held = ScatteredRows(rows, axes)
    cov, noise = V @ V.swapaxes(1, 2), np.array([[0.3, 0.5, 2.0], [1.0, 0.1, 0.4]])
    P, _ = precisions(cov[:, None], noise[:, None], held.observed)
    said, t = held.sums(gain, V, b, P), rows.T @ axes
    for s in range(S):
        slope, left = np.zeros((N, Q)), np.zeros((N, Q))
        for i in range(N):
            o = np.flatnonzero(~np.isnan(rows.Y[i]))
            left[i, o] = (rows.Y[i] - V[s] @ gain[s].T @ t[i] - b[s])[o]
            slope[i, o] = np.linalg.solve(cov[s][np.ix_(o, o)] + np.diag(noise[s][o]), left[i, o])
        weighted = slope * rows.weights[:, None]
        assert_allclose(said.products[s], np.vdot(weighted, left), rtol=1e-10)
        assert_allclose(said.slope[s], weighted.sum(axis=0), rtol=1e-9, atol=1e-9)
        assert_allclose(said.slope_x[s], weighted.T @ t, rtol=1e-9, atol=1e-9)
        assert_allclose(said.slopes[s], weighted.T @ slope, rtol=1e-9, atol=1e-9)


def test_moments_are_those_of_the_rows_of_each_set(case):
    rows, axes, gain, _, _ = case
    held = ScatteredRows(rows, axes)
    found = held.moments(gain)
    for g, observed in enumerate(held.observed):
        of_set = (~np.isnan(rows.Y) == observed).all(axis=1)
        assert_allclose(held.set_weights[g], rows.weights[of_set].sum())
        for s in range(S):
            z1 = np.column_stack([rows.T[of_set] @ axes @ gain[s], np.ones(int(of_set.sum()))])
            assert_allclose(found[s, g], (z1 * rows.weights[of_set, None]).T @ z1, rtol=1e-10, atol=1e-10)


def test_few_rows_of_a_part_are_empty(case):
    rows, axes, _, _, _ = case
    held = ScatteredRows(rows, axes)
    counts = (held.observed[:, None] == ~np.isnan(rows.Y)).all(axis=2).sum(axis=1)
    for part in held.parts:
        assert part.length == counts[part.sets][0]
        assert counts[part.sets].min() >= scattered.FILLED * part.length
        assert len(held.x1[part.rows]) == part.length * len(counts[part.sets])
    assert_array_equal(
        np.concatenate([np.arange(len(counts))[part.sets] for part in held.parts]), np.arange(len(counts))
    )
