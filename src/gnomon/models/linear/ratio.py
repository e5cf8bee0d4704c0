"""Global maximum likelihood of fully labeled supervised PPCA: one search over the ratio of the two noise variances."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from ..._types import Array
from ...numerics.linalg import top_eigenvalues, top_eigh
from ...numerics.linear_gaussian import LOG_2PI, Limits, Params
from ...numerics.moments import joined

GRID_SIZE, WIDE_GRID_SIZE = 240, 60  # points of a search, and where a point takes long: in more than `SMALL` directions
REFINED_SIZE = 9
NEXT = 0.02  # natural logs of the first step by which a maximum in fewer directions is followed in all
SMALL = 64  # directions up to which many matrices are decomposed in one call


class JointMoments(NamedTuple):
    """Averages of fully labeled rows in standard units; x in a basis of r out of p directions."""

    xx: Array  # (r, r)
    xy: Array  # (r, q)
    yy: Array  # (q, q)
    outside: float  # average squared length of x outside the basis
    weight: float
    n_features: float  # p


class Optimum(NamedTuple):
    """One local maximum of the profile likelihood."""

    log_likelihood: float
    log_ratio: float
    bracket: tuple[float, float]


def joint_second_moment(moments: JointMoments, ratio: float) -> Array:
    """Second moment of (x, y / sqrt(ratio)): at a given ratio of variances the model is plain PPCA on it."""
    root = np.sqrt(ratio)
    xy = moments.xy / root
    return joined(moments.xx, xy, moments.yy / ratio)


def level(moments: JointMoments, values: Array, total: float, log_ratio: float, floors: Limits) -> tuple[float, float]:
    """The common noise level at one ratio y_noise_var / x_noise_var, and the log-likelihood maximized over all else.

    `values` are the leading eigenvalues of the joint second moment, `total` its trace. The noise level is the average
    of the discarded eigenvalues, or the smallest one that respects both floors; the likelihood falls on either side of
    the average, so the nearest allowed level is the constrained maximum.
    Source: Yu et al. 2006, theorem 2, with max(lambda - noise, 0) where it prints lambda - 1.
    """
    k, q = len(values), len(moments.yy)
    dims = moments.n_features + q
    rest = max(total + moments.outside - float(values.sum()), 0.0)
    noise = max(rest / (dims - k), floors.x_floor, floors.y_floor / float(np.exp(log_ratio)))
    kept = np.maximum(values, noise)
    quadratic = k + (rest - float((kept - values).sum())) / noise
    logs = dims * LOG_2PI + float(np.log(kept).sum()) + (dims - k) * np.log(noise) + quadratic
    return noise, float(-0.5 * moments.weight * (logs + q * log_ratio))


def profile(moments: JointMoments, k: int, log_ratio: float, floors: Limits) -> float:
    """Log-likelihood maximized over everything but the ratio."""
    S = joint_second_moment(moments, float(np.exp(log_ratio)))
    return level(moments, top_eigenvalues(S, k), float(np.trace(S)), log_ratio, floors)[1]


def profiles(moments: JointMoments, k: int, log_ratios: Array, floors: Limits) -> Array:
    """`profile` at every log ratio (m,); the eigenvalues of small matrices are taken together."""
    r, size = len(moments.xx), len(moments.xx) + len(moments.yy)
    if size > SMALL:
        return np.array([profile(moments, k, float(u), floors) for u in log_ratios])
    S = joint_second_moment(moments, 1.0)
    scales = np.ones((len(log_ratios), size))
    scales[:, r:] = np.exp(-0.5 * log_ratios)[:, None]
    values = np.linalg.eigvalsh(S * scales[:, :, None] * scales[:, None, :])[:, : -k - 1 : -1]
    totals = scales**2 @ S.diagonal()
    levels = (level(moments, v, float(t), float(u), floors) for v, t, u in zip(values, totals, log_ratios, strict=True))
    return np.array([value for _, value in levels])


def params_at(moments: JointMoments, k: int, log_ratio: float, floors: Limits) -> Params:
    """Parameters that reach `profile` at this ratio; means are zero in the centered units of the moments.

    Without outputs they are the maximum of plain PPCA: leading eigenvectors, the mean of the other eigenvalues as noise
    (Tipping and Bishop 1999; Yu et al. 2006, proposition 1).
    """
    S = joint_second_moment(moments, float(np.exp(log_ratio)))
    values, vectors = top_eigh(S, k)
    noise, _ = level(moments, values, float(np.trace(S)), log_ratio, floors)
    r, q = moments.xy.shape
    W = vectors * np.sqrt(np.maximum(values - noise, 0.0))
    root = float(np.exp(log_ratio / 2.0))
    return Params(
        W[:r], np.zeros(r), noise, W[r:] * root, np.zeros(q), np.full(q, max(noise * root**2, floors.y_floor))
    )


def search_ratio(moments: JointMoments, k: int, floors: Limits, fewer: JointMoments | None = None) -> list[Optimum]:
    """Find every local maximum over the ratio: a grid, refined by Brent's method; the best one comes first.

    Moments in `fewer` directions say where the maxima lie.
    """
    if fewer is not None and len(fewer.xx) < len(moments.xx):
        found = [_next_to(moments, k, floors, near) for near in search_ratio(fewer, k, floors)]
    else:
        found = [refine_ratio(moments, k, floors, bracket) for bracket in _brackets(moments, k, floors)]
    return sorted(found, key=lambda o: -o.log_likelihood)


def _brackets(moments: JointMoments, k: int, floors: Limits) -> list[tuple[float, float]]:
    """Log ratios beside the maxima of a grid."""
    low, high = _range(moments, floors)
    size = len(moments.xx) + len(moments.yy)
    grid: Array = np.linspace(low, high, GRID_SIZE if size <= SMALL else WIDE_GRID_SIZE)
    values = -profiles(moments, k, grid, floors)
    padded = np.concatenate([[np.inf], values, [np.inf]])
    dips = np.flatnonzero((values <= padded[:-2]) & (values < padded[2:]))
    edges = np.concatenate([grid[:1], grid, grid[-1:]])  # edges[i], edges[i + 2] are the neighbors of grid[i]
    return [(float(edges[i]), float(edges[i + 2])) for i in dips]


def _range(moments: JointMoments, floors: Limits) -> tuple[float, float]:
    """Natural logs of ratios at which one of the two views is negligible beside the other.

    From the smallest allowed to the largest possible y noise.
    """
    y_top = max(float(np.trace(moments.yy)), floors.y_floor)
    x_level = (float(np.trace(moments.xx)) + moments.outside) / moments.n_features
    low = np.log(floors.y_floor) - np.log(moments.n_features * x_level) - 2.0
    return float(low), float(np.log(y_top) - np.log(floors.x_floor) + 2.0)


def _next_to(moments: JointMoments, k: int, floors: Limits, near: Optimum) -> Optimum:
    """The maximum that the slope leads to from one in fewer directions."""
    low, high = _range(moments, floors)
    width = (high - low) / GRID_SIZE
    at = min(max(near.log_ratio, low), high)
    up, step = slope(moments, k, at, floors) > 0.0, NEXT
    while True:
        far = min(at + step, high) if up else max(at - step, low)
        if (slope(moments, k, far, floors) > 0.0) != up:
            root = brentq(lambda u: slope(moments, k, u, floors), *sorted((at, far)), xtol=1e-10, rtol=1e-14)
            return Optimum(profile(moments, k, float(root), floors), float(root), (root - width, root + width))
        if far in (low, high):
            return Optimum(profile(moments, k, far, floors), far, (far - width, far + width))
        at, step = far, 2.0 * step


def slope(moments: JointMoments, k: int, log_ratio: float, floors: Limits) -> float:
    """Derivative of the profile log-likelihood over log_ratio, divided by count / 2.

    At fixed loadings it is the gap between the expected residual variance of y and its noise variance, because W and
    the common level are at their maximum; where the level rests on the floor of y, it is minus the same gap for x. The
    expected second moment of z is the identity at that maximum.
    """
    best = params_at(moments, k, log_ratio, floors)
    ratio = float(np.exp(log_ratio))
    if best.x_noise_var * ratio > floors.y_floor:
        y_left = float(np.trace(moments.yy) - (best.W_y**2).sum()) / ratio
        return y_left / best.x_noise_var - len(moments.yy)
    x_left = float(np.trace(moments.xx) - (best.W_x**2).sum()) + moments.outside
    return moments.n_features - x_left / best.x_noise_var


def refine_ratio(moments: JointMoments, k: int, floors: Limits, bracket: tuple[float, float]) -> Optimum:
    """Maximize the profile likelihood inside a bracket of log ratios: the best root of its slope, by Brent's method.

    Where two eigenvalues cross, the profile has a corner between two maxima that may be close to each other, so the
    bracket is looked at on a finer grid first. Without a root inside, the maximum is at the end of the range.
    """
    grid = np.linspace(*bracket, REFINED_SIZE)
    slopes = [slope(moments, k, u, floors) for u in grid]
    candidates = [bracket[0], bracket[1]]
    for i in range(REFINED_SIZE - 1):
        if slopes[i] > 0 >= slopes[i + 1]:
            ends = float(grid[i]), float(grid[i + 1])
            root = brentq(lambda u: slope(moments, k, u, floors), *ends, xtol=1e-13, rtol=1e-14)
            candidates.append(float(root))
    values = [profile(moments, k, u, floors) for u in candidates]
    best = int(np.argmax(values))
    return Optimum(values[best], candidates[best], bracket)
