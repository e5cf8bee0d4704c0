"""Edges of the connected neighbor graph."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import minimum_spanning_tree

from gnomon.graphs.spanning_tree import connected_edges, laplacian
from oracles.colored_mvu import spanning_tree_length


def distances(X):
    return ((X[:, None] - X[None]) ** 2).sum(axis=-1)


def reached(edges, n):
    """Points connected to the first one."""
    found = {0}
    for _ in range(n):
        found |= {int(b) for a, b in [*edges, *edges[:, ::-1]] if a in found}
    return found


def test_the_tree_is_the_shortest_of_all(rng):
    """Of points on a line with far ends, the nearest neighbors alone leave parts; the tree joins them, no more."""
    squared = distances(np.array([0.0, 0.1, 5.0, 5.2, 11.0, 11.3])[:, None])
    assert connected_edges(squared, 1).tolist() == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]
    squared = distances(rng.normal(size=(5, 2)))
    edges = connected_edges(squared, 1)  # the nearest neighbor of a point is in the tree
    assert len(edges) == 4
    assert reached(edges, 5) == set(range(5))
    assert_allclose(squared[edges[:, 0], edges[:, 1]].sum(), spanning_tree_length(squared))


def test_points_at_one_place_are_joined(rng):
    edges = connected_edges(distances(np.repeat(rng.normal(size=(3, 2)), 4, axis=0)), 1)
    assert reached(edges, 12) == set(range(12))


@pytest.mark.parametrize("k", [1, 3, 11])
def test_edges_are_neighbors_and_the_tree(k, rng):
    X = np.vstack([rng.normal(size=(6, 2)), rng.normal(size=(6, 2)) + 100.0])
    squared = distances(X)
    edges = connected_edges(squared, k)
    others = np.where(np.eye(12, dtype=bool), np.inf, squared)
    wanted = {tuple(sorted((i, int(j)))) for i in range(12) for j in np.argsort(others[i])[:k]}
    tree = minimum_spanning_tree(squared).tocoo()
    wanted |= {tuple(sorted(edge)) for edge in zip(tree.row.tolist(), tree.col.tolist(), strict=True)}
    assert {tuple(edge) for edge in edges.tolist()} == wanted
    assert len(edges) == len(wanted)
    assert reached(edges, 12) == set(range(12))


def test_equal_distances_are_taken_together(rng):
    X = rng.integers(0, 3, size=(15, 3)).astype(float)
    first = connected_edges(distances(X), 2)
    others = np.where(np.eye(15, dtype=bool), np.inf, distances(X))
    assert {
        tuple(sorted((i, int(j)))) for i in range(15) for j in np.flatnonzero(others[i] <= np.sort(others[i])[1])
    } <= {tuple(edge) for edge in first.tolist()}
    order = rng.permutation(15)
    moved = connected_edges(distances(X[order] * (1.0 + 1e-13) / 3.0), 2)
    assert {tuple(sorted(order[edge].tolist())) for edge in moved} == {tuple(edge) for edge in first.tolist()}


def test_the_laplacian_is_degrees_less_adjacency():
    assert_array_equal(laplacian(np.array([[0, 1], [1, 2]]), 3), [[1, -1, 0], [-1, 2, -1], [0, -1, 1]])
