"""Edges of the connected neighbor graph."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.graphs.spanning_tree import connected_edges, laplacian, spanning_tree
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
    squared = distances(rng.normal(size=(5, 2)))
    edges = spanning_tree(squared)
    assert len(edges) == 4
    assert reached(edges, 5) == set(range(5))
    assert_allclose(squared[edges[:, 0], edges[:, 1]].sum(), spanning_tree_length(squared))


def test_points_at_one_place_are_joined(rng):
    X = np.repeat(rng.normal(size=(3, 2)), 4, axis=0)
    squared = distances(X)
    edges = spanning_tree(squared)
    assert len(edges) == 11
    assert (squared[edges[:, 0], edges[:, 1]] == 0).sum() == 9
    assert reached(edges, 12) == set(range(12))


@pytest.mark.parametrize("k", [1, 3, 11])
def test_edges_are_neighbors_and_the_tree(k, rng):
    X = np.vstack([rng.normal(size=(6, 2)), rng.normal(size=(6, 2)) + 100.0])
    squared = distances(X)
    edges = connected_edges(squared, k)
    others = np.where(np.eye(12, dtype=bool), np.inf, squared)
    wanted = {tuple(sorted((i, int(j)))) for i in range(12) for j in np.argsort(others[i])[:k]}
    wanted |= {tuple(sorted(edge)) for edge in spanning_tree(squared).tolist()}
    assert {tuple(edge) for edge in edges.tolist()} == wanted
    assert len(edges) == len(wanted)
    assert reached(edges, 12) == set(range(12))


def test_the_laplacian_is_degrees_less_adjacency():
    assert_array_equal(laplacian(np.array([[0, 1], [1, 2]]), 3), [[1, -1, 0], [-1, 2, -1], [0, -1, 1]])
