"""Rows in an orthonormal basis: exact where a side of the table is short, else the leading directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._types import Array
from ..numerics.linalg import orthonormal_columns, symmetrise, top_eigh
from ..rows.contract import Rows
from ..rows.standard import StandardRows
from ..rows.threads import one_thread

EXACT_SIDE = 1500  # up to this many rows or columns the basis spans all rows
ENTRIES = 1 << 25  # numbers in T at most, as long as N_LEADING directions fit
N_LEADING = 120  # directions kept of a large table
N_SPARE = 20  # further ones that are iterated and dropped
POWER_PASSES = 3


class Reduced(NamedTuple):
    """Rows in an orthonormal basis, centred, in standard units, and what lies outside it."""

    T: Array  # (n, r)
    outside: Array  # (n,) squared length outside the basis, zero where the basis is exact
    n_features: int
    expand: Callable[[Array], Array]  # coordinates (r, m) -> features (p, m)
    exact: bool
    standard: StandardRows


def reduce_rows(rows: Rows, extra: Array, generator: np.random.Generator) -> Reduced:
    """Reduce rows to coordinates.

    Parameters
    ----------
    rows : Rows
    extra : (n, m)
        Sums of rows X'extra that a basis of leading directions holds as well: class means, as one-of-C columns.
    generator : numpy.random.Generator
        For the random block of a large table.
    """
    n, p = rows.shape
    if n <= p and n <= EXACT_SIDE:
        standard = rows.standard(rows.summarise())
        found = standard.coordinates()
        return Reduced(found.T, np.zeros(n), p, found.expand, True, standard)
    summary = rows.summarise(extra, second=p <= EXACT_SIDE)
    (sums,) = summary.standard_groups()
    standard = rows.standard(summary)
    if sums.xx is not None:
        values, B = top_eigh(sums.xx, p)
        rank = int((values > 1e-13 * p * max(float(values[0]), 0.0)).sum())
        B = B[:, : min(rank, max(N_LEADING, ENTRIES // n))]
        exact = B.shape[1] == rank
    else:
        B, exact = _leading_directions(standard, sums.xy, generator), False
    if exact:
        return Reduced(standard.times(B), np.zeros(n), p, B.__matmul__, True, standard)
    projected = standard.project(B)
    return Reduced(projected.gather(), projected.gather("outside"), p, B.__matmul__, False, standard)


def _leading_directions(rows: StandardRows, sums: Array, generator: np.random.Generator) -> Array:
    """Leading principal directions by subspace iteration from a random block, then the sums of rows."""
    with one_thread(when=rows.rows.own_threads):
        Q = orthonormal_columns(generator.standard_normal((rows.shape[1], N_LEADING + N_SPARE)))
        for _ in range(POWER_PASSES - 1):
            Q = orthonormal_columns(rows.gram_product(Q))
        product = rows.gram_product(Q)
        vectors = top_eigh(symmetrise(Q.T @ product), min(N_LEADING, Q.shape[1]))[1]
        leading = orthonormal_columns(product @ vectors)
        return np.hstack([leading, orthonormal_columns(sums, leading)])
