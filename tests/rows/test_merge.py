"""Moments of parts add up to those of the whole, and few rows stand for many."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gnomon.rows import read
from gnomon.rows.merge import Moments


def table(rng, n=90, p=6, offset=0.0):
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) * np.array([1e-3, 1, 1, 1, 1, 1e3])[:p] + offset
    key = rng.integers(0, 3, size=(n, 1))
    Y = X[:, :2] * (key > 0) + (key > 0)
    return X, Y, key, rng.integers(1, 4, n).astype(float)


def of(found, key):
    """Weight, mean and scatter of (x, y) of the few rows of a key."""
    inside = found.group == key
    V, w = np.hstack([found.features, found.outputs])[inside], found.weights[inside]
    mean = w @ V / w.sum()
    return w.sum(), mean, (w[:, None] * (V - mean)).T @ (V - mean)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 100.0]), st.integers(1, 5), st.booleans())
def test_few_rows_have_the_moments_of_all_whatever_the_parts(seed, offset, n_parts, weighted):
    rng = np.random.default_rng(seed)
    X, Y, key, w = table(rng, offset=offset)
    w = w if weighted else np.ones(len(X))
    parts = np.array_split(rng.permutation(len(X)), n_parts)
    moments = [Moments.of(read(X[part], w[part]), Y[part], key[part]) for part in parts]
    total = moments[0]
    for one in moments[1:]:
        total = total + one
    found = total.few_rows()
    unit = np.r_[np.full(6, np.sqrt(X.var(axis=0).mean())), Y.std(axis=0)]  # the model has one unit of x
    for g, k in enumerate(total.keys[:, 0]):
        inside = key[:, 0] == k
        V, weights = np.hstack([X, Y])[inside], w[inside]
        mean = weights @ V / weights.sum()
        scatter = (weights[:, None] * (V - mean)).T @ (V - mean)
        weight, got_mean, got = of(found, g)
        assert_allclose(weight, weights.sum())
        assert_allclose(got_mean / unit, mean / unit, rtol=1e-12, atol=1e-12)
        assert_allclose(got / np.outer(unit, unit), scatter / np.outer(unit, unit), rtol=1e-9, atol=1e-9)
        assert total.counts[g] == inside.sum()
        assert (found.group == g).sum() <= 2 * 8
    assert_allclose(total.n_equal, w.sum() ** 2 / (w @ w))


def test_sparse_rows_and_single_ones(rng):
    X = np.where(rng.random((50, 8)) < 0.3, rng.normal(size=(50, 8)), 0.0)
    none = np.zeros((50, 0))
    key = np.zeros((50, 1), dtype=int)
    dense, sparse = Moments.of(read(X), none, key), Moments.of(read(sp.csr_array(X)), none, key)
    assert_allclose(of(sparse.few_rows(), 0)[2], of(dense.few_rows(), 0)[2], atol=1e-12)
    one = Moments.of(read(X[:1]), none[:1], key[:1]).few_rows()
    assert_allclose(one.features, X[:1], atol=1e-15)
    assert one.weights.tolist() == [1.0]


def test_plain_numbers_give_the_same_again(rng):
    X, Y, key, w = table(rng)
    moments = Moments.of(read(X, w), Y, key)
    again = Moments.from_tuple(moments.as_tuple())
    for one, two in zip(moments.few_rows(), again.few_rows(), strict=True):
        assert_allclose(one, two, rtol=0)
    with pytest.raises(ValueError, match="too many values to unpack"):  # of rows with outputs
        moments.of_outputs(1, 2)
