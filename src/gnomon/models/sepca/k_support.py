"""The spectral k-support norm: its value, its dual norm and its proximal map, all closed form on singular values.

The norm is the gauge of the matrices of rank at most k in the Frobenius unit ball, so it is the tightest convex
penalty that knows rank and Frobenius norm together. Up to k = 1 (nuclear norm) and k = the number of singular values
(Frobenius norm) it lies between the two. With s the singular values,

    ||S||^2 = min over theta of sum s_i^2 / theta_i,   0 <= theta_i <= 1,   sum theta_i <= k

and its dual norm is the root of the sum of the k largest squared singular values.
"""

import numpy as np

from ..._types import Array
from ...numerics.linalg import top_eigenvalues


def capped_weights(s: Array, k: int, shift: float) -> Array:
    """Weights theta = clip(s / nu - shift, 0, 1) that sum to k (m,); all one for the positive s if there are at most k.

    The sum is piecewise linear in 1 / nu with two kinks for each s_i, so nu is exact: no iteration.

    Parameters
    ----------
    s : (m,)        not negative
    k : int         at least 1
    shift : float   at least 0

    Laws (each is a test): 0 <= theta <= 1; larger s, larger theta; scaling s changes nothing.
    """
    positive = s > 0
    if positive.sum() <= k:
        return positive.astype(np.float64)
    sizes = s[positive] / s.max()
    kinks = np.unique(np.concatenate([shift / sizes, (1.0 + shift) / sizes]))  # values of 1 / nu
    low, high = 0, len(kinks) - 1  # at the last kink all theta are one: their sum is above k
    while high - low > 1:
        middle = (low + high) // 2
        below = np.clip(sizes * kinks[middle] - shift, 0.0, 1.0).sum() < k
        low, high = (middle, high) if below else (low, middle)
    totals = [float(np.clip(sizes * kinks[i] - shift, 0.0, 1.0).sum()) for i in (low, high)]
    rise = totals[1] - totals[0]
    part = (k - totals[0]) / rise if rise > 0 else 1.0
    theta = np.zeros_like(s)
    theta[positive] = np.clip(sizes * (kinks[low] + part * (kinks[high] - kinks[low])) - shift, 0.0, 1.0)
    return theta


def squared_norm(s: Array, k: int) -> float:
    """Squared spectral k-support norm of a matrix with singular values s (m,)."""
    theta = capped_weights(s, k, 0.0)
    kept = theta > 0
    return float((s[kept] ** 2 / theta[kept]).sum())


def shrinkage(s: Array, k: int, strength: float) -> Array:
    """Factors theta / (theta + strength) (m,) of the proximal map of strength / 2 ||.||^2 on singular values s."""
    theta = capped_weights(s, k, strength)
    return np.asarray(theta / (theta + strength))


def squared_dual_norm(gram: Array, k: int) -> float:
    """Sum of the k largest squared singular values of R, from R'R or RR'."""
    return float(np.maximum(top_eigenvalues(gram, k), 0.0).sum())


def small_gram(S: Array) -> Array:
    """S'S or SS', whichever is smaller."""
    return np.asarray(S.T @ S if S.shape[0] >= S.shape[1] else S @ S.T)


def proximal_map(S: Array, k: int, strength: float) -> tuple[Array, float]:
    """Proximal point of strength / 2 ||.||^2 at S (n, m), and the squared norm of that point.

    It minimizes ||F - S||_F^2 / 2 + strength / 2 ||F||^2 over F: the singular vectors stay, singular values shrink.
    Costs one product S'S or SS' of the smaller side and its eigenvectors; no SVD of S.
    """
    values, vectors = np.linalg.eigh(small_gram(S))
    s = np.sqrt(np.maximum(values, 0.0))
    factors = shrinkage(s, k, strength)
    kept = factors > 0
    vectors = vectors[:, kept]
    inner = (vectors * factors[kept]) @ vectors.T
    proximal = S @ inner if S.shape[0] >= S.shape[1] else inner @ S
    return np.asarray(proximal), squared_norm((s * factors)[kept], k)


def top_left_vectors(F: Array, k: int) -> Array:
    """The k leading left singular vectors (n, k) of F; zero where F has a smaller rank."""
    U, s, _ = np.linalg.svd(F, full_matrices=False)
    Z = U[:, :k] * (s[:k] > 1e-12 * s[0])
    return np.pad(Z, ((0, 0), (0, k - Z.shape[1])))
