"""Sufficient statistics of rows seen through a basis, one block per pattern of observed outputs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import Array, BoolArray, IntArray
from .linalg import symmetrize


class Pattern(NamedTuple):
    """Rows that observe the same outputs: their weight, the mean and the scatter of v = [t, y_observed]."""

    outputs: IntArray  # (q_g,)
    weight: float
    mean: Array  # (r + q_g,)
    scatter: Array  # (r + q_g, r + q_g)  sum of weighted (v - mean)(v - mean)'


class OutputSets(NamedTuple):
    """The distinct sets of observed outputs and which row has which."""

    sets: BoolArray  # (g, q)
    of_row: IntArray  # (m,)


def output_sets(observed: BoolArray) -> OutputSets:
    """Find the distinct rows of `observed` (m, q)."""
    if observed.shape[1] == 0 or len(observed) == 0:
        return OutputSets(np.zeros((1, observed.shape[1]), dtype=bool), np.zeros(len(observed), dtype=np.intp))
    sets, of_row = np.unique(observed, axis=0, return_inverse=True)
    return OutputSets(sets, of_row.reshape(-1).astype(np.intp))


class UngroupedRows(NamedTuple):
    """Rows whose pattern of observed outputs is rare: kept one by one."""

    T: Array  # (m, r)
    Y: Array  # (m, q)  zero where not observed
    observed: BoolArray  # (m, q)
    weights: Array  # (m,)
    groups: OutputSets


class Moments(NamedTuple):
    """All that the likelihood needs, in standard units: x restricted to a basis of r directions out of p."""

    patterns: tuple[Pattern, ...]
    ungrouped: UngroupedRows | None
    n_features: float  # p, or the effective dimension of a feature space
    n_outputs: int  # q
    outside_energy: float  # weighted sum of squares of x outside the basis

    @property
    def size(self) -> int:
        """Number r of basis directions."""
        if self.ungrouped is not None:
            return int(self.ungrouped.T.shape[1])
        return len(self.patterns[0].mean) - len(self.patterns[0].outputs)

    @property
    def weight(self) -> float:
        """Total weight of the rows."""
        ungrouped = 0.0 if self.ungrouped is None else float(self.ungrouped.weights.sum())
        return ungrouped + sum(pattern.weight for pattern in self.patterns)

    @property
    def same_outputs(self) -> bool:
        """Whether each row observes every output or none."""
        return self.ungrouped is None and all(len(g.outputs) in (0, self.n_outputs) for g in self.patterns)


def joined(tt: Array, ty: Array, yy: Array) -> Array:
    """The symmetric matrix [[tt, ty], [ty', yy]]; `np.block` takes ten times as long for small ones."""
    r = len(tt)
    out = np.empty((r + len(yy), r + len(yy)))
    out[:r, :r], out[:r, r:], out[r:, :r], out[r:, r:] = tt, ty, ty.T, yy
    return out


def pattern_from_sums(outputs: IntArray, count: float, t: Array, y: Array, tt: Array, ty: Array, yy: Array) -> Pattern:
    """Build a `Pattern` from raw sums of t, y, tt', ty' and yy' (all weighted)."""
    total = np.concatenate([t, y])
    second = joined(tt, ty, yy)
    mean = total / count
    return Pattern(outputs, count, mean, symmetrize(second - count * np.outer(mean, mean)))


def pattern_from_rows(outputs: IntArray, T: Array, Y: Array, weights: Array, one: Array | None = None) -> Pattern:
    """Build a `Pattern` from its rows; Y holds the observed outputs only, and `one` what stands for 1 beside them."""
    V = np.hstack([T, Y])
    one = np.ones(len(V)) if one is None else one
    count = float(weights @ one**2)
    mean = (weights * one) @ V / count
    V = (V - one[:, None] * mean) * np.sqrt(weights)[:, None]
    return Pattern(outputs, count, mean, V.T @ V)


def second_moment(moments: Moments) -> Array:
    """Sum of t t' over all rows (r, r), about the sample mean."""
    r = moments.size
    out = np.zeros((r, r))
    for g in moments.patterns:
        out += g.scatter[:r, :r] + g.weight * np.outer(g.mean[:r], g.mean[:r])
    if moments.ungrouped is not None:
        out += (moments.ungrouped.T * moments.ungrouped.weights[:, None]).T @ moments.ungrouped.T
    return symmetrize(out)


class Completed(NamedTuple):
    """Averages of x and y as if every row were labeled: outputs use the rows that observe them."""

    xx: Array  # (r, r)
    xy: Array  # (r, q)
    yy: Array  # (q, q)
    y_mean: Array  # (q,)


def completed(moments: Moments) -> Completed:
    """Pool the moments over patterns; exact when all rows are labeled, otherwise a good start for EM."""
    r, q = moments.size, moments.n_outputs
    xy, yy = np.zeros((r, q)), np.zeros((q, q))
    pairs, y_sum, y_count = np.zeros((q, q)), np.zeros(q), np.zeros(q)
    for g in [*moments.patterns, *_ungrouped_patterns(moments)]:
        o = g.outputs
        xy[:, o] += g.scatter[:r, r:]
        yy[np.ix_(o, o)] += g.scatter[r:, r:]
        pairs[np.ix_(o, o)] += g.weight
        y_sum[o] += g.weight * g.mean[r:]
        y_count[o] += g.weight
    some = np.maximum(y_count, 1e-300)
    yy = np.divide(yy, pairs, out=np.zeros_like(yy), where=pairs > 0)
    return Completed(second_moment(moments) / moments.weight, xy / some, symmetrize(yy), y_sum / some)


def _ungrouped_patterns(moments: Moments) -> list[Pattern]:
    """One pattern per output over the ungrouped rows that observe it."""
    rows, out = moments.ungrouped, list[Pattern]()
    if rows is None:
        return out
    for j in range(moments.n_outputs):
        seen = rows.observed[:, j]
        if seen.any():
            y = rows.Y[seen, j : j + 1]
            out.append(pattern_from_rows(np.array([j]), rows.T[seen], y, rows.weights[seen]))
    return out
