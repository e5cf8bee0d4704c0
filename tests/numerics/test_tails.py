"""Shares beyond numbers, and numbers that shares are beyond: one undoes the other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.numerics.tails import Tail, n_tail, of_sorted


def test_shares_are_counted_and_then_follow_the_tail():
    tail = Tail(np.arange(1.0, 101.0), 90.0, 0.5)
    assert_allclose(tail.beyond(np.array([0.0, 50.0, 50.5, 90.0])), np.array([101, 52, 51, 12]) / 101)
    assert_allclose(tail.beyond(np.array([900.0, 9000.0])), [0.1 * 10**-2.0, 0.1 * 100**-2.0])
    assert np.diff(tail.beyond(np.linspace(0.0, 200.0, 999))).max() <= 1e-12  # farther is never more typical


def test_limits_are_counted_where_many_are_beyond_and_then_follow_the_tail():
    tail = Tail(np.arange(1.0, 101.0), 90.0, 0.5)
    assert [tail.limit(share) for share in (0.5, 0.2, 0.06)] == [51.0, 81.0, 95.0]
    assert_allclose(tail.limit(0.01), 90.0 * 10**0.5)
    assert_allclose(tail.limit(0.001), 90.0 * 100**0.5)
    assert tail.limit(0.05) == pytest.approx(90.0 * 2.0**0.5)


@pytest.mark.parametrize("n", [10, 49, 50, 99, 1000])
@pytest.mark.parametrize("share", [0.2, 0.05, 0.01, 0.001])
def test_new_numbers_are_beyond_limits_as_often_as_said(n, share):
    rng = np.random.default_rng(0)
    new = rng.gamma(2.0, size=(400, 20000)) if n < 1000 else rng.gamma(2.0, size=(100, 20000))
    limits = [of_sorted(np.sort(rng.gamma(2.0, size=n))).limit(share) for _ in new]
    found = (new > np.array(limits)[:, None]).mean()
    assert found <= 1.2 * share + 0.5 * np.sqrt(share / n)
    assert found >= 0.1 * share  # a power law is beyond this tail


def test_the_tail_is_of_a_tenth_and_never_without_spread():
    assert [n_tail(n) for n in (10, 50, 60, 1000)] == [5, 5, 6, 100]
    tail = of_sorted(np.r_[np.linspace(0.0, 1.0, 95), np.full(6, 7.0)])
    assert (tail.start, tail.spread) == (np.linspace(0.0, 1.0, 95)[90], pytest.approx(tail.spread))
    assert of_sorted(np.ones(30)).spread == 1e-3
