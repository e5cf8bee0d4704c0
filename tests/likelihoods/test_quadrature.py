"""Integrals of sigmoids over Gaussians, against adaptive quadrature and finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import log_expit, log_ndtr

from gnomon.likelihoods.bernoulli import LINKS, expected_log, log_and_derivatives, logit_evidence
from gnomon.likelihoods.quadrature import normal_nodes, normal_rule

LOGS = {"logit": log_expit, "probit": log_ndtr}
MEANS = np.array([-30.0, -4.0, -0.5, 0.0, 2.0, 12.0])
VARS = [1e-12, 0.3, 1.0, 5.0, 60.0, 900.0]


def by_quad(f, mean, var):
    s = np.sqrt(var)
    ends = sorted([0.0, mean, mean + var])
    low, high = min(ends[0], mean) - 12 * s, max(ends[2], mean) + 12 * s

    def density(a):
        return np.exp(-0.5 * (a - mean) ** 2 / var) / np.sqrt(2 * np.pi * var)

    return quad(lambda a: f(a) * density(a), low, high, points=[*ends, mean - 5 * s, mean + 5 * s],
                limit=2000, epsabs=0, epsrel=1e-12)[0]  # fmt: skip


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("var", VARS)
def test_evidence_is_the_integral(link, var):
    for sign in (-1.0, 1.0):
        found = LINKS[link](MEANS, np.array(var), np.full(len(MEANS), sign)).log_z
        if var < 1e-6:
            assert_allclose(found, LOGS[link](sign * MEANS), rtol=1e-6, atol=1e-15)
            continue
        expected = [np.log(by_quad(lambda a, s=sign: np.exp(LOGS[link](s * a)), m, var)) for m in MEANS]
        assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("var", [0.3, 5.0, 60.0])
def test_slope_and_curvature_are_derivatives(link, var):
    h, ones = 1e-4, np.ones(len(MEANS))
    at = [LINKS[link](MEANS + d, np.array(var), -ones) for d in (-h, 0.0, h)]
    assert_allclose(at[1].slope, (at[2].log_z - at[0].log_z) / (2 * h), rtol=1e-6, atol=1e-9)
    assert_allclose(at[1].curvature, -(at[2].slope - at[0].slope) / (2 * h), rtol=1e-5, atol=1e-8)
    wider = [LINKS[link](MEANS, np.array(var + d), -ones).log_z for d in (-h, h)]  # the heat equation
    assert_allclose(0.5 * (at[1].slope ** 2 - at[1].curvature), (wider[1] - wider[0]) / (2 * h), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("var", [0.3, 5.0])
def test_expected_log_and_its_derivatives(link, var):
    ones, means = np.ones(4), np.array([-3.0, 0.0, 1.0, 4.0])
    value, slope, curvature = expected_log(link, means, np.full(4, var), ones)
    assert_allclose(value, [by_quad(LOGS[link], m, var) for m in means], rtol=1e-8)
    h = 1e-4
    low, high = (expected_log(link, means + d, np.full(4, var), ones)[0] for d in (-h, h))
    assert_allclose(slope, (high - low) / (2 * h), rtol=1e-6)
    low, high = (expected_log(link, means, np.full(4, var + d), ones)[0] for d in (-h, h))
    assert_allclose(-0.5 * curvature, (high - low) / (2 * h), rtol=1e-4, atol=1e-8)


def test_derivatives_of_the_logs():
    a, h = np.linspace(-6, 6, 9), 1e-5
    for link in LINKS:
        low, mid, high = (log_and_derivatives(link, a + d) for d in (-h, 0, h))
        assert_allclose(mid[1], (high[0] - low[0]) / (2 * h), rtol=1e-6)
        assert_allclose(mid[2], -(high[1] - low[1]) / (2 * h), rtol=1e-4, atol=1e-9)


def test_rules_integrate_the_normal_density():
    for var in (0.5, 3.0, 100.0, 1e5):
        rule = normal_rule(var)
        w = np.exp(rule.log_weights)
        assert_allclose([w.sum(), w @ rule.nodes**2, w @ rule.nodes**4], [1, 1, 3], rtol=1e-6)


def test_no_rows():
    assert logit_evidence(np.zeros(0), np.array(2.0), np.zeros(0)).log_z.shape == (0,)


def test_nodes_of_many_axes_are_the_product_of_their_rules():
    variances = np.zeros(40)
    variances[[3, 30]] = 0.2, 0.5
    nodes, weights = normal_nodes(variances)
    few, same = normal_nodes(variances[[3, 30]])
    assert_allclose(nodes[:, [3, 30]], few)
    assert not np.delete(nodes, [3, 30], axis=1).any()
    assert_allclose(weights, same)
    assert_allclose(weights @ nodes[:, [3, 30]] ** 2, 1.0)
