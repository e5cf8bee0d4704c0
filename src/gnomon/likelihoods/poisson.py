"""A count: Poisson with rate exp(a)."""

import numpy as np
from scipy.special import gammaln
from scipy.stats import poisson

from .._types import Array
from .family import LARGEST_LOG_RATE, SMOOTHING, Evidence, Terms


class Poisson:
    """As in `Family`: expected terms and predictions are exact, the evidence has no closed form.

    And as in `Exponential`: there is no bound on the curvature; steps must be tried and shortened.
    """

    name, n_classes, width, noisy, exact = "poisson", 0, 1, False, False
    contrasts: Array = np.ones((1, 1))
    constant: float | None = None
    majorized = False

    def terms(self, y: Array, mean: Array, cov: Array | None, noise: float, tilt: Array) -> Terms:
        rate = self._rate(mean[:, 0], 0.0 if cov is None else cov[:, 0, 0])
        value = y * mean[:, 0] - rate - gammaln(y + 1.0)
        return Terms(value, (y - rate)[:, None], rate[:, None, None], tilt)

    def evidence(self, y: Array, mean: Array, var: Array, noise: float) -> Evidence:
        """Not there: see `exact`."""
        raise TypeError("counts have no evidence in closed form; use the variational bound")

    def curvature_slope(self, y: Array, a: Array, cov: Array) -> Array:
        return self._rate(a, 0.0) * cov[:, 0]

    def codes(self, y: Array) -> Array:
        return np.asarray(np.log1p(y)[:, None])

    def start(self, y: Array, weights: Array) -> Array:
        return np.atleast_1d(self.link(weights @ y, weights.sum()))

    def predict(self, mean: Array, cov: Array) -> Array:
        return self._rate(mean[:, 0], cov[..., 0, 0])

    def deviation(self, mean: Array, var: Array, noise: float) -> Array:
        count = self._rate(mean, var)
        return np.asarray(np.sqrt(count + count**2 * np.expm1(np.minimum(var, LARGEST_LOG_RATE))))

    def draw(self, a: Array, noise: float, uniform: Array, normal: Array) -> Array:
        return np.asarray(poisson.ppf(uniform, self._rate(a[:, 0], 0.0)), dtype=np.float64)

    def partition(self, theta: Array) -> Array:
        return np.asarray(np.exp(theta))

    mean = variance = bound = partition

    def link(self, total: Array, weight: Array) -> Array:
        return np.asarray(np.log(total + SMOOTHING) - np.log(weight + SMOOTHING))

    def complaint(self, values: Array) -> str | None:
        return None if (values >= 0).all() else "counts of at least 0"

    @staticmethod
    def _rate(mean: Array, var: Array | float) -> Array:
        return np.asarray(np.exp(np.minimum(mean + 0.5 * var, LARGEST_LOG_RATE)))
