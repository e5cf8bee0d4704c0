"""The distribution of one output given its linear predictors: what each class of this folder can say of it."""

from typing import NamedTuple, Protocol

import numpy as np

from .._types import Array

LARGEST_LOG_RATE = 80.0  # exp of it is still far from the largest float
SMOOTHING = 0.5  # counted once more for each value before a link is taken


class Evidence(NamedTuple):
    """Log of Z = E[p(y | a)] over a ~ N(mean, var), and what differentiating it by the mean gives.

    The posterior of a has mean ``mean + var slope`` and variance ``var - var^2 curvature`` (Stein's lemma).
    """

    log_z: Array
    slope: Array  # d log Z / d mean
    curvature: Array  # -d^2 log Z / d mean^2


class Terms(NamedTuple):
    """Expected log-likelihood of outputs whose predictors are N(mean, cov), and its derivatives."""

    value: Array  # (n,)
    slope: Array  # (n, h)      in the mean
    curvature: Array  # (n, h, h)   minus twice the derivative in the covariance: minus the expected Hessian
    tilt: Array  # (n, h)   the tilt of the bound to which a Newton step leads; read for classes alone


class Family(Protocol):
    """An output y with p(y | a), a its `width` predictors. Arrays hold one row for each observed value.

    `cov` (n, w, w) or None: the predictors are known to be `mean` (n, w). `noise` is one number, read where `noisy`.
    """

    name: str  # what users call it
    n_classes: int  # number of classes, 0 for a number
    width: int  # number of predictors
    noisy: bool  # whether it has a noise variance of its own
    exact: bool  # whether `evidence` is there: one predictor, an integral that is known or computed to nine digits

    @property
    def contrasts(self) -> Array:
        """The map (m, w) from predictors to what users see: logits of classes, else the predictor itself."""

    def terms(self, y: Array, mean: Array, cov: Array | None, noise: float, tilt: Array) -> Terms:
        """Expected log-likelihood, exact or a lower bound."""

    def evidence(self, y: Array, mean: Array, var: Array, noise: float) -> Evidence:
        """Log of E[p(y | a)], elementwise; mean and var are (n,)."""

    def curvature_slope(self, y: Array, a: Array, cov: Array) -> Array:
        """Derivative (n, w) in the predictors a (n, w) of the sum of their curvature times cov (n, w, w)."""

    def codes(self, y: Array) -> Array:
        """Values as real numbers (n, w) for a first look."""

    def start(self, y: Array, weights: Array) -> Array:
        """Predictors (w,) at which the output has its observed frequencies or mean, whatever x is."""

    def predict(self, mean: Array, cov: Array) -> Array:
        """Probabilities (n, C) or expectation (n,); cov is (n, w, w) or (w, w)."""

    def deviation(self, mean: Array, var: Array, noise: float) -> Array:
        """Predictive standard deviation (n,); NaN for classes."""

    def draw(self, a: Array, noise: float, uniform: Array, normal: Array) -> Array:
        """Values (n,) drawn at predictors a (n, w), from one uniform and one normal number per row."""


class Exponential(Protocol):
    """A table of one exponential family in its natural parameter theta (n, p).

    The negative log-likelihood of x at theta is partition(theta) - x theta, terms of x alone left out; mean and
    variance are the first and second derivative of the partition. `bound` is the curvature of a quadratic tangent to
    the partition at theta and lies above it everywhere, so that minimizing it never raises that.
    """

    name: str
    constant: float | None  # a bound that is the same everywhere, if there is one
    majorized: bool  # whether `bound` is a bound

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


def drawn_class(proba: Array, uniform: Array) -> Array:
    """Class numbers (n,) drawn with probabilities (n, C)."""
    return np.asarray((uniform[:, None] > np.cumsum(proba, axis=1)[:, :-1]).sum(axis=1), dtype=np.float64)
