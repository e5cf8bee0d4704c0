"""EM in coordinates: its steps beside the definition, how it starts and ends."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import normalize

from gnomon._types import Status
from gnomon.datasets import fetch_yale
from gnomon.experiments._draw import draw_labeled
from gnomon.models.dppca import anneal
from gnomon.models.dppca.anneal import (
    Annealing,
    Level,
    Options,
    Problem,
    class_probabilities,
    fit_coordinates,
    step_length,
)
from gnomon.models.dppca.choice import near_rows
from gnomon.models.dppca.expected import Point
from gnomon.models.dppca.mixture import Params, Within, log_joint
from gnomon.models.dppca.reduction import reduce_rows
from gnomon.rows import read
from models.dppca.planted import planted, reduced
from oracles import dppca as oracle


def test_responsibilities_are_cooled_to_one(rng, monkeypatch):
    X, index = planted(rng)
    temperatures, e_step = [], Problem.e_step

    def watched(self, params, level, temperature=1.0):
        temperatures.append(temperature)
        return e_step(self, params, level, temperature)

    monkeypatch.setattr(Problem, "e_step", watched)
    fit_coordinates(reduced(X, index), index, 3, Options(3, 0.0))
    assert_allclose(temperatures[:8], 10 * 0.8 ** np.arange(8))
    assert (np.diff(temperatures) <= 0).all()
    assert temperatures[-1] == 1.0


def test_starts_have_temperatures_far_from_one_another():
    found = [Annealing().temperature(i) for i in range(6)]
    assert_allclose(np.log10(found), [1.0, 0.0, 0.5, 0.25, 0.75, 0.125])


@pytest.mark.parametrize("noise, shrinkage", [("half", 0.0), ("half", 0.3), ("ml", 0.3)])
def test_a_level_that_did_not_settle_has_not_converged(rng, noise, shrinkage):
    X, index = planted(rng, spread=1.0)
    options = Options(3, shrinkage, noise_variance=noise, max_iter=5000, annealing=Annealing(max_iter=2))
    result = fit_coordinates(reduced(X, index), index, 3, options)
    assert result.status is Status.MAX_ITER
    assert result.stats["residual"] > options.annealing.tol
    settled = fit_coordinates(reduced(X, index), index, 3, options._replace(annealing=Annealing()))
    assert settled.status is Status.CONVERGED
    assert settled.stats["residual"] <= options.tol


def test_the_e_step_is_pure(rng):
    X, index = planted(rng)
    problem = Problem(reduced(X, index), index, 3, Options(3, 0.1))
    params, level = problem.at(problem.moments(anneal.init(problem, 1.0)), None, problem.span())
    first, _, second = problem.e_step(params, level), problem.e_step(params, level, 5.0), problem.e_step(params, level)
    assert_array_equal(first.resp, second.resp)
    assert first.objective == second.objective


@pytest.mark.realdata
def test_cooling_finds_better_classes_than_a_cold_start():
    data = fetch_yale()
    X, y = normalize(data.data), data.target
    errors = {}
    for hot in (10.0, 1.0):
        for seed in range(100, 104):
            known = draw_labeled(y, 2, seed)
            index = np.where(known, y, -1)
            rows = reduce_rows(read(X), np.eye(15)[y] * known[:, None])
            options = Options(20, 1e-3, annealing=Annealing(hot=hot))
            named = class_probabilities(rows, index, fit_coordinates(rows, index, 15, options).value.params).argmax(
                axis=1
            )
            errors.setdefault(hot, []).append((named != y)[~known].mean())
    cooled, cold = (np.mean(values) for values in errors.values())
    assert cooled < cold - 0.03


def test_factors_are_found_in_a_span_that_widens_to_the_best(rng):
    """Labeled rows that weigh more than others, means that take directions from the scatter of all rows."""
    X, index = planted(rng, n=200, p=80)
    rows = reduced(X * np.geomspace(3.0, 0.3, 80), index)
    problem = Problem(rows, index, 3, Options(4, 0.0, 0.3))
    span = problem.span()
    assert span.basis.shape == (80, 4 + 3 + anneal.SPARE)
    point = problem.moments(anneal.init(problem, 1.0))
    roots = point.means * np.sqrt(point.counts)[:, None]
    best = np.linalg.eigvalsh((problem.scatter - roots.T @ roots) / problem.count)[:-5:-1]
    sums = []
    for _ in range(3):
        params, _ = problem.at(point, None, span)
        sums.append(params.within.values.sum())
        span = problem.widened(point, params, span)
        assert span.basis.shape == (80, 27)
        span = span.leading(23)
        assert_allclose(span.basis.T @ span.basis, np.eye(23), atol=1e-10)
        assert_allclose(span.scatter, span.basis.T @ problem.scatter @ span.basis, atol=1e-8 * problem.size)
    assert (np.diff(sums) >= -1e-12 * sums[-1]).all()
    assert_allclose(params.within.values, best, rtol=1e-8)


def test_factors_at_the_point_where_a_span_widened_are_known(rng, monkeypatch):
    X, index = planted(rng, n=300, p=40, spread=1.0)
    problem = Problem(reduced(X, index), index, 3, Options(4, 1e-3))
    span, point = problem.span(), problem.moments(anneal.init(problem, 1.0))
    wide = problem.widened(point, problem.at(point, None, span)[0], span)
    values, Q = problem.factors(Point(*point), wide)
    monkeypatch.setattr(np.linalg, "eigh", None)
    found, axes = problem.factors(point, wide)
    assert_allclose(found, values)
    assert_allclose(np.abs((axes * Q).sum(axis=0)), 1.0)


def test_a_fit_in_a_span_is_that_in_all_coordinates(rng, monkeypatch):
    X, index = planted(rng, n=200, p=60)
    rows, options = reduced(X, index), Options(4, 0.01, tol=1e-7)
    narrow = fit_coordinates(rows, index, 3, options)
    monkeypatch.setattr(anneal, "WHOLE", np.inf)
    whole = fit_coordinates(rows, index, 3, options)
    assert narrow.status is whole.status is Status.CONVERGED
    assert step_length(whole.value.params, narrow.value.params) < 1e-3
    assert_allclose(narrow.value.params.within.noise_var, whole.value.params.within.noise_var, rtol=1e-4)


def words(rng, n=90, p=80):
    """Counts of common words and of many that occur once, whose principal directions no variance tells apart."""
    y = rng.integers(0, 2, n)
    common = rng.poisson(np.where(np.arange(10) < 5, 1.0 + y[:, None], 2.0))
    once = np.zeros((n, p - 10))
    once[rng.permutation(n)[: p - 10], np.arange(p - 10)] = 1.0
    return np.hstack([common, once]), np.where(np.arange(n) < 14, y, -1)


@pytest.mark.parametrize("weight", [1.0, 0.1])
def test_directions_that_nothing_tells_apart_are_taken_together(rng, weight):
    X, index = words(rng)
    rows = reduced(X, index)
    energy = np.diagonal(rows.gram)
    turn = np.eye(len(energy))
    same = np.flatnonzero(np.isclose(energy, np.median(energy), rtol=1e-9))
    assert len(same) > 20
    turn[np.ix_(same, same)] = np.linalg.qr(rng.normal(size=(len(same), len(same))))[0]
    turned = replace(rows, T=rows.T @ turn)
    options = Options(10, 1e-3, weight, tol=1e-2, max_iter=30)
    assert len(same) > len(energy) - 26  # the span of ten factors and two classes ends among them
    found = [
        class_probabilities(seen, index, fit_coordinates(seen, index, 2, options).value.params)
        for seen in (rows, turned)
    ]
    assert_allclose(found[0], found[1], atol=1e-9)


def test_what_is_but_rounding_widens_no_span(rng):
    X, index = words(rng)
    problem = Problem(reduced(X, index), index, 2, Options(10, 1e-3))
    stats = anneal.init(problem, 1.0)
    span = problem.span()
    params, level = problem.at(problem.moments(stats), None, span)
    point, size = problem.moments(stats), len(span.scatter)
    for _ in range(100):
        span = problem.widened(point, params, span).leading(size)
        params, level = problem.at(point, level, span)
    assert len(problem.widened(point, params, span).scatter) == len(span.scatter) < len(problem.scatter)


def test_starts_cool_on_fewer_rows_and_end_on_all(rng):
    X, index = planted(rng, n=3000, p=40, spread=1.0)
    rows, options = reduced(X, index), Options(3, 0.01, noise_variance=0.3, n_init=3)
    some = near_rows(rows, index, 3)
    assert len(some[1]) == 2024
    assert_array_equal(some[1][some[1] >= 0], index[index >= 0])
    near, cold = fit_coordinates(rows, index, 3, options, some), fit_coordinates(rows, index, 3, options)
    assert near.status is cold.status is Status.CONVERGED
    assert_allclose(near.path[-1], cold.path[-1], atol=1e-6 * len(X))
    assert len(near.stats["optima"]) == 3


def test_responsibilities_are_those_of_the_densities(rng):
    X, index = planted(rng)
    rows = reduced(X, index)
    problem = Problem(rows, index, 3, Options(3, 0.1, 0.4))
    params, level = problem.at(problem.moments(anneal.init(problem, 1.0)), None, problem.span())
    for temperature in (1.0, 3.0):
        joint = log_joint(params, rows.T, np.einsum("ij,ij->i", rows.T, rows.T), 8) / temperature
        wanted = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None]).T
        wanted[:, index >= 0] = np.eye(3)[index[index >= 0]].T
        found = problem.e_step(params, level, temperature).resp
        assert_allclose(found, wanted * np.where(index >= 0, 1.0, 0.4), atol=1e-10)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
@pytest.mark.parametrize("weight", [1.0, 0.4])
def test_one_step_is_that_of_the_definition(rng, weight, shrinkage):
    """In all coordinates of the rows, at a level that is held."""
    X, index = planted(rng)
    rows = reduced(X, index)
    V, means = 0.5 * rng.normal(size=(8, 3)), rng.normal(size=(3, 8))
    model = oracle.Model(rng.dirichlet(np.full(3, 5.0)), means, V, 0.4)
    U, sizes, _ = np.linalg.svd(V, full_matrices=False)
    params = Params(model.prior, means, Within(U, sizes**2 + 0.4, 0.4))
    problem = Problem(rows, index, 3, Options(3, shrinkage, weight))
    stats = problem.e_step(params, Level(0.2, 0.7))
    assert_allclose(stats.log_likelihood, oracle.log_likelihood(model, rows.T, index, weight), rtol=1e-9)
    after, _ = problem.at(problem.moments(stats), Level(0.2, 0.7), problem.span())
    wanted = oracle.em_step(model, rows.T, index, weight, s2=0.2, n_factors=3, shrinkage=shrinkage, target=0.7)
    assert_allclose(after.prior, wanted.prior, rtol=1e-9)
    assert_allclose(after.means, wanted.means, rtol=1e-8, atol=1e-10)
    Q, values, noise = after.within
    assert_allclose((Q * (values - noise)) @ Q.T + noise * np.eye(8), oracle.covariance(wanted), atol=1e-9)


def test_starts_are_compared_at_one_noise_level(rng, monkeypatch):
    """Where factors end depends on the classes that a start finds; a lower level alone is a higher likelihood."""
    X, index = planted(rng, n=60, spread=0.4)
    ends, ascend = [], anneal.ascend

    def watched(*given):
        ends.append(ascend(*given))
        return ends[-1]

    monkeypatch.setattr(anneal, "ascend", watched)
    monkeypatch.setattr(anneal, "SAME", 0.0)
    found = fit_coordinates(reduced(X, index), index, 3, Options(3, 0.1, n_init=4, max_iter=2000))
    assert len({end.value.level for end in ends}) == 1
    assert len({end.value.stats.params.within.noise_var for end in ends}) == 1
    assert all(end.status is Status.CONVERGED for end in ends)
    assert found.path[-1] == max(found.stats["optima"])


def test_the_length_of_a_step_is_that_of_its_longest_part():
    old = Params(np.array([0.5, 0.5]), np.zeros((2, 4)), Within(np.eye(4)[:, :2], np.array([4.0, 1.0]), 1.0))
    angle = 0.02
    turned = np.eye(4)[:, :2].copy()
    turned[[0, 2], 0] = np.cos(angle), np.sin(angle)  # a factor of deviation 2 in noise of 1
    assert_allclose(step_length(old, old._replace(within=old.within._replace(Q=turned))), 1.5 * np.sin(angle))
    assert step_length(old, old._replace(within=old.within._replace(Q=np.eye(4)[:, [0, 3]]))) < 1e-15  # noise
    assert step_length(old, old._replace(within=old.within._replace(Q=np.eye(4)[:, [1, 0]]))) < 1e-15
    assert_allclose(step_length(old, old._replace(means=np.array([[0.2, 0, 0, 0], [0.2, 0, 0, 0]]))), 0.1)
    assert_allclose(step_length(old, old._replace(means=np.array([[0, 0, 0, 0.2], [0, 0, 0, 0.2]]))), 0.2)
    assert_allclose(step_length(old, old._replace(prior=np.array([0.4, 0.6]))), 0.2)
