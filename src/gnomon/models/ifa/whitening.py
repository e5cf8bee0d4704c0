"""Rows in coordinates of mean 0 and covariance I, and the maps there and back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ..._types import Array, IntArray
from ...numerics.linalg import orthonormal_columns, symmetrise, top_eigh
from ...rows import RowSource
from ...solvers.compression import row_coordinates

RANK = 1e-12  # of the largest eigenvalue of the correlations: smaller ones are rounding
PRINCIPAL_RANK = 1e-10  # of the largest eigenvalue of the covariance, where principal components are asked for
NO_DIRECTION = "the rows of X do not vary in any column; there is no direction to project on."
SIDE = 1500  # up to this many rows or columns the shorter side of the table is decomposed whole
N_SPARE = 10
MAX_BLOCKS = 30
ACCURACY = 1e-8


class Whitened(NamedTuple):
    """u = (x - mean) whiten, x = mean + colour u on the span of the rows."""

    U: Array  # (d, n)        mean 0 and covariance I exactly
    mean: Array  # (p,)
    whiten: Array  # (p, d)
    colour: Array  # (p, d)
    log_volume: float  # of a unit cube of u, in units of X: half the log-determinant of colour' colour


def whiten_rows(source: RowSource, n_kept: int | None, generator: np.random.Generator) -> Whitened:
    """Whiten the rows of a source that is not read yet.

    Parameters
    ----------
    n_kept : int or None
        Leading principal components to keep; None keeps every direction in which the rows vary. Columns without
        variance, and columns that are combinations of others, add no direction.

    Raises
    ------
    ValueError
        Naming the way out, when so many directions are kept that some direction splits the rows at will, when the rows
        have fewer, or when the table is too wide to keep all.
    """
    n, p = source.shape
    d = p if n_kept is None else n_kept
    if d >= n - 1:
        raise ValueError(
            f"X has {n} rows, and {d} directions are kept: some direction then splits the rows into any two groups "
            f"without error. Keep fewer with pca_components, at most {max(n - 2, 0)} and better far fewer."
        )
    if n_kept is None:
        if p > SIDE:
            raise ValueError(f"X has {p} columns, and more than {SIDE} cannot all be kept; pass pca_components.")
        return _in_units(source, *_of_columns(source))
    values, B = _principal(source, n_kept, generator)
    rank = int((values > PRINCIPAL_RANK * max(float(values[0]), 0.0)).sum())
    if rank == 0:
        raise ValueError(NO_DIRECTION)
    if rank < n_kept:
        raise ValueError(f"pca_components={n_kept} must be at most the rank of X, {rank}.")
    root = np.sqrt(values[:n_kept])
    return _in_units(source, B[:, :n_kept] / root, B[:, :n_kept] * root)


def _of_columns(source: RowSource) -> tuple[Array, Array]:
    """Whitening and colouring (p, r) from the correlations of the columns, in standard units."""
    source.first_pass(np.zeros((source.shape[0], 0)))
    covariance = source.second_moment() / source.count
    source.set_energy(float(np.trace(covariance)) * source.count)
    covariance *= source.standardise() ** 2
    spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    varies = spread > 1e-13 * np.hypot(np.abs(source.mean) / source.scale, spread)
    safe = np.where(varies, spread, 1.0)
    correlations = symmetrise(covariance / safe / safe[:, None]) * np.outer(varies, varies)
    values, vectors = top_eigh(correlations, len(correlations))
    rank = int((values > RANK * len(values) * max(float(values[0]), 0.0)).sum())
    if rank == 0:
        raise ValueError(NO_DIRECTION)
    root = np.sqrt(values[:rank])
    return vectors[:, :rank] / root / safe[:, None], vectors[:, :rank] * root * safe[:, None]


def _in_units(source: RowSource, whiten: Array, colour: Array) -> Whitened:
    """Coordinates of the rows, made exactly white, and the maps in units of X."""
    U = np.empty((whiten.shape[1], source.shape[0]))

    def keep(T: Array, index: IntArray) -> tuple[Array, None]:
        U[:, index] = T.T
        return np.zeros((len(index), 0)), None

    source.sweep(whiten, keep)
    shift = U.mean(axis=1)
    U -= shift[:, None]
    factor = np.linalg.cholesky(U @ U.T / U.shape[1])  # near I: the eigenvalues above are exact to rounding
    U = solve_triangular(factor, U, lower=True)
    whiten = solve_triangular(factor, whiten.T, lower=True).T / source.scale
    mean = source.mean + colour @ shift * source.scale
    colour = colour @ factor
    volume = float(np.log(np.abs(np.diag(np.linalg.qr(colour, mode="r")))).sum()) + len(U) * float(np.log(source.scale))
    return Whitened(U, mean, whiten, colour * source.scale, volume)


def _principal(source: RowSource, k: int, generator: np.random.Generator) -> tuple[Array, Array]:
    """At least k leading eigenvalues of the covariance in standard units, falling, and orthonormal eigenvectors."""
    n, p = source.shape
    if n < p and n <= SIDE:
        found = row_coordinates(source)
        values = np.einsum("ij,ij->j", found.T, found.T) / n
        order = np.argsort(-values, kind="stable")
        return _padded(values[order], k), found.expand(np.eye(len(values))[:, order])
    source.first_pass(np.zeros((n, 0)))
    if p <= SIDE:
        covariance = source.second_moment() / source.count
        source.set_energy(float(np.trace(covariance)) * source.count)
        covariance *= source.standardise() ** 2
        values, B = top_eigh(covariance, p)
        return _padded(values, k), B
    source.standardise()
    return _few_passes(source, k, generator)


def _padded(values: Array, k: int) -> Array:
    return np.concatenate([values, np.zeros(max(0, k - len(values)))])


def _few_passes(source: RowSource, k: int, generator: np.random.Generator) -> tuple[Array, Array]:
    """Leading eigenvectors from a growing basis: each pass adds the residual of the current ones (block Davidson)."""
    p = source.shape[1]
    B = orthonormal_columns(source.gram_product(generator.standard_normal((p, k + N_SPARE))))
    G = source.gram_product(B)
    for _ in range(MAX_BLOCKS):
        values, C = top_eigh(symmetrise(B.T @ G), min(k + N_SPARE, B.shape[1]))
        leading = C[:, :k]
        residual = G @ leading - (B @ leading) * values[:k]
        if np.linalg.norm(residual) <= ACCURACY * np.linalg.norm(values[:k]):
            break
        extra = orthonormal_columns(residual, B)
        if extra.shape[1] == 0:
            break
        if B.shape[1] + extra.shape[1] > 12 * (k + N_SPARE):
            B, G = B @ C, G @ C
        B, G = np.hstack([B, extra]), np.hstack([G, source.gram_product(extra)])
    values, C = top_eigh(symmetrise(B.T @ G), min(k, B.shape[1]))
    return _padded(values / source.count, k), B @ C
