"""Rows grouped by what they observe, and sums over groups."""

from typing import NamedTuple

import numpy as np

from .._types import Array, BoolArray, IntArray

BITS = 52  # that a whole number in double precision holds
FEW = 12  # outputs whose sets are counted without sorting


class OutputSets(NamedTuple):
    """The distinct sets of observed outputs and which row has which."""

    sets: BoolArray  # (g, q)
    of_row: IntArray  # (m,)


def output_sets(observed: BoolArray) -> OutputSets:
    """Find the distinct rows of `observed` (m, q)."""
    if observed.shape[1] == 0 or len(observed) == 0:
        return OutputSets(np.zeros((1, observed.shape[1]), dtype=bool), np.zeros(len(observed), dtype=np.intp))
    if observed.shape[1] > BITS:
        sets, of_row = np.unique(observed, axis=0, return_inverse=True)
        return OutputSets(sets, of_row.reshape(-1).astype(np.intp))
    powers = 2.0 ** np.arange(observed.shape[1])[::-1]  # codes rise in the order of the sets
    if observed.shape[1] > FEW:
        codes = observed @ powers
        _, first, of_row = np.unique(codes, return_index=True, return_inverse=True)
        return OutputSets(observed[first], of_row.astype(np.intp))
    short = powers.astype(np.uint16)
    codes = np.einsum("ij,j->i", observed, short)
    used = np.bincount(codes) > 0
    return OutputSets(np.flatnonzero(used)[:, None] & short > 0, (np.cumsum(used) - 1)[codes])


def sums_by_group(A: Array, of_row: IntArray, n_groups: int) -> Array:
    """Sums of A (m, c) over the rows of each group (n_groups, c)."""
    counts = np.bincount(of_row, minlength=n_groups)
    used, starts = np.flatnonzero(counts), np.cumsum(counts) - counts
    out = np.zeros((n_groups, A.shape[1]))
    out[used] = np.add.reduceat(A[np.argsort(of_row, kind="stable")], starts[used])
    return out


def joined(tt: Array, ty: Array, yy: Array) -> Array:
    """The symmetric matrix [[tt, ty], [ty', yy]]; `np.block` takes ten times as long for small ones."""
    r = len(tt)
    out = np.empty((r + len(yy), r + len(yy)))
    out[:r, :r], out[:r, r:], out[r:, :r], out[r:, r:] = tt, ty, ty.T, yy
    return out
