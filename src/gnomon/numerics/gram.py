"""Kernel matrices: centering, rank, and the map from kernel values to coordinates of the feature space.

A kernel is an inner product k(a, b) = <phi(a), phi(b)>. The rows of a kernel matrix are never features themselves: what
a linear model needs of phi are its coordinates on an orthonormal basis of the span of some reference rows.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpstrf, dtrtri
from scipy.sparse.linalg import LinearOperator, eigsh

from .._types import Array
from .linalg import symmetrize

ROUNDING = 1e-6  # of the largest eigenvalue or entry: what a kernel once held in single precision may be off
SUMMED = 32  # times the precision of a number: what the sums that make a kernel value may be off
PLAIN = 0.5  # of the least eigenvalue but zero, at most what counts as zero: then the rank is plain
NULL = 1e-13  # of the largest eigenvalue, times n: an eigenvalue no larger than this is zero


class FeatureMap(NamedTuple):
    """Coordinates of rows on an orthonormal basis of centered feature space: (k(row, references) - shift) basis."""

    shift: Array  # (m,)    mean kernel value of the training rows with each reference
    basis: Array  # (m, r)
    principal: bool = True  # whether coordinates of the training rows are principal components

    def coordinates(self, cross: Array) -> Array:
        """Coordinates (l, r) of rows given by their kernel values with the references (l, m)."""
        return np.asarray((cross - self.shift) @ self.basis)


def checked_gram(gram: Any, name: str) -> Array:
    """Return a kernel matrix of training rows in double precision; raise unless it is square and symmetric."""
    K = np.asarray(gram)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(
            f"{name} has shape {K.shape}; the kernel matrix of the training rows is square, (n_samples, n_samples)."
        )
    gap = K - K.T
    np.abs(gap, out=gap)
    if gap.max(initial=0.0) > ROUNDING * np.abs(K).max():
        i, j = np.unravel_index(int(gap.argmax()), K.shape)
        raise ValueError(
            f"{name} is not symmetric: entry ({i}, {j}) is {K[i, j]:.6g}, entry ({j}, {i}) is {K[j, i]:.6g}. "
            "Give a symmetric kernel matrix, for example (K + K.T) / 2."
        )
    del gap
    return symmetrize(K.astype(np.float64, copy=False))


def entry_error(K: Any) -> float:
    """Relative rounding error of the entries of K in their own precision."""
    return float(np.finfo(K.dtype).eps) if K.dtype.kind == "f" else float(np.finfo(np.float64).eps)


def center_gram(K: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Kernel matrix of training rows about their mean in feature space, and its means over rows (n,), for new rows.

    Means are weighted by `weights` (n,), if any. Source: Yu et al. 2006, eq. 27.
    """
    columns = weighted_mean(K, weights)
    centered = K - columns
    centered -= columns[:, None]
    centered += float(weighted_mean(columns, weights))
    return centered, columns


def weighted_mean(K: Array, weights: Array | None) -> Array:
    """Mean over the first axis, every row counted `weights` (n,) times."""
    return np.asarray(K.mean(axis=0) if weights is None else weights @ K / weights.sum())


def spectrum(K: Array, error: float = 0.0) -> tuple[Array, Array]:
    """Eigenvalues (r,) of a positive semi-definite matrix above rounding, falling, and their vectors (n, r).

    `error` is the size of rounding errors in the entries: it moves an eigenvalue by at most n times as much. Raises
    ValueError, naming the eigenvalue, when the smallest one is negative beyond that.
    """
    n = len(K)
    if n == 0:
        return np.zeros(0), np.zeros((0, 0))
    if not np.isfinite(K).all():
        raise ValueError("sums of kernel values are too large for a float: rescale X, or the kernel matrix.")
    values, vectors = eigh(K)
    top = max(float(values[-1]), 0.0)
    if values[0] < -max(ROUNDING * top, n * error):
        raise ValueError(
            f"the kernel matrix has the eigenvalue {values[0]:.6g} (the largest is {values[-1]:.6g}), so it is not "
            "positive semi-definite and no inner product gives it. Choose another kernel or other kernel parameters, "
            "or clip the negative eigenvalues of a precomputed matrix."
        )
    # the most negative eigenvalue shows the size of rounding errors that nobody declared
    kept = values > max(NULL * n * top, n * error, -float(values[0]))
    return values[kept][::-1], vectors[:, kept][:, ::-1]


def exact_map(K: Array, error: float = 0.0, weights: Array | None = None) -> tuple[FeatureMap, Array]:
    """Map by all training rows, and their coordinates T (n, r): T T' is the kernel matrix K (n, n), centered.

    The coordinates are principal components: T' diag(weights) T is diagonal, falling. The basis sums to zero over the
    rows, so the shift alone does what eq. 28 does. `weights` (n,) are positive: how often each row counts.
    """
    centered, columns, rows, error = _centered(K, error, weights)
    values, vectors = spectrum(centered, error)
    root = np.sqrt(values)
    return FeatureMap(columns, _summing_to_zero(rows * vectors / root, rows)), vectors * root / rows


def eliminated_map(K: Array, error: float = 0.0, weights: Array | None = None) -> tuple[FeatureMap, Array] | None:
    """The same map but for a rotation, by elimination, in a fraction of the time; T' diag(weights) T is not diagonal.

    None where K, centered, is not plainly of rank n - 1, so that only eigenvalues tell its rank.
    """
    n = len(K)
    centered, columns, rows, error = _centered(K, error, weights)
    if not np.isfinite(centered).all():
        return None
    least = max(NULL * n * _largest(centered, n), n * error)
    factor, order, rank, _ = dpstrf(centered.T, tol=least, lower=1, overwrite_a=True)
    if rank < n - 1:
        return None
    del centered
    for j in range(1, n):
        factor[:j, j] = 0.0
    inverse = dtrtri(factor[:-1, :-1], lower=1, overwrite_c=True)[0]
    of_inverse = LinearOperator((n - 1, n - 1), matvec=lambda v: inverse @ (v @ inverse), dtype=np.float64)
    if _largest(of_inverse, n - 1) * least >= PLAIN:  # by its inverse: that of K is no less, but for zero
        return None
    T = np.empty((n, n - 1))
    T[order - 1] = factor[:, :-1]
    del factor
    basis = np.zeros_like(T)
    basis[order[:-1] - 1] = inverse.T
    T /= rows
    basis *= rows
    return FeatureMap(columns, _summing_to_zero(basis, rows), principal=False), T


def _largest(A: Any, n: int) -> float:
    """The largest eigenvalue of a positive semi-definite matrix of size n > 2, to a hundredth."""
    start = np.random.default_rng(0).standard_normal(n)
    return float(eigsh(A, 1, v0=start, tol=1e-2, return_eigenvectors=False)[0])


def _centered(K: Array, error: float, weights: Array | None) -> tuple[Array, Array, Array, float]:
    """K about its mean, weighted; its means over rows; roots of the weights (n, 1) or 1; bound of an entry's error."""
    rows: Array = np.ones(1)
    error = _at_least_rounding(error, K)
    with np.errstate(over="ignore", invalid="ignore"):  # `spectrum` refuses what is not finite
        centered, columns = center_gram(K, weights)
        if weights is not None:
            rows = np.sqrt(weights)[:, None]
            centered *= rows * rows.T
    if weights is not None:
        error *= float(weights.mean())  # bounds the error of an eigenvalue by error times the sum of the weights
    return centered, columns, rows, error


def _summing_to_zero(basis: Array, rows: Array) -> Array:
    """A basis (n, r) without what it has of the null vector of the centered matrix, rows^2: (n, 1) or (1,)."""
    weights = rows**2
    basis -= weights * (basis.sum(axis=0) / (weights.sum() if len(rows) > 1 else len(basis)))
    return basis


def nystrom_map(
    cross: Array, among: Array, error: float = 0.0, weights: Array | None = None
) -> tuple[FeatureMap, Array]:
    """Map by m landmarks, and the coordinates T (n, r) of all rows in the span of the landmarks, centered.

    Memory n m. With every row a landmark it is the exact map.

    Parameters
    ----------
    cross : (n, m)     kernel values of all rows with the landmarks
    among : (m, m)     kernel values of the landmarks
    error : float      size of rounding errors in the entries, if beyond those of double precision
    weights : (n,)     how often each row counts, or None
    """
    values, vectors = spectrum(among, _at_least_rounding(error, among))
    shift = weighted_mean(cross, weights)
    half = vectors / np.sqrt(values)
    T = (cross - shift) @ half
    _, turn = spectrum(symmetrize(T.T @ (T if weights is None else T * weights[:, None])))
    return FeatureMap(shift, half @ turn), T @ turn


def lengths_outside(cross: Array, among: Array, squared_lengths: Array, error: float = 0.0) -> tuple[Array, int]:
    """Squared lengths (n,) of rows outside the span of m landmarks, and its dimension; arguments as in `nystrom_map`.

    `squared_lengths` (n,) are kernel values of the rows with themselves.
    """
    values, vectors = spectrum(among, _at_least_rounding(error, among))
    inside = cross @ (vectors / np.sqrt(values))
    return np.maximum(squared_lengths - (inside**2).sum(axis=1), 0.0), len(values)


def _at_least_rounding(error: float, K: Array) -> float:
    return max(error, SUMMED * entry_error(K) * float(np.abs(K).max(initial=0.0)))
