"""One-dimensional integrals of a label's likelihood over a Gaussian predictor, and the rules they are computed by."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import log_expit, log_ndtr

from .._types import Array

HERMITE_NODES = 32  # thirteen digits for a sigmoid under a Gaussian of variance one
STEP = 0.6  # of the trapezoid rule, in units of the predictor: the sigmoid's nearest pole is pi away
REACH = 8.5  # standard deviations beyond which a Gaussian is zero
MOST_NODES = 2000
CHUNK = 1 << 20


class Rule(NamedTuple):
    """Nodes and log-weights for expectations over N(0, 1)."""

    nodes: Array  # (s,)
    log_weights: Array  # (s,)


def normal_rule(largest_var: float) -> Rule:
    """Return a rule for expectations of sigmoids of a + sqrt(var) x, x ~ N(0, 1), with variances up to the given one.

    Gauss-Hermite up to variance one. Beyond, its error grows fast (1e-5 with 32 nodes at variance 9), while that of the
    trapezoid rule stays near 1e-13 with the step, in units of the predictor, that is taken; a slope of at most one
    moves the integrand by at most sqrt(var) standard deviations, which the range allows for.
    """
    if largest_var <= 1.0:
        return _hermite(HERMITE_NODES)
    spread = float(np.sqrt(largest_var))
    half = min(int(np.ceil((REACH + spread) * spread / STEP)), MOST_NODES // 2)
    return _trapezoid(half, (REACH + spread) / half)


@lru_cache(maxsize=4)
def _hermite(size: int) -> Rule:
    nodes, weights = np.polynomial.hermite_e.hermegauss(size)
    return Rule(nodes, np.log(weights) - 0.5 * np.log(2.0 * np.pi))


def _trapezoid(half: int, step: float) -> Rule:
    nodes: Array = step * np.arange(-half, half + 1, dtype=np.float64)
    return Rule(nodes, np.log(step) - 0.5 * np.log(2.0 * np.pi) - 0.5 * nodes**2)


class Evidence(NamedTuple):
    """Log of Z = E[p(label | a)] over a ~ N(mean, var), and what differentiating it by the mean gives.

    The posterior of a has mean ``mean + var slope`` and variance ``var - var^2 curvature`` (Stein's lemma).
    """

    log_z: Array
    slope: Array  # d log Z / d mean
    curvature: Array  # -d^2 log Z / d mean^2


def logit_evidence(mean: Array, var: Array, sign: Array) -> Evidence:
    """Evidence of labels with p(label | a) = sigmoid(sign a), elementwise (m,), by quadrature.

    `sign` is +1 for the second class and -1 for the first; `var` is an array (m,) or one number.
    """
    rule = normal_rule(float(np.max(var, initial=0.0)))
    spread = np.broadcast_to(np.sqrt(var), mean.shape)
    parts = [_logit_chunk(mean[rows], spread[rows], sign[rows], rule) for rows in _chunks(len(mean), len(rule.nodes))]
    return Evidence(*(np.concatenate(part) for part in zip(*parts, strict=True))) if parts else Evidence(*[mean] * 3)


def _logit_chunk(mean: Array, spread: Array, sign: Array, rule: Rule) -> Evidence:
    a = sign[:, None] * (mean[:, None] + spread[:, None] * rule.nodes)
    logs = log_expit(a)
    s = np.exp(logs)
    logs += rule.log_weights
    top = logs.max(axis=1)
    np.exp(logs - top[:, None], out=logs)
    total = logs.sum(axis=1)
    first = np.einsum("ij,ij->i", logs, 1.0 - s) / total  # Z' / Z, up to the sign
    second = np.einsum("ij,ij->i", logs, (1.0 - s) * (1.0 - 2.0 * s)) / total
    return Evidence(top + np.log(total), sign * first, first**2 - second)


def probit_evidence(mean: Array, var: Array, sign: Array) -> Evidence:
    """Evidence of labels with p(label | a) = Phi(sign a), elementwise (m,), in closed form."""
    root = np.sqrt(1.0 + np.broadcast_to(var, mean.shape))
    u = sign * mean / root
    log_z = np.asarray(log_ndtr(u))
    ratio = np.exp(-0.5 * u**2 - 0.5 * np.log(2.0 * np.pi) - log_z)
    return Evidence(log_z, sign * ratio / root, ratio * (ratio + u) / root**2)


LINKS: dict[str, Callable[[Array, Array, Array], Evidence]] = {"logit": logit_evidence, "probit": probit_evidence}


class Expectation(NamedTuple):
    """E[log p(label | a)] over a ~ N(mean, var), its slope in the mean, and minus its second derivative there."""

    value: Array
    slope: Array
    curvature: Array


def expected_log(link: str, mean: Array, var: Array, sign: Array) -> Expectation:
    """Expected log-likelihood of labels of a Bernoulli output, elementwise (m,), by quadrature."""
    rule = normal_rule(float(np.max(var, initial=0.0)))
    weights, spread = np.exp(rule.log_weights), np.broadcast_to(np.sqrt(var), mean.shape)
    parts = []
    for rows in _chunks(len(mean), len(rule.nodes)):
        a = sign[rows, None] * (mean[rows, None] + spread[rows, None] * rule.nodes)
        at_nodes = log_and_derivatives(link, a)
        value, slope, curvature = (part @ weights for part in at_nodes)
        parts.append(Expectation(value, sign[rows] * slope, curvature))
    return (
        Expectation(*(np.concatenate(part) for part in zip(*parts, strict=True))) if parts else Expectation(*[mean] * 3)
    )


def log_and_derivatives(link: str, a: Array) -> Expectation:
    """log p(label | a) at the predictors a, times the sign of the label, with its slope and minus second derivative."""
    if link == "logit":
        value = log_expit(a)
        rest = np.exp(log_expit(-a))
        return Expectation(value, rest, rest * np.exp(value))
    value = np.asarray(log_ndtr(a))
    ratio = np.exp(-0.5 * a**2 - 0.5 * np.log(2.0 * np.pi) - value)
    return Expectation(value, ratio, ratio * (ratio + a))


def _chunks(n: int, n_nodes: int) -> list[slice]:
    size = max(1, CHUNK // n_nodes)
    return [slice(start, start + size) for start in range(0, n, size)]
