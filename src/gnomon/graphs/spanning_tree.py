"""Edges of a graph of neighbors that is connected: each point with its nearest ones, and minimum spanning trees."""

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from .._types import Array, IntArray

TIED = 1e-9  # relative: squared distances that differ by less are the same
ROUNDING = 1e-13  # of the largest: what inner products leave of a squared distance


def connected_edges(squared: Array, n_neighbors: int) -> IntArray:
    """Edges (e, 2), first index lower, each once: nearest neighbors either way, and all minimum spanning trees.

    From squared distances (n, n), and of fewer neighbors than points. Of equal distances all are taken or none, so that
    neither the order of points nor rounding decides: a point has more neighbors where the last of them are equally
    near, and an edge is in some minimum spanning tree where shorter ones alone do not join its ends.
    """
    n = len(squared)
    others = squared + np.diag(np.full(n, np.inf))
    last = np.partition(others, n_neighbors - 1, axis=1)[:, n_neighbors - 1 : n_neighbors]
    # the longest edge of a tree between two points: where clusters of nearest points merge
    joined = squareform(cophenet(linkage(squareform(squared, checks=False), "single")))
    most = (1.0 + TIED) * np.maximum(np.maximum(last, last.T), joined) + ROUNDING * squared.max()
    return np.argwhere(np.triu(others <= most, 1))


def laplacian(edges: IntArray, n: int) -> Array:
    """Graph Laplacian (n, n), degrees less adjacency, of edges with weight 1."""
    W = sp.coo_matrix((np.ones(len(edges)), edges.T), shape=(n, n)).toarray()
    W += W.T
    return np.asarray(np.diag(W.sum(axis=1)) - W)
