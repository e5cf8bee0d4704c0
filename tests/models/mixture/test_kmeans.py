"""Starting centers of mixtures where nothing in the data says which they should be."""

import numpy as np
from numpy.testing import assert_allclose

from gnomon.models.mixture.kmeans import Partition
from rows.copied import copied_rows


def centers(X, s, generator=None):
    rows = copied_rows(X)
    standard = rows.standard(rows.summarize()).measured()
    return Partition(standard, np.arange(len(X))).centers(s, "kmeans", generator)


def test_splits_depend_on_neither_a_seed_nor_the_order_of_rows(rng):
    X = rng.normal(size=(400, 3)) * [3.0, 2.0, 1.0]
    first = centers(X, 6)
    assert_allclose(centers(X, 6), first, rtol=1e-12)
    again = centers(X[rng.permutation(400)], 6)
    order = [int(np.abs(again - c).sum(axis=1).argmin()) for c in first]
    assert sorted(order) == list(range(6))
    assert_allclose(again[order], first, rtol=1e-8, atol=1e-10)


def test_rows_as_long_and_as_near_are_drawn_and_assigned_the_same_whatever_rounding_says(rng):
    X = (rng.random((300, 12)) < 0.5).astype(float)
    columns, rows = rng.permutation(12), rng.permutation(300)
    for seed in range(10):
        first = centers(X, 4, np.random.default_rng(seed))
        turned = centers(X[:, columns], 4, np.random.default_rng(seed))
        assert_allclose(turned, first[:, columns], rtol=1e-8, atol=1e-10)
        for other in (X[rows], X * (1.0 + 1e-13)):
            assert_allclose(centers(other, 4, np.random.default_rng(seed)), first, rtol=1e-8, atol=1e-10)
