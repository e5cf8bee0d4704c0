"""The E-step of DPPCA by definition, in this process and beside rows that live elsewhere."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.models.dppca.expected import Expect, Here, Known, Odds, weighted_responsibilities
from gnomon.rows import read
from gnomon.rows.standard import ScaledRows

WEIGHT = 0.4
LABELS = np.r_[0, 1, 2, 0, np.full(26, -1)]


def by_hand(T, odds):
    """Responsibilities by weight, and the log-density."""
    joint = T @ odds.slopes.T + odds.offsets
    resp = np.exp(joint / odds.temperature)
    density = np.log(resp.sum(axis=1))
    resp /= resp.sum(axis=1, keepdims=True)
    for i in np.flatnonzero(LABELS >= 0):
        resp[i], density[i] = np.eye(len(odds.offsets))[LABELS[i]], joint[i, LABELS[i]]
    weights = np.where(LABELS >= 0, 1.0, WEIGHT)
    return resp * weights[:, None], weights @ density


@pytest.fixture
def case(rng):
    """Coordinates, the odds of classes there, and by hand what they say."""
    T, odds = rng.normal(size=(30, 4)), Odds(rng.normal(size=(3, 4)), rng.normal(size=3), 2.0)
    return T, odds, *by_hand(T, odds)


def known():
    at = np.flatnonzero(LABELS >= 0)
    return Known(at, LABELS[at])


@pytest.mark.parametrize("n_classes", [3, 4, 6])
@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_in_this_process(rng, n_classes, temperature):
    T = rng.normal(size=(30, 4))
    odds = Odds(rng.normal(size=(n_classes, 4)), rng.normal(size=n_classes), temperature)
    resp, density = by_hand(T, odds)
    here = Here(T, known(), WEIGHT)
    found, log_density = here.expect(odds)
    assert_allclose(found, resp.T)
    if temperature == 1.0:
        assert_allclose(log_density, density)
    point = here.moments(found)
    assert_allclose(point.counts, resp.sum(axis=0))
    assert_allclose(point.means, resp.T @ T / resp.sum(axis=0)[:, None])
    assert_allclose([here.count, *here.total], [4 + WEIGHT * 26, *(T[:4].sum(axis=0) + WEIGHT * T[4:].sum(axis=0))])


def test_a_class_that_is_never_there_has_no_rows_but_its_own(rng):
    T, slopes = rng.normal(size=(30, 4)), rng.normal(size=(3, 4))
    odds = Odds(slopes, np.array([-np.inf, 0.3, 0.1]), 1.0)
    resp = by_hand(T, odds)[0]
    here = Here(T, known(), WEIGHT)
    found = here.expect(odds)[0]
    assert_allclose(found, resp.T)
    assert_allclose(found[0].sum(), (LABELS == 0).sum())


def test_beside_the_rows(case):
    T, odds, resp, density = case
    rows = ScaledRows(read(T), np.zeros(4), 1.0).measured().with_columns(label=LABELS)
    swept = rows.sweep(odds.slopes.T, Expect(odds.offsets, odds.temperature, WEIGHT))
    assert_allclose(swept.sums.counts, resp.sum(axis=0))
    assert_allclose(swept.sums.log_density, density)
    assert_allclose(swept.product.T, resp.T @ T)


def test_labels_are_certain_and_their_density_is_that_of_their_class():
    joint = np.log(np.array([[0.1, 0.3], [0.2, 0.3]]))
    resp, density = weighted_responsibilities(joint, 1.0, Known(np.array([0]), np.array([0])), np.array([1.0, 2.0]))
    assert_allclose(resp, [[1.0, 1.0], [0.0, 1.0]])
    assert_allclose(density, np.log(0.1) + 2.0 * np.log(0.6))
