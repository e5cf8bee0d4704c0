"""Conditioning of rows that each observe their own set of features, in batches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import Array


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
    k = W.shape[1]
    out = from_triangle(mask @ triangle_of_outer(W) / noise_var, k)
    out[:, np.arange(k), np.arange(k)] += 1.0
    return out


def batch_inverse(S: Array) -> BatchInverse:
    """Invert positive definite matrices (m, k, k), with their log-determinants by Cholesky."""
    factors = np.linalg.cholesky(S)
    log_det = 2.0 * np.log(np.einsum("maa->ma", factors)).sum(axis=1)
    return BatchInverse(np.asarray(np.linalg.inv(S)), np.asarray(log_det))
