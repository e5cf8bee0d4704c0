"""EM for classes that share within-class factors, on rows in an orthonormal basis; see `reduction`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, IntArray, Result, Status
from ...numerics.linalg import orthonormal_columns, rank_of, symmetrize, top_eigh
from ...numerics.normalize import normalized
from ...rows.threads import one_thread
from ...solvers.em import run_em
from .mixture import Params, Within, log_joint, responsibilities
from .reduction import Reduced

FLOOR = 1e-6  # smallest noise variance, relative to the mean variance of x (one, in standard units)
NOTHING = 1e-10  # of the largest singular value
START_SHRINKAGE = 1e-3  # of the ridge LDA that the first responsibilities come from
SMALL = 1 << 22  # coordinates up to which one thread is faster than several that wait for one another


class Annealing(NamedTuple):
    """How the responsibilities cool and the noise level is set, before EM ascends at that level.

    With few labels the first class means are far off and, in many dimensions, sure of themselves: EM from there ends in
    a poor maximum. High temperatures let a row belong to several classes until the means are better (deterministic
    annealing, Ueda and Nakano 1998).
    """

    hot: float = 10.0  # temperature of the first start; hotter ones forget the labels
    cooling: float = 0.8  # what it falls by in each step until it is one: 11 steps from 10
    max_iter: int = 300  # steps in all; faces and text settle in 20 to 60, classes that overlap in hundreds
    tol: float = 1e-4  # length of a step at which the level is set; it moves the means by less than labels do

    def temperature(self, start: int) -> float:
        """First temperature of a start: `hot`, 1, and then values between, each farthest from those before."""
        share, step, i = (1.0, 0.0, 0) if start == 0 else (0.0, 0.5, start - 1)
        while i:  # digits of i behind the point, in base 2
            share += step * (i % 2)
            step, i = step / 2.0, i // 2
        return float(self.hot**share)


class Options(NamedTuple):
    """How to fit; see `gnomon.DPPCA` for the meaning."""

    n_factors: int = 1
    shrinkage: float = START_SHRINKAGE
    unlabeled_weight: float = 1.0
    class_prior: Any = None  # None: estimated; or (c,)
    noise_variance: str | float = "half"  # a number is in standard units
    tol: float = 1e-6
    max_iter: int = 200
    n_init: int = 1
    annealing: Annealing = Annealing()


class Level(NamedTuple):
    """What is fixed while EM ascends: the noise variance (None: maximum likelihood) and what shrinkage pulls to."""

    noise_var: float | None
    target: float


class Stats(NamedTuple):
    """The E-step at some parameters."""

    resp: Array  # (n, c), times the weight of the row
    log_likelihood: float  # nats, rows by their weights
    objective: float  # the same with the penalty of shrinkage


class Fitted(NamedTuple):
    """The maximum, still in coordinates."""

    params: Params
    resp: Array  # (n, c) posterior of the class; one-hot where labeled
    log_likelihood: float  # nats in standard units, without the penalty


class Problem:
    """Reduced rows with their labels and weights: what one EM needs."""

    def __init__(self, rows: Reduced, index: IntArray, n_classes: int, options: Options) -> None:
        self.options = options
        counted = (index >= 0) | (options.unlabeled_weight > 0)
        self.kept = np.flatnonzero(counted)
        self.index = index[self.kept]
        self.labeled = self.index >= 0
        self.T, self.outside = rows.T[self.kept], rows.outside[self.kept]
        self.squares = np.einsum("ij,ij->i", self.T, self.T) + self.outside
        self.p, self.n_classes = rows.n_features, n_classes
        self.weights = np.where(self.labeled, 1.0, options.unlabeled_weight)
        self.count = float(self.weights.sum())
        self.one_hot = np.eye(n_classes)[self.index] * self.labeled[:, None]
        self.scatter = symmetrize((self.T * self.weights[:, None]).T @ self.T)  # (r, r)
        self.beyond = float(self.weights @ self.outside)
        self.n_factors = min(options.n_factors, self.T.shape[1], self.p)

    def e_step(self, params: Params, level: Level, temperature: float = 1.0) -> Stats:
        """Responsibilities and, at temperature one, likelihood and objective at `params`."""
        joint = log_joint(params, self.T, self.squares, self.p)
        resp, density = normalized(joint / temperature)
        known = np.flatnonzero(self.labeled)
        resp[known] = self.one_hot[known]
        density[known] = joint[known, self.index[known]]
        log_likelihood = float(self.weights @ density)
        objective = log_likelihood + self.penalty(params.within, level)
        return Stats(resp * self.weights[:, None], log_likelihood, objective)

    def penalty(self, within: Within, level: Level) -> float:
        """Log-density of the prior behind the shrinkage, less a constant: pseudo-rows of covariance target x I."""
        shrinkage = self.options.shrinkage
        if shrinkage == 0.0:
            return 0.0
        _, values, noise = within
        rest = self.p - len(values)
        logdet = np.log(values).sum() + rest * np.log(noise)
        trace = (1.0 / values).sum() + rest / noise
        return float(-0.5 * self.count * shrinkage / (1.0 - shrinkage) * (logdet + level.target * trace))

    def class_moments(self, resp: Array) -> tuple[Array, Array, Array, float]:
        """Weights of the classes, means, within-class covariance in the basis and its trace in p dimensions."""
        counts = resp.sum(axis=0)
        means = (resp.T @ self.T) / counts[:, None]
        between = (means * counts[:, None]).T @ means
        S = symmetrize(self.scatter - between) / self.count
        return counts, means, S, max(float(np.trace(S)), 0.0) + self.beyond / self.count

    def factors(self, S: Array, means: Array, before: Array | None) -> tuple[Array, Array]:
        """Leading eigenpairs of the within-class covariance; from the rows themselves where few rows count."""
        if not self.labeled.all() or 2 * len(self.T) > len(S):
            return leading(S, self.n_factors, before)
        U, sizes, _ = np.linalg.svd((self.T - means[self.index]).T, full_matrices=False)
        kept = min(rank_of(sizes, NOTHING, NOTHING), self.n_factors)
        return sizes[:kept] ** 2 / self.count, U[:, :kept]

    def m_step(self, stats: Stats, level: Level | None, before: Within | None) -> tuple[Params, Level]:
        """Maximize over all parameters at the given level; None sets the level anew.

        With `before` the factors are sought in the span of the old ones and of the scatter applied to them, which holds
        the old ones, so that the objective cannot fall.
        """
        o = self.options
        counts, means, S, trace = self.class_moments(stats.resp)
        prior = counts / self.count if o.class_prior is None else np.asarray(o.class_prior, dtype=np.float64)
        target = max(trace / self.p, FLOOR) if level is None else level.target
        values, Q = self.factors(S, means, None if before is None else before.Q)
        values = (1.0 - o.shrinkage) * np.maximum(values, 0.0) + o.shrinkage * target
        rest = self.p - len(values)
        if level is not None and level.noise_var is not None:
            noise = level.noise_var
        elif o.noise_variance == "half":
            noise = max(float(values[-1]) if len(values) == self.n_factors else o.shrinkage * target, FLOOR)
        elif o.noise_variance == "ml":
            left = (1.0 - o.shrinkage) * trace + self.p * o.shrinkage * target - float(values.sum())
            noise = max(left / rest if rest else float(values[-1]), FLOOR)
        else:
            noise = float(o.noise_variance)
        fixed = Level(None if o.noise_variance == "ml" else noise, target)
        return Params(prior, means, Within(Q, np.maximum(values, noise), noise)), fixed


def leading(S: Array, m: int, Q: Array | None) -> tuple[Array, Array]:
    """The m leading eigenpairs of S (r, r), or the best ones in the span of Q (r, m) and S Q where that is cheaper."""
    if Q is None or 2 * m >= len(S):
        return top_eigh(S, m)
    SQ = S @ Q
    basis = np.hstack([Q, orthonormal_columns(SQ, Q, drop=1e-6)])
    values, vectors = top_eigh(symmetrize(basis.T @ (S @ basis)), m)
    return values, basis @ vectors


def init(problem: Problem, temperature: float) -> tuple[Stats, Level]:
    """Responsibilities from ridge LDA of the labeled rows."""
    some = np.flatnonzero(problem.labeled)
    T, resp = problem.T[some], problem.one_hot[some]
    counts = resp.sum(axis=0)
    means = (resp.T @ T) / counts[:, None]
    deviations = T - means[problem.index[some]]
    variance = float((deviations**2).sum() + problem.outside[some].sum()) / len(some) / problem.p
    noise = max(START_SHRINKAGE * (variance if variance > FLOOR else 1.0), FLOOR)
    U, sizes, _ = np.linalg.svd(deviations.T, full_matrices=False)
    kept = rank_of(sizes, NOTHING, NOTHING)
    values = (1.0 - START_SHRINKAGE) * sizes[:kept] ** 2 / len(some) + noise
    prior = problem.options.class_prior
    prior = counts / counts.sum() if prior is None else np.asarray(prior, dtype=np.float64)
    level = Level(None, max(variance, FLOOR))
    return problem.e_step(Params(prior, means, Within(U[:, :kept], values, noise)), level, temperature), level


def fit_coordinates(rows: Reduced, index: IntArray, n_classes: int, options: Options) -> Result[Fitted]:
    """Fit by EM from ridge LDA of the labeled rows.

    Parameters
    ----------
    rows : Reduced         all rows in an orthonormal basis, standard units
    index : (n,)           class of each row, -1 where unlabeled; every class has a labeled row
    n_classes : int        how many there are

    Returns
    -------
    Result(Fitted, status, objective path, stats) with stats "n_iter", "residual", "floor" (whether the noise rests on
    its floor), "optima" (what every start came to; the best is returned). With
    ``noise_variance="half"`` or shrinkage the level is set by iterating, from a high temperature down; then EM ascends
    at that level: the path is that of the ascent. Where the level does not settle, the fit has not
    converged, and the residual is the length of the last step there.
    """
    with one_thread(when=rows.T.size <= SMALL):
        problem = Problem(rows, index, n_classes, options)
        n_init = 1 if problem.labeled.all() else options.n_init
        found = [_from_start(problem, options.annealing.temperature(i)) for i in range(n_init)]
        best = max(found, key=lambda result: result.path[-1])
        params, stats = best.value
        joint = log_joint(params, rows.T, np.einsum("ij,ij->i", rows.T, rows.T) + rows.outside, rows.n_features)
        fitted = Fitted(params, responsibilities(joint, index), stats.log_likelihood)
    floor = params.within.noise_var <= FLOOR
    optima = tuple(float(result.path[-1]) for result in found)
    return Result(fitted, best.status, best.path, {**best.stats, "floor": floor, "optima": optima})


def _from_start(problem: Problem, hot: float) -> Result[tuple[Params, Stats]]:
    """Cool from a temperature, then ascend."""
    o = problem.options
    params, level, n_settle, unsettled = _settle(problem, hot)
    result = _maximize(problem, params, level)
    status, residual = result.status, float(result.stats["residual"])
    if unsettled > max(o.annealing.tol, o.tol):
        status, residual = Status.MAX_ITER, max(residual, unsettled)
    info = {"n_iter": n_settle + result.stats["n_iter"], "residual": residual}
    return Result(result.value, status, result.path, info)


def _maximize(problem: Problem, params: Params, level: Level) -> Result[tuple[Params, Stats]]:
    if problem.labeled.all():
        stats = problem.e_step(params, level)
        return Result((params, stats), Status.CONVERGED, np.array([stats.objective]), {"n_iter": 0, "residual": 0.0})
    return run_em(
        lambda p: problem.e_step(p, level),
        lambda s, p: problem.m_step(s, level, p.within)[0],
        params,
        log_likelihood=lambda s: s.objective,
        residual=lambda s, old, new: _step_length(old, new),
        tol=problem.options.tol,
        max_iter=problem.options.max_iter,
    )


def _settle(problem: Problem, hot: float) -> tuple[Params, Level, int, float]:
    """Cool the responsibilities to temperature one, and set the level anew in each step until it stays.

    Returns parameters, level, how many steps it took, and the length of the last one: zero where nothing was open.
    """
    o = problem.options
    temperature = hot
    stats, level = init(problem, temperature)
    params, level = problem.m_step(stats, None, None)
    if problem.labeled.all():
        return params, level, 1, 0.0
    fixed_level = o.noise_variance != "half" and o.shrinkage == 0.0
    n_steps, length = 1, np.inf
    while n_steps < o.annealing.max_iter:
        before, temperature = params, max(1.0, o.annealing.cooling * temperature)
        params, level = problem.m_step(problem.e_step(before, level, temperature), None, before.within)
        length = _step_length(before, params)
        n_steps += 1
        if temperature == 1.0 and (fixed_level or length <= max(o.annealing.tol, o.tol)):
            break
    return params, level, n_steps, 0.0 if fixed_level else length


def _step_length(old: Params, new: Params) -> float:
    """Length of a step: of the means in within-class standard deviations per class, of log-variances and weights."""
    Q, values, noise = old.within
    D = new.means - old.means
    DQ = D @ Q
    moved = (np.einsum("ij,ij->i", D, D) - (DQ * DQ) @ (1.0 - noise / values)) / noise
    parts = (
        float(np.sqrt(np.maximum(moved, 0.0) @ new.prior)),
        float(np.abs(np.log(new.within.values / values)).max(initial=0.0)),
        abs(float(np.log(new.within.noise_var / noise))),
        float(np.abs(new.prior - old.prior).sum()),
    )
    return max(parts)
