"""Conditioning of rows that each observe their own set of features, in batches."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._types import Array, BoolArray, IntArray
from ..rows.masked import masked_products
from .linear_gaussian import Params, output_precisions
from .moments import OutputSets


class BatchInverse(NamedTuple):
    """Inverses and log-determinants of a batch of positive definite matrices."""

    inverse: Array  # (m, k, k)
    log_det: Array  # (m,)


def triangle_of_outer(Z: Array) -> Array:
    """Upper triangles of z z' for every row of Z (m, k): (m, k (k + 1) / 2)."""
    i, j = np.triu_indices(Z.shape[1])
    return np.asarray(Z[:, i] * Z[:, j])


def triangle(S: Array) -> Array:
    """Upper triangles of a batch of symmetric matrices (m, k, k): (m, k (k + 1) / 2)."""
    i, j = np.triu_indices(S.shape[-1])
    return np.asarray(S[:, i, j])


def from_triangle(rows: Array, k: int) -> Array:
    """Symmetric matrices (m, k, k) from their upper triangles."""
    i, j = np.triu_indices(k)
    out = np.empty((len(rows), k, k))
    out[:, i, j] = rows
    out[:, j, i] = rows
    return out


def bordered_triangle(S: Array) -> Array:
    """Upper triangles of symmetric matrices (m, k, k) with a row and a column of zeros added at the end."""
    k = S.shape[-1]
    _, j = np.triu_indices(k + 1)
    out = np.zeros((len(S), len(j)))
    out[:, j < k] = triangle(S)
    return out


def masked_precisions(triangles: Array, k: int) -> Array:
    """Posterior precisions I + W_o' W_o / noise_var (m, k, k), W_o the rows of W (p, k) whose feature is observed.

    `triangles` (m, k (k + 1) / 2) are those of W_o' W_o / noise_var: the mask times `triangle_of_outer`.
    """
    out = from_triangle(triangles, k)
    out[:, np.arange(k), np.arange(k)] += 1.0
    return out


def batch_inverse(S: Array) -> BatchInverse:
    """Invert positive definite matrices (m, k, k), with their log-determinants by Cholesky."""
    factors = np.linalg.cholesky(S)
    log_det = 2.0 * np.log(np.einsum("maa->ma", factors)).sum(axis=1)
    return BatchInverse(np.asarray(np.linalg.inv(S)), np.asarray(log_det))


class MaskedPosterior(NamedTuple):
    """Posterior of z for rows with missing features, one covariance each."""

    mean: Array  # (m, k)
    cov: Array  # (m, k, k)
    log_det_precision: Array  # (m,)
    fit: Array  # (m,)      explained part of the quadratic form
    x_energy: Array  # (m,)     |x_o - m_o|^2 / x_noise_var
    n_observed: Array  # (m,)


def masked_posterior(
    params: Params, X: Any, Y: Array, observed: BoolArray, groups: OutputSets, rows: IntArray
) -> MaskedPosterior:
    """Condition z on the features that are not NaN in X[rows] and on the observed outputs.

    X (n, p), of any array library, is in the units of `params`; Y, `observed` and `groups` describe all n rows.
    """
    root = float(np.sqrt(params.x_noise_var))
    scaled, of_set = params.W_x / root, groups.of_row[rows]
    products = masked_products(X, rows, params.m_x, root, scaled, triangle_of_outer(scaled), of_set)
    patterns = products.patterns
    precision = masked_precisions(products.TM, scaled.shape[1])
    post = batch_inverse(precision + output_precisions(params, groups.sets)[of_set[patterns.first]])
    cov, log_det = patterns.by_row(post.inverse), patterns.by_row(post.log_det)
    dy = np.where(observed[rows], Y[rows] - params.m_y, 0.0)
    b = products.T + (dy / params.y_noise_var) @ params.W_y
    mean = np.einsum("mab,mb->ma", cov, b)
    fit = np.einsum("ma,ma->m", b, mean)
    return MaskedPosterior(mean, cov, log_det, fit, products.energy, products.n_observed)
