"""Rows in an orthonormal basis: exact where a side of the table is short, else the leading directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._types import Array, IntArray
from ..numerics.linalg import orthonormal_columns, symmetrise, top_eigh
from ..numerics.one_thread import one_thread
from ..rows import RowSource
from .compression import row_coordinates

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


def reduce_rows(source: RowSource, extra: Array, lengths: Any, generator: np.random.Generator) -> Reduced:
    """Reduce rows to coordinates.

    Parameters
    ----------
    source : RowSource
        Not read yet.
    extra : (n, m)
        Sums of rows X'extra that a basis of leading directions holds as well: class means, as one-of-C columns.
    lengths : callable
        lengths(mean, scale) -> squared length (n,) of every centred row; used where the basis is not exact.
    generator : numpy.random.Generator
        For the random block of a large table.
    """
    n, p = source.shape
    if n <= p and n <= EXACT_SIDE:
        found = row_coordinates(source)
        return Reduced(found.T, np.zeros(n), p, found.expand, True)
    sums = source.first_pass(extra)
    sums = sums * source.standardise()
    if p <= EXACT_SIDE:
        values, B = top_eigh(source.second_moment(), p)
        rank = int((values > 1e-13 * p * max(float(values[0]), 0.0)).sum())
        B = B[:, : min(rank, max(N_LEADING, ENTRIES // n))]
        exact = B.shape[1] == rank
    else:
        B, exact = _leading_directions(source, sums, generator), False
    T = coordinates(source, B)
    outside = np.zeros(n)
    if not exact:
        outside = np.maximum(lengths(source.mean, source.scale) - np.einsum("ij,ij->i", T, T), 0.0)
    return Reduced(T, outside, p, lambda C: B @ C, exact)


def coordinates(source: RowSource, B: Array) -> Array:
    """Centred rows times B (n, r); one pass."""
    T = np.empty((source.shape[0], B.shape[1]))

    def step(block: Array, index: IntArray) -> tuple[Array, None]:
        T[index] = block
        return np.zeros((len(index), 0)), None

    source.sweep(B, step)
    return T


def _leading_directions(source: RowSource, sums: Array, generator: np.random.Generator) -> Array:
    """Leading principal directions by subspace iteration from a random block, then the sums of rows."""
    with one_thread(when=source.own_threads):
        Q = orthonormal_columns(generator.standard_normal((source.shape[1], N_LEADING + N_SPARE)))
        for _ in range(POWER_PASSES - 1):
            Q = orthonormal_columns(source.gram_product(Q))
        product = source.gram_product(Q)
        vectors = top_eigh(symmetrise(Q.T @ product), min(N_LEADING, Q.shape[1]))[1]
        leading = orthonormal_columns(product @ vectors)
        return np.hstack([leading, orthonormal_columns(sums, leading)])
