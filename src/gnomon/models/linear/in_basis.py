"""Maximum likelihood inside a basis: closed form, global ratio search, or accelerated EM with several starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..._types import Array, Result, Status
from ...numerics.linalg import symmetrize, top_eigh
from ...numerics.linear_gaussian import LatentSums, Limits, Params, e_step, log_prior, m_step, relative_residual
from ...numerics.moments import Moments, completed
from ...rows.threads import one_thread
from ...solvers.em import run_em
from .grow import INNER_ACCURACY
from .patterns import ByPattern
from .ratio import (
    GRID_SIZE,
    LATER_GRID_SIZE,
    JointMoments,
    Optimum,
    params_at,
    profiles,
    refine_ratio,
    search_ratio,
)

Sums = TypeVar("Sums", bound=Any)
Inner = Callable[[Moments, Params | None, bool, float], Result[Params]]  # moments, start, final, tol

X_FLOOR, Y_FLOOR = 1e-6, 1e-5  # smallest noise variances, relative to the variance of x and of y
START_LOG_RATIOS = np.log(10.0) * np.arange(4.0, -5.0, -1.0)  # y to x noise of the starts: labels ignored to decisive
FEW_ROWS = 1000  # up to so many, every second start is started from, and not the most likely ones only
TRIAL_ITERATIONS = 25
WIDE = 100  # a basis of more directions is searched on the coarser grid once a first search is done


class ModelLimits(NamedTuple):
    """Constraints and the effort to spend."""

    floors: Limits
    max_iter: int


class ParamsVector:
    """Parameters as one unconstrained vector: loadings, means, logarithms of the noise variances."""

    def __init__(self, floors: Limits) -> None:
        self.floors = floors

    def pack(self, params: Params) -> Array:
        """Return the vector."""
        y_noise = params.y_noise_var[:1] if self.floors.shared_y_noise else params.y_noise_var
        logs = [np.log([params.x_noise_var]), np.log(y_noise)]
        return np.concatenate([*logs, params.m_x, params.m_y, params.W_x.ravel(), params.W_y.ravel()])

    def unpack(self, vector: Array, like: Params) -> Params:
        """Return parameters shaped like `like`, noise variances at or above their floors."""
        r, k = like.W_x.shape
        q = len(like.m_y)
        logs = 1 + (min(1, q) if self.floors.shared_y_noise else q)
        m_x, m_y = vector[logs : logs + r], vector[logs + r : logs + r + q]
        W_x, W_y = vector[logs + r + q :][: r * k], vector[logs + r + q + r * k :]
        noise = np.exp(np.minimum(np.maximum(vector[:logs], -60.0), 60.0))
        x_noise = max(float(noise[0]), self.floors.x_floor)
        y_noise = np.maximum(np.broadcast_to(noise[1:], (q,)), self.floors.y_floor)
        return Params(W_x.reshape(r, k), m_x, x_noise, W_y.reshape(q, k), m_y, y_noise)


def joint_moments(moments: Moments) -> JointMoments:
    """Averages over rows that all observe every output; the means of x and y are zero in standard units."""
    (g,) = moments.patterns
    r = moments.size
    S = g.scatter / g.weight
    return JointMoments(
        S[:r, :r], S[:r, r:], S[r:, r:], moments.outside_energy / g.weight, g.weight, moments.n_features
    )


def closed_form(moments: Moments, k: int, x_floor: float) -> Params:
    """Maximum likelihood of PPCA, no outputs: leading eigenvectors, and the mean of the other eigenvalues as noise.

    Source: Tipping and Bishop 1999; Yu et al. 2006, proposition 1.
    """
    (g,) = moments.patterns
    S = symmetrize(g.scatter / g.weight)
    values, vectors = top_eigh(S, k)
    rest = float(np.trace(S)) + moments.outside_energy / g.weight - float(values.sum())
    noise = max(rest / (moments.n_features - k), x_floor)
    W_x = vectors * np.sqrt(np.maximum(values - noise, 0.0))
    return Params(W_x, g.mean.copy(), noise, np.zeros((0, k)), np.zeros(0), np.zeros(0))


class RatioInner:
    """Global maximum for fully labeled rows: all ratios are searched first and last, the best is followed between."""

    def __init__(self, k: int, limits: ModelLimits) -> None:
        self.k, self.floors = k, limits.floors
        self.bracket: tuple[float, float] | None = None
        self.optima: list[float] = []

    def __call__(self, moments: Moments, start: Params | None, final: bool, tol: float) -> Result[Params]:
        """Return the best parameters in the basis; the whole range of ratios is searched first and last."""
        with one_thread():
            best = self._best(joint_moments(moments), final, moments.size > WIDE)
        return Result(best, Status.CONVERGED, np.zeros(0), {"optima": self.optima})

    def _best(self, joint: JointMoments, final: bool, wide: bool) -> Params:
        k, floors = self.k, self.floors
        best: Optimum | None = None
        if self.bracket is not None and not final:
            best = refine_ratio(joint, k, floors, self.bracket)
            low, high = self.bracket
            if min(best.log_ratio - low, high - best.log_ratio) < 0.02 * (high - low):
                best = None  # the optimum has left its bracket as the basis grew
        if best is None:
            coarse = bool(self.optima) and wide
            found = search_ratio(joint, k, floors, LATER_GRID_SIZE if coarse else GRID_SIZE)
            self.optima = [o.log_likelihood for o in found]
            best = found[0]
            self.bracket = best.bracket
        return params_at(joint, k, best.log_ratio, floors)


class RestrictedEM:
    """Accelerated PX-EM on the moments, from several computed starts.

    The starts turn with the basis and use no random numbers, so neither the order of rows nor a seed decides between
    optima. The first basis holds the leading directions of x and X'Y, which is what they are made of.
    """

    def __init__(self, k: int, limits: ModelLimits) -> None:
        self.k, self.limits = k, limits

    def __call__(self, moments: Moments, start: Params | None, final: bool, tol: float) -> Result[Params]:
        """Return the best parameters found in the basis."""
        with one_thread():
            starts = self._starts(moments) if start is None else [start]
            best = max((self._maximize(moments, s, tol) for s in starts), key=lambda trial: float(trial.path[-1]))
        return Result(best.value[0], best.status, best.path, {})

    def _starts(self, moments: Moments) -> list[Params]:
        """Closed forms over a grid of noise ratios, as if the outputs of all rows were like those that are observed.

        Kept are the local maxima of that likelihood over the grid, and the first, which ignores the labels.
        """
        pooled = completed(moments)
        outside = moments.outside_energy / moments.weight
        joint = JointMoments(pooled.xx, pooled.xy, pooled.yy, outside, moments.weight, moments.n_features)
        floors, ratios = self.limits.floors, START_LOG_RATIOS[::2]
        if moments.weight > FEW_ROWS:
            values = np.array([-np.inf, *profiles(joint, self.k, START_LOG_RATIOS, floors), -np.inf])
            peaks = (values[1:-1] >= values[:-2]) & (values[1:-1] >= values[2:])
            peaks[0] = True
            ratios = START_LOG_RATIOS[peaks]
        return [constrain(params_at(joint, self.k, log_ratio, floors), floors) for log_ratio in ratios]

    def _maximize(self, moments: Moments, start: Params, tol: float) -> Result[tuple[Params, LatentSums]]:
        floors, p = self.limits.floors, moments.n_features
        return run_em(
            lambda params: with_prior(e_step(params, moments), params, floors),
            lambda sums, params: m_step(sums, params, p, floors),
            start,
            log_likelihood=lambda sums: sums.log_likelihood,
            residual=lambda sums, params, after: em_residual(sums, params, after, floors),
            tol=tol,
            max_iter=self.limits.max_iter,
            packing=ParamsVector(floors),
            acceleration="alternating",
        )


def constrain(params: Params, limits: Limits, *, keep_noise: bool = False) -> Params:
    """Project a start onto the constraints: noise at least its floor, the fixed noise, guided dimensions first."""
    y_noise = np.maximum(params.y_noise_var, limits.y_floor)
    if limits.fixed_y_noise is not None:
        y_noise = limits.fixed_y_noise
    if limits.n_guided is not None and len(params.m_y):
        rotation = np.linalg.svd(params.W_y)[2].T
        W_y = params.W_y @ rotation
        W_y[:, limits.n_guided :] = 0.0
        params = params._replace(W_x=params.W_x @ rotation, W_y=W_y)
    smallest = 0.0 if keep_noise else 1e-3 * float((params.W_x**2).sum())
    x_noise = max(params.x_noise_var, limits.x_floor, smallest)
    return params._replace(x_noise_var=x_noise, y_noise_var=y_noise)


def with_prior(sums: Sums, params: Params, limits: Limits) -> Sums:
    """Add the log-density of the prior on the loadings, which makes the objective of EM the log-posterior."""
    if limits.prior_precision == 0.0:
        return sums
    with_it: Sums = sums._replace(log_likelihood=sums.log_likelihood + log_prior(params, limits.prior_precision))
    return with_it


def em_residual(sums: LatentSums, params: Params, after: Params, limits: Limits) -> float:
    """Relative distance from stationarity: of the loadings, and of the noise variances on the log scale."""
    return max(relative_residual(sums, params, limits), noise_move(params, after))


def noise_move(params: Params, after: Params) -> float:
    """Largest change of a noise variance in one step, on the log scale."""
    y_moves = np.abs(np.log(after.y_noise_var / params.y_noise_var))
    return max(abs(float(np.log(after.x_noise_var / params.x_noise_var))), float(y_moves.max(initial=0.0)))


def inner_of(solver: str, n_outputs: int, k: int, floors: Limits, max_iter: int) -> Inner:
    """The closed form where there is one, else EM."""
    if n_outputs == 0 and floors.prior_precision == 0.0:
        return lambda moments, *_: Result(closed_form(moments, k, X_FLOOR), Status.CONVERGED, np.zeros(0), {})
    limits = ModelLimits(floors, max_iter)
    return RatioInner(k, limits) if solver == "ratio" else RestrictedEM(k, limits)


class GaussianInBasis:
    """Real outputs alone, by one of the maximizers above."""

    share = INNER_ACCURACY

    def __init__(self, data: ByPattern, inner: Inner, floors: Limits) -> None:
        self.data, self.inner, self.floors = data, inner, floors

    def maximize(self, start: Params | None, tol: float, *, final: bool, max_iter: int) -> Result[Params]:
        """As in `InBasis`."""
        moments = self.data.moments()
        found = self.inner(moments, start, final, tol)
        params = found.value
        sums = with_prior(e_step(params, moments), params, self.floors)
        after = m_step(sums, params, moments.n_features, self.floors, expand=False)
        stats = {**found.stats, "n_iter": 1, "residual": em_residual(sums, params, after, self.floors)}
        return Result(params, found.status, np.array([sums.log_likelihood]), stats)

    def cross(self, params: Params) -> Array:
        """As in `InBasis`."""
        return self.data.latent_cross(params)

    def loadings(self, params: Params) -> Array:
        """As in `InBasis`."""
        return np.column_stack([params.W_x, params.m_x])

    def with_loadings(self, params: Params, loadings: Array) -> Params:
        """As in `InBasis`."""
        return params._replace(W_x=loadings[:, :-1], m_x=loadings[:, -1])
