"""Discriminant probabilistic PCA: classes with means of their own that share a few within-class factors.

Class c has weight pi_c and mean m_c, and x | c ~ N(m_c, V V' + s2 I) with V (p, P). The class of an unlabeled row is
latent. Everything here works on rows in an orthonormal basis, see `solvers.reduction`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, IntArray, Result, Status
from ...numerics.linalg import orthonormal_columns, sign_of_columns, symmetrise, top_eigh
from ...numerics.linear_gaussian import LOG_2PI
from ...rows.threads import one_thread
from ...solvers.em import run_em
from ...solvers.reduction import Reduced

FLOOR = 1e-6  # smallest noise variance, relative to the mean variance of x (one, in standard units)
START_SHRINKAGE = 1e-3  # of the ridge LDA that the first responsibilities come from
HOT, COOLING = 10.0, 0.8  # temperature of the first responsibilities, and what it falls by in each step until it is one
FEWEST_FACTORS, MOST_FACTORS = 20, 40  # of those taken where nothing tells how many there are
BESIDE = 0.1  # within-class standard deviation of projections that separate no classes; of the others it is one
SMALL = 1 << 22  # coordinates up to which one thread is faster than several that wait for one another
SETTLE_ITER, SETTLE_TOL = 100, 1e-4  # the noise level is set in this many steps at most, or once they are shorter


class Options(NamedTuple):
    """How to fit; see `gnomon.DPPCA` for the meaning."""

    n_factors: int
    shrinkage: float = START_SHRINKAGE
    unlabeled_weight: float = 1.0
    class_prior: Any = None  # None: estimated; or (c,)
    noise: str | float = "half"  # a number is in standard units
    tol: float = 1e-6
    max_iter: int = 200


class Within(NamedTuple):
    """Covariance Q diag(values) Q' + noise_var (I - Q Q') of a class, in p dimensions."""

    Q: Array  # (r, m) orthonormal
    values: Array  # (m,) falling, at least noise_var
    noise_var: float


class Params(NamedTuple):
    """A fitted mixture in coordinates of the reduced rows."""

    prior: Array  # (c,)
    means: Array  # (c, r)
    within: Within


class Level(NamedTuple):
    """What is held fixed while EM climbs: the noise variance (None: maximum likelihood) and what shrinkage pulls to."""

    noise_var: float | None
    target: float


class Stats(NamedTuple):
    """The E-step at some parameters."""

    resp: Array  # (n, c), times the weight of the row
    log_density: Array  # (n,)
    objective: float  # nats, penalty of the shrinkage included


class Fitted(NamedTuple):
    """The maximum, still in coordinates."""

    params: Params
    resp: Array  # (n, c) posterior of the class; one-hot where labeled
    projection: Array  # (r, k) directions D: transform is D'x; see `directions`
    n_class_directions: int


def usual_factors(n: int) -> int:
    """Within-class factors for n rows where nothing tells how many there are: one for ten rows, between 20 and 40."""
    return min(max(n // 10, FEWEST_FACTORS), MOST_FACTORS)


def log_joint(params: Params, T: Array, squares: Array, n_features: int) -> Array:
    """Log pi_c + log N(x; m_c, Sigma) of rows: coordinates T (n, r), squared length of the whole row (n,)."""
    center = params.prior @ params.means
    M, Q = params.means - center, params.within.Q
    V = np.column_stack([M.T, Q, center])  # one product with T, which is all there is to read
    products = T @ V
    products -= center @ V
    own = squares - 2.0 * products[:, -1] - float(center @ center)
    c = len(M)
    return joint_of(params, M, products[:, :c], products[:, c:-1], own, n_features)


def joint_of(params: Params, M: Array, DM: Array, DQ: Array, own: Array, n_features: int) -> Array:
    """`log_joint` from products of the centerd rows D with the centerd means M (c, r) and with Q, and their lengths."""
    Q, values, noise = params.within
    shrink = 1.0 - noise / values  # (m,)  Sigma^-1 = (I - Q diag(shrink) Q') / noise
    MQ = M @ Q
    cross = DM - (DQ * shrink) @ MQ.T
    own = own - (DQ * DQ) @ shrink
    fixed = np.einsum("ij,ij->i", M, M) - (MQ * MQ) @ shrink
    distance = np.maximum(own[:, None] - 2.0 * cross + fixed, 0.0) / noise
    logdet = np.log(values).sum() + (n_features - len(values)) * np.log(noise)
    with np.errstate(divide="ignore"):
        log_prior = np.log(params.prior)
    return np.asarray(log_prior - 0.5 * (distance + logdet + n_features * LOG_2PI))


def posterior(log_joint_rows: Array) -> tuple[Array, Array]:
    """Class probabilities (n, c) and log-density (n,) of rows."""
    top = log_joint_rows.max(axis=1, keepdims=True)
    weights = np.exp(log_joint_rows - top)
    total = weights.sum(axis=1, keepdims=True)
    return weights / total, (top + np.log(total))[:, 0]


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
        self.one_hot = np.zeros((len(self.index), n_classes))
        self.one_hot[self.labeled, self.index[self.labeled]] = 1.0
        self.scatter = symmetrise((self.T * self.weights[:, None]).T @ self.T)  # (r, r)
        self.beyond = float(self.weights @ self.outside)
        self.n_factors = min(options.n_factors, self.T.shape[1], self.p)

    def e_step(self, params: Params, level: Level, temperature: float = 1.0) -> Stats:
        """Responsibilities and, at temperature one, the objective at `params`."""
        joint = log_joint(params, self.T, self.squares, self.p)
        resp, density = posterior(joint / temperature)
        known = np.flatnonzero(self.labeled)
        resp[known] = self.one_hot[known]
        density[known] = joint[known, self.index[known]]
        objective = float(self.weights @ density) + self.penalty(params.within, level)
        return Stats(resp * self.weights[:, None], density, objective)

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
        S = symmetrise(self.scatter - between) / self.count
        return counts, means, S, max(float(np.trace(S)), 0.0) + self.beyond / self.count

    def factors(self, S: Array, means: Array, before: Array | None) -> tuple[Array, Array]:
        """Leading eigenpairs of the within-class covariance; from the rows themselves where few rows count."""
        if not self.labeled.all() or 2 * len(self.T) > len(S):
            return leading(S, self.n_factors, before)
        U, sizes, _ = np.linalg.svd((self.T - means[self.index]).T, full_matrices=False)
        kept = int((sizes > 1e-10 * max(float(sizes.max(initial=0.0)), 1e-10)).sum())
        kept = min(kept, self.n_factors)
        return sizes[:kept] ** 2 / self.count, U[:, :kept]

    def m_step(self, stats: Stats, level: Level | None, before: Within | None) -> tuple[Params, Level]:
        """Maximise over all parameters at the given level; None sets the level anew.

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
        elif o.noise == "half":
            noise = max(float(values[-1]) if len(values) == self.n_factors else o.shrinkage * target, FLOOR)
        elif o.noise == "ml":
            left = (1.0 - o.shrinkage) * trace + self.p * o.shrinkage * target - float(values.sum())
            noise = max(left / rest if rest else float(values[-1]), FLOOR)
        else:
            noise = float(o.noise)
        fixed = Level(None if o.noise == "ml" else noise, target)
        return Params(prior, means, Within(Q, np.maximum(values, noise), noise)), fixed


def leading(S: Array, m: int, Q: Array | None) -> tuple[Array, Array]:
    """The m leading eigenpairs of S (r, r), or the best ones in the span of Q (r, m) and S Q where that is cheaper."""
    if Q is None or 2 * m >= len(S):
        return top_eigh(S, m)
    SQ = S @ Q
    basis = np.hstack([Q, orthonormal_columns(SQ, Q, drop=1e-6)])
    values, vectors = top_eigh(symmetrise(basis.T @ (S @ basis)), m)
    return values, basis @ vectors


def init(problem: Problem, temperature: float) -> tuple[Stats, Level]:
    """Responsibilities from ridge LDA of the labeled rows."""
    some = np.flatnonzero(problem.labeled)
    T, resp = problem.T[some], problem.one_hot[some]
    counts = resp.sum(axis=0)
    means = (resp.T @ T) / counts[:, None]
    deviations = T - means[problem.index[some]]
    spread = float((deviations**2).sum() + problem.outside[some].sum()) / len(some) / problem.p
    noise = max(START_SHRINKAGE * (spread if spread > FLOOR else 1.0), FLOOR)
    U, sizes, _ = np.linalg.svd(deviations.T, full_matrices=False)
    kept = sizes > 1e-10 * max(float(sizes.max(initial=0.0)), 1e-10)
    values = (1.0 - START_SHRINKAGE) * sizes[kept] ** 2 / len(some) + noise
    prior = problem.options.class_prior
    prior = counts / counts.sum() if prior is None else np.asarray(prior, dtype=np.float64)
    level = Level(None, max(spread, FLOOR))
    return problem.e_step(Params(prior, means, Within(U[:, kept], values, noise)), level, temperature), level


def fit(rows: Reduced, index: IntArray, n_classes: int, n_components: int, options: Options) -> Result[Fitted]:
    """Fit by EM from ridge LDA of the labeled rows.

    Parameters
    ----------
    rows : Reduced         all rows in an orthonormal basis, standard units
    index : (n,)           class of each row, -1 where unlabeled; every class has a labeled row
    n_components : int     directions of the projection; factors fill up beyond n_classes - 1

    Returns
    -------
    Result(Fitted, status, objective path, stats) with stats "n_iter", "residual", "floor" (whether the noise rests on
    its floor). With ``noise="half"`` or shrinkage the level is set by iterating, from a high temperature down; then EM
    climbs at that level: the path is that of the climb.
    """
    with one_thread(when=rows.T.size <= SMALL):
        return _fit(rows, index, n_classes, n_components, options)


def _fit(rows: Reduced, index: IntArray, n_classes: int, n_components: int, options: Options) -> Result[Fitted]:
    problem = Problem(rows, index, n_classes, options)
    params, level, n_settle = _settle(problem)
    if problem.labeled.all():
        stats = problem.e_step(params, level)
        result = Result((params, stats), Status.CONVERGED, np.array([stats.objective]), {"n_iter": 0, "residual": 0.0})
    else:
        result = run_em(
            lambda p: problem.e_step(p, level),
            lambda s, p: problem.m_step(s, level, p.within)[0],
            params,
            log_likelihood=lambda s: s.objective,
            residual=lambda s, old, new: _step_length(old, new),
            tol=options.tol,
            max_iter=options.max_iter,
        )
    params, stats = result.value
    squares = np.einsum("ij,ij->i", rows.T, rows.T) + rows.outside
    resp = posterior(log_joint(params, rows.T, squares, rows.n_features))[0]
    known = np.flatnonzero(index >= 0)
    resp[known] = np.eye(n_classes)[index[known]]
    projection, n_class = directions([params], n_components)
    info = {**result.stats, "n_iter": result.stats["n_iter"] + n_settle, "floor": params.within.noise_var <= FLOOR}
    return Result(Fitted(params, resp, projection, n_class), result.status, result.path, info)


def _settle(problem: Problem) -> tuple[Params, Level, int]:
    """Cool the responsibilities from a high temperature to one, and set the level anew in each step until it stays.

    With few labels the first class means are far off and, in many dimensions, sure of themselves: EM from there ends in
    a poor maximum. High temperatures let a row count for several classes until the means are better (deterministic
    annealing, Ueda and Nakano 1998).
    """
    o = problem.options
    temperature = HOT
    stats, level = init(problem, temperature)
    params, level = problem.m_step(stats, None, None)
    if problem.labeled.all():
        return params, level, 1
    fixed_level = o.noise != "half" and o.shrinkage == 0.0
    for n_steps in range(2, SETTLE_ITER + 1):  # noqa: B007
        before, temperature = params, max(1.0, COOLING * temperature)
        params, level = problem.m_step(problem.e_step(before, level, temperature), None, before.within)
        if temperature == 1.0 and (fixed_level or _step_length(before, params) <= max(SETTLE_TOL, o.tol)):
            break
    return params, level, n_steps


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


def directions(params: Sequence[Params], n_components: int) -> tuple[Array, int]:
    """Projection D (r, k) of one or more models of the same rows, and how many of its columns separate classes.

    With Sigma the mean of their within-class covariances, D' Sigma D is diagonal: one for directions that separate
    classes, `BESIDE` squared for the others, lest they blur the distances. First come the leading directions of the sum
    of their between-class covariances against Sigma, at most one less than the classes of each model, then factors of
    Sigma by falling variance, made orthogonal to them in its metric, then leading directions of all rows.
    """
    Q, values, noise = mean_within([one.within for one in params])
    shift = 1.0 / np.sqrt(values) - 1.0 / np.sqrt(noise)  # Sigma^-1/2 = I / sqrt(noise) + Q diag(shift) Q'

    def whiten(A: Array) -> Array:
        return np.asarray(A / np.sqrt(noise) + Q @ (shift[:, None] * (Q.T @ A)))

    spread = whiten(np.hstack([_between_root(one) for one in params]))  # (r, sum of c)
    U, sizes, _ = np.linalg.svd(spread, full_matrices=False)
    separate = sum(len(one.prior) - 1 for one in params)
    most = min(n_components, separate, int((sizes > 1e-8 * max(sizes.max(initial=0.0), 1e-8)).sum()))
    U = U[:, :most]
    if most < n_components:
        # by falling variance, so that each is orthogonal to the class directions and to the factors before it
        filled, _ = np.linalg.qr(np.hstack([U, Q, np.eye(len(Q))]))
        U = np.hstack([U, filled[:, most:n_components]])
    D = whiten(U)
    if most:
        D[:, most:] *= BESIDE
    return np.asarray(D * sign_of_columns(D)), most


def _between_root(params: Params) -> Array:
    """Means about their mean, each times the root of its prior (r, c): its square is the between-class covariance."""
    return np.asarray((np.sqrt(params.prior)[:, None] * (params.means - params.prior @ params.means)).T)


def mean_within(parts: Sequence[Within]) -> Within:
    """Mean of within-class covariances of the same rows, with factors by falling variance."""
    if len(parts) == 1:
        return parts[0]
    r, noise = len(parts[0].Q), float(np.mean([one.noise_var for one in parts]))
    n_factors = sum(one.Q.shape[1] for one in parts)
    basis = np.eye(r) if n_factors >= r else np.linalg.qr(np.hstack([one.Q for one in parts]))[0]
    above = np.zeros((basis.shape[1], basis.shape[1]))
    for Q, values, own_noise in parts:
        inside = basis.T @ Q
        above += (inside * (values - own_noise)) @ inside.T / len(parts)
    excess, vectors = top_eigh(symmetrise(above), basis.shape[1])
    return Within(basis @ vectors, noise + np.maximum(excess, 0.0), noise)


class NoiseFree(NamedTuple):
    """The projection of a row without its noise, given x: in class c its mean is gain'x + shift_c."""

    gain: Array  # (p, k)
    shift: Array  # (c, k)
    cov: Array  # (k, k) within a class

    def moments(self, T: Array, resp: Array) -> tuple[Array, Array]:
        """Mean (n, k) and covariance (n, k, k) over the classes, from T = x'gain (n, k)."""
        away = resp @ self.shift
        between = np.einsum("nc,ck,cl->nkl", resp, self.shift, self.shift, optimize=True)
        return T + away, np.asarray(self.cov + between - away[:, :, None] * away[:, None, :])


def noise_free(params: Params, D: Array) -> NoiseFree:
    """Condition D'(m_c + V z) on x, for rows and means centerd alike.

    m_c + V z = x - e, and e given x and c has mean s2 Sigma^-1 (x - m_c) and covariance s2 I - s2^2 Sigma^-1.
    """
    Q, values, noise = params.within
    lost = D - Q @ ((1.0 - noise / values)[:, None] * (Q.T @ D))  # s2 Sigma^-1 D
    return NoiseFree(D - lost, params.means @ lost, noise * symmetrise(D.T @ (D - lost)))
