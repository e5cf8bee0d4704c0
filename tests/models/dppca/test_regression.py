"""The regression beside the models of DPPCA: what it tells rows, those left out too; a mixture says the same."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.models.dppca.mixture import log_joint
from gnomon.models.dppca.reduction import Limits, Relabeled, reduce_rows
from gnomon.models.dppca.regression import RIDGES, Regression, regress
from gnomon.rows import read


def solved(gram, labels, ridge):
    """Weights of rows, by one solution of the equations."""
    return np.linalg.solve(gram + 1.0 + ridge * np.eye(len(gram)), np.eye(3)[labels] - 1.0 / 3.0)


@pytest.fixture
def table(rng):
    """Rows, and classes of those with a label."""
    index = np.where(np.arange(40) < 12, np.arange(40) % 3, -1)
    return rng.standard_normal((40, 5)) + rng.standard_normal((3, 5))[np.arange(40) % 3], index


def test_it_is_the_mean_over_ridges_by_how_rows_are_told_by_the_others(table):
    X, index = table
    labels, gram = index[:12], X[:12] @ X[:12].T / 5.0
    wanted, weights, left_out, losses = np.eye(3)[labels] - 1.0 / 3.0, [], [], []
    for ridge in RIDGES:
        weights.append(solved(gram, labels, ridge))
        told = np.zeros((12, 3))
        for i in range(12):
            rest = np.delete(np.arange(12), i)
            told[i] = (gram[i, rest] + 1.0) @ solved(gram[np.ix_(rest, rest)], labels[rest], ridge)
        left_out.append(told)
        losses.append(((wanted - told) ** 2).sum())
    shares = np.array(losses) ** -6.0
    shares /= shares.sum()
    found = regress(gram, labels, 3)
    assert_allclose(found.of_rows, np.tensordot(shares, weights, 1), rtol=1e-9)
    assert_allclose(found.left_out, np.tensordot(shares, left_out, 1), rtol=1e-7)
    assert found.ridge == pytest.approx(shares @ RIDGES)


@pytest.mark.parametrize("limits", [Limits(), Limits(exact_side=3, n_leading=2, n_spare=1)])
def test_odds_are_those_of_the_regression(table, limits):
    X, index = table
    rows = reduce_rows(read(X), np.eye(3)[index] * (index >= 0)[:, None], limits)
    relabeled = Relabeled.of(rows, np.arange(40), rows) if rows.of_labels else None
    C = (X - X.mean(axis=0)) / rows.standard.scale
    regression = Regression(rows, relabeled, np.arange(12))
    assert_allclose(regression.gram, C[:12] @ C[:12].T / 5.0, atol=1e-9)
    weights = regress(regression.gram, index[:12], 3).of_rows
    odds = C @ (C[:12].T @ weights) / 5.0 + weights.sum(axis=0)
    seen, params = regression.mixture(weights)
    squares = np.einsum("ij,ij->i", seen.T, seen.T) + seen.outside
    assert_allclose(squares, (C**2).sum(axis=1), rtol=1e-9)
    joint = log_joint(params, seen.T, squares, 5)
    assert_allclose(joint - joint[:, :1], odds - odds[:, :1], atol=1e-9)
    assert_allclose(seen.expand(params.means.T) / (0.1 * 5.0), C[:12].T @ weights / 5.0, atol=1e-9)
    half = np.where(np.arange(40) < 6, index, -1)
    weights = regress(regression.gram[:6, :6], index[:6], 3).of_rows
    assert_array_equal(regression.named(half, 3), (C @ (C[:6].T @ weights) / 5.0 + weights.sum(axis=0)).argmax(axis=1))
