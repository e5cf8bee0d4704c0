"""Exponential families in their natural parameter: log-partition, mean, curvature, and an upper bound on it.

The negative log-likelihood of x at theta is partition(theta) - x theta, terms of x alone left out. Its mean and its
curvature are the first and second derivative of the partition. `bound` is the curvature of a quadratic that touches the
partition at theta and lies above it everywhere, so that minimizing it never raises the negative log-likelihood.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.special import expit, logsumexp, softmax

from ..._types import Array

SMOOTHING = 0.5  # counted once more for each column before a link is taken


class Family(Protocol):
    """What the solvers ask of a family; theta is (n, p)."""

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def constant(self) -> float | None:
        """A bound that is the same everywhere, if there is one."""

    @property
    def majorized(self) -> bool:
        """Whether `bound` is a bound."""

    def partition(self, theta: Array) -> Array:
        """Log-partition (n, p), or (n, 1) where the columns of a row are one variable."""

    def mean(self, theta: Array) -> Array:
        """Expectation of x (n, p)."""

    def variance(self, theta: Array) -> Array:
        """Variance of x (n, p)."""

    def bound(self, theta: Array) -> Array:
        """Curvature of the quadratic above, (n, p)."""

    def link(self, total: Array, weight: Array) -> Array:
        """Natural parameters (p,) of columns with sums `total` over `weight` rows (or trials), smoothed."""

    def complaint(self, values: Array) -> str | None:
        """What is wanted of x, if some value is not possible."""


class Gaussian:
    """Normal with variance one."""

    name, constant, majorized = "gaussian", 1.0, True

    def partition(self, theta: Array) -> Array:
        """As in `Family`."""
        return 0.5 * theta**2

    def mean(self, theta: Array) -> Array:
        """As in `Family`."""
        return theta

    def variance(self, theta: Array) -> Array:
        """As in `Family`."""
        return np.ones_like(theta)

    bound = variance

    def link(self, total: Array, weight: Array) -> Array:
        """As in `Family`; not smoothed."""
        return np.asarray(total / weight)

    def complaint(self, values: Array) -> str | None:
        """As in `Family`."""
        return None


class Bernoulli:
    """Zero or one with log-odds theta; the bound is that of Jaakkola and Jordan, tanh(theta / 2) / (2 theta)."""

    name, constant, majorized = "bernoulli", None, True

    def partition(self, theta: Array) -> Array:
        """As in `Family`."""
        return np.asarray(np.logaddexp(0.0, theta))

    def mean(self, theta: Array) -> Array:
        """As in `Family`."""
        return np.asarray(expit(theta))

    def variance(self, theta: Array) -> Array:
        """As in `Family`."""
        p = expit(theta)
        return np.asarray(p * (1.0 - p))

    def bound(self, theta: Array) -> Array:
        """As in `Family`; 1/4 at zero."""
        small = np.abs(theta) < 1e-4
        safe = np.where(small, 1.0, theta)
        return np.where(small, 0.25, np.tanh(0.5 * safe) / (2.0 * safe))

    def link(self, total: Array, weight: Array) -> Array:
        """As in `Family`."""
        return np.asarray(np.log(total + SMOOTHING) - np.log(weight - total + SMOOTHING))

    def complaint(self, values: Array) -> str | None:
        """As in `Family`."""
        return None if ((values == 0) | (values == 1)).all() else "0 or 1"


class Poisson:
    """Counts with log-rate theta. There is no bound on the curvature; steps must be tried and shortened."""

    name, constant, majorized = "poisson", None, False

    def partition(self, theta: Array) -> Array:
        """As in `Family`."""
        return np.asarray(np.exp(theta))

    mean = variance = bound = partition

    def link(self, total: Array, weight: Array) -> Array:
        """As in `Family`."""
        return np.asarray(np.log(total + SMOOTHING) - np.log(weight + SMOOTHING))

    def complaint(self, values: Array) -> str | None:
        """As in `Family`."""
        return None if (values >= 0).all() else "counts of at least 0"


class Multinomial:
    """The columns of a row are the counts of one variable with logits theta; the bound is Boehning's, 1/2.

    `variance` is the diagonal of the curvature, which in full is diag(mean) - mean mean'.
    """

    name, constant, majorized = "multinomial", 0.5, True

    def partition(self, theta: Array) -> Array:
        """As in `Family`, (n, 1)."""
        return np.asarray(logsumexp(theta, axis=1, keepdims=True))

    def mean(self, theta: Array) -> Array:
        """As in `Family`, of one trial."""
        return np.asarray(softmax(theta, axis=1))

    variance = mean

    def bound(self, theta: Array) -> Array:
        """As in `Family`."""
        return np.full_like(theta, 0.5)

    def link(self, total: Array, weight: Array) -> Array:
        """As in `Family`; logits with mean zero."""
        logits = np.log(total + SMOOTHING)
        return np.asarray(logits - logits.mean())

    def complaint(self, values: Array) -> str | None:
        """As in `Family`."""
        return None if (values >= 0).all() else "counts of at least 0"


FAMILIES: dict[str, Family] = {f.name: f for f in (Gaussian(), Bernoulli(), Multinomial(), Poisson())}
