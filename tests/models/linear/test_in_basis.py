"""Where the climb inside a basis begins."""

import numpy as np
import pytest

from gnomon.models.linear import in_basis as restricted
from gnomon.models.linear.in_basis import (
    START_LOG_RATIOS,
    ModelLimits,
    RestrictedEM,
    constrain,
    joint_moments,
    params_at,
)
from gnomon.numerics.linear_gaussian import Limits, e_step
from gnomon.numerics.moments import Moments, pattern_from_rows

FLOORS = Limits(1e-6, 1e-3)


def moments(rng, n=2000, labeled=1500, r=5, q=2):
    Z = rng.standard_normal((n, 2))
    X = Z @ rng.standard_normal((2, r)) + rng.standard_normal((n, r))
    Y = Z @ rng.standard_normal((2, q)) + 0.3 * rng.standard_normal((n, q))
    X, Y, w = X - X.mean(axis=0), Y - Y[:labeled].mean(axis=0), np.ones(n)
    known, rest = slice(0, labeled), slice(labeled, n)
    patterns = [pattern_from_rows(np.arange(q), X[known], Y[known], w[known])]
    if labeled < n:
        patterns.append(pattern_from_rows(np.arange(0), X[rest], np.zeros((n - labeled, 0)), w[rest]))
    return Moments(tuple(patterns), None, float(r), q, 0.0)


def starts(inner, m):
    found = inner._starts(m)
    return found, [e_step(s, m).log_likelihood for s in found]


def test_many_rows_start_from_the_first_and_from_every_peak(rng):
    m = moments(rng, labeled=2000)
    joint = joint_moments(m)
    grid = [constrain(params_at(joint, 2, ratio, FLOORS), FLOORS) for ratio in START_LOG_RATIOS]
    values = [e_step(s, m).log_likelihood for s in grid]
    best = int(np.argmax(values))
    assert 0 < best < len(grid) - 1
    _, found = starts(RestrictedEM(2, ModelLimits(FLOORS, 500)), m)
    assert found[0] == pytest.approx(values[0])
    assert max(found) == pytest.approx(values[best])
    assert len(found) < len(grid)


def test_few_rows_start_from_every_second_one(rng, monkeypatch):
    inner, m = RestrictedEM(2, ModelLimits(FLOORS, 500)), moments(rng)
    few = len(starts(inner, m)[0])
    monkeypatch.setattr(restricted, "FEW_ROWS", 2000)
    assert few < len(starts(inner, m)[0]) == (len(START_LOG_RATIOS) + 1) // 2


def test_the_climb_from_fewer_starts_ends_as_high(rng, monkeypatch):
    inner, m = RestrictedEM(2, ModelLimits(FLOORS, 500)), moments(rng, labeled=100)
    from_peaks = e_step(inner(m, None, False, 1e-6).value, m).log_likelihood
    monkeypatch.setattr(restricted, "FEW_ROWS", 2000)
    assert from_peaks == pytest.approx(e_step(inner(m, None, False, 1e-6).value, m).log_likelihood, abs=1e-4)
