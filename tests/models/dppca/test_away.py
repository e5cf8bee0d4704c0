"""Coordinates that stay where the rows live: the same sums, E-steps and fits as of rows in this process."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.models.dppca import choice
from gnomon.models.dppca.anneal import Level, Options, Problem
from gnomon.models.dppca.away import Away
from gnomon.models.dppca.mixture import Params, Within, log_joint
from gnomon.models.dppca.model import Labels, Open, fit
from gnomon.models.dppca.reduction import Limits, Reduced, at_hand, reduce_rows
from gnomon.rows import read
from models.dppca.planted import planted
from rows.copied import CopiedRows

LEADING = Limits(exact_side=4, n_leading=6, n_spare=3)


class ElsewhereRows(CopiedRows):
    """Rows that say that they live elsewhere; what belongs to all of them does not come home."""

    elsewhere = True

    def gather(self, *columns):
        raise AssertionError("rows came home")

    def coordinate_rows(self, T):
        return ElsewhereRows(T, self.weights)


def both(X, index, limits):
    one_of_c = np.eye(3)[index] * (index >= 0)[:, None]
    here, there = (reduce_rows(rows, one_of_c, limits) for rows in (read(X), ElsewhereRows(X)))
    assert isinstance(here, Reduced)
    assert isinstance(there, Away)
    return here, there


@pytest.mark.parametrize("limits", [Limits(), LEADING], ids=["exact", "leading"])
def test_sums_and_some_rows_are_those_of_rows_at_hand(rng, limits):
    X, index = planted(rng)
    here, there = both(X, index, limits)
    assert (there.shape, there.exact, there.n_features) == (here.shape, here.exact, 8)
    assert there.exact == (limits is not LEADING)
    # bases of equal directions may differ in sign
    turn = there.expand(np.eye(there.shape[1])).T @ here.expand(np.eye(here.shape[1]))
    some = rng.permutation(120)[:50]
    for rows in (None, some):
        found, wanted = at_hand(there, rows), at_hand(here, rows)
        assert_allclose(found.T @ turn, wanted.T, atol=1e-9)
        assert_allclose(found.outside, wanted.outside, atol=1e-9)
    direction = rng.normal(size=there.shape[1])
    found, wanted = (one.lengths_and_products(v, some) for one, v in ((there, direction), (here, direction @ turn)))
    assert_allclose(found[0], wanted[0], rtol=1e-9)
    assert_allclose(found[1], wanted[1], atol=1e-9)
    assert_allclose(turn.T @ there.total.gram @ turn, here.gram, atol=1e-7)
    assert_allclose(there.total.beyond, here.outside.sum(), atol=1e-8)


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_the_e_step_is_that_of_bayes(rng, temperature):
    X, index = planted(rng)
    there = both(X, index, LEADING)[1]
    rows = at_hand(there)
    r, weight = rows.T.shape[1], 0.4
    within = Within(np.linalg.qr(rng.normal(size=(r, 3)))[0], np.array([2.0, 1.0, 0.6]), 0.3)
    params, level = Params(np.array([0.5, 0.3, 0.2]), rng.normal(size=(3, r)), within), Level(0.3, 0.7)
    problem = Problem(there, index, 3, Options(3, 0.1, weight))
    stats = problem.e_step(params, level, temperature)
    squares = np.einsum("ij,ij->i", rows.T, rows.T) + rows.outside
    joint = log_joint(params, rows.T, squares, 8)
    resp = np.exp(joint / temperature)
    resp /= resp.sum(axis=1, keepdims=True)
    known = np.flatnonzero(index >= 0)
    resp[known] = np.eye(3)[index[known]]
    weights = np.where(index >= 0, 1.0, weight)
    counts, means = problem.moments(stats)
    assert_allclose(counts, weights @ resp, rtol=1e-9)
    assert_allclose(means, (resp * weights[:, None]).T @ rows.T / counts[:, None], atol=1e-9)
    if temperature == 1.0:
        density = np.logaddexp.reduce(joint, axis=1)
        density[known] = joint[known, index[known]]
        assert_allclose(stats.log_likelihood, weights @ density, rtol=1e-9)
    beside = Problem(rows, index, 3, Options(3, 0.1, weight))
    assert problem.count == pytest.approx(beside.count, rel=1e-12)
    assert_allclose(problem.total, beside.total, atol=1e-9)
    assert_allclose(problem.scatter, beside.scatter, atol=1e-9)
    assert problem.beyond == pytest.approx(beside.beyond, rel=1e-9)


@pytest.mark.parametrize("limits", [Limits(), LEADING], ids=["exact", "leading"])
@pytest.mark.parametrize("given", [Open("auto", "auto", "auto"), Open(2, 0.1, 0.5)], ids=["auto", "given"])
def test_a_fit_is_that_of_rows_at_hand(rng, monkeypatch, limits, given):
    monkeypatch.setattr(choice, "MOST_UNLABELED", 40)
    X, index = planted(rng, n=300)
    labels, options = [Labels(index, 3)], Options(n_init=2)
    here, there = (fit(rows, labels, 2, given, options, limits, mean=True) for rows in (read(X), ElsewhereRows(X)))
    assert_allclose(there.components, here.components, atol=1e-6)
    for one, other in zip(there.targets, here.targets, strict=True):
        assert one.choice.setting == other.choice.setting
        assert abs(one.log_likelihood - other.log_likelihood) < 1e-8 * len(X)
        assert one.n_iter == other.n_iter
        assert_allclose(one.model.class_means, other.model.class_means, atol=1e-6)
        for found, wanted in zip(one.mean.models, other.mean.models, strict=True):
            assert_allclose(found.factors.T @ found.factors, wanted.factors.T @ wanted.factors, atol=1e-6)


def test_rows_that_are_all_needed_come_home_at_once(rng):
    X, index = planted(rng)
    there = both(X, index, LEADING)[1]
    assert isinstance(choice.held(there, index), Reduced)
    assert_array_equal(choice.near_rows(there, index, 1)[1], index)
