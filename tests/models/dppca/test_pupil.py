"""DPPCA taught by probabilities: its steps beside the definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from gnomon.models.dppca import Options, log_joint, principal_rows, taught
from gnomon.models.dppca import pupil as module
from gnomon.rows import read
from models.dppca.planted import planted
from oracles import average_and_teach as oracle


def lesson(rng, n_labeled=24):
    X, index = planted(rng)
    index = np.where(np.arange(len(X)) < n_labeled, index, -1)
    proba = rng.dirichlet(np.ones(3), len(X))
    return X, index, proba, np.array([0.5, 0.3, 0.2])


@pytest.mark.parametrize("n_steps", [0, 1, 3])
def test_steps_are_those_of_the_definition(rng, n_steps):
    X, index, proba, prior = lesson(rng)
    rows = principal_rows(read(X), 300)
    params = taught(rows, index, proba, Options(3, 0.1, class_prior=prior), n_steps)
    scale = rows.standard.scale
    means, S = oracle.pupil((X - X.mean(axis=0)) / scale, index, proba, prior, 3, 0.1, n_steps)
    squares = np.einsum("ij,ij->i", rows.T, rows.T) + rows.outside
    found = log_joint(params, rows.T, squares, X.shape[1])
    C = (X - X.mean(axis=0)) / scale
    wanted = np.column_stack([np.log(pi) + multivariate_normal(m, S).logpdf(C) for pi, m in zip(prior, means)])
    assert_allclose(found, wanted, rtol=1e-8)


def test_factors_found_in_a_span_are_near_those_found_in_all(rng, monkeypatch):
    X, index, proba, prior = lesson(rng)
    X = np.hstack([X, 0.3 * rng.normal(size=(len(X), 60))])
    rows = principal_rows(read(X), 300)
    options = Options(3, 0.1, class_prior=prior)
    whole = taught(rows, index, proba, options, 20)
    monkeypatch.setattr(module, "WHOLE", 10)
    some = taught(rows, index, proba, options, 20)
    assert_allclose(some.within.values, whole.within.values, rtol=1e-3)
    assert_allclose(some.means, whole.means, atol=1e-2 * np.abs(whole.means).max())


def test_with_every_row_labeled_probabilities_say_nothing(rng):
    X, _, proba, prior = lesson(rng)
    index, rows = rng.integers(0, 3, len(X)), principal_rows(read(X), 300)
    options = Options(3, 0.1, class_prior=prior)
    one, other = (taught(rows, index, table, options, 2) for table in (proba, np.full_like(proba, 1 / 3)))
    assert_allclose(one.means, other.means, rtol=1e-12)
