"""DPPCA of rows that come in batches: of rows that have gone, moments are kept, and the classes they were taken for.

It is EM in which the responsibilities of rows that have gone stay as they were (Neal and Hinton 1998). What it raises
is a bound on the log-likelihood, and the log-likelihood itself where all of them have labels.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, IntArray, Result, Status
from ...numerics.linalg import rank_of, top_eigh
from ...rows.contract import Rows
from ...rows.local import read
from ...rows.merge import Moments
from .anneal import Options, Problem, Setting, ascend, class_probabilities, fit_coordinates
from .choice import Choice, near_rows
from .expected import Here, Known, Odds, Point
from .labeled import FLOOR
from .model import Fit, Target, in_units, projected, size
from .reduction import CONSTANT, Reduced, at_hand, reduce_rows

UNLABELED, LABELED, AT_HAND = 0, 1, 2  # keys of the moments
NO_ROWS = np.zeros(0, dtype=np.intp)


class Gone(NamedTuple):
    """What is kept of rows that have gone, in coordinates; every row by its weight."""

    counts: Array  # (c,) rows of each class
    sums: Array  # (c, r) of them
    scatter: Array  # (r, r)
    entropy: float  # of their responsibilities


class End(NamedTuple):
    """How the responsibilities of a batch came about."""

    status: Status = Status.CONVERGED
    residual: float = 0.0
    n_iter: int = 1


@dataclass(frozen=True)
class Carried:
    """Unlabeled rows at hand, beside others that have gone."""

    here: Here
    gone: Gone

    def expect(self, odds: Odds) -> tuple[Array, float]:
        """Responsibilities (c, n) of the rows at hand, and the log-density, of those that have gone its bound."""
        resp, density = self.here.expect(odds)
        some = self.gone.counts > 0.0
        gone = float((odds.slopes * self.gone.sums).sum() + self.gone.counts[some] @ odds.offsets[some])
        return resp, density + gone + self.gone.entropy

    def moments(self, resp: Array) -> Point:
        """Weights and means of the classes."""
        counts = resp.sum(axis=1) + self.gone.counts
        return Point(counts, (resp @ self.here.T + self.gone.sums) / counts[:, None])


class Streamed(Problem):
    """Unlabeled rows (n, r), beside others that have gone; the coordinates hold all of them."""

    def __init__(self, T: Array, gone: Gone, n_features: int, options: Options) -> None:
        here = Here(T, Known(NO_ROWS, NO_ROWS), options.unlabeled_weight)
        self.options, self.p, self.counts, self.all_labeled = options, n_features, gone.counts, False
        self.carried = self.rows = Carried(here, gone)  # type: ignore[assignment]
        self.scatter = gone.scatter + options.unlabeled_weight * (T.T @ T)
        self.beyond, self.shape, self.size = 0.0, (len(T), len(gone.scatter)), float(np.trace(self.scatter))
        self.count = here.count + float(gone.counts.sum())
        self.total = here.total + gone.sums.sum(axis=0)
        self.n_factors = min(options.n_factors, self.shape[1], self.p)
        self.given = options.noise_variance != "half" and options.shrinkage == 0.0

    def _gram(self) -> Array:
        return self.scatter

    def start(self) -> Setting:
        """The maximum by the rows that have gone, and what it says of those at hand."""
        alone = Streamed(self.carried.here.T[:0], self.carried.gone, self.p, self.options)
        found = alone.maximum(alone.carried.moments(np.zeros((len(self.counts), 0))), alone.span())
        params, level = found.stats.params, found.level
        return found if len(self.carried.here.T) == 0 else Setting(self.e_step(params, level), level, self.span(), 1)


def keep(rows: Rows, taken: Array, labeled: bool) -> Moments:
    """Moments of rows, all labeled or none, taken for classes with probabilities (n, c)."""
    entropy = -(taken * np.log(np.where(taken > 0.0, taken, 1.0))).sum(axis=1)
    key = LABELED if labeled else UNLABELED
    return Moments.of(rows, np.column_stack([taken, entropy]), np.full((len(taken), 1), key))


def keep_batch(
    rows: Rows, index: IntArray, n_classes: int, before: Moments | None, options: Options
) -> tuple[Moments, End]:
    """Moments of rows that have gone and of a batch, and how its responsibilities came about.

    Parameters
    ----------
    index : (n,)                class of each row, -1 where unlabeled
    before : Moments or None    of rows that have gone; None: every class has a labeled row in the batch
    """
    known, others = np.flatnonzero(index >= 0), np.flatnonzero(index < 0)
    kept, end = before, End()
    taken = np.zeros((len(others), n_classes))
    if before is None and len(others) and options.unlabeled_weight > 0.0:
        taken, end = _first(rows, index, n_classes, options)
        taken = taken[others]
    if len(known):
        part = rows.take(known)
        labeled = keep(part, np.eye(n_classes)[index[known]], True)
        kept = labeled if kept is None else kept + labeled
        _count(rows, part)
    if len(others):
        unlabeled = rows.take(others)
        if before is not None and options.unlabeled_weight > 0.0 and kept is not None:
            taken, end = _more(unlabeled, kept, n_classes, options)
        found = keep(unlabeled, taken, False)
        kept = found if kept is None else kept + found
        _count(rows, unlabeled)
    assert kept is not None
    return kept, end


def _count(rows: Rows, part: Rows) -> None:
    """Count reads of a part of rows as reads of them."""
    rows.counter.total += part.reads * part.shape[0] / rows.shape[0]


def _first(rows: Rows, index: IntArray, n_classes: int, options: Options) -> tuple[Array, End]:
    """Responsibilities of the rows of a first batch, by a fit to it."""
    reduced = at_hand(reduce_rows(rows, np.eye(n_classes)[index] * (index >= 0)[:, None]))
    options = _in_standard(options, reduced.standard.scale)
    found = fit_coordinates(reduced, index, n_classes, options, near_rows(reduced, index, options.n_factors))
    return class_probabilities(reduced, index, found.value.params), _end(found)


def _more(rows: Rows, gone: Moments, n_classes: int, options: Options) -> tuple[Array, End]:
    """Responsibilities of unlabeled rows, beside others that have gone."""
    none = np.zeros((rows.shape[0], n_classes + 1))
    both = gone + Moments.of(rows, none, np.full((rows.shape[0], 1), AT_HAND))
    standard, B = rows.standard(both.summary), _basis(both)
    kept = _gone(both, B, n_classes, options.unlabeled_weight)
    problem = Streamed(standard.times(B), kept, rows.shape[1], _in_standard(options, standard.scale))
    found = ascend(problem, problem.start(), None)
    resp = np.asarray(found.value.stats.resp).T
    return resp / resp.sum(axis=1, keepdims=True), _end(found)


def _basis(moments: Moments) -> Array:
    """Principal directions (p, r) of all rows, which hold them."""
    second = np.sum([np.asarray(group.xx) for group in moments.summary.standard_groups()], axis=0)
    values, B = top_eigh(second, len(second))
    return np.asarray(B[:, : rank_of(values, 1e-13 * len(values))])


def _gone(moments: Moments, B: Array, n_classes: int, unlabeled_weight: float) -> Gone:
    """What is kept of rows that have gone, in a basis (p, r)."""
    r, classes = B.shape[1], slice(n_classes)
    counts, sums, scatter, entropy = np.zeros(n_classes), np.zeros((n_classes, r)), np.zeros((r, r)), 0.0
    weight = {UNLABELED: unlabeled_weight, LABELED: 1.0, AT_HAND: 0.0}
    for key, group in zip(moments.keys[:, 0].tolist(), moments.summary.standard_groups(), strict=True):
        w = weight[key]
        counts += w * group.y[classes]
        sums += w * (group.xy[:, classes].T @ B)
        scatter += w * (B.T @ np.asarray(group.xx) @ B)
        entropy += w * float(group.y[n_classes])
    return Gone(counts, sums, scatter, entropy)


def _in_standard(options: Options, scale: float) -> Options:
    given = options.noise_variance
    return options if isinstance(given, str) else options._replace(noise_variance=given / scale**2)


def _end(found: Result[Any]) -> End:
    return End(found.status, float(found.stats["residual"]), int(found.stats["n_iter"]))


def fit_moments(moments: Moments, n_classes: int, n_components: Any, options: Options, end: End) -> Fit:
    """The maximum by moments of rows, whose responsibilities ended somehow."""
    standard = read(np.zeros((0, len(moments.summary.mean)))).standard(moments.summary)
    B = _basis(moments)
    p, r = B.shape
    if r == 0:
        raise ValueError(CONSTANT)
    options = _in_standard(options, standard.scale)
    gone = _gone(moments, B, n_classes, options.unlabeled_weight)
    rows = Reduced(np.zeros((0, r)), np.zeros(0), p, B.__matmul__, True, standard)
    found = Streamed(rows.T, gone, p, options).start()
    stats = found.stats
    units = float(gone.counts.sum()) * p * np.log(standard.scale)
    choice = Choice(options.n_factors, options.shrinkage, options.unlabeled_weight, np.nan, np.nan, np.nan)
    target = Target(
        model=in_units(rows, stats.params),
        choice=choice,
        tried=[],
        log_likelihood=stats.log_likelihood - units,
        path=np.array([stats.objective - units]),
        optima=(stats.objective - units,),
        status=end.status,
        residual=max(end.residual, found.residual),
        n_iter=max(1, end.n_iter),
        floors=("x",) if stats.params.within.noise_var <= FLOOR else (),
        mean=None,
    )
    return projected(rows, [(target, stats.params)], n_components, size(n_components, n_classes - 1, r))
