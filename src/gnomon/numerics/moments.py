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
