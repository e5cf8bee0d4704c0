import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.numerics.normalize import normalized


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("away", [0.0, 1e4, -1e4])
def test_shares_and_sums_are_those_of_the_definition_wherever_the_logarithms_lie(rng, axis, away):
    logs = rng.normal(size=(3, 4, 5))
    shares, log_sum = normalized(logs + away, axis)
    total = np.exp(logs).sum(axis=axis, keepdims=True)
    assert_allclose(shares, np.exp(logs) / total, rtol=1e-10)
    assert_allclose(log_sum, np.log(total).squeeze(axis) + away, rtol=1e-12)


def test_what_is_impossible_has_no_share_and_the_logarithms_stay_as_they_are():
    logs = np.array([[0.0, -np.inf, 0.0]])
    shares, log_sum = normalized(logs)
    assert_allclose(shares, [[0.5, 0.0, 0.5]])
    assert_allclose(log_sum, [np.log(2.0)])
    assert logs.tolist() == [[0.0, -np.inf, 0.0]]
