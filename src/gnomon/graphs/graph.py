"""Graphs of neighbors as sparse matrices."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from .._types import Array, IntArray
from .neighbors import Neighbors


def neighbor_graph(found: Neighbors) -> Any:
    """Weights (n, n) of the symmetric graph: 1 where two points are among each other's neighbors, 1/2 where one is.

    Neighbors with a share count by it; a point among its own does not.
    """
    (n, j), weights = found.indices.shape, 0.5 * found.share
    weights = np.where(found.indices == np.arange(n)[:, None], 0.0, weights)
    directed = sp.csr_matrix((weights.ravel(), found.indices.ravel(), np.arange(0, n * j + 1, j)), shape=(n, n))
    W = sp.csr_matrix(directed + directed.T)
    W.eliminate_zeros()
    return W


def scaled_graph(W: Any, scale: Array) -> Any:
    """diag(scale) W diag(scale) as csr."""
    return sp.csr_matrix(W.multiply(scale[:, None]).multiply(scale))


def graph_parts(W: Any) -> tuple[int, IntArray]:
    """How many connected parts a symmetric graph has, and the part of each point (n,)."""
    parts, member = connected_components(W, directed=False)
    return int(parts), member


def weighted_rows(indices: IntArray, weights: Array, values: Array) -> Array:
    """Weighted sums (n, k) of rows of `values` (m, k), by their indices (n, j) and weights (n, j)."""
    n, j = indices.shape
    pointers = np.arange(0, n * j + 1, j)
    return np.asarray(sp.csr_matrix((weights.ravel(), indices.ravel(), pointers), shape=(n, len(values))) @ values)
