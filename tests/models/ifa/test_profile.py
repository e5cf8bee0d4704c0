"""The climb of all starts: compared early, and only the best of them climbed to the end."""

import numpy as np
from numpy.testing import assert_allclose

from gnomon import IFA
from gnomon._types import Result, Status
from gnomon.models.ifa import profile
from gnomon.models.ifa.likelihood import FLOOR, Packing, Rows, log_likelihood
from gnomon.models.ifa.starts import labeled_start, random_start


def problem(rng):
    """White rows of two bimodal directions among four, no labels, and five starts."""
    Z = rng.normal(size=(4, 200))
    Z[:2] += 3.0 * rng.integers(0, 2, (2, 200))
    U = np.linalg.solve(np.linalg.cholesky(np.cov(Z, bias=True)), Z - Z.mean(axis=1, keepdims=True))
    rows = Rows(U, np.zeros((2, 2, 200)))
    return rows, np.ones((2, 2), bool), [random_start(rows, rng) for _ in range(5)]


def test_the_best_start_is_climbed_to_the_end(rng):
    rows, present, starts = problem(rng)
    found = profile.maximize_all(starts, rows, tol=1e-7, max_iter=500)
    alone = [profile.maximize(start, rows, tol=1e-7, max_iter=500) for start in starts]
    ends = [result.path[-1] for result in found]
    best = found[int(np.argmax(ends))]
    assert_allclose(max(ends), max(result.path[-1] for result in alone), rtol=0, atol=1e-10)
    assert_allclose(ends, [result.path[-1] for result in alone], rtol=0, atol=1e-3)
    assert best.status is Status.CONVERGED
    packing = Packing(present, 4, tied=False)
    gradient = packing.value_and_gradient(packing.pack(best.value), rows)[1]
    assert np.abs(gradient * packing.units(best.value)).max() <= 2e-7  # units of the end, not of the start
    assert_allclose(best.path[-1], log_likelihood(best.value, rows), rtol=1e-12)
    assert (np.diff(best.path) >= -1e-12).all()
    assert best.stats["n_iter"] == len(best.path) - 1


def test_a_climb_that_is_cut_short_is_not_prolonged(rng):
    rows, present, starts = problem(rng)
    found = profile.maximize_all(starts, rows, tol=1e-9, max_iter=1)
    assert all(result.status is Status.MAX_ITER for result in found)
    assert max(len(result.path) for result in found) <= profile.N_SWEEPS + 2


def test_in_its_units_every_entry_has_a_curvature_of_one(rng):
    ids = rng.integers(0, 2, (2, 300))
    Z = np.where(ids == 0, 0.05, 1.0) * rng.normal(size=(2, 300)) + 4.0 * ids  # one component is narrow
    U = np.linalg.solve(np.linalg.cholesky(np.cov(Z, bias=True)), Z - Z.mean(axis=1, keepdims=True))
    with np.errstate(divide="ignore"):
        rows = Rows(U, np.log((ids[:, None, :] == np.arange(2)[:, None]).astype(float)))
    present = np.ones((2, 2), bool)
    start = labeled_start(rows, rng)
    best = profile.maximize(start, rows, tol=1e-9, max_iter=500).value
    packing = Packing(present, 2, tied=False)
    vector, units = packing.pack(best), packing.units(best)
    assert units.max() / units.min() > 10
    for j in range(packing.edges[1], packing.edges[3]):  # means and log-variances: their information is exact
        step = np.zeros(len(vector))
        step[j] = 1e-4 * units[j]
        ends = [packing.value_and_gradient(vector + sign * step, rows)[1][j] for sign in (1, -1)]
        assert_allclose((ends[1] - ends[0]) / (2e-4 * units[j]) * units[j] ** 2, 1.0, rtol=1e-4)


def test_a_rare_component_without_variance_converges_on_the_floor(rng):
    """The unit of its log-variance is far from one, and the bound is in that unit."""
    ids = rng.integers(0, 2, (2, 300))
    ids[0, :20] = 2
    Z = np.where(ids == 2, 0.0, 1.0) * rng.normal(size=(2, 300)) + 4.0 * ids
    U = np.linalg.solve(np.linalg.cholesky(np.cov(Z, bias=True)), Z - Z.mean(axis=1, keepdims=True))
    with np.errstate(divide="ignore"):
        rows = Rows(U, np.log((ids[:, None, :] == np.arange(3)[:, None]).astype(float)))
    start = profile.sweeps(labeled_start(rows, rng), rows, profile.N_SWEEPS)[0]
    found = profile.in_units(start, rows, tol=1e-9, max_iter=500)
    assert found.status is Status.CONVERGED
    assert_allclose(found.value.variances[0, 2], FLOOR, rtol=1e-9)


def test_those_that_tie_are_ranked_by_size():
    values, sizes = np.array([1.0, 3.0, 3.0 - 1e-12, 2.0, 3.0 + 1e-12]), np.array([9.0, 1.0, 3.0, 0.0, 2.0])
    assert profile.ranked(values, sizes) == [2, 4, 1, 3, 0]
    assert profile.ranked(np.array([-np.inf, 2.0, -np.inf]), sizes[:3])[0] == 1


def test_of_optima_that_tie_the_first_is_taken():
    found = [Result(None, Status.CONVERGED, np.array([0.0, end]), {}) for end in (1.0, 2.0, 2.0 + 1e-13, 1.5)]
    assert profile.best_of(found) is found[1]


def test_where_rounding_stops_many_cheap_steps_a_few_dear_ones_reach_the_end():
    ends = [
        IFA([2, 2], tol=1e-8, max_iter=5000).fit(np.random.default_rng(s).normal(size=(100, 12))) for s in (0, 6, 7)
    ]
    assert all(end.converged_ for end in ends)
    assert all((np.diff(end.objective_path_) > -1e-9 * np.abs(end.objective_path_[1:])).all() for end in ends)
