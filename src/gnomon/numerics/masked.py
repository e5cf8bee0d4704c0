"""Conditioning of rows that each observe their own set of features, in batches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import Array, BoolArray, IntArray
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


def masked_precisions(mask: Array, W: Array, noise_var: float) -> Array:
    """Posterior precisions I + W_o' W_o / noise_var (m, k, k), W_o the rows of W (p, k) whose feature is observed.

    `mask` (m, p) is one where observed and zero elsewhere; all rows are done by one matrix product.
    """
    return masked_precisions_from(mask @ triangle_of_outer(W) / noise_var, W.shape[1])


def masked_precisions_from(triangles: Array, k: int) -> Array:
    """The same from the upper triangles (m, k (k + 1) / 2) of W_o' W_o / noise_var."""
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
    params: Params, X: Array, Y: Array, observed: BoolArray, groups: OutputSets, rows: IntArray
) -> MaskedPosterior:
    """Condition z on the features that are not NaN in X[rows] and on the observed outputs.

    X (n, p) is in the units of `params`; Y, `observed` and `groups` describe all n rows.
    """
    noise = params.x_noise_var
    block = X[rows].astype(np.float64) - params.m_x
    missing = np.isnan(block)
    block[missing] = 0.0
    of_sets = output_precisions(params, groups.sets)
    scaled = params.W_x / np.sqrt(noise)
    precision = masked_precisions((~missing).astype(np.float64), scaled, 1.0) + of_sets[groups.of_row[rows]]
    dy = np.where(observed[rows], Y[rows] - params.m_y, 0.0)
    b = (block / np.sqrt(noise)) @ scaled + (dy / params.y_noise_var) @ params.W_y
    post = batch_inverse(precision)
    mean = np.einsum("mab,mb->ma", post.inverse, b)
    energy = ((block / np.sqrt(noise)) ** 2).sum(axis=1)
    fit = np.einsum("ma,ma->m", b, mean)
    return MaskedPosterior(mean, post.inverse, post.log_det, fit, energy, (~missing).sum(axis=1).astype(np.float64))
