"""Global maximum likelihood of fully labelled supervised PPCA: one search over the ratio of the two noise variances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from .._types import Array
from ..numerics.linalg import top_eigh
from ..numerics.linear_gaussian import LOG_2PI, Params

GRID_SIZE = 240
REFINED_SIZE = 9


class JointMoments(NamedTuple):
    """Averages of fully labelled rows in standard units; x in a basis of r out of p directions."""

    xx: Array  # (r, r)
    xy: Array  # (r, q)
    yy: Array  # (q, q)
    outside: float  # average squared length of x outside the basis
    weight: float
    n_features: int  # p


class Profile(NamedTuple):
    """The maximum over everything but the ratio."""

    log_likelihood: float
    x_noise_var: float
    values: Array  # leading eigenvalues of the joint second moment at this ratio
    vectors: Array


class Optimum(NamedTuple):
    """One local maximum of the profile likelihood."""

    log_likelihood: float
    log_ratio: float
    bracket: tuple[float, float]


def joint_second_moment(moments: JointMoments, ratio: float) -> Array:
    """Second moment of (x, y / sqrt(ratio)): at a given ratio of variances the model is plain PPCA on it."""
    root = np.sqrt(ratio)
    xy = moments.xy / root
    return np.block([[moments.xx, xy], [xy.T, moments.yy / ratio]])


def profile(moments: JointMoments, k: int, log_ratio: float, x_floor: float, y_floor: float) -> Profile:
    """Maximise over the loadings and the common noise level at one ratio y_noise_var / x_noise_var.

    The noise level is the average of the discarded eigenvalues, or the smallest one that respects both floors; the
    likelihood falls on either side of the average, so the nearest allowed level is the constrained maximum.
    Source: Yu et al. 2006, theorem 2, with max(lambda - noise, 0) where it prints lambda - 1.
    """
    ratio = float(np.exp(log_ratio))
    S = joint_second_moment(moments, ratio)
    q = len(moments.yy)
    dims = moments.n_features + q
    values, vectors = top_eigh(S, k)
    rest = max(float(np.trace(S)) + moments.outside - float(values.sum()), 0.0)
    noise = max(rest / (dims - k), x_floor, y_floor / ratio)
    kept = np.maximum(values, noise)
    quadratic = k + (rest - float((kept - values).sum())) / noise
    logs = dims * LOG_2PI + float(np.log(kept).sum()) + (dims - k) * np.log(noise) + quadratic
    return Profile(-0.5 * moments.weight * (logs + q * log_ratio), noise, values, vectors)


def params_at(moments: JointMoments, k: int, log_ratio: float, x_floor: float, y_floor: float) -> Params:
    """Parameters that reach `profile` at this ratio; means are zero in the centred units of the moments."""
    best = profile(moments, k, log_ratio, x_floor, y_floor)
    r, q = moments.xy.shape
    W = best.vectors * np.sqrt(np.maximum(best.values - best.x_noise_var, 0.0))
    root = float(np.exp(log_ratio / 2.0))
    y_noise = np.full(q, max(best.x_noise_var * root**2, y_floor))
    return Params(W[:r], np.zeros(r), best.x_noise_var, W[r:] * root, np.zeros(q), y_noise)


def search_ratio(moments: JointMoments, k: int, x_floor: float, y_floor: float) -> list[Optimum]:
    """Find every local maximum over the ratio: a grid, refined by Brent's method; the best one comes first.

    The grid spans, in natural logs, ratios at which one of the two views is negligible beside the other, between the
    smallest allowed and the largest possible y noise.
    """
    y_top = max(float(np.trace(moments.yy)), y_floor)
    x_level = (float(np.trace(moments.xx)) + moments.outside) / moments.n_features
    low = np.log(y_floor) - np.log(moments.n_features * x_level) - 2.0
    high = np.log(y_top) - np.log(x_floor) + 2.0
    grid: Array = np.linspace(low, high, GRID_SIZE)

    def loss(log_ratio: float) -> float:
        return -profile(moments, k, log_ratio, x_floor, y_floor).log_likelihood

    values = np.array([loss(u) for u in grid])
    padded = np.concatenate([[np.inf], values, [np.inf]])
    dips = np.flatnonzero((values <= padded[:-2]) & (values < padded[2:]))
    edges = np.concatenate([grid[:1], grid, grid[-1:]])  # edges[i], edges[i + 2] are the neighbours of grid[i]
    brackets = [(float(edges[i]), float(edges[i + 2])) for i in dips]
    found = [refine_ratio(moments, k, x_floor, y_floor, bracket) for bracket in brackets]
    return sorted(found, key=lambda o: -o.log_likelihood)


def slope(moments: JointMoments, k: int, log_ratio: float, x_floor: float, y_floor: float) -> float:
    """Derivative of the profile log-likelihood over log_ratio, divided by count / 2.

    At fixed loadings it is the gap between the expected residual variance of y and its noise variance, because W and
    the common level are at their maximum; where the level rests on the floor of y, it is minus the same gap for x. The
    expected second moment of z is the identity at that maximum.
    """
    best = profile(moments, k, log_ratio, x_floor, y_floor)
    ratio = float(np.exp(log_ratio))
    r, q = moments.xy.shape
    W = best.vectors * np.sqrt(np.maximum(best.values - best.x_noise_var, 0.0))
    if best.x_noise_var * ratio > y_floor:
        return float((np.trace(moments.yy) / ratio - (W[r:] ** 2).sum()) / best.x_noise_var - q)
    x_left = float(np.trace(moments.xx)) + moments.outside - float((W[:r] ** 2).sum())
    return float(moments.n_features - x_left / best.x_noise_var)


def refine_ratio(
    moments: JointMoments, k: int, x_floor: float, y_floor: float, bracket: tuple[float, float]
) -> Optimum:
    """Maximise the profile likelihood inside a bracket of log ratios: the best root of its slope, by Brent's method.

    Where two eigenvalues cross, the profile has a corner between two maxima that may be close to each other, so the
    bracket is looked at on a finer grid first. Without a root inside, the maximum is at the end of the range.
    """
    grid = np.linspace(*bracket, REFINED_SIZE)
    slopes = [slope(moments, k, u, x_floor, y_floor) for u in grid]
    candidates = [bracket[0], bracket[1]]
    for i in range(REFINED_SIZE - 1):
        if slopes[i] > 0 >= slopes[i + 1]:
            ends = float(grid[i]), float(grid[i + 1])
            root = brentq(lambda u: slope(moments, k, u, x_floor, y_floor), *ends, xtol=1e-13, rtol=1e-14)
            candidates.append(float(root))
    values = [profile(moments, k, u, x_floor, y_floor).log_likelihood for u in candidates]
    best = int(np.argmax(values))
    return Optimum(values[best], candidates[best], bracket)
