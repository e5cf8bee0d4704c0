"""Outputs of several kinds that depend on the latent variables through linear predictors a = V z + b.

An output of kind "logit", "probit" (one Bernoulli label), "poisson" (a count) or "gaussian" has one predictor; a
"categorical" one with C classes has C - 1, from which its logits are made by contrasts that put any two classes one
unit apart, so that two classes are the "logit" output and a ridge treats all classes alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from .._types import Array
from ..numerics.linear_gaussian import LOG_2PI
from ..targets.code import class_contrasts
from .quadrature import LINKS, expected_log, log_and_derivatives

LARGEST_LOG_RATE = 80.0  # exp of it is still far from the largest float


class Layout(NamedTuple):
    """The outputs: their kinds, and the numbers of classes (0 where there are none)."""

    kinds: tuple[str, ...]
    n_classes: tuple[int, ...]

    @property
    def widths(self) -> list[int]:
        """Number of predictors of each output."""
        return [c - 1 if kind == "categorical" else 1 for kind, c in zip(self.kinds, self.n_classes, strict=True)]

    @property
    def size(self) -> int:
        """Number of predictors of all outputs."""
        return sum(self.widths)

    def parts(self) -> list[tuple[str, slice]]:
        """Kind and predictors of every output."""
        ends = np.cumsum(self.widths, dtype=int).tolist()
        return [(kind, slice(end - w, end)) for kind, w, end in zip(self.kinds, self.widths, ends, strict=True)]

    def is_gaussian(self) -> Array:
        """Which predictors (h,) are of Gaussian outputs, as 0 and 1."""
        return np.array([float(kind == "gaussian") for kind, w in zip(self.kinds, self.widths) for _ in range(w)])


def logit_contrasts(n_classes: int) -> Array:
    """The map (C, C - 1) from predictors to logits; its rows are one apart from each other."""
    return np.asarray(class_contrasts(n_classes) / np.sqrt(2.0))


class Terms(NamedTuple):
    """Expected log-likelihood of the outputs of rows whose predictors are N(mean, cov), and its derivatives."""

    value: Array  # (n,)
    slope: Array  # (n, h)      in the mean
    curvature: Array  # (n, h, h)   minus twice the derivative in the covariance: minus the expected Hessian
    tilt: Array  # (n, h)   the tilt of the bound to which a Newton step leads


def expected_terms(
    layout: Layout, Y: Array, noise: Array, mean: Array, cov: Array | None, tilt: Array
) -> Terms:  # fmt: skip
    """Expected log-likelihood of the observed outputs, row by row.

    Exact for Gaussian outputs and counts, by quadrature for Bernoulli ones, a lower bound for categorical ones. With
    cov None the predictors are known to be `mean`.

    Parameters
    ----------
    Y : (n, q)              values; 0 and 1 for Bernoulli outputs, class numbers for categorical ones, NaN if missing
    noise : (q,)            noise variances, read for Gaussian outputs
    mean, cov : (n, h), (n, h, h) or None
    tilt : (n, h)           read for categorical outputs, see `_softmax_terms`
    """
    n, h = mean.shape
    out = Terms(np.zeros(n), np.zeros((n, h)), np.zeros((n, h, h)), tilt.copy())
    for j, (kind, predictors) in enumerate(layout.parts()):
        seen = np.flatnonzero(~np.isnan(Y[:, j]))
        if len(seen) == 0:
            continue
        y, m = Y[seen, j], mean[seen, predictors]
        block = None if cov is None else cov[seen, predictors, predictors]
        if kind == "categorical":
            classes, c = y.astype(np.intp), layout.n_classes[j]
            value, slope, curvature, better = _softmax_terms(classes, m, block, tilt[seen, predictors], c)
            out.tilt[seen, predictors] = better
            out.curvature[seen, predictors, predictors] = curvature
            out.slope[seen, predictors] = slope
        else:
            var = None if block is None else block[:, 0, 0]
            value, slope, curvature = _scalar_terms(kind, y, m[:, 0], var, float(noise[j]))
            out.curvature[seen, predictors.start, predictors.start] = curvature
            out.slope[seen, predictors.start] = slope
        out.value[seen] += value
    return out


def _scalar_terms(kind: str, y: Array, mean: Array, var: Array | None, noise: float) -> tuple[Array, Array, Array]:
    if kind in LINKS:
        sign = 2.0 * y - 1.0
        if var is None:
            value, slope, curvature = log_and_derivatives(kind, sign * mean)
            return value, sign * slope, curvature
        return tuple(expected_log(kind, mean, var, sign))  # type: ignore[return-value]
    spread = np.zeros_like(mean) if var is None else var
    if kind == "poisson":
        rate = np.exp(np.minimum(mean + 0.5 * spread, LARGEST_LOG_RATE))
        return y * mean - rate - gammaln(y + 1.0), y - rate, rate
    left = y - mean
    value = -0.5 * (LOG_2PI + np.log(noise) + (left**2 + spread) / noise)
    return value, left / noise, np.full(len(y), 1.0 / noise)


def _softmax_terms(y: Array, mean: Array, cov: Array | None, tilt: Array, n_classes: int) -> tuple[Array, ...]:
    """Lower bound of E[log softmax_y] for logits H a, a ~ N(mean, cov), by tilting.

    For any t, E[log sum exp(l)] <= t'm + log sum_c exp((h_c - t)'m + (h_c - t)' S (h_c - t) / 2), with m and S the
    moments of a and h_c the rows of H. The bound is convex in t and tightest where t is the mean of h_c under the
    weights of its sum; there it is exact to second order in S. The last result is the t to which a Newton step leads.
    Source: Knowles and Minka, NIPS 2011, with correlated logits.
    """
    H = logit_contrasts(n_classes)
    inside = mean @ H.T
    own = inside[np.arange(len(y)), y]
    middle = np.zeros(len(y))
    if cov is not None:
        away = H[None] - tilt[:, None, :]  # (n, C, C - 1)
        middle = (tilt * mean).sum(axis=1)
        inside = inside - middle[:, None] + 0.5 * (np.matmul(away, cov) * away).sum(axis=2)
    top = inside.max(axis=1, keepdims=True)
    weights = np.exp(inside - top)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    value = own - middle - (top + np.log(total))[:, 0]
    centre = weights @ H
    products = (H[:, :, None] * H[:, None, :]).reshape(n_classes, -1)
    curvature = (weights @ products).reshape(len(y), *[n_classes - 1] * 2) - centre[:, :, None] * centre[:, None, :]
    slope, left = H[y] - centre, centre - tilt
    if cov is None:
        return value, slope, curvature, tilt
    better = np.linalg.solve(np.eye(n_classes - 1) + np.matmul(curvature, cov), left[:, :, None])[:, :, 0]
    return value, slope, curvature + left[:, :, None] * left[:, None, :], tilt + better
