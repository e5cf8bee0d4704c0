"""A count: Poisson with rate exp(a)."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln
from scipy.stats import poisson

from .._types import Array
from .family import LARGEST_LOG_RATE, Evidence, Terms


class Poisson:
    """As in `Family`; expected terms and predictions are exact, the evidence has no closed form."""

    name, n_classes, width, noisy, exact = "poisson", 0, 1, False, False
    contrasts: Array = np.ones((1, 1))

    def terms(self, y: Array, mean: Array, cov: Array | None, noise: float, tilt: Array) -> Terms:
        """As in `Family`."""
        rate = self._rate(mean[:, 0], 0.0 if cov is None else cov[:, 0, 0])
        value = y * mean[:, 0] - rate - gammaln(y + 1.0)
        return Terms(value, (y - rate)[:, None], rate[:, None, None], tilt)

    def evidence(self, y: Array, mean: Array, var: Array, noise: float) -> Evidence:
        """Not there: see `exact`."""
        raise TypeError("counts have no evidence in closed form; use the variational bound")

    def codes(self, y: Array) -> Array:
        """As in `Family`."""
        return np.asarray(np.log1p(y)[:, None])

    def start(self, y: Array, weights: Array) -> Array:
        """As in `Family`."""
        return np.array([np.log((float(weights @ y) + 0.5) / (weights.sum() + 0.5))])

    def predict(self, mean: Array, cov: Array) -> Array:
        """As in `Family`."""
        return self._rate(mean[:, 0], cov[..., 0, 0])

    def deviation(self, mean: Array, var: Array, noise: float) -> Array:
        """As in `Family`."""
        count = self._rate(mean, var)
        return np.asarray(np.sqrt(count + count**2 * np.expm1(np.minimum(var, LARGEST_LOG_RATE))))

    def draw(self, a: Array, noise: float, uniform: Array, normal: Array) -> Array:
        """As in `Family`."""
        return np.asarray(poisson.ppf(uniform, self._rate(a[:, 0], 0.0)), dtype=np.float64)

    def complaint(self, values: Array) -> str | None:
        """As in `Family`."""
        whole = (values >= 0) & (values == np.floor(values))
        return None if whole.all() else "counts (whole numbers from 0)"

    @staticmethod
    def _rate(mean: Array, var: Array | float) -> Array:
        return np.asarray(np.exp(np.minimum(mean + 0.5 * var, LARGEST_LOG_RATE)))
