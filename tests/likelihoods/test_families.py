"""Each distribution against its definition: integrals on a grid, finite differences, draws, domains."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist
from scipy.stats import norm

from gnomon.likelihoods.layout import Layout, expected_terms, family_of
from gnomon.likelihoods.quadrature import normal_nodes
from oracles.cppca import log_output

ONE = [("gaussian", 0), ("logit", 2), ("probit", 2), ("poisson", 0)]
ALL = [*ONE, ("categorical", 4)]
NOISE = 0.6


def values(family):
    return np.arange(family.n_classes or 4, dtype=float)


def exact_log(family, a, y):
    return log_output(family.name, a @ family.contrasts.T, y, NOISE)


def on_grid(mean, var):
    nodes = np.linspace(-10.0, 10.0, 4001)
    return mean + np.sqrt(var) * nodes, norm.pdf(nodes) * (nodes[1] - nodes[0])


@pytest.mark.parametrize("name, c", ONE)
def test_expected_terms_are_integrals_and_their_derivatives(rng, name, c):
    family = family_of(name, c)
    y = values(family)
    mean, var = rng.normal(size=len(y)), rng.uniform(0.1, 1.5, len(y))

    def terms(m, v):
        return family.terms(y, m[:, None], v[:, None, None], NOISE, np.zeros((len(y), 1)))

    found, step = terms(mean, var), 1e-5
    for i in range(len(y)):
        a, w = on_grid(mean[i], var[i])
        assert_allclose(found.value[i], w @ exact_log(family, a[:, None], y[i]), rtol=1e-7, atol=1e-8)
    slope = (terms(mean + step, var).value - terms(mean - step, var).value) / (2 * step)
    assert_allclose(found.slope[:, 0], slope, atol=1e-6)
    in_var = (terms(mean, var + step).value - terms(mean, var - step).value) / (2 * step)
    assert_allclose(found.curvature[:, 0, 0], -2.0 * in_var, atol=1e-5)


@pytest.mark.parametrize("name, c", [pair for pair in ONE if pair[0] != "poisson"])
def test_evidence_is_the_integral_with_its_derivatives(rng, name, c):
    family = family_of(name, c)
    assert family.exact
    y = values(family)
    mean, var, step = 2.0 * rng.normal(size=len(y)), rng.uniform(0.1, 4.0, len(y)), 1e-4
    found = family.evidence(y, mean, var, NOISE)
    for i in range(len(y)):
        a, w = on_grid(mean[i], var[i])
        assert_allclose(found.log_z[i], np.log(w @ np.exp(exact_log(family, a[:, None], y[i]))), atol=1e-8)
    up, down = (family.evidence(y, mean + d, var, NOISE).log_z for d in (step, -step))
    assert_allclose(found.slope, (up - down) / (2 * step), atol=1e-6)
    assert_allclose(found.curvature, -(up + down - 2 * found.log_z) / step**2, atol=1e-4)


@pytest.mark.parametrize("name, c", ALL)
def test_known_predictors_give_the_density_itself(rng, name, c):
    family = family_of(name, c)
    y = values(family)
    a, tilt = rng.normal(size=(len(y), family.width)), np.zeros((len(y), family.width))
    found = family.terms(y, a, None, NOISE, tilt)
    assert_allclose(found.value, [exact_log(family, a[[i]], y[i])[0] for i in range(len(y))], rtol=1e-10)
    step = 1e-5
    for j in range(family.width):
        d = step * np.eye(family.width)[j]
        up, down = (family.terms(y, a + s * d, None, NOISE, tilt) for s in (1, -1))
        assert_allclose(found.slope[:, j], (up.value - down.value) / (2 * step), atol=1e-6)
        assert_allclose(found.curvature[:, j], -(up.slope - down.slope) / (2 * step), atol=1e-6)


@pytest.mark.parametrize("name, c", ALL)
def test_predictions_and_draws_are_those_of_the_density(rng, name, c):
    family = family_of(name, c)
    w, n = family.width, 200_000
    mean, B = rng.normal(size=(1, w)), 0.5 * rng.normal(size=(w, w))
    cov = B @ B.T + 0.1 * np.eye(w)
    a = rng.multivariate_normal(mean[0], cov, n)
    drawn = family.draw(a, NOISE, rng.random(n), rng.normal(size=n))
    found = family.predict(mean, cov)
    assert name == "gaussian" or ((drawn >= 0) & (drawn == np.floor(drawn))).all()
    if family.n_classes:
        shares = np.bincount(drawn.astype(int), minlength=family.n_classes) / n
        assert_allclose(found[0], shares, atol=0.006)
        assert np.isnan(family.deviation(mean[:, 0], cov[0, 0], NOISE)).all()
    else:
        deviation = family.deviation(mean[:, 0], cov[0, 0], NOISE)[0]
        assert_allclose(found[0], drawn.mean(), atol=6 * deviation / np.sqrt(n))
        assert_allclose(deviation, drawn.std(), rtol=0.05)


@pytest.mark.parametrize("name, c", ALL)
def test_the_start_has_the_observed_frequencies(rng, name, c):
    family = family_of(name, c)
    weights = rng.uniform(50.0, 100.0, 400)
    y = rng.choice(values(family), 400)
    at = family.start(y, weights)[None]
    found = family.predict(at, np.zeros((family.width, family.width)))[0]
    if name == "gaussian":
        assert found == 0.0
    elif family.n_classes:
        shares = np.array([weights[y == v].sum() for v in values(family)]) / weights.sum()
        assert_allclose(found, shares, atol=0.02)
    else:
        assert_allclose(found, weights @ y / weights.sum(), rtol=1e-3)
    codes = family.codes(y)
    assert codes.shape == (400, family.width)
    assert np.ptp(codes, axis=0).all()


def test_terms_of_several_outputs_are_those_of_each(rng):
    layout = Layout(("poisson", "categorical", "gaussian"), (0, 3, 0))
    Y = np.column_stack([rng.integers(0, 4, 9), rng.integers(0, 3, 9), rng.normal(size=9)]).astype(float)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    mean, B, tilt = rng.normal(size=(9, 4)), rng.normal(size=(4, 4)), 0.1 * rng.normal(size=(9, 4))
    cov = np.broadcast_to(B @ B.T, (9, 4, 4))
    noise = np.array([1.0, 1.0, NOISE])
    found = expected_terms(layout, Y, noise, mean, cov, tilt)
    for i in range(9):
        total = 0.0
        for j, (family, at) in enumerate(layout.parts):
            if np.isnan(Y[i, j]):
                assert not found.slope[i, at].any()
                continue
            one = family.terms(Y[[i], j], mean[[i], at], cov[[i], at, at], noise[j], tilt[[i], at])
            total += one.value[0]
            assert_allclose(found.slope[i, at], one.slope[0])
            assert_allclose(found.curvature[i, at, at], one.curvature[0])
            assert_allclose(found.tilt[i, at], one.tilt[0])
        assert_allclose(found.value[i], total)


@pytest.mark.parametrize("size", [0.0, 1.0, 1e4, 1e12])
def test_rows_of_one_covariance_share_its_points(rng, size):
    family, n, w = family_of("categorical", 4), 30, 3
    mean, B = 3.0 * rng.normal(size=(n, w)), rng.normal(size=(w, w))
    mean[0] *= 1e4
    cov = size * B @ B.T
    shared = family.predict(mean, cov)
    assert_allclose(shared, family.predict(mean, np.tile(cov, (n, 1, 1))), atol=1e-12)
    assert_allclose(shared.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("c", [2, 3, 7])
def test_contrasts_put_any_two_classes_one_apart(c):
    assert_allclose(pdist(family_of("categorical", c).contrasts), 1.0)


@pytest.mark.parametrize("c, rank", [(3, 2), (4, 3), (6, 1), (6, 2), (10, 2), (10, 5)])
@pytest.mark.parametrize("scale", [0.03, 0.3, 1.0])
def test_probabilities_are_the_integral(rng, c, rank, scale):
    """Against many random points with the right mean and covariance, which leave little of their own noise."""
    V = scale * rng.normal(size=(c - 1, rank)) / np.sqrt(c - 1)
    family, mean = family_of("categorical", c), rng.normal(size=(4, c - 1))
    points = rng.normal(size=(100_000, rank))
    points = np.vstack([points, -points])
    points = points @ np.linalg.inv(np.linalg.cholesky(points.T @ points / len(points))).T
    logits = (mean[:, None, :] + points @ V.T) @ family.contrasts.T
    expected = np.exp(logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))).mean(axis=1)
    found = family.predict(mean, V @ V.T)
    assert_allclose(found, expected, atol=3e-5 if scale < 1.0 else 2e-3)
    by_row = family.predict(mean, np.tile(V @ V.T, (4, 1, 1)))
    assert_allclose(by_row, found, atol=1e-9)


def test_nodes_are_as_many_as_variances_need():
    """One along an axis without variance, products of few along short axes, 1024 at the most."""
    for variances, most in (
        ([0.0, 0.0], 1),
        ([0.01] * 3, 8),
        ([0.3, 0.1, 0.0], 24),
        ([1.0] * 9, 512),
        ([9.0, 9.0], 1024),
    ):
        nodes, weights = normal_nodes(np.array(variances))
        assert nodes.shape == (len(weights), len(variances))
        assert len(weights) <= most
        assert_allclose([weights.sum(), *(weights @ nodes)], [1.0] + [0.0] * len(variances), atol=1e-12)
        assert not nodes[:, np.array(variances) == 0.0].any()


@pytest.mark.parametrize("name", ["logit", "probit"])
def test_the_smaller_probability_of_two_classes_has_all_its_digits(name):
    of_first, of_second = family_of(name, 2).predict(np.array([[-30.0], [30.0]]), np.array([[2.0]]))
    assert 0.0 < of_first[1] < 1e-10
    assert_allclose(of_second, of_first[::-1], rtol=1e-12)
    assert_allclose(of_first.sum(), 1.0, rtol=1e-12)
