"""Small dense linear algebra with the conventions every model shares."""

from contextlib import suppress
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, eigh
from scipy.linalg.lapack import dposv, dpotrf, dpotri, dpotrs

from .._types import Array
from ..rows.threads import tall_product
from .folds import SAME

LITTLE, MANY = 12, 128  # size of matrices, and their number, from which elimination in step is faster
SEVERAL = 60  # the same of inverses alone
AT_ONCE = 1 << 15  # numbers of matrices that stay in cache
SMALL = 64  # rows of a matrix up to which all eigenvalues take no longer than some


def symmetrize(S: Array) -> Array:
    """Average a square matrix with its transpose."""
    return np.asarray((S + S.T) / 2.0)


def inverse_logdet(S: Array) -> tuple[Array, float]:
    """Inverse and log-determinant of a positive definite matrix, by Cholesky."""
    factor, failed = dpotrf(S, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    half, _ = dpotri(factor, lower=1)  # the lower triangle; the upper one is zero
    inverse = half + half.T
    inverse.flat[:: len(S) + 1] *= 0.5
    return np.asarray(inverse), 2.0 * float(np.log(factor.diagonal()).sum())


class BatchInverse(NamedTuple):
    """Inverses and log-determinants of a batch of positive definite matrices."""

    inverse: Array  # (m, k, k)
    log_det: Array  # (m,)


def batch_inverse(S: Array) -> BatchInverse:
    """Invert positive definite matrices (m, k, k), with log-determinants by Cholesky; many little ones in step."""
    if len(S) >= MANY and S.shape[1] <= LITTLE:
        parts = _in_step(S)
        return parts[0] if len(parts) == 1 else BatchInverse(*map(np.concatenate, zip(*parts, strict=True)))
    factors = np.linalg.cholesky(S)
    log_det = 2.0 * np.log(np.einsum("maa->ma", factors)).sum(axis=1)
    return BatchInverse(np.asarray(np.linalg.inv(S)), np.asarray(log_det))


def inverses(S: Array) -> Array:
    """Inverses of positive definite matrices (m, k, k), of many little ones by the same steps as `batch_inverse`."""
    if len(S) >= SEVERAL and S.shape[1] <= LITTLE:
        try:
            return np.concatenate([part.inverse for part in _in_step(S)])
        except np.linalg.LinAlgError:  # rounding has made one indefinite: with pivoting
            pass
    return np.asarray(np.linalg.inv(S))


def _in_step(S: Array) -> list[BatchInverse]:
    size = max(1, AT_ONCE // S.shape[1] ** 2)
    return [_eliminated(S[start : start + size]) for start in range(0, len(S), size)]


def _eliminated(S: Array) -> BatchInverse:
    """The same by Gauss-Jordan elimination, each step for all matrices: LAPACK takes longer to be called for each."""
    A = np.array(S.transpose(1, 2, 0), order="C")  # (k, k, m), a copy
    pivots, product = np.empty(A.shape[1:]), np.empty_like(A)
    for i in range(len(A)):
        pivots[i] = A[i, i]
        row = A[i] / pivots[i]
        np.multiply(A[:, i, None], row, out=product)
        A -= product
        A[i], A[:, i] = row, row
        A[i, i] = -1.0 / pivots[i]
    if not (pivots > 0.0).all():
        raise np.linalg.LinAlgError("a matrix is not positive definite")
    return BatchInverse(-A.transpose(2, 0, 1), np.log(pivots).sum(axis=0))


def solve_positive(S: Array, B: Array) -> Array:
    """Solve S X = B for a positive definite S, with pivoting where rounding has made it indefinite."""
    _, X, failed = dposv(S, B, lower=1)
    return np.asarray(np.linalg.solve(S, B) if failed else X)


class PositiveSolver:
    """Solve S x = b for one positive definite S and several b, with pivoting where rounding has made S indefinite."""

    def __init__(self, S: Array) -> None:
        self.S = S
        self.factor, failed = dpotrf(S.T, lower=1, clean=0)  # in the order of LAPACK
        self.regular = failed == 0

    def __call__(self, b: Array) -> Array:
        """The solution of one right-hand side."""
        return np.asarray(dpotrs(self.factor, b, lower=1)[0] if self.regular else np.linalg.solve(self.S, b))


def top_eigh(S: Array, k: int) -> tuple[Array, Array]:
    """Return the k largest eigenvalues, falling, and their eigenvectors (columns) of a symmetric matrix."""
    size = len(S)
    k = min(k, size)
    if k < size and size > SMALL:
        with suppress(LinAlgError):  # of LAPACK, at some spectra of almost equal values; the other way has no such gap
            values, vectors = eigh(S, subset_by_index=[size - k, size - 1])
            return values[::-1], vectors[:, ::-1]
    values, vectors = np.linalg.eigh(S)
    return values[: -k - 1 : -1], vectors[:, : -k - 1 : -1]


def top_eigenvalues(S: Array, k: int) -> Array:
    """The k largest eigenvalues of a symmetric matrix, falling."""
    size = len(S)
    if k < size and size > SMALL:
        with suppress(LinAlgError):  # as above
            return np.asarray(eigh(S, eigvals_only=True, subset_by_index=[size - k, size - 1])[::-1])
    return np.asarray(np.linalg.eigvalsh(S)[::-1][:k])


def parting_none(values: Array, k: int) -> int:
    """The least number from k on at which falling values are cut between none that are the same but for rounding."""
    if k >= len(values):
        return len(values)
    same = values[k - 1 : -1] - values[k:] <= SAME * abs(float(values[0]))
    return k + int(np.argmin(np.append(same, False)))


def positive_part(S: Array) -> Array:
    """The nearest positive semidefinite matrix to a symmetric one, or to each of several."""
    values, vectors = np.linalg.eigh(S)
    return np.asarray((vectors * np.maximum(values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def rank_of(sizes: Array, share: float, least: float = 0.0) -> int:
    """How many eigenvalues or singular values are above a share of the largest, or of `least` where that is more."""
    return int((sizes > share * max(float(sizes.max(initial=0.0)), least)).sum())


def kronecker_sum(C: Array, M: Array) -> Array:
    """Sum of the Kronecker products of C (n, h, h) and M (n, m, m); (h m, h m)."""
    (n, h, _), m = C.shape, M.shape[1]
    summed = C.reshape(n, h * h).T @ M.reshape(n, m * m)
    return np.asarray(summed.reshape(h, h, m, m).transpose(0, 2, 1, 3).reshape(h * m, h * m))


def orthonormal_columns(D: Array, B: Array | None = None, *, drop: float = 1e-7, outside: bool = False) -> Array:
    """Orthonormal basis of the columns of D, orthogonal to the orthonormal columns of B.

    Directions whose size is below `drop` (at least 1e-7) times the largest are left out, so that rounding noise is
    never scaled up to unit length. Works on k x k inner products, twice: the first round may lose half the digits of
    small directions, the second starts from nearly orthonormal ones and loses none. `outside` says that D has been
    projected off B before.
    """
    largest = float(max(D.max(initial=0.0), -D.min(initial=0.0)))
    if largest == 0.0:
        return D[:, :0]
    Q = D / largest if outside else _outside(D / largest, B)
    for threshold in (max(drop, 1e-7), 0.5):  # a unit column that halves when projected again was inside B
        values, V = top_eigh(symmetrize(Q.T @ Q), Q.shape[1])
        reference = values[0] if threshold < 0.5 else 1.0
        kept = values > max(threshold**2 * reference, np.finfo(float).tiny)
        Q = tall_product(Q, V[:, kept] / np.sqrt(values[kept]))
        if Q.shape[1] == 0:
            break
        if threshold < 0.5:
            Q = _outside(Q, B)
    return np.asarray(Q)


def _outside(D: Array, B: Array | None) -> Array:
    return D if B is None else D - tall_product(B, tall_product(B.T, D))


def sign_of_columns(W: Array) -> Array:
    """Signs (k,) that make the largest entry of every column positive; the first one among near ties decides."""
    size = np.abs(W)
    near = size >= (1.0 - 1e-6) * size.max(axis=0, initial=0.0)
    first = near.argmax(axis=0)
    return np.where(W[first, np.arange(W.shape[1])] < 0, -1.0, 1.0)


def rotation_toward(W: Array, target: Array) -> Array:
    """The rotation R (k, k) for which W R is closest to `target`: orthogonal Procrustes."""
    left, _, right = np.linalg.svd(W.T @ target)
    return np.asarray(left @ right)


def canonical_rotation(W_scaled: Array, W_sign: Array | None = None) -> Array:
    """Rotation R (k, k) after which the columns of W are ordered by the variance they explain and signs are fixed.

    `W_scaled` (m, k) holds loadings divided by their noise standard deviations, so that W'W is diagonal afterwards with
    falling entries; the largest entry in each column of `W_sign` R (default `W_scaled` R) is positive.
    """
    _, rotation = top_eigh(symmetrize(W_scaled.T @ W_scaled), W_scaled.shape[1])
    signs = sign_of_columns((W_scaled if W_sign is None else W_sign) @ rotation)
    return np.asarray(rotation * signs)


def guided_rotation(x: Array, y: Array, n_guided: int, W_sign: Array) -> Array:
    """Rotation R (k, k) after which y loads on the first n_guided dimensions alone, as it does before.

    Those that explain y come first, ordered by how much of it they explain; all others, the private ones among them,
    which nothing tells from a guided one without y, by x.
    `x` (p, k) and `y` (q, k) are loadings divided by their noise standard deviations; signs as in `canonical_rotation`.
    """
    k, g = x.shape[1], n_guided
    values, by_y = top_eigh(y[:, :g].T @ y[:, :g], g)
    rank = rank_of(values, 1e-10, 1e-300) if len(y) else 0
    R = np.eye(k)
    R[:g, :g] = by_y
    R[:, rank:] = R[:, rank:] @ canonical_rotation(x @ R[:, rank:])
    return np.asarray(R * sign_of_columns(W_sign @ R))
