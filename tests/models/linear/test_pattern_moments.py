"""Moments of patterns in all features say what the rows say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.models.linear import patterns
from gnomon.models.linear.pattern_moments import ByMoments
from gnomon.models.linear.patterns import ByPattern, group_outputs, read_by_pattern
from models.linear.test_patterns import cross_of, e_step, random_params
from numerics import build
from rows.copied import copied_rows

N, P, R = 400, 7, 4


@pytest.fixture(params=["semi", "entries"])
def both(request, rng, monkeypatch):
    """The same rows in the same basis, by moments and row by row."""
    _, X, Y = build.draw(rng, n=N, p=P, targets=request.param)
    w = rng.uniform(0.5, 2.0, N)
    found = []
    for few in (True, False):
        monkeypatch.setattr(patterns, "_few", lambda *_, few=few: few)
        data, _ = read_by_pattern(copied_rows(3.0 * X + 100.0, w), group_outputs(Y, w, 1), P, held=True)
        data.basis.expand(np.eye(P)[:, :R])
        found.append(data)
    assert isinstance(found[0], ByMoments)
    assert isinstance(found[1], ByPattern)
    return found


def test_they_are_seen_through_a_basis_that_grows_and_turns(both, rng):
    C = np.linalg.qr(rng.standard_normal((R, R - 1)))[0]
    for change in (lambda basis: None, lambda basis: basis.rotate(C), lambda basis: basis.expand(np.eye(P)[:, R:])):
        for data in both:
            change(data.basis)
        one, other = (data.labels() for data in both)
        assert_allclose(one.observed, other.observed)
        for name in ("weights", "t", "y", "tt", "yt", "yy"):
            assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-9, err_msg=name)


def test_products_with_what_is_expected_are_those_of_the_rows(both, rng):
    params = random_params(rng, R, both[0].observed.shape[1])
    one, other = (cross_of(data, params) for data in both)
    assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    assert_allclose(e_step(both[0], params).objective, e_step(both[1], params).objective, rtol=1e-12)
