"""A real number: N(a, noise)."""

import numpy as np

from .._types import Array
from ..numerics.linear_gaussian import LOG_2PI
from .family import Evidence, Terms


class Gaussian:
    """As in `Family`, where everything is exact, and as in `Exponential`, with variance one."""

    name, n_classes, width, noisy, exact = "gaussian", 0, 1, True, True
    contrasts: Array = np.ones((1, 1))
    constant: float | None = 1.0
    majorized = True

    def terms(self, y: Array, mean: Array, cov: Array | None, noise: float, tilt: Array) -> Terms:
        left = y - mean[:, 0]
        variance = 0.0 if cov is None else cov[:, 0, 0]
        value = -0.5 * (LOG_2PI + np.log(noise) + (left**2 + variance) / noise)
        return Terms(value, left[:, None] / noise, np.full((len(y), 1, 1), 1.0 / noise), tilt)

    def evidence(self, y: Array, mean: Array, var: Array, noise: float) -> Evidence:
        total = np.broadcast_to(var + noise, mean.shape)
        left = y - mean
        return Evidence(-0.5 * (LOG_2PI + np.log(total) + left**2 / total), left / total, 1.0 / total)

    def curvature_slope(self, y: Array, a: Array, cov: Array) -> Array:
        return np.zeros_like(a)

    def codes(self, y: Array) -> Array:
        return y[:, None]

    def start(self, y: Array, weights: Array) -> Array:
        """Zero: outputs are centered."""
        return np.zeros(1)

    def predict(self, mean: Array, cov: Array) -> Array:
        return mean[:, 0]

    def deviation(self, mean: Array, var: Array, noise: float) -> Array:
        return np.broadcast_to(np.sqrt(var + noise), mean.shape)

    def draw(self, a: Array, noise: float, uniform: Array, normal: Array) -> Array:
        return np.asarray(a[:, 0] + np.sqrt(noise) * normal)

    def partition(self, theta: Array) -> Array:
        return 0.5 * theta**2

    def mean(self, theta: Array) -> Array:
        return theta

    def variance(self, theta: Array) -> Array:
        return np.ones_like(theta)

    bound = variance

    def link(self, total: Array, weight: Array) -> Array:
        """As in `Exponential`; not smoothed."""
        return np.asarray(total / weight)

    def complaint(self, values: Array) -> str | None:
        return None
