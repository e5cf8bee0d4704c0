"""Sufficient statistics: what they hold and how they pool."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.numerics.moments import completed, output_sets, pattern_from_rows, pattern_from_sums, second_moment
from numerics import build


def test_a_pattern_from_sums_is_that_from_rows(rng):
    T, Y, w = rng.normal(size=(20, 3)) + 5.0, rng.normal(size=(20, 2)), rng.uniform(0.5, 2, 20)
    o, wT, wY = np.arange(2), w[:, None] * T, w[:, None] * Y
    a = pattern_from_rows(o, T, Y, w)
    b = pattern_from_sums(o, w.sum(), wT.sum(0), wY.sum(0), wT.T @ T, wT.T @ Y, wY.T @ Y)
    V = np.hstack([T, Y])
    assert_allclose(a.mean, w @ V / w.sum(), rtol=1e-12)
    assert_allclose(a.scatter, w.sum() * np.cov(V.T, aweights=w, ddof=0), rtol=1e-10, atol=1e-12)
    for x, y in zip(a, b, strict=True):
        assert_allclose(x, y, rtol=1e-10, atol=1e-10)


def test_output_sets_are_the_distinct_rows(rng):
    observed = rng.random((30, 3)) < 0.5
    sets, of_row = output_sets(observed)
    assert_array_equal(sets[of_row], observed)
    assert len(np.unique(sets, axis=0)) == len(sets)


@pytest.mark.parametrize("shape", [(0, 3), (5, 0)])
def test_output_sets_of_nothing(shape):
    sets, of_row = output_sets(np.zeros(shape, dtype=bool))
    assert sets.shape == (1, shape[1])
    assert_array_equal(of_row, np.zeros(shape[0]))


@pytest.mark.parametrize("targets", build.TARGETS)
def test_second_moment_and_sizes(rng, targets):
    _, X, Y = build.draw(rng, targets=targets)
    w = rng.uniform(0.5, 2, len(X))
    moments = build.moments(X, Y, w)
    assert_allclose(second_moment(moments), X.T @ (w[:, None] * X), rtol=1e-11, atol=1e-11)
    assert moments.size == X.shape[1]
    assert_allclose(moments.weight, w.sum())
    assert moments.same_outputs == (targets != "entries")


@pytest.mark.parametrize("targets", ["labeled", "semi", "entries", "none"])
@pytest.mark.parametrize("loose_below", [0, 6])
def test_completed_averages_over_the_rows_that_observe(rng, targets, loose_below):
    _, X, Y = build.draw(rng, targets=targets)
    pooled = completed(build.moments(X, Y, loose_below=loose_below))
    q = Y.shape[1]
    seen = ~np.isnan(Y)
    assert_allclose(pooled.xx, X.T @ X / len(X), rtol=1e-11)
    assert_allclose(pooled.y_mean, [Y[seen[:, j], j].mean() for j in range(q)], rtol=1e-11)
    if targets == "entries":
        return  # with single outputs missing the deviations are pooled pattern by pattern: a start, not a statistic
    rows = seen.all(axis=1) if q else np.zeros(len(X), dtype=bool)
    cov = np.cov(np.hstack([X, Y])[rows].T, ddof=0) if q else np.zeros((X.shape[1],) * 2)
    p = X.shape[1]
    assert_allclose(pooled.xy, cov[:p, p:], atol=1e-11)
    assert_allclose(pooled.yy, cov[p:, p:], atol=1e-11)
