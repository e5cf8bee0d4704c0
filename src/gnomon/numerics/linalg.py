"""Small dense linear algebra with the conventions every model shares."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve, eigh

from .._types import Array


def symmetrise(S: Array) -> Array:
    """Average a square matrix with its transpose."""
    return np.asarray((S + S.T) / 2.0)


def inverse_logdet(S: Array) -> tuple[Array, float]:
    """Inverse and log-determinant of a positive definite matrix, by Cholesky."""
    factor = np.linalg.cholesky(S)
    inverse = cho_solve((factor, True), np.eye(len(S)))
    return np.asarray(inverse), 2.0 * float(np.log(np.diag(factor)).sum())


def top_eigh(S: Array, k: int) -> tuple[Array, Array]:
    """Return the k largest eigenvalues, falling, and their eigenvectors (columns) of a symmetric matrix."""
    size = len(S)
    k = min(k, size)
    values, vectors = eigh(S, subset_by_index=[size - k, size - 1]) if k < size else eigh(S)
    return values[::-1], vectors[:, ::-1]


def orthonormal_columns(D: Array, B: Array | None = None, *, drop: float = 1e-10) -> Array:
    """Orthonormal basis of the columns of D, orthogonal to the orthonormal columns of B.

    Directions whose size is below `drop` times the largest are left out, so that rounding noise is never scaled up to
    unit length. Columns are projected off B twice before and once after the factorisation.
    """
    if D.shape[1] == 0:
        return D
    if B is not None:
        D = D - B @ (B.T @ D)
        D = D - B @ (B.T @ D)
    U, size, _ = np.linalg.svd(D, full_matrices=False)
    Q = U[:, size > max(drop * size[0], np.finfo(float).tiny)] if size[0] > 0 else U[:, :0]
    if B is not None and Q.shape[1]:
        Q = Q - B @ (B.T @ Q)
        lengths = np.linalg.norm(Q, axis=0)
        Q = np.linalg.qr(Q[:, lengths > 0.5])[0]  # a column that mostly vanishes was inside B up to rounding
    return np.asarray(Q)


def sign_of_columns(W: Array) -> Array:
    """Signs (k,) that make the largest entry of every column positive; the first one among near ties decides."""
    size = np.abs(W)
    near = size >= (1.0 - 1e-6) * size.max(axis=0, initial=0.0)
    first = near.argmax(axis=0)
    return np.where(W[first, np.arange(W.shape[1])] < 0, -1.0, 1.0)


def canonical_rotation(W_scaled: Array, W_sign: Array | None = None) -> Array:
    """Rotation R (k, k) after which the columns of W are ordered by the variance they explain and signs are fixed.

    `W_scaled` (m, k) holds loadings divided by their noise standard deviations, so that W'W is diagonal afterwards with
    falling entries; the largest entry in each column of `W_sign` R (default `W_scaled` R) is positive.
    """
    _, rotation = top_eigh(symmetrise(W_scaled.T @ W_scaled), W_scaled.shape[1])
    signs = sign_of_columns((W_scaled if W_sign is None else W_sign) @ rotation)
    return np.asarray(rotation * signs)
