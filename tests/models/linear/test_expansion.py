"""What rows say of their predictors to second order, against the rows themselves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon import CPPCA
from gnomon.likelihoods.layout import Layout
from gnomon.likelihoods.softmax_rows import SoftmaxRows
from gnomon.models.linear import in_basis
from gnomon.models.linear.curvature import MOST_SUMMED
from gnomon.models.linear.evidence import LabeledRows
from gnomon.models.linear.expansion import TRUST, Expansion
from gnomon.models.linear.in_basis import BasisEM
from gnomon.numerics.linear_gaussian import Params, given_x


def problem(rng, n=60, r=5, k=2, n_classes=4):
    layout, h = Layout(("categorical",), (n_classes,)), n_classes - 1
    T = rng.normal(size=(n, r))
    T -= T.mean(axis=0)
    rows = LabeledRows(T, np.ones(n), rng.integers(0, n_classes, (n, 1)).astype(float), layout, SoftmaxRows(layout))
    W, V = rng.normal(size=(r, k)), rng.normal(size=(h, k))
    params = Params(W, np.zeros(r), 0.5, V, rng.normal(size=h), np.ones(1))
    x = given_x(params)
    found, held = rows.sums(params, x, None, 1e-10)
    curvature = rows.newton(x, held, MOST_SUMMED)
    return rows, params, found, Expansion(params, x, found, curvature, T.T @ T / n)


def moved(params, direction, share):
    W, V, b = (share * part for part in direction)
    return params._replace(W_x=params.W_x + W, W_y=params.W_y + V, m_y=params.m_y + b)


def values(rows, expansion, params):
    x = given_x(params)
    return rows.sums(params, x, None, 1e-10)[0].log_z, expansion.sums(params, x, None, 0.0)[0].log_z


def test_it_is_that_of_the_rows_where_it_was_made_and_to_first_order_beside(rng):
    rows, params, found, expansion = problem(rng)
    here = expansion.sums(params, given_x(params), None, 0.0)[0]
    for mine, theirs in zip(here, found._replace(gap=0.0), strict=True):
        assert_allclose(mine, theirs, atol=1e-9)
    direction = rng.normal(size=(5, 2)), rng.normal(size=(3, 2)), rng.normal(size=3)
    errors = []
    for share in (1e-2, 5e-3):
        exact, expanded = values(rows, expansion, moved(params, direction, share))
        errors.append(abs(exact - expanded))
    assert errors[1] < 0.3 * errors[0]


def test_of_what_is_not_linear_it_has_most(rng):
    rows, params, found, expansion = problem(rng)
    b = 0.1 * rng.normal(size=3)
    exact, expanded = values(rows, expansion, moved(params, (0.0, 0.0, b), 1.0))
    assert abs(exact - expanded) < 0.2 * abs(exact - found.log_z - found.slope @ b)


def test_its_slopes_are_those_of_its_value(rng):
    _, params, _, expansion = problem(rng)
    at, step = moved(params, (rng.normal(size=(5, 2)), rng.normal(size=(3, 2)), rng.normal(size=3)), 0.1), 1e-5
    x = given_x(at)
    found = expansion.sums(at, x, None, 0.0)[0]
    second = found.slopes - found.curvature
    gradient = found.slope_x @ x.gain.T + second @ at.W_y @ x.cov
    for i, j in np.ndindex(at.W_y.shape):
        E = np.zeros_like(at.W_y)
        E[i, j] = step
        up, down = (expansion.sums(at._replace(W_y=at.W_y + d * E), x, None, 0.0)[0].log_z for d in (1, -1))
        assert_allclose(gradient[i, j], (up - down) / (2 * step), rtol=1e-5, atol=1e-5)
    for i, e in enumerate(step * np.eye(3)):
        up, down = (expansion.sums(at._replace(m_y=at.m_y + d * e), x, None, 0.0)[0].log_z for d in (1, -1))
        assert_allclose(found.slope[i], (up - down) / (2 * step), rtol=1e-5, atol=1e-5)


def test_it_is_not_trusted_far_away(rng):
    _, params, _, expansion = problem(rng)
    for length, trusted in ((0.99 * TRUST, True), (1.01 * TRUST, False)):
        far = params._replace(m_y=params.m_y + length * np.array([1.0, 0.0, 0.0]))
        assert np.isfinite(expansion.sums(far, given_x(far), None, 0.0)[0].log_z) == trusted


@pytest.mark.parametrize("n_private", [0, 1])
def test_climbs_of_it_take_fewer_looks_at_the_rows_to_the_same_maximum(rng, monkeypatch, n_private):
    Z = rng.normal(size=(1000, 12))  # more directions than components
    X = Z @ rng.normal(size=(12, 40)) + rng.normal(size=(1000, 40))
    y = (Z[:, :4] @ rng.normal(size=(4, 6)) * 1.5 + rng.gumbel(size=(1000, 6))).argmax(axis=1)
    looks, step, fits = [], BasisEM.e_step, []

    def counted(em, *rest):
        looks[-1] += isinstance(em.labels, LabeledRows)
        return step(em, *rest)

    monkeypatch.setattr(BasisEM, "e_step", counted)
    for many in (10**9, 0):
        monkeypatch.setattr(in_basis, "MANY_PREDICTORS", many)
        looks.append(0)
        fits.append(CPPCA(5, n_private=n_private).fit(X, y))
    plain, climbed = fits
    assert looks[1] < looks[0]
    assert climbed.converged_
    assert (np.diff(climbed.objective_path_) >= -1e-10 * abs(climbed.objective_)).all()
    assert climbed.objective_ > plain.objective_ - 1e-6 * len(y)
