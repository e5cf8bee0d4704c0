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
from .coding import class_contrasts
from .linear_gaussian import LOG_2PI
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

    @property
    def n_logits(self) -> int:
        """Number of logits of all categorical outputs."""
        return sum(c for kind, c in zip(self.kinds, self.n_classes, strict=True) if kind == "categorical")

    def parts(self) -> list[tuple[str, slice, slice]]:
        """Kind, predictors and logits of every output."""
        found, start, logit = [], 0, 0
        for kind, width, c in zip(self.kinds, self.widths, self.n_classes, strict=True):
            c = c if kind == "categorical" else 0
            found.append((kind, slice(start, start + width), slice(logit, logit + c)))
            start, logit = start + width, logit + c
        return found

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
    tilt: Array  # (n, logits)   the tilt of the bound at which it would be tightest, as far as one step tells


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
    tilt : (n, logits)      probabilities, see `_softmax_terms`
    """
    n, h = mean.shape
    out = Terms(np.zeros(n), np.zeros((n, h)), np.zeros((n, h, h)), tilt.copy())
    for j, (kind, predictors, logits) in enumerate(layout.parts()):
        seen = np.flatnonzero(~np.isnan(Y[:, j]))
        if len(seen) == 0:
            continue
        y, m = Y[seen, j], mean[seen, predictors]
        block = None if cov is None else cov[seen, predictors, predictors]
        if kind == "categorical":
            value, slope, curvature, better = _softmax_terms(y.astype(np.intp), m, block, tilt[seen, logits])
            out.tilt[seen, logits] = better
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


def _softmax_terms(y: Array, mean: Array, cov: Array | None, tilt: Array) -> tuple[Array, Array, Array, Array]:
    """Lower bound of E[log softmax_y] for logits H a, a ~ N(mean, cov), by tilting.

    For probabilities t, E[log sum exp(l)] <= t'm + log sum_c exp(m_c - t'm + (e_c - t)' S (e_c - t) / 2) with m and S
    the moments of the logits l. The bound is convex in t and tightest where t are the weights of its own sum; there it
    is exact to second order in S. Source: Knowles and Minka, NIPS 2011, with correlated logits.
    """
    H = logit_contrasts(tilt.shape[1])
    logits = mean @ H.T
    if cov is None:
        top = logits.max(axis=1, keepdims=True)
        rho = np.exp(logits - top)
        total = rho.sum(axis=1, keepdims=True)
        rho /= total
        constant, centre = (top + np.log(total))[:, 0], rho @ H
    else:
        centre = tilt @ H
        away = H[None] - centre[:, None, :]  # (n, C, C - 1)
        shift = 0.5 * np.einsum("nca,nca->nc", np.matmul(away, cov), away)
        middle = (tilt * logits).sum(axis=1, keepdims=True)
        inside = logits - middle + shift
        top = inside.max(axis=1, keepdims=True)
        rho = np.exp(inside - top)
        total = rho.sum(axis=1, keepdims=True)
        rho /= total
        constant = (middle + top + np.log(total))[:, 0]
    rows = np.arange(len(y))
    value = logits[rows, y] - constant
    slope = H[y] - rho @ H
    mid = rho @ H
    # sum_c rho_c (h_c - centre)(h_c - centre)'
    curvature = np.einsum("nc,ca,cb->nab", rho, H, H, optimize=True)
    curvature -= mid[:, :, None] * centre[:, None, :] + centre[:, :, None] * mid[:, None, :]
    curvature += centre[:, :, None] * centre[:, None, :]
    return value, slope, curvature, rho
