"""How far a projection may be from that of the row without noise, where entries are missing and PPCA has filled them.

Entries o are observed, m are not. With loadings W, noise variance s2 and M = W_o'W_o + s2 I, what fills m is
W_m M^-1 W_o' x_o, so that noise moves the projection by (D_o + W_o K)'e_o with K = M^-1 W_m'D_m, and what the observed
entries do not tell of the scores by s2 K'z, z ~ N(0, I).

What fills gaps has no noise of its own, and has learned some of that of the others: filled rows show less of it than
there is.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._types import Array, BoolArray
from ._noise_of_map import MapNoise, Noise, n_signal

LEAST_FREE = 0.1  # share of the observed entries that a PPCA leaves to the noise
MOST_NOISE = 4.0  # times what filled rows show


def moved_by_gaps(
    noise: MapNoise, components: Array, ppca: Any, units: Array, missing: BoolArray, left_open: Array | None = None
) -> Array:
    """Covariances (n, k, k) of new rows that miss entries (n, p), where `ppca` fills them in units (p,) of columns.

    What it leaves open of missing entries beside that is `left_open` (p,), in squares of these units.
    """
    W, D = np.asarray(ppca.components_, dtype=np.float64).T, (np.asarray(components, dtype=np.float64) * units).T
    q, k, s2 = W.shape[1], D.shape[1], float(ppca.noise_variance_)
    patterns, place = np.unique(missing, axis=0, return_inverse=True)
    gaps, filled = patterns.astype(float), 1.0 - patterns
    M = _summed(filled, W, W) + s2 * np.eye(q)
    K = np.linalg.solve(M, _summed(gaps, W, D))
    both, variances = np.hstack([noise.moving * units[:, None], W]), noise.variances / units**2
    share = np.concatenate([np.broadcast_to(np.eye(k), (len(K), k, k)), K], axis=1)
    turned = share.transpose(0, 2, 1)
    moves = turned @ _summed(filled, both * variances[:, None], both) @ share
    if left_open is not None:
        moves += _summed(gaps, D * left_open[:, None], D)
    return np.asarray((moves + s2**2 * (K.transpose(0, 2, 1) @ K))[place.ravel()])


def noise_with_gaps(noise: Noise, ppca: Any, fit: Callable[[int, Array], Any], X: Array, units: Array) -> Noise:
    """Noise of rows X (n, p) that miss entries, of which filled rows show less than there is.

    There is that of a PPCA with as many components as stand out of the noise, `fit(k, X)`, over the degrees of freedom
    that these leave; `ppca` has enough of them, and more have taken noise for signal. Both are of rows in `units` (p,)
    of columns.
    """
    (n, p), X = X.shape, X / units
    n_seen, W, s2 = np.count_nonzero(~np.isnan(X)), np.asarray(ppca.components_, dtype=np.float64), ppca.noise_variance_
    rows, squares = n_seen / p, np.linalg.eigvalsh(W @ W.T)[::-1] + s2
    squares = squares[: max(int(rows) - 2, 0)]
    k = n_signal(rows * squares, float(rows * ((W**2).sum() + p * s2)), rows, p)
    learned = fit(k, X) if 0 < k < p else None
    if learned is None:
        return noise
    free = max(n_seen - k * (n + p - k) - (p - k), LEAST_FREE * n_seen)
    found = float(learned.noise_variance_) * n_seen * (p - k) / free
    times = float(np.clip(found / (noise.variances * (noise.units[:, 0] / units) ** 2).sum(), 1.0, MOST_NOISE))
    return noise._replace(variances=times * noise.variances, total=times * noise.total)


def widened(covs: Array, complete: Array, with_gaps: Array, *, linear: bool) -> Array:
    """Covariances (n, k, k) of rows, once their gaps count: those of a linear map were `complete` (k, k).

    Of a map that is not linear they are as much wider as those of the linear one of the same rows are in the mean.
    """
    if linear:
        return np.asarray(covs + with_gaps - complete)
    times = np.einsum("ij,nji->n", np.linalg.pinv(complete), with_gaps) / len(complete)
    return np.asarray(covs * times[:, None, None])


def _summed(masks: Array, A: Array, B: Array) -> Array:
    """Sums over the columns in each mask (n, p) of a_j b_j'."""
    return (masks @ (A[:, :, None] * B[:, None, :]).reshape(len(A), -1)).reshape(-1, A.shape[1], B.shape[1])
