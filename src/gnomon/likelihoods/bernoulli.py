"""A label of two classes: p(second class) = sigmoid(a), the logit link, or Phi(a), the probit link."""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import expit, log_ndtr

from .._types import Array
from ..numerics.normalize import normalized
from .family import SMOOTHING, Evidence, Terms, drawn_class
from .quadrature import chunks, normal_rule

IN_CACHE = 1 << 15  # rows times nodes handled at once


def _at_nodes(link: str, mean: Array, var: Array, sign: Array) -> Iterator[tuple[Array, Array, Array, Array]]:
    """`log_and_derivatives` at the nodes of some rows (m, s), times the signs of labels, and log-weights of nodes."""
    rule = normal_rule(float(np.max(var, initial=0.0)))
    std = np.broadcast_to(np.sqrt(var), mean.shape)
    for rows in chunks(len(mean), len(rule.nodes), IN_CACHE):
        a = sign[rows, None] * (mean[rows, None] + std[rows, None] * rule.nodes)
        yield *log_and_derivatives(link, a), rule.log_weights


def logit_offsets(var: float) -> tuple[Array, Array]:
    """What `logit_evidence` adds to a mean of that variance: of the logits of both classes (s, 2), of weights (s,)."""
    rule = normal_rule(var)
    return np.sqrt(var) * rule.nodes[:, None] * np.array([0.0, 1.0]), np.exp(rule.log_weights)


def logit_evidence(mean: Array, var: Array, sign: Array) -> Evidence:
    """Evidence of labels with p(label | a) = sigmoid(sign a), elementwise (m,), by quadrature.

    `sign` is +1 for the second class and -1 for the first; `var` is an array (m,) or one number.
    """
    found = []
    for logs, slope, curvature, log_weights in _at_nodes("logit", mean, var, sign):
        shares, log_z = normalized(logs + log_weights)
        first = np.einsum("ij,ij->i", shares, slope)  # Z' / Z, up to the sign
        second = np.einsum("ij,ij->i", shares, slope**2 - curvature)
        found.append((log_z, first, first**2 - second))
    log_z, slope, curvature = map(np.concatenate, zip(*found, strict=True))
    return Evidence(log_z, sign * slope, curvature)


def probit_evidence(mean: Array, var: Array, sign: Array) -> Evidence:
    """Evidence of labels with p(label | a) = Phi(sign a), elementwise (m,), in closed form."""
    root = np.sqrt(1.0 + np.broadcast_to(var, mean.shape))
    u = sign * mean / root
    log_z = np.asarray(log_ndtr(u))
    ratio = np.exp(-0.5 * u**2 - 0.5 * np.log(2.0 * np.pi) - log_z)
    return Evidence(log_z, sign * ratio / root, ratio * (ratio + u) / root**2)


def expected_log(link: str, mean: Array, var: Array, sign: Array) -> tuple[Array, Array, Array]:
    """E[log p(label | a)] over a ~ N(mean, var), elementwise (m,), by quadrature.

    With its slope in the mean, and minus its second derivative there.
    """
    found = [[part @ np.exp(log_weights) for part in parts] for *parts, log_weights in _at_nodes(link, mean, var, sign)]
    value, slope, curvature = map(np.concatenate, zip(*found, strict=True))
    return value, sign * slope, curvature


def log_and_derivatives(link: str, a: Array) -> tuple[Array, Array, Array]:
    """log p(label | a) at the predictors a, times the sign of the label, with its slope and minus second derivative."""
    if link == "logit":
        small = np.exp(-np.abs(a))
        share = 1.0 / (1.0 + small)
        return np.minimum(a, 0.0) - np.log1p(small), np.where(a < 0.0, share, small * share), small * share**2
    value = np.asarray(log_ndtr(a))
    ratio = np.exp(-0.5 * a**2 - 0.5 * np.log(2.0 * np.pi) - value)
    return value, ratio, ratio * (ratio + a)


LINKS: dict[str, Callable[[Array, Array, Array], Evidence]] = {"logit": logit_evidence, "probit": probit_evidence}
BASE_SLOPES = {"logit": 1.0, "probit": 0.6}  # of the link's inverse, near even odds, in log-odds


class Bernoulli:
    """As in `Family`, y 0 or 1; the evidence is exact, by quadrature (logit) or in closed form (probit).

    And as in `Exponential`, theta being log-odds, whatever the link.
    """

    n_classes, width, noisy, exact = 2, 1, False, True
    contrasts: Array = np.ones((1, 1))
    constant: float | None = None
    majorized = True

    def __init__(self, name: str) -> None:
        self.name = name

    def terms(self, y: Array, mean: Array, cov: Array | None, noise: float, tilt: Array) -> Terms:
        sign = 2.0 * y - 1.0
        if cov is None:
            value, slope, curvature = log_and_derivatives(self.name, sign * mean[:, 0])
            slope = sign * slope
        else:
            value, slope, curvature = expected_log(self.name, mean[:, 0], cov[:, 0, 0], sign)
        return Terms(value, slope[:, None], curvature[:, None, None], tilt)

    def evidence(self, y: Array, mean: Array, var: Array, noise: float) -> Evidence:
        return LINKS[self.name](mean, var, 2.0 * y - 1.0)

    def curvature_slope(self, y: Array, a: Array, cov: Array) -> Array:
        sign = (2.0 * y - 1.0)[:, None]
        _, slope, curvature = log_and_derivatives(self.name, sign * a)
        third = curvature * (1.0 - 2.0 * expit(sign * a))
        if self.name == "probit":
            third = slope - curvature * (sign * a + 2.0 * slope)
        return np.asarray(sign * third * cov[:, 0])

    def codes(self, y: Array) -> Array:
        return y[:, None]

    def start(self, y: Array, weights: Array) -> Array:
        return np.atleast_1d(BASE_SLOPES[self.name] * self.link(weights @ y, weights.sum()))

    def predict(self, mean: Array, cov: Array) -> Array:
        """Probabilities (n, 2), the smaller one to its last digit: odds are formed of it."""
        second = mean[:, 0] <= 0.0  # is the less probable one
        less = np.exp(LINKS[self.name](mean[:, 0], np.asarray(cov[..., 0, 0]), np.where(second, 1.0, -1.0)).log_z)
        return np.column_stack([np.where(second, 1.0 - less, less), np.where(second, less, 1.0 - less)])

    def deviation(self, mean: Array, var: Array, noise: float) -> Array:
        return np.full(len(mean), np.nan)

    def draw(self, a: Array, noise: float, uniform: Array, normal: Array) -> Array:
        return drawn_class(self.predict(a, np.zeros((1, 1))), uniform)

    def partition(self, theta: Array) -> Array:
        return np.asarray(np.logaddexp(0.0, theta))

    def mean(self, theta: Array) -> Array:
        return np.asarray(expit(theta))

    def variance(self, theta: Array) -> Array:
        p = expit(theta)
        return np.asarray(p * (1.0 - p))

    def bound(self, theta: Array) -> Array:
        """As in `Exponential`, of Jaakkola and Jordan: tanh(theta / 2) / (2 theta), 1/4 at zero."""
        small = np.abs(theta) < 1e-4
        safe = np.where(small, 1.0, theta)
        return np.where(small, 0.25, np.tanh(0.5 * safe) / (2.0 * safe))

    def link(self, total: Array, weight: Array) -> Array:
        others = np.maximum(weight - total, 0.0)
        return np.asarray(np.log(total + SMOOTHING) - np.log(others + SMOOTHING))

    def complaint(self, values: Array) -> str | None:
        return None if ((values == 0) | (values == 1)).all() else "0 or 1"
