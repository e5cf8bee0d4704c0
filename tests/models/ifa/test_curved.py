"""The landscape of independent latents: value, slope and metric beside the likelihood, and climbs beside L-BFGS."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon._types import Status
from gnomon.models.ifa import curved
from gnomon.models.ifa.curved import Landscape
from gnomon.models.ifa.likelihood import FLOOR, Packing, Params, Rows, log_likelihood
from gnomon.models.ifa.profile import in_metric, in_units, sweeps
from gnomon.models.ifa.starts import mixtures_along, random_start


def white(Z):
    return np.linalg.solve(np.linalg.cholesky(np.cov(Z, bias=True)), Z - Z.mean(axis=1, keepdims=True))


def problem(rng, n=300, labeled=True, d=4, sizes=(3, 2)):
    """White rows, latents of different sizes, and a point whose rows of V are not orthogonal."""
    Z = rng.normal(size=(d, n))
    ids = np.stack([rng.integers(0, size, n) for size in sizes])
    Z[: len(sizes)] += 3.0 * ids
    log_pl = np.zeros((len(sizes), max(sizes), n))
    for s, size in enumerate(sizes):
        log_pl[s, size:] = -np.inf
        known = np.flatnonzero(rng.random(n) < 0.3 * labeled)
        log_pl[s, :, known] = -np.inf
        log_pl[s, ids[s, known], known] = 0.0
    rows = Rows(white(Z), log_pl)
    return rows, sweeps(random_start(rows, rng), rows, 1)[0]


@pytest.mark.parametrize("labeled", [False, True])
def test_value_and_slope_are_those_of_the_likelihood(rng, labeled):
    rows, params = problem(rng, labeled=labeled)
    packing = Packing(rows.present, 4, tied=False)
    vector = packing.pack(params)
    value, gradient = packing.value_and_gradient(vector, rows)
    place = Landscape(rows, packing).place(params)
    assert_allclose(place.value, [value], rtol=1e-13)
    assert_allclose(place.slope, [gradient], atol=1e-12)


def test_parts_of_rows_add_up(rng, monkeypatch):
    rows, params = problem(rng)
    packing = Packing(rows.present, 4, tied=False)
    whole = Landscape(rows, packing).place(params)
    monkeypatch.setattr(curved, "ENTRIES", 1)
    monkeypatch.setattr(curved, "FEWEST", 17)
    parts = Landscape(rows, packing).place(params)
    assert_allclose(parts.slope, whole.slope, atol=1e-13)
    assert_allclose(parts.held.moments.two, whole.held.moments.two, atol=1e-12)


def test_rows_far_from_every_component_have_a_density(rng):
    rows, params = problem(rng, labeled=False)
    near = params._replace(variances=np.where(rows.present, FLOOR, 1.0))
    place = Landscape(rows, Packing(rows.present, 4, tied=False)).place(near)
    assert_allclose(place.value, [log_likelihood(near, rows)], rtol=1e-10)


def test_the_metric_is_the_inverse_hessian_at_independent_latents(rng):
    """Two bimodal latents and a Gaussian one; many rows, so that blocks are all there is, but for sampling error."""
    n = 100_000
    Z = rng.normal(size=(3, n))
    Z[0] += 2.5 * rng.integers(0, 2, n)
    Z[1] = 0.6 * Z[1] + 3.0 * (rng.random(n) < 0.3)
    rows = Rows(white(Z), np.zeros((2, 2, n)))
    packing = Packing(rows.present, 3, tied=False)
    landscape = Landscape(rows, packing)
    top = in_metric(mixtures_along(np.eye(3)[:2], rows), rows, 1e-8, 100)
    assert top.status is Status.CONVERGED
    place = landscape.place(top.value)
    metric, logits = landscape.metric(place), range(packing.edges[0], packing.edges[1])  # free but for a constant
    step = 1e-4
    for j in np.delete(np.arange(place.vector.shape[1]), [0, 4, *logits]):  # nor do rows of V grow
        e = np.zeros(place.vector.shape[1])
        e[j] = step
        fall = (landscape.at(place.vector - e, place).slope - landscape.at(place.vector + e, place).slope) / (2 * step)
        moved = metric(fall)[0]
        assert_allclose(np.delete(moved, logits), np.delete(e, logits) / step, atol=0.1)


def test_the_metric_is_symmetric_and_positive(rng):
    rows, params = problem(rng)
    landscape = Landscape(rows, Packing(rows.present, 4, tied=False))
    metric = landscape.metric(landscape.place(params))
    M = np.array([metric(e[None])[0] for e in np.eye(len(landscape.lower))])
    assert_allclose(M, M.T, atol=1e-10 * np.abs(M).max())
    assert np.linalg.eigvalsh(M).min() >= -1e-10 * np.abs(M).max()


@pytest.mark.parametrize("labeled", [False, True])
def test_both_ascents_reach_one_maximum(rng, labeled):
    rows, params = problem(rng, n=900, labeled=labeled, sizes=(2, 2))
    params = sweeps(params, rows, 10 if labeled else 100)[0]  # near enough to one maximum that both reach it
    one, other = in_metric(params, rows, 1e-7, 300), in_units(params, rows, 1e-7, 3000)
    assert one.status is other.status is Status.CONVERGED
    assert_allclose(one.path[-1], other.path[-1], rtol=0, atol=1e-11)
    assert_allclose(one.value.V, other.value.V, atol=1e-5)
    assert (np.diff(one.path) >= -1e-13).all()
    assert len(one.path) < len(other.path)


def test_a_component_without_variance_rests_on_the_floor(rng):
    ids = rng.integers(0, 2, (2, 300))
    ids[0, :20] = 2
    Z = np.where(ids == 2, 0.0, 1.0) * rng.normal(size=(2, 300)) + 4.0 * ids
    with np.errstate(divide="ignore"):
        rows = Rows(white(Z), np.log((ids[:, None, :] == np.arange(3)[:, None]).astype(float)))
    start: Params = sweeps(mixtures_along(np.eye(2), rows), rows, 2)[0]
    found = in_metric(start, rows, 1e-8, 500)
    assert found.status is Status.CONVERGED
    assert_allclose(found.value.variances[0, 2], FLOOR, rtol=1e-9)
