"""Expectation propagation for the labels of many rows at once: each label becomes a Gaussian factor."""

from typing import NamedTuple

import numpy as np

from .._types import Array
from .family import Evidence
from .layout import Layout
from .sites import ACCURACY, Near, SiteFit

SHARPEST = 1e-9  # factors are always found to this: an objective that is not stationary shows every error
MAX_ITER = 100
DAMPING = 0.8
TINY = 1e-300


class Factors(NamedTuple):
    """Gaussian factors exp(shift a - precision a^2 / 2) that stand for the labels."""

    precision: Array  # (n, h)
    shift: Array  # (n, h)


class ExpectationPropagation:
    """Labels with one predictor each, a ~ N(mean, cov) in every row.

    Each factor is refitted in turn so that the posterior of its predictor has the mean and variance that the label
    itself would give besides all other factors. All labels of all rows are refitted in parallel, with damping. With at
    most one label that is not Gaussian the result is exact.
    Source: Minka, UAI 2001; Rasmussen and Williams, Gaussian Processes for Machine Learning, section 3.6.
    """

    def __init__(self, layout: Layout, max_iter: int = MAX_ITER) -> None:
        self.layout, self.max_iter = layout, max_iter

    def __call__(
        self, Y: Array, mean: Array, cov: Array, noise: Array, near: Near = None, accuracy: float = ACCURACY
    ) -> SiteFit:
        """As in `Sites`, always to the same accuracy."""
        n, h = mean.shape
        cov = np.broadcast_to(cov, (n, h, h))
        factors = self._start(Y, noise, near)
        gaps = np.zeros(n)
        active = np.arange(n)
        for _ in range(self.max_iter):
            old = Factors(*(part[active] for part in factors))
            new = self._refit(Y[active], mean[active], cov[active], old, noise)
            gap = np.maximum(np.abs(new.precision - old.precision), np.abs(new.shift - old.shift))
            gaps[active] = gap.max(axis=1, initial=0.0) / (1.0 + np.abs(new.shift).max(axis=1, initial=0.0))
            for whole, before, after in zip(factors, old, new, strict=True):
                whole[active] = before + DAMPING * (after - before)
            active = active[gaps[active] > SHARPEST]
            if len(active) == 0:
                break
        return self._fit(Y, mean, cov, factors, noise, gaps)

    def _start(self, Y: Array, noise: Array, near: Near) -> Factors:
        h = self.layout.size
        precision, shift = np.zeros((2, len(Y), h)) if near is None else (part.copy() for part in near)
        for j in np.flatnonzero(self.layout.noisy):
            rows = ~np.isnan(Y[:, j])
            precision[rows, j], shift[rows, j] = 1.0 / noise[j], Y[rows, j] / noise[j]
        return Factors(precision, shift)

    def _refit(self, Y: Array, mean: Array, cov: Array, factors: Factors, noise: Array) -> Factors:
        moved, var, *_ = _posterior(mean, cov, factors)
        cavity_var, cavity_mean = _cavity(moved, var, factors)
        found = self._evidence(Y, cavity_mean, cavity_var, noise)
        left = np.maximum(1.0 - cavity_var * found.curvature, 1e-12)
        return Factors(found.curvature / left, (found.slope + cavity_mean * found.curvature) / left)

    def _evidence(self, Y: Array, mean: Array, var: Array, noise: Array) -> Evidence:
        out = Evidence(np.zeros_like(mean), np.zeros_like(mean), np.zeros_like(mean))
        for j, family in enumerate(self.layout.families):
            some = np.flatnonzero(~np.isnan(Y[:, j]))
            found = family.evidence(Y[some, j], mean[some, j], var[some, j], float(noise[j]))
            for target, values in zip(out, found, strict=True):
                target[some, j] = values
        return out

    def _fit(self, Y: Array, mean: Array, cov: Array, factors: Factors, noise: Array, gaps: Array) -> SiteFit:
        """Evidence of the approximation; its slope and curvature are those of the Gaussian posterior."""
        precision, shift = factors
        moved, var, slope, curvature, log_det = _posterior(mean, cov, factors)
        cavity_var, cavity_mean = _cavity(moved, var, factors)
        found = self._evidence(Y, cavity_mean, cavity_var, noise)
        about, left = moved - mean, cavity_mean - mean
        ratios = -np.log1p(-np.minimum(precision * var, 1.0 - 1e-15))
        squares = left**2 / np.maximum(cavity_var, TINY) - about**2 / np.maximum(var, TINY)
        log_z = (found.log_z + 0.5 * (squares + ratios)).sum(axis=1)
        log_z += 0.5 * ((shift - precision * mean) * about).sum(axis=1) - 0.5 * log_det
        return SiteFit(log_z, slope, curvature, factors, gaps)


def _posterior(mean: Array, cov: Array, factors: Factors) -> tuple[Array, Array, Array, Array, Array]:
    """Means (n, h) and variances (n, h) given the factors, with slope, curvature and log-determinant."""
    h = mean.shape[1]
    precision, shift = factors
    M = np.eye(h) + precision[:, :, None] * cov
    right = np.concatenate([(shift - precision * mean)[:, :, None], precision[:, :, None] * np.eye(h)], axis=2)
    solved = np.linalg.solve(M, right)
    slope, curvature = solved[:, :, 0], solved[:, :, 1:]
    moved = mean + np.matmul(cov, slope[:, :, None])[:, :, 0]
    own = np.einsum("naa->na", cov)
    var = own - (cov * np.swapaxes(np.matmul(curvature, cov), 1, 2)).sum(axis=2)
    return moved, np.maximum(var, 0.0), slope, curvature, np.linalg.slogdet(M)[1]


def _cavity(mean: Array, var: Array, factors: Factors) -> tuple[Array, Array]:
    """Variance and mean of each predictor without its own factor."""
    left = np.maximum(1.0 - factors.precision * var, 1e-15)
    return var / left, (mean - factors.shift * var) / left
