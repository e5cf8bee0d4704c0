import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp, softmax

from gnomon.numerics.normalize import normalized


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("away", [0.0, 1e4, -1e4])
def test_shares_and_sums_are_those_of_the_definition_wherever_the_logarithms_lie(rng, axis, away):
    logs = rng.normal(size=(3, 4, 5))
    shares, log_sum = normalized(logs + away, axis)
    total = np.exp(logs).sum(axis=axis, keepdims=True)
    assert_allclose(shares, np.exp(logs) / total, rtol=1e-10)
    assert_allclose(log_sum, np.log(total).squeeze(axis) + away, rtol=1e-12)


@pytest.mark.parametrize("columns", [1, 2, 7, 16, 17, 40])
@pytest.mark.parametrize("order", "CF")
def test_few_columns_and_many_are_the_definition(rng, columns, order):
    logs = np.asarray(rng.normal(size=(30, columns)) * 300.0, order=order)
    shares, log_sum = normalized(logs)
    assert_allclose(log_sum, logsumexp(logs, axis=1), rtol=1e-14)
    assert_allclose(shares, softmax(logs, axis=1), rtol=1e-12, atol=1e-300)


def test_what_is_impossible_has_no_share_and_the_logarithms_stay_as_they_are():
    logs = np.array([[0.0, -np.inf, 0.0]])
    shares, log_sum = normalized(logs)
    assert_allclose(shares, [[0.5, 0.0, 0.5]])
    assert_allclose(log_sum, [np.log(2.0)])
    assert logs.tolist() == [[0.0, -np.inf, 0.0]]
