"""Edges of a graph of neighbors that is connected: each point with its nearest ones, and a minimum spanning tree."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import minimum_spanning_tree

from .._types import Array, IntArray


def spanning_tree(squared: Array) -> IntArray:
    """Edges (n - 1, 2) of a minimum spanning tree of all points, by their squared distances (n, n).

    Points at distance zero are joined too: what the tree is does not change when all edges grow by the same length.
    """
    apart = squared + squared.max() + 1.0
    np.fill_diagonal(apart, 0.0)
    tree = minimum_spanning_tree(apart).tocoo()
    return np.column_stack([tree.row, tree.col]).astype(np.intp)


def connected_edges(squared: Array, n_neighbors: int) -> IntArray:
    """Edges (e, 2), first index lower, each once: nearest neighbors either way, and a minimum spanning tree.

    Parameters
    ----------
    squared : (n, n)     squared distances; only their order counts
    n_neighbors : int    less than n
    """
    n = len(squared)
    others = squared + np.diag(np.full(n, np.inf))
    near = np.argpartition(others, n_neighbors - 1, axis=1)[:, :n_neighbors]
    directed = np.column_stack([np.repeat(np.arange(n), n_neighbors), near.ravel()])
    edges = np.sort(np.vstack([directed, spanning_tree(squared)]), axis=1)
    return np.asarray(np.unique(edges, axis=0))


def laplacian(edges: IntArray, n: int) -> Array:
    """Graph Laplacian (n, n), degrees less adjacency, of edges with weight 1."""
    ones = np.ones(len(edges))
    W = sp.coo_matrix((ones, (edges[:, 0], edges[:, 1])), shape=(n, n)).toarray()
    W += W.T
    return np.asarray(np.diag(W.sum(axis=1)) - W)
