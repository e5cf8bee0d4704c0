"""DPPCA on rows: what EM does in coordinates, how it starts and ends, and rows that travel."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import normalize

from gnomon._types import Status
from gnomon.datasets import fetch_yale
from gnomon.experiments._draw import draw_labeled
from gnomon.models import dppca
from gnomon.models.dppca import anneal
from gnomon.models.dppca.anneal import Annealing, Options, Problem, fit_coordinates, leading
from gnomon.models.dppca.choice import content_splits, ranks
from gnomon.models.dppca.reduction import LIMITS, Limits, reduce_rows
from gnomon.rows.read import read
from oracles import dppca as oracle
from rows.copied import copied_rows

OPEN = dppca.Open(3, 0.0, 1.0)


def planted(rng, n=120, **kwargs):
    true = oracle.random_model(rng, **kwargs)
    X, index = oracle.draw(rng, true, n)
    index[:6] = np.tile(np.arange(3), 2)
    X[:6] = true.means[index[:6]] + rng.normal(size=(6, X.shape[1]))
    return X, np.where(np.arange(n) < 24, index, -1)


def fitted(rows, index, rng, given=OPEN, limits=LIMITS):
    return dppca.fit(rows, [dppca.Labels(index, 3)], 2, given, Options(), rng, limits)


def reduced(X, index):
    return reduce_rows(read(X), np.eye(3)[index] * (index >= 0)[:, None], np.random.default_rng(0))


def dense(model):
    return oracle.Model(model.prior, model.class_means, model.factors.T, model.noise_var)


# 1 oracle


@pytest.mark.parametrize("shrinkage", [0.0, 0.1])
def test_densities_and_predictions_of_rows(rng, shrinkage):
    X, index = planted(rng)
    found = fitted(read(X), index, rng, dppca.Open(3, shrinkage, 1.0)).targets[0]
    joint = oracle.log_joint(dense(found.model), X)
    assert_allclose(dppca.log_joint(found.model, read(X)), joint, rtol=1e-9)
    assert_allclose(dppca.predict(found.model, read(X)), oracle.responsibilities(dense(found.model), X, index * 0 - 1))
    assert_allclose(found.log_likelihood, dppca.log_density(found.model, read(X), index).sum(), rtol=1e-10)


def test_samples_and_the_way_back(rng):
    X, index = planted(rng)
    found = fitted(read(X), index, rng)
    model = found.targets[0].model
    drawn, classes = dppca.sample(model, 4000, np.random.RandomState(0))
    assert_allclose(drawn[classes == 1].mean(axis=0), model.class_means[1], atol=0.3)
    assert_allclose(dppca.back(model, found.components) @ found.components.T, np.eye(2), atol=1e-9)


# 3 two routes to one answer


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_that_travel_give_the_same_fit(rng, form):
    X, index = planted(rng)
    here, away = (fitted(rows, index, np.random.default_rng(0)) for rows in (read(X), copied_rows(form(X))))
    assert_allclose(away.components, here.components, atol=1e-8)
    model = here.targets[0].model
    assert_allclose(dppca.log_joint(model, copied_rows(form(X))), dppca.log_joint(model, read(X)), rtol=1e-9)
    for one, other in zip(
        dppca.posterior(model, here.components, copied_rows(form(X))),
        dppca.posterior(model, here.components, read(X)),
        strict=True,
    ):
        assert_allclose(one, other, atol=1e-9)


def test_leading_directions_of_a_large_table_hold_the_model(rng):
    X, index = planted(rng, n=200, p=60, spread=2.0)
    small = Limits(exact_side=10, n_leading=12)
    exact, some = (fitted(read(sp.csr_array(X)), index, rng, limits=limits) for limits in (LIMITS, small))
    assert exact.exact
    assert not some.exact
    assert_allclose(some.targets[0].model.noise_var, exact.targets[0].model.noise_var, rtol=0.05)
    named = [dppca.predict(one.targets[0].model, read(X)).argmax(axis=1) for one in (some, exact)]
    assert (named[0] == named[1]).mean() > 0.98
    joint = oracle.log_likelihood(dense(some.targets[0].model), X, index, 1.0)  # exact whatever the basis
    assert_allclose(some.targets[0].log_likelihood, joint, rtol=2e-3)


def test_the_model_needs_no_estimator():
    code = "import sys, gnomon.models.dppca; assert not [m for m in sys.modules if m.split('.')[0] == 'sklearn']"
    subprocess.run([sys.executable, "-c", code], check=True)


# how it starts, and how it ends


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
    options = Options(3, shrinkage, noise=noise, max_iter=5000, annealing=Annealing(max_iter=2))
    result = fit_coordinates(reduced(X, index), index, 3, options)
    assert result.status is Status.MAX_ITER
    assert result.stats["residual"] > options.annealing.tol
    settled = fit_coordinates(reduced(X, index), index, 3, options._replace(annealing=Annealing()))
    assert settled.status is Status.CONVERGED
    assert settled.stats["residual"] <= options.tol


def test_the_e_step_is_pure(rng):
    X, index = planted(rng)
    problem = Problem(reduced(X, index), index, 3, Options(3, 0.1))
    stats, level = anneal.init(problem, 1.0)
    params, level = problem.m_step(stats, None, None)
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
            rows = reduce_rows(read(X), np.eye(15)[y] * known[:, None], np.random.default_rng(0))
            options = Options(20, 1e-3, annealing=Annealing(hot=hot))
            named = fit_coordinates(rows, index, 15, options).value.resp.argmax(axis=1)
            errors.setdefault(hot, []).append((named != y)[~known].mean())
    cooled, cold = (np.mean(values) for values in errors.values())
    assert cooled < cold - 0.03


def test_few_factors_are_found_in_a_growing_span(rng):
    A = rng.normal(size=(60, 60))
    S = A @ np.diag(np.linspace(0.1, 1, 60) ** 6) @ A.T
    values, _ = leading(S, 4, None)
    start = np.linalg.qr(rng.normal(size=(60, 4)))[0]
    low, Q1 = leading(S, 4, start)
    assert_allclose(Q1.T @ Q1, np.eye(4), atol=1e-10)
    assert low.sum() > np.trace(start.T @ S @ start)
    assert (low <= values + 1e-9).all()


# what "auto" compares by


def test_splits_follow_the_rows_and_nothing_else(rng):
    X, index = planted(rng)
    order, turn = rng.permutation(len(X)), np.linalg.qr(rng.normal(size=(8, 8)))[0]
    rows = reduced(X, index)
    first = content_splits(rows, index, 3)
    moved = content_splits(rows._replace(T=(rows.T @ turn)[order], outside=rows.outside[order]), index[order], 3)
    renamed = np.where(index < 0, -1, np.array([2, 0, 1])[index])
    named = content_splits(rows, renamed, 3)
    for pair, other, third in zip(first, moved, named, strict=True):
        for half, same, again in zip(pair, other, third, strict=True):
            assert_array_equal(half[order], same)
            assert_array_equal(half >= 0, again >= 0)
    assert any((one != other).any() for one, other in zip(first[0], first[1], strict=True))


def test_ranks_go_by_the_next_key_where_one_is_the_same_but_for_rounding():
    assert_array_equal(ranks(np.array([3.0, 1.0, 1.0 + 1e-13, 2.0]), np.array([0.0, 5.0, 4.0, 0.0])), [3, 1, 0, 2])
    assert_array_equal(ranks(np.array([1.0, 1.0])), [0, 0])
