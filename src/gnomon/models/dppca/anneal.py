"""EM for classes that share within-class factors, on rows in an orthonormal basis; see `reduction`."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, IntArray, Result, Status
from ...numerics.folds import ranks
from ...numerics.linalg import orthonormal_columns, parting_none
from ...numerics.linear_gaussian import LOG_2PI
from ...rows.threads import one_thread
from ...solvers.em import Packing, run_em
from .away import Away
from .expected import Here, Known, Odds, Point, There
from .labeled import FLOOR, START_SHRINKAGE, Labeled
from .mixture import Params, Within, log_odds, responsibilities
from .reduction import Reduced

FIRST, CLOSER = 1.0, 0.1  # how close a round of EM comes, and what that falls by
NEAR = 1e-3  # how close it comes where a start cools
FAR = 2.0  # times as long a step where factors are sought farther: the span is wider from then on
ROUNDING = 1e-11  # of an eigenvalue: a residual of an eigenvector that is less is rounding
CLOSE = 1e-2  # relative: the least distance of eigenvalues by which directions are brought nearer to an eigenvector
SAME = 0.03  # length of a step between the ends of two starts that come to the same
SPARE = 16  # directions of the span of factors beside them and the classes
WHOLE = 1.3  # of that size: up to so many coordinates factors are sought in all
AT_ONCE = 4  # the same where all rows have labels, and fits with any number of factors share them
MOST_SPANS = 100  # in which factors are sought at a point
SMALL = 1 << 22  # coordinates up to which one thread is faster than several that wait for one another


class Annealing(NamedTuple):
    """How the responsibilities cool and the noise level is set, before EM ascends at that level.

    With few labels the first class means are far off and, in many dimensions, sure of themselves: EM from there ends in
    a poor maximum. High temperatures let a row belong to several classes until the means are better (deterministic
    annealing, Ueda and Nakano 1998).
    """

    hot: float = 10.0  # temperature of the first start; hotter ones forget the labels
    cooling: float = 0.8  # what it falls by in each step until it is one: 11 steps from 10
    max_iter: int = 1000  # steps in all; faces and text settle in 20 to 60, classes that overlap in hundreds
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


class Span(NamedTuple):
    """Where factors are sought: leading directions of the rows, more than there are factors."""

    basis: Array  # (r, q) orthonormal
    scatter: Array  # (q, q) of the rows
    values: Array  # (q,) falling, by which directions are cut off
    point: Point | None = None  # where directions and values are eigenpairs of the scatter within classes

    @classmethod
    def whole(cls, scatter: Array) -> "Span":
        """All directions."""
        return cls(np.eye(len(scatter)), scatter, np.zeros(len(scatter)))

    def leading(self, q: int) -> "Span":
        """The first directions, and those of the same value as the last."""
        q = parting_none(self.values, q)
        return Span(self.basis[:, :q], self.scatter[:q, :q], self.values[:q], self.point)


class Stats(NamedTuple):
    """The E-step at some parameters."""

    params: Params
    resp: Any  # (c, n), times the weight of the row; of rows that live elsewhere the moments
    log_likelihood: float  # nats, rows by their weights
    objective: float  # the same with the penalty of shrinkage


class Fitted(NamedTuple):
    """The maximum, still in coordinates."""

    params: Params
    log_likelihood: float  # nats in standard units, without the penalty


class Problem:
    """Reduced rows with their labels and weights: what one EM needs."""

    all_alike = False  # whether every row counts as much, whatever its label
    at_once = False  # whether all factors follow from the labeled rows, and are found in no span
    _last: tuple[Any, Point] | None = None  # responsibilities, and the moments that follow

    def __init__(
        self,
        rows: Reduced | Away,
        index: IntArray,
        n_classes: int,
        options: Options,
        labeled: Labeled | None = None,
    ) -> None:
        self.options, weight = options, options.unlabeled_weight
        self.labeled = labeled = Labeled(rows, index, n_classes) if labeled is None else labeled
        known = labeled.known
        self.all_labeled = weight == 0.0 or len(known) == len(index)
        self.L, self.labels, self.counts, self.p = labeled.L, labeled.labels, labeled.counts, labeled.p
        self.scatter, self.beyond = labeled.gram, labeled.outside  # (r, r)
        self.shape = self.L.shape if self.all_labeled else rows.shape
        self.rows: Here | There
        if self.all_labeled:
            self.rows = Here(self.L, Known(np.arange(len(known)), self.labels), weight)
        elif isinstance(rows, Away):
            self.rows = There(rows, index, self.L, weight)
            self._weigh(rows.total.gram, rows.total.beyond)
        else:
            self.rows = Here(rows.T, Known(known, self.labels), weight)
            self._weigh(rows.gram, float(rows.outside.sum()))
        self._all, self.all_alike = rows, weight == 1.0 and not self.all_labeled
        self.count, self.total = self.rows.count, self.rows.total
        self.size = float(np.trace(self.scatter))
        self.n_factors = min(options.n_factors, self.shape[1], self.p)
        self.given = options.noise_variance != "half" and options.shrinkage == 0.0  # the level
        few = labeled.few or len(self.scatter) <= AT_ONCE * self._width
        self.at_once = self.all_labeled and few

    @property
    def _width(self) -> int:
        """How many directions a span has."""
        return int(self.n_factors) + len(self.counts) + SPARE

    def _weigh(self, gram: Array, beyond: float) -> None:
        weight = self.options.unlabeled_weight
        self.scatter = weight * gram + (1.0 - weight) * self.scatter
        self.beyond = weight * beyond + (1.0 - weight) * self.beyond

    def prior(self, counts: Array) -> Array:
        """Weights of the classes, given or in proportion to their rows."""
        given = self.options.class_prior
        return counts / counts.sum() if given is None else np.asarray(given, dtype=np.float64)

    def e_step(self, params: Params, level: Level | None, temperature: float = 1.0) -> Stats:
        """Responsibilities and, at temperature one where there is a level, likelihood and objective at `params`."""
        resp, density = self.rows.expect(Odds(*log_odds(params), temperature))
        if temperature != 1.0 or level is None:
            return Stats(params, resp, np.nan, np.nan)
        log_likelihood = density + self.shared_density(params)
        return Stats(params, resp, log_likelihood, log_likelihood + self.penalty(params.within, level))

    def moments(self, stats: Stats) -> Point:
        """Weights and means of the classes."""
        if self._last is None or self._last[0] is not stats.resp:
            self._last = stats.resp, self.rows.moments(stats.resp)
        return self._last[1]

    def shared_density(self, params: Params) -> float:
        """The part of the log-likelihood that is the same in every class: by moments, which never change."""
        center, Q = params.prior @ params.means, params.within.Q
        along = center @ Q
        inside = np.einsum("rm,rm->m", Q, self.scatter @ Q) + (self.count * along - 2.0 * (self.total @ Q)) * along
        whole = self.size + (self.count * center - 2.0 * self.total) @ center + self.beyond
        distance = max(float(whole - inside @ params.within.shrink), 0.0) / params.within.noise_var
        return -0.5 * (distance + self.count * (params.within.logdet(self.p) + self.p * LOG_2PI))

    def penalty(self, within: Within, level: Level) -> float:
        """Log-density of the prior behind the shrinkage, less a constant: pseudo-rows of covariance target x I."""
        shrinkage = self.options.shrinkage
        if shrinkage == 0.0:
            return 0.0
        _, values, noise = within
        trace = (1.0 / values).sum() + (self.p - len(values)) / noise
        size = -0.5 * self.count * shrinkage / (1.0 - shrinkage)
        return size * (within.logdet(self.p) + level.target * float(trace))

    def span(self) -> Span:
        """Leading directions of the rows, or all where these are hardly more."""
        r, q = len(self.scatter), self._width
        if r <= WHOLE * q:
            return Span.whole(self.scatter)
        if self.all_alike and isinstance(self._all, Reduced):
            spans: dict[int, Span] = self._all.spans
            if q not in spans:
                spans[q] = self._leading(q)
            return spans[q]
        return self._leading(q)

    def _leading(self, q: int) -> Span:
        """Leading directions of the rows."""
        r = len(self.scatter)
        energy = self._evened(np.diagonal(self.scatter))
        lead = np.argsort(-energy, kind="stable")
        lead = lead[: parting_none(energy[lead], q)]
        return self._span(np.eye(r)[:, lead], self.scatter[:, lead], np.zeros((0, r))).leading(q)

    def widened(self, point: Point, params: Params, span: Span) -> Span:
        """A span that holds the last one, and lies nearer to the leading within-class directions (Davidson 1975)."""
        if len(span.scatter) == len(self.scatter):
            return span
        roots, Q = point.means * np.sqrt(point.counts)[:, None], params.within.Q
        more = self.scatter @ Q - roots.T @ (roots @ Q)
        values = np.einsum("rm,rm->m", Q, more)
        gaps = values - self._evened(np.diagonal(self.scatter) - np.einsum("cr,cr->r", roots, roots))[:, None]
        # in principal coordinates the matrix is diagonal but for the roots, which are few
        more -= Q * values
        away = np.sqrt(np.einsum("rm,rm->m", more, more)) > ROUNDING * values  # what is less points anywhere
        more, gaps, near = more[:, away], gaps[:, away], CLOSE * values[away] + 1e-300
        more /= np.where(np.abs(gaps) > near, gaps, near)
        more /= np.sqrt(np.einsum("rm,rm->m", more, more))
        if more.size and len(self.scatter) <= WHOLE * (span.basis.shape[1] + more.shape[1]):
            found = self._turned(np.eye(len(self.scatter)), self.scatter, roots)
        else:
            found = self._span(span.basis, more, roots)
        return found._replace(point=point)

    @cached_property
    def _alike(self) -> IntArray:
        """Numbers (r,) of the coordinates, the same where the energy of all rows is."""
        return ranks(np.diagonal(self._gram()))

    def _gram(self) -> Array:
        """Inner products of the coordinates of all rows (r, r)."""
        return self._all.total.gram if isinstance(self._all, Away) else self._all.gram

    def _evened(self, of_coordinates: Array) -> Array:
        """Means (r,) over coordinates of the same energy, which may be turned among themselves."""
        if self._alike.max() == len(self._alike) - 1:
            return of_coordinates
        return (np.bincount(self._alike, of_coordinates) / np.bincount(self._alike))[self._alike]

    def maximum(self, point: Point, span: Span) -> "Setting":
        """The maximum at a point, its level set anew, with factors sought in ever wider spans until none moves."""
        (params, level), step, q = self.at(point, None, span), 0.0, len(span.scatter)
        if q < len(self.scatter) and not self.at_once:
            for _ in range(MOST_SPANS):
                before, span = params, self.widened(point, params, span).leading(2 * q)
                params, level = self.at(point, None, span)
                step = step_length(before, params)
                if step <= self.options.tol:
                    break
        return Setting(self.e_step(params, level), level, span, 1, step)

    def _span(self, kept: Array, more: Array, roots: Array) -> Span:
        """The span of orthonormal directions and more."""
        basis = np.hstack([kept, orthonormal_columns(more, kept)]) if more.size else kept
        return self._turned(basis, basis.T @ (self.scatter @ basis), roots @ basis)

    def _turned(self, basis: Array, scatter: Array, roots: Array) -> Span:
        """The span of a basis, turned to the directions in which scatter less squares of roots falls."""
        values, vectors = np.linalg.eigh(scatter - roots.T @ roots)
        vectors = vectors[:, ::-1]
        return Span(basis @ vectors, vectors.T @ scatter @ vectors, values[::-1])

    def factors(self, point: Point, span: Span) -> tuple[Array, Array]:
        """Leading eigenpairs of the within-class covariance."""
        if self.at_once:
            values, Q = self.labeled.axes
            return values[: self.n_factors] / self.count, Q[:, : self.n_factors]
        if span.point is point:
            return span.values[: self.n_factors] / self.count, span.basis[:, : self.n_factors]
        counts, means = point
        roots = (means @ span.basis) * np.sqrt(counts)[:, None]
        values, vectors = np.linalg.eigh((span.scatter - roots.T @ roots) / self.count)
        return values[: -self.n_factors - 1 : -1], span.basis @ vectors[:, : -self.n_factors - 1 : -1]

    def at(self, point: Point, level: Level | None, span: Span) -> tuple[Params, Level]:
        """The parameters at a point: the maximum at the given level; None sets the level anew."""
        o = self.options
        within = max(self.size - float(point.counts @ (point.means**2).sum(axis=1)), 0.0)
        trace = (within + self.beyond) / self.count
        target = max(trace / self.p, FLOOR) if level is None else level.target
        values, Q = self.factors(point, span)
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
        return Params(self.prior(point.counts), point.means, Within(Q, np.maximum(values, noise), noise)), fixed


def init(problem: Problem, temperature: float) -> Stats:
    """Responsibilities from ridge LDA of the labeled rows."""
    means, within, variance = problem.labeled.lda
    params = Params(problem.prior(problem.counts), means, within)
    return problem.e_step(params, Level(None, max(variance, FLOOR)), temperature)


def fit_coordinates(
    rows: Reduced | Away,
    index: IntArray,
    n_classes: int,
    options: Options,
    near: tuple[Reduced, IntArray] | None = None,
    labeled: Labeled | None = None,
    begin: Params | None = None,
) -> Result[Fitted]:
    """Fit by EM from ridge LDA of the labeled rows.

    Parameters
    ----------
    rows : Reduced         all rows in an orthonormal basis, standard units
    index : (n,)           class of each row, -1 where unlabeled; every class has a labeled row
    n_classes : int        how many there are
    near : Reduced, (m,)   fewer rows and directions, where the responsibilities cool; None: all
    labeled : Labeled      those of rows and index, where they are at hand
    begin : Params         where EM begins, in coordinates of `near`, instead of cooling; None: it cools

    Returns
    -------
    Result(Fitted, status, objective path, stats) with stats "n_iter", "residual", "floor" (whether the noise rests on
    its floor), "optima" (what every start came to; the best is returned). With ``noise_variance="half"`` or shrinkage
    the level is set by iterating, from a high temperature down; then EM ascends at it, which is the path. Where the
    level does not settle, the fit has not converged, and the residual is that of the step which set it last.
    """
    with one_thread(when=rows.shape[0] * rows.shape[1] <= SMALL):
        problem = Problem(rows, index, n_classes, options, labeled)
        found = [_by_labels(problem)] if problem.all_labeled else _from_starts(problem, near or (rows, index), begin)
    best = max(found, key=lambda result: result.path[-1])
    params = best.value.stats.params
    fitted = Fitted(params, best.value.stats.log_likelihood)
    floor = params.within.noise_var <= FLOOR
    optima = tuple(float(result.path[-1]) for result in found)
    return Result(fitted, best.status, best.path, {**best.stats, "floor": floor, "optima": optima})


def class_probabilities(rows: Reduced, index: IntArray, params: Params) -> Array:
    """Posterior of the class (n, c); one-hot where labeled."""
    with one_thread(when=rows.T.size <= SMALL):
        slopes, offsets = log_odds(params)
        return responsibilities(rows.T @ slopes.T + offsets, index)


def _by_labels(problem: Problem) -> "Result[Setting]":
    """The maximum where all rows have labels: nothing is hidden."""
    assert isinstance(problem.rows, Here)
    span = Span.whole(problem.scatter) if problem.at_once else problem.span()
    found = problem.maximum(problem.rows.moments(problem.labeled.one_hot.T), span)
    status = Status.CONVERGED if found.residual <= problem.options.tol else Status.MAX_ITER
    end = {"n_iter": 1, "residual": found.residual}
    return Result(found, status, np.array([found.stats.objective]), end)


def _from_starts(
    problem: Problem, near: tuple[Reduced | Away, IntArray], begin: Params | None
) -> "list[Result[Setting]]":
    """Cool from several temperatures near by, then ascend on all rows; starts that come to the same do so once.

    All ascend at the level that the first one sets: at levels of their own the lowest would win, not the best classes.
    """
    o, (rows, index) = problem.options, near
    there = problem
    if rows.shape != problem.shape:
        n_known = len(problem.labels)
        share = (problem.shape[0] - n_known) / (len(index) - n_known)
        there = Problem(rows, index, len(problem.counts), o._replace(unlabeled_weight=share * o.unlabeled_weight))
    starts: list[Setting] = []
    found: list[Result[Setting]] = []
    for i in range(o.n_init):
        start = _cool(there, o.annealing.temperature(i)) if begin is None else _begun(there, begin)
        start = _settle(there, start, max(NEAR, o.tol))
        same = [step_length(other.stats.params, start.stats.params) for other in starts]
        starts.append(start)
        if same and min(same) <= SAME:
            found.append(found[int(np.argmin(same))])
            continue
        if there is not problem:
            params = embedded(start.stats.params, rows.columns, problem.shape[1])
            stats = problem.e_step(params, start.level)
            start = Setting(stats, start.level, problem.widened(problem.moments(stats), params, problem.span()), 0)
        found.append(ascend(problem, start, found[0].value.level if found else None))
    return found


class Setting(NamedTuple):
    """Where a fit is, and the level that has been set."""

    stats: Stats
    level: Level
    span: Span
    n_steps: int  # so far
    residual: float = np.inf  # length of the next step, its factors in a wider span; where it sets the level, of that
    path: Array = np.empty(0)  # of the ascent, where the level is given
    settled: float = np.inf  # how closely the level has been set


def embedded(params: Params, columns: IntArray | None, size: int) -> Params:
    """Parameters in `size` coordinates, of which they were found in some."""
    place = np.eye(size)[slice(None) if columns is None else columns]
    return params._replace(means=params.means @ place, within=params.within._replace(Q=place.T @ params.within.Q))


def _cool(problem: Problem, temperature: float) -> Setting:
    """Cool the responsibilities to temperature one, and set the level anew in each step."""
    o = problem.options.annealing
    stats, span, n_steps = init(problem, temperature), problem.span(), 1
    params, level = problem.at(problem.moments(stats), None, span)
    while temperature > 1.0 and n_steps < o.max_iter:
        temperature = max(1.0, o.cooling * temperature)
        params, level = problem.at(problem.moments(problem.e_step(params, level, temperature)), None, span)
        n_steps += 1
    return Setting(problem.e_step(params, level), level, span, n_steps)


def _begun(problem: Problem, params: Params) -> Setting:
    """The step after some parameters, which may have other factors."""
    span = problem.span()
    params, level = problem.at(problem.moments(problem.e_step(params, None)), None, span)
    return Setting(problem.e_step(params, level), level, span, 1)


def _settle(problem: Problem, now: Setting, tol: float) -> Setting:
    """Set the level anew until nothing moves, or ascend where it is given."""
    given, left = now.level if problem.given else None, problem.options.annealing.max_iter - now.n_steps
    now, _, path, _ = _closer(problem, now, given, tol, left)
    if problem.given:
        return now._replace(path=path)
    params, level = problem.at(problem.moments(now.stats), None, now.span)
    return now._replace(stats=problem.e_step(params, level), level=level, settled=tol)


def _closer(problem: Problem, now: Setting, level: Level | None, tol: float, max_iter: int) -> Result[Setting]:
    """EM in rounds, ever closer, each in the span that the one before ended with.

    Where no level is given, it is set after each round, and where one comes no closer, in each step of it.
    """
    path, n_iter, status, close = np.array([now.stats.objective]), 0, Status.MAX_ITER, FIRST
    while (now.residual > tol or (level is None and close > tol)) and n_iter < max_iter and status is Status.MAX_ITER:
        before, close = close, max(CLOSER * min(close, now.residual), tol)
        held = now.level if level is None and close < before else level
        result = _climb(problem, now, held, close, max_iter - n_iter, "squarem" if level is None else "alternating")
        point = problem.moments(result.value)
        span = problem.widened(point, result.value.params, now.span)
        params, new = problem.at(point, level, span)
        moved = params.within.noise_var / result.value.params.within.noise_var, new.target / now.level.target
        residual = step_length(result.value.params, params) if held is level else float(np.abs(np.log(moved)).max())
        if residual <= FAR * close or result.status is not Status.CONVERGED:
            span = span.leading(len(now.span.scatter))
        n_iter += len(result.path)
        path = np.append(path, result.path)
        now = Setting(result.value, new, span, now.n_steps + len(result.path), residual)
        status = Status.STALLED if result.status is Status.STALLED else status
    return Result(
        now,
        Status.CONVERGED if now.residual <= tol else status,
        path,
        {"n_iter": now.n_steps, "residual": now.residual},
    )


def _climb(problem: Problem, now: Setting, level: Level | None, tol: float, max_iter: int, way: str) -> Result[Stats]:
    """EM from the step after the last, with factors in a span; no level sets it anew in each step."""

    def e_step(point: Point) -> Stats:
        params, _ = problem.at(point, level, now.span)
        return problem.e_step(params, level)

    def residual(stats: Stats, old: Point, new: Point) -> float:
        length = step_length(stats.params, stats.params._replace(means=new.means))
        return step_length(stats.params, problem.at(new, level, now.span)[0]) if length <= tol else length

    result = run_em(
        e_step,
        lambda stats, point: problem.moments(stats),
        problem.moments(now.stats),
        log_likelihood=lambda stats: 0.0 if level is None else stats.objective,
        residual=residual,
        tol=tol,
        max_iter=max_iter,
        packing=MomentPacking(problem, now.stats.params.within),
        acceleration=way,
    )
    return Result(result.value[1], result.status, result.path, result.stats)


def ascend(problem: Problem, start: Setting, level: Level | None) -> Result[Setting]:
    """Set the level, if none is given, then ascend at it."""
    o = problem.options
    tol, unsettled = max(o.annealing.tol, o.tol), 0.0
    if level is None and not problem.given and start.settled > tol:
        start = _settle(problem, start, tol)
        unsettled = start.residual
    level = start.level if level is None else level
    params = problem.at(problem.moments(start.stats), level, start.span)[0]
    start = start._replace(stats=problem.e_step(params, level), level=level, residual=np.inf)
    result = _closer(problem, start, level, o.tol, o.max_iter)
    path, status = np.append(start.path, result.path), result.status
    if unsettled > tol:
        status, result.stats["residual"] = Status.MAX_ITER, max(result.stats["residual"], unsettled)
    return Result(result.value, status, path, result.stats)


class MomentPacking(Packing):
    """Weights and means of the classes as one vector, in within-class deviations, the same in all coordinates."""

    def __init__(self, problem: Problem, within: Within) -> None:
        self.count, self.Q, self.root = problem.count, within.Q, np.sqrt(within.noise_var)
        self.longer = np.sqrt(within.values / within.noise_var)

    def pack(self, point: Point) -> Array:
        """Return the vector."""
        whitened = point.means + ((point.means @ self.Q) * (1.0 / self.longer - 1.0)) @ self.Q.T
        return np.concatenate([np.log(point.counts), whitened.ravel() / self.root])

    def unpack(self, vector: Array, like: Point) -> Point:
        """Return the point."""
        c = len(like.counts)
        counts, whitened = np.exp(np.clip(vector[:c], -700.0, 700.0)), vector[c:].reshape(like.means.shape)
        means = self.root * (whitened + ((whitened @ self.Q) * (self.longer - 1.0)) @ self.Q.T)
        return Point(counts * (self.count / counts.sum()), means)


def step_length(old: Params, new: Params) -> float:
    """Length of a step.

    Of the means in within-class standard deviations per class, of log-variances and weights, and of factors out of the
    space of the old ones, as far as they stand out of the noise.
    """
    Q, values, noise = old.within
    D, away = new.means - old.means, new.within.Q - Q @ (Q.T @ new.within.Q)
    moved = (np.einsum("ij,ij->i", D, D) - (D @ Q) ** 2 @ old.within.shrink) / noise
    above = (new.within.values - noise) / np.sqrt(new.within.values * noise)
    parts = (
        float(np.sqrt(np.maximum(moved, 0.0) @ new.prior)),
        float(np.abs(np.log(new.within.values / values)).max(initial=0.0)),
        float((np.sqrt(np.einsum("ij,ij->j", away, away)) * above).max(initial=0.0)),
        abs(float(np.log(new.within.noise_var / noise))),
        float(np.abs(new.prior - old.prior).sum()),
    )
    return max(parts)
