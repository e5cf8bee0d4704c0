"""Expectation propagation for the labels of many rows at once: each label becomes a Gaussian factor."""

from __future__ import annotations

import numpy as np

from .._types import Array, IntArray
from ..numerics.linear_gaussian import LOG_2PI
from .outputs import Layout
from .quadrature import LINKS, Evidence
from .sites import RowFit

ACCURACY = 1e-9
MAX_ITER = 100
DAMPING = 0.8
TINY = 1e-300


class ExpectationPropagation:
    """Labels with one predictor each, a ~ N(mean, cov) in every row.

    Each label stands as a factor exp(shift a - precision a^2 / 2), refitted in turn so that the posterior of its
    predictor has the mean and variance that the label itself would give beside all other factors. All labels of all
    rows are refitted in parallel, with damping. With at most one label that is not Gaussian the result is exact.
    Source: Minka, UAI 2001; Rasmussen and Williams, Gaussian Processes for Machine Learning, section 3.6.
    """

    def __init__(self, layout: Layout, Y: Array) -> None:
        self.layout, self.Y = layout, Y
        self.seen = ~np.isnan(Y)
        self.factors: tuple[Array, Array] | None = None

    def __call__(self, mean: Array, cov: Array, noise: Array, accuracy: float = ACCURACY) -> RowFit:
        """Condition on the labels, starting from the factors of the call before; always to the same accuracy."""
        n, h = mean.shape
        cov = np.broadcast_to(cov, (n, h, h))
        precision, shift = self.factors or (np.zeros((n, h)), np.zeros((n, h)))
        for j, kind in enumerate(self.layout.kinds):
            if kind == "gaussian":
                rows = self.seen[:, j]
                precision[rows, j], shift[rows, j] = 1.0 / noise[j], self.Y[rows, j] / noise[j]
        active = np.arange(n)
        for _ in range(MAX_ITER):
            some = mean[active], cov[active], precision[active], shift[active]
            new_precision, new_shift = self._refit(active, *some, noise)
            gap = np.maximum(np.abs(new_precision - some[2]), np.abs(new_shift - some[3])).max(axis=1, initial=0.0)
            precision[active] += DAMPING * (new_precision - some[2])
            shift[active] += DAMPING * (new_shift - some[3])
            active = active[gap > ACCURACY * (1.0 + np.abs(new_shift).max(axis=1, initial=0.0))]
            if len(active) == 0:
                break
        self.factors = precision, shift
        return self._fit(mean, cov, precision, shift, noise)

    def _refit(
        self, rows: IntArray, mean: Array, cov: Array, precision: Array, shift: Array, noise: Array
    ) -> tuple[Array, Array]:
        moved, var, *_ = _posterior(mean, cov, precision, shift)
        cavity_var, cavity_mean = _cavity(moved, var, precision, shift)
        found = self._evidence(rows, cavity_mean, cavity_var, noise)
        left = np.maximum(1.0 - cavity_var * found.curvature, 1e-12)
        return found.curvature / left, (found.slope + cavity_mean * found.curvature) / left

    def _evidence(self, rows: IntArray, mean: Array, var: Array, noise: Array) -> Evidence:
        out = Evidence(np.zeros_like(mean), np.zeros_like(mean), np.zeros_like(mean))
        for j, kind in enumerate(self.layout.kinds):
            some = np.flatnonzero(self.seen[rows, j])
            m, v, y = mean[some, j], var[some, j], self.Y[rows[some], j]
            if kind == "gaussian":
                total = v + noise[j]
                log_z = -0.5 * (LOG_2PI + np.log(total) + (y - m) ** 2 / total)
                found = Evidence(log_z, (y - m) / total, 1.0 / total)
            else:
                found = LINKS[kind](m, v, 2.0 * y - 1.0)
            for target, values in zip(out, found, strict=True):
                target[some, j] = values
        return out

    def _fit(self, mean: Array, cov: Array, precision: Array, shift: Array, noise: Array) -> RowFit:
        """Evidence of the approximation; its slope and curvature are those of the Gaussian posterior."""
        moved, var, slope, curvature, log_det = _posterior(mean, cov, precision, shift)
        cavity_var, cavity_mean = _cavity(moved, var, precision, shift)
        found = self._evidence(np.arange(len(mean)), cavity_mean, cavity_var, noise)
        about, left = moved - mean, cavity_mean - mean
        ratios = -np.log1p(-np.minimum(precision * var, 1.0 - 1e-15))
        squares = left**2 / np.maximum(cavity_var, TINY) - about**2 / np.maximum(var, TINY)
        log_z = (found.log_z + 0.5 * (squares + ratios)).sum(axis=1)
        log_z += 0.5 * ((shift - precision * mean) * about).sum(axis=1) - 0.5 * log_det
        return RowFit(log_z, slope, curvature)


def _posterior(mean: Array, cov: Array, precision: Array, shift: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Means (n, h) and variances (n, h) given the factors, with slope, curvature and log-determinant."""
    h = mean.shape[1]
    M = np.eye(h) + precision[:, :, None] * cov
    right = np.concatenate([(shift - precision * mean)[:, :, None], precision[:, :, None] * np.eye(h)], axis=2)
    solved = np.linalg.solve(M, right)
    slope, curvature = solved[:, :, 0], solved[:, :, 1:]
    moved = mean + np.matmul(cov, slope[:, :, None])[:, :, 0]
    own = np.einsum("naa->na", cov)
    var = own - (cov * np.swapaxes(np.matmul(curvature, cov), 1, 2)).sum(axis=2)
    return moved, np.maximum(var, 0.0), slope, curvature, np.linalg.slogdet(M)[1]


def _cavity(mean: Array, var: Array, precision: Array, shift: Array) -> tuple[Array, Array]:
    """Variance and mean of each predictor without its own factor."""
    left = np.maximum(1.0 - precision * var, 1e-15)
    return var / left, (mean - shift * var) / left
