"""Rows in coordinates of mean 0 and covariance I, and the maps there and back."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular

from ..._types import Array
from ...numerics.linalg import orthonormal_columns, rank_of, symmetrize, top_eigh
from ...rows.contract import Rows
from ...rows.standard import StandardRows
from .likelihood import Rows as LabeledRows

RANK = 1e-12  # of the largest eigenvalue of the correlations: smaller ones are rounding
ALONE = 1e-6  # that a squared length may be below the largest there can be
DOUBTFUL = 1e-10  # of the square of its mean: a variance below is rounding where sums were not about means
PRINCIPAL_RANK = 1e-10  # of the largest eigenvalue of the covariance, where principal components are asked for
NO_DIRECTION = "the rows of X do not vary in any column; there is no direction to project on."
SIDE = 1500  # up to this many rows or columns the shorter side of the table is decomposed whole
N_SPARE = 10
MAX_BLOCKS = 30
ACCURACY = 1e-8


class Whitened(NamedTuple):
    """u = (x - mean) whiten / scale, x = mean + scale unwhiten u on the span of the rows.

    Where every direction is kept, `whiten` is the symmetric root of the inverse correlations over the deviations of
    the columns: it moves no more than the rows do, which eigenvectors of correlations that tie would not.
    """

    rows: StandardRows
    U: Array  # (d, n)        mean 0 and covariance I exactly
    mean: Array  # (p,)
    whiten: Array  # (p, d)   in standard units, so that no square of it underflows
    unwhiten: Array  # (p, d)
    scale: float  # units of X per standard unit
    log_volume: float  # of a unit cube of u, in units of X: half the log-determinant of unwhiten' unwhiten scale^2
    residual: float  # of the directions, relative: zero unless they were iterated

    def labeled(self, log_pl: Array, n_tied: int = 0) -> LabeledRows:
        """The rows with labels; see `likelihood.Rows`."""
        U, n = self.U, self.U.shape[1]
        A = self.unwhiten / np.maximum(np.linalg.norm(self.unwhiten, axis=1), np.finfo(float).tiny)[:, None]
        lengths = np.einsum("dn,dn->n", (A.T @ A) @ U, U) / len(A)
        alone = np.einsum("dn,dn->n", U, U) > (n - 1) * (1.0 - ALONE)
        return LabeledRows(U, log_pl, n_tied, lengths, alone)


def whiten_rows(rows: Rows, n_kept: int | None, generator: np.random.Generator) -> Whitened:
    """Whiten complete rows of weight one.

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
    n, p = rows.shape
    d = p if n_kept is None else n_kept
    if d >= n - 1:
        raise ValueError(
            f"X has {n} rows, and {d} directions are kept: some direction then splits the rows into any two groups "
            f"without error. Keep fewer with pca_components, at most {max(n - 2, 0)} and better far fewer."
        )
    if n_kept is None and p > SIDE:
        raise ValueError(f"X has {p} columns, and more than {SIDE} cannot all be kept; pass pca_components.")
    standard = rows.standard(rows.summarize(second=p <= SIDE and (n_kept is None or n >= p or n > SIDE)))
    if n_kept is None:
        return _white(standard, *_of_columns(standard))
    values, B, residual = _principal(standard, n_kept, generator)
    rank = rank_of(values, PRINCIPAL_RANK)
    if rank == 0:
        raise ValueError(NO_DIRECTION)
    if rank < n_kept:
        raise ValueError(f"pca_components={n_kept} must be at most the rank of X, {rank}.")
    root = np.sqrt(values[:n_kept])
    return _white(standard, B[:, :n_kept] / root, B[:, :n_kept] * root, residual)


def _covariance(standard: StandardRows) -> Array:
    second = standard.summary.standard_groups()[0].xx
    assert second is not None
    return second / standard.weight


def _with_faint(standard: StandardRows, covariance: Array) -> Array:
    """The covariance, columns that vary far less than their mean is large read once more, about their means."""
    at = np.flatnonzero(np.diag(covariance) <= DOUBTFUL * (standard.mean / standard.scale) ** 2)
    if len(at):
        covariance[:, at] = standard.gram_product(np.eye(len(covariance))[:, at]) / standard.weight
        covariance[at] = covariance[:, at].T
    return covariance


def _of_columns(standard: StandardRows) -> tuple[Array, Array]:
    """Whitening (p, r) and the way back from the correlations of the columns, in standard units."""
    covariance = _with_faint(standard, _covariance(standard))
    std = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    varies = std > 1e-13 * np.hypot(np.abs(standard.mean) / standard.scale, std)
    safe = np.where(varies, std, 1.0)
    correlations = symmetrize(covariance / safe / safe[:, None]) * np.outer(varies, varies)
    values, vectors = top_eigh(correlations, len(correlations))
    rank = rank_of(values, RANK * len(values))
    if rank == 0:
        raise ValueError(NO_DIRECTION)
    root, vectors = np.sqrt(values[:rank]), vectors[:, :rank]
    turn = vectors.T if rank == len(vectors) else np.eye(rank)  # back to the axes of the columns: the symmetric root
    return vectors / root @ turn / safe[:, None], vectors * root @ turn * safe[:, None]


def _white(standard: StandardRows, whiten: Array, unwhiten: Array, residual: float = 0.0) -> Whitened:
    """Coordinates of the rows, made exactly white."""
    U = np.ascontiguousarray(standard.times(whiten).T)
    shift = U.mean(axis=1)
    U -= shift[:, None]
    factor = np.linalg.cholesky(U @ U.T / U.shape[1])  # near I: the eigenvalues above are exact to rounding
    U = solve_triangular(factor, U, lower=True)
    whiten = solve_triangular(factor, whiten.T, lower=True).T
    mean = standard.mean + unwhiten @ shift * standard.scale
    unwhiten = unwhiten @ factor
    volume = log_volume(unwhiten) + len(U) * float(np.log(standard.scale))
    return Whitened(standard, U, mean, whiten, unwhiten, standard.scale, volume, residual)


def log_volume(A: Array) -> float:
    """Log volume that the columns of A (p, r) span; largest rows first, so that small rows keep their digits."""
    order = np.argsort(-np.abs(A).max(axis=1), kind="stable")
    R = qr(A[order], mode="r", pivoting=True)[0]
    return float(np.log(np.abs(np.diag(R))).sum())


def _principal(standard: StandardRows, k: int, generator: np.random.Generator) -> tuple[Array, Array, float]:
    """At least k leading eigenvalues of the covariance in standard units, falling, eigenvectors, their residual."""
    n, p = standard.shape
    if n < p and n <= SIDE:
        found = standard.coordinates()
        values = np.einsum("ij,ij->j", found.T, found.T) / n
        order = np.argsort(-values, kind="stable")[:k]
        return _padded(values[order], k), found.expand(np.eye(len(values))[:, order]), 0.0
    if p <= SIDE:
        values, B = top_eigh(_covariance(standard), p)
        return _padded(values, k), B, 0.0
    return _few_reads(standard, k, generator)


def _padded(values: Array, k: int) -> Array:
    return np.concatenate([values, np.zeros(max(0, k - len(values)))])


def _few_reads(standard: StandardRows, k: int, generator: np.random.Generator) -> tuple[Array, Array, float]:
    """Leading eigenvectors from a growing basis: each read adds the residual of the current ones (block Davidson)."""
    p = standard.shape[1]
    B = orthonormal_columns(standard.gram_product(generator.standard_normal((p, k + N_SPARE))))
    G = standard.gram_product(B)
    for step in range(MAX_BLOCKS):
        values, C = top_eigh(symmetrize(B.T @ G), min(k + N_SPARE, B.shape[1]))
        leading, kept = C[:, :k], values[:k]
        missed = G @ leading - (B @ leading) * kept
        residual = float(np.linalg.norm(missed) / max(np.linalg.norm(kept), np.finfo(float).tiny))
        extra = orthonormal_columns(missed, B)
        if residual <= ACCURACY or extra.shape[1] == 0 or step == MAX_BLOCKS - 1:
            break
        if B.shape[1] + extra.shape[1] > 12 * (k + N_SPARE):
            B, G = B @ C, G @ C
        B, G = np.hstack([B, extra]), np.hstack([G, standard.gram_product(extra)])
    return _padded(kept / standard.weight, k), B @ leading, residual
