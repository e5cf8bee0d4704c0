"""What SEPCA is fitted to: the best bias, log-partitions, weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.models.sepca import data as of
from models.sepca_problem import problem
from oracles import sepca as oracle


def test_bias_maximizes_the_likelihood_of_labels(rng):
    scores, Y, beta = 5 * rng.normal(size=(20, 4)), np.eye(4)[rng.integers(4, size=20)], 0.2
    w = np.ones((len(Y), 1))
    b = of.best_bias(scores, Y, beta, w)
    assert_allclose((Y - oracle.softmax(scores + b)).sum(axis=0), beta * b, atol=1e-10)
    assert_allclose(of.best_bias(1e4 * scores, Y, beta, w).sum(), 0.0, atol=1e-6)


def test_bias_under_weights_of_any_size():
    """Probabilities fix the bias up to a constant, which only the penalty holds."""
    rng = np.random.default_rng(0)
    scores, Y = rng.normal(size=(20, 3)), np.eye(3)[rng.integers(3, size=20)]
    for size in (1e-12, 1.0, 1e12, 9e15):
        w = np.full((20, 1), size)
        b = of.best_bias(scores, Y, 0.1, w)
        gap = (w * (Y - oracle.softmax(scores + b))).sum(axis=0) - 0.1 * b
        assert np.abs(gap).max() <= 1e-12 * max(1.0, w.sum())
        assert_allclose(b.sum(), 0.0, atol=1e-6)


@pytest.mark.parametrize("size", [1.0, 300.0])
def test_softmax_and_its_log_partition_are_those_of_the_definition(rng, size):
    scores, w = size * rng.normal(size=(6, 4)), rng.uniform(0.5, 2.0, (6, 1))
    total, T = of.softmax(scores, weights=w)
    assert_allclose(T, oracle.softmax(scores), rtol=1e-12)
    assert_allclose(total, w[:, 0] @ np.logaddexp.reduce(scores, axis=1), rtol=1e-12)


def test_weights_of_rows_and_base_are_repetitions_of_them(rng):
    data, w, v = problem(rng), rng.integers(1, 4, 9), rng.integers(1, 4, 9)
    weighted = data._replace(weights=w.astype(float), base_weights=v.astype(float))
    Z, scores = np.repeat(data.rows, w, axis=0), rng.normal(size=(9, 6))
    S = weighted.scores(weighted.root * scores)
    assert_allclose(S, scores[:, :3] @ data.base.T, rtol=1e-12)
    repeated = np.repeat(np.repeat(S, w, axis=0), v, axis=1)
    total, T = weighted.x_softmax(S)
    assert_allclose(total, np.logaddexp.reduce(repeated, axis=1).sum(), rtol=1e-12)
    owner = np.repeat(np.arange(9), v)
    each = np.stack([oracle.softmax(repeated)[:, owner == j].sum(axis=1) for j in range(9)], axis=1)
    assert_allclose(np.repeat(T, w, axis=0), each, rtol=1e-10)
    assert len(Z) == len(each)


def test_rows_whose_label_is_hidden_stay(rng):
    data = problem(rng, unlabeled=2)
    seen = np.arange(7) % 2 == 0
    some = data.only(seen)
    assert some.rows is data.rows
    assert some.labeled.tolist() == [0, 2, 4, 6]
    assert_allclose(some.Y, data.Y[::2])
