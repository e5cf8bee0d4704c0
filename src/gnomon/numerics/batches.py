"""Many small symmetric matrices at once, where they are: arrays of NumPy or of another library, on any device."""

from typing import Any

import numpy as np

from ..rows.namespace import Place, columns_at, namespace
from .linalg import BatchInverse, batch_inverse


def triangle_of_outer(Z: Any) -> Any:
    """Upper triangles of z z' for every row of Z (m, k): (m, k (k + 1) / 2)."""
    i, j = np.triu_indices(Z.shape[1])
    return columns_at(Z, i) * columns_at(Z, j)


def from_triangle(rows: Any, k: int) -> Any:
    """Symmetric matrices (m, k, k) from their upper triangles."""
    i, j = np.triu_indices(k)
    if not Place(rows).foreign:
        out = np.empty((len(rows), k, k))
        out[:, i, j] = rows
        out[:, j, i] = rows
        return out
    place = np.empty((k, k), dtype=np.intp)
    place[i, j] = place[j, i] = np.arange(len(i))
    return namespace(rows).reshape(columns_at(rows, place.ravel()), (rows.shape[0], k, k))


def bordered_triangle(S: Any) -> Any:
    """Upper triangles of symmetric matrices (m, k, k) with a row and a column of zeros added at the end."""
    k = S.shape[-1]
    i, j = np.triu_indices(k + 1)
    if not Place(S).foreign:
        out = np.zeros((len(S), len(j)))
        out[:, j < k] = S[:, i[j < k], j[j < k]]
        return out
    xp = namespace(S)
    flat = xp.reshape(S, (S.shape[0], k * k))
    return columns_at(xp.concat([flat, xp.zeros_like(flat[:, :1])], axis=1), np.where(j < k, i * k + j, k * k))


def masked_precisions(triangles: Any, k: int) -> Any:
    """Posterior precisions I + W_o' W_o / noise_var (m, k, k), W_o the rows of W (p, k) whose feature is observed.

    `triangles` (m, k (k + 1) / 2) are those of W_o' W_o / noise_var: the mask times `triangle_of_outer`.
    """
    out = from_triangle(triangles, k)
    if Place(out).foreign:
        return out + Place(out).put(np.eye(k))
    out[:, np.arange(k), np.arange(k)] += 1.0
    return out


def inverse_there(S: Any) -> BatchInverse:
    """`batch_inverse` of matrices of any library, where they are."""
    if not Place(S).foreign:
        return batch_inverse(S)
    linalg, xp = namespace(S).linalg, namespace(S)
    root = linalg.diagonal(linalg.cholesky(S))
    return BatchInverse(linalg.inv(S), 2.0 * xp.sum(xp.log(root), axis=-1))
