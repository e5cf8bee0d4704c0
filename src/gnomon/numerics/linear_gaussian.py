"""The linear-Gaussian latent variable model of two views: conditioning row by row, and densities.

z ~ N(0, I),  x = W_x z + m_x + e_x,  y = W_y z + m_y + e_y, with isotropic noise on x and one variance per output on y.
x is given in an orthonormal basis of r out of p directions; outside it there is only noise, whose energy is known.
"""

from typing import Any, NamedTuple

import numpy as np

from .._types import Array, BoolArray, IntArray
from .linalg import batch_inverse, inverse_logdet, solve_positive, symmetrize
from .moments import OutputSets

LOG_2PI = float(np.log(2.0 * np.pi))


class Params(NamedTuple):
    """Parameters of the two-view model."""

    W_x: Array  # (r, k)
    m_x: Array  # (r,)
    x_noise_var: float
    W_y: Array  # (q, k)
    m_y: Array  # (q,)
    y_noise_var: Array  # (q,)


class Limits(NamedTuple):
    """Smallest noise variances, in standard units."""

    x_floor: float
    y_floor: float


class FromX(NamedTuple):
    """What x says of z: N(gain (x - m_x), cov)."""

    gain: Array  # (k, r)
    cov: Array  # (k, k)
    log_det: float  # of W'W + x_noise_var I


def given_x(params: Params) -> FromX:
    """Condition z on x.

    The precision I + W'W / x_noise_var has eigenvalues >= 1, so its Cholesky factor needs no jitter.
    Source: Yu et al. 2006, eqs. 2 and 3 (our inverse covariance is their A).
    """
    W = params.W_x
    inverse, log_det = inverse_logdet(symmetrize(W.T @ W) + params.x_noise_var * np.eye(W.shape[1]))
    return FromX(inverse @ W.T, params.x_noise_var * inverse, log_det)


class RowPosterior(NamedTuple):
    """Posterior of z row by row; rows with the same observed outputs share a covariance."""

    mean: Array  # (m, k)
    covs: Array  # (g, k, k)
    of_row: IntArray  # (m,)   which covariance
    log_det_precision: Array  # (m,)
    fit: Array  # (m,)   explained part of the quadratic form


def output_precisions(params: Params, sets: BoolArray) -> Array:
    """What each set of observed outputs adds to the posterior precision (g, k, k)."""
    outer = np.einsum("ja,jb->jab", params.W_y, params.W_y / params.y_noise_var[:, None])
    return np.asarray(np.tensordot(sets.astype(float), outer, axes=1))


def row_posterior(params: Params, XW: Array, Y: Array, observed: BoolArray, groups: OutputSets) -> RowPosterior:
    """Condition z row by row, every row with its own set of observed outputs, in batches.

    `XW` (m, k) is (x - m_x)' W_x; Y is (m, q) with any value where not observed.
    """
    of_x = np.eye(params.W_x.shape[1]) + params.W_x.T @ (params.W_x / params.x_noise_var)
    covs, log_det = batch_inverse(of_x + output_precisions(params, groups.sets))
    dy = np.where(observed, Y - params.m_y, 0.0)
    b = XW / params.x_noise_var + (dy / params.y_noise_var) @ params.W_y
    mean = apply_by_row(covs, groups.of_row, b)
    return RowPosterior(mean, covs, groups.of_row, log_det[groups.of_row], np.einsum("ia,ia->i", b, mean))


def apply_by_row(covs: Array, of_row: IntArray, b: Array) -> Array:
    """covs[of_row[i]] b_i for every row, in chunks of at most 2^21 numbers."""
    if len(covs) == 1:
        return np.asarray(b @ covs[0])
    out = np.empty_like(b)
    size = max(1, (1 << 21) // max(b.shape[1] ** 2, 1))
    for start in range(0, len(b), size):
        rows = slice(start, start + size)
        out[rows] = np.matmul(covs[of_row[rows]], b[rows, :, None])[:, :, 0]
    return out


def log_density(
    params: Params, post: Any, x_energy: Array, n_features: Array | int, Y: Array, observed: BoolArray
) -> Array:
    """Log of p(observed x, observed y) per row, in nats; `x_energy` (m,) is |x - m_x|^2 / x_noise_var."""
    dy = np.where(observed, Y - params.m_y, 0.0)
    logs = n_features * (LOG_2PI + np.log(params.x_noise_var)) + observed @ (LOG_2PI + np.log(params.y_noise_var))
    quadratic = x_energy + (dy**2 / params.y_noise_var).sum(axis=1) - post.fit
    return np.asarray(-0.5 * (logs + post.log_det_precision + quadratic))


def regress(zz1: Array, right: Array, ridge: float | Array, free_means: bool) -> Array:
    """Coefficients (k + 1, m) of targets on (z, 1) from their moments; a ridge on z; the last row zero when held."""
    k = zz1.shape[-1] - 1
    A = zz1 + ridge * np.diag(np.arange(k + 1) < k) if np.any(ridge) else zz1
    if free_means:
        return solve_positive(A, right) if A.ndim == 2 else np.asarray(np.linalg.solve(A, right))
    out = np.zeros(right.shape)
    out[..., :k, :] = np.linalg.solve(A[..., :k, :k], right[..., :k, :])
    return out
