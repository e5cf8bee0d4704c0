"""Starting centers of mixtures where nothing in the data says which they should be."""

import numpy as np
from numpy.testing import assert_allclose

from gnomon.models.mixture.kmeans import Partition
from rows.copied import copied_rows


def centers(X, s):
    rows = copied_rows(X)
    standard = rows.standard(rows.summarize()).measured()
    return Partition(standard, np.arange(len(X))).centers(s, "kmeans", None)


def test_splits_depend_on_neither_a_seed_nor_the_order_of_rows(rng):
    X = rng.normal(size=(400, 3)) * [3.0, 2.0, 1.0]
    first = centers(X, 6)
    assert_allclose(centers(X, 6), first, rtol=1e-12)
    again = centers(X[rng.permutation(400)], 6)
    order = [int(np.abs(again - c).sum(axis=1).argmin()) for c in first]
    assert sorted(order) == list(range(6))
    assert_allclose(again[order], first, rtol=1e-8, atol=1e-10)
