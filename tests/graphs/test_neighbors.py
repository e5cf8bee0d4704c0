import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from gnomon.graphs import neighbors
from gnomon.graphs.graph import neighbor_graph


def table(rng, kind, n, p=6):
    X = rng.normal(size=(n, p))
    return sp.csr_matrix(X * (rng.random((n, p)) < 0.6)) if kind == "sparse" else X


def dense(X):
    return X.toarray() if sp.issparse(X) else X


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("chunk", [1 << 22, 100])
def test_nearest_points_are_those_of_all_distances(rng, monkeypatch, kind, chunk):
    monkeypatch.setattr(neighbors, "CHUNK", chunk)
    rows, points = table(rng, kind, 40), table(rng, kind, 30)
    found = neighbors.nearest(rows, points, 5)
    squared = ((dense(rows)[:, None] - dense(points)[None]) ** 2).sum(axis=2)
    assert_array_equal(found.indices, np.argsort(squared, axis=1, kind="stable")[:, :5])
    assert_allclose(found.squared, np.sort(squared, axis=1)[:, :5], rtol=1e-10, atol=1e-12)


def test_all_points_can_be_asked_for(rng):
    X = rng.normal(size=(7, 3))
    found = neighbors.nearest(X, X, 7)
    assert_array_equal(np.sort(found.indices, axis=1), np.tile(np.arange(7), (7, 1)))


def test_the_same_point_is_at_distance_zero_far_from_the_origin_too(rng):
    X = rng.normal(size=(50, 4)) + 1000.0
    found = neighbors.nearest(X[10:20], X, 3)
    assert_array_equal(found.indices[:, 0], np.arange(10, 20))
    assert (found.squared[:, 0] == 0).all()
    assert (found.squared[:, 1:] > 0).all()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_distinct_rows(rng, kind):
    X = table(rng, kind, 12)
    place = np.concatenate([np.arange(12), rng.integers(12, size=20)])
    repeated = X[place]
    first, inverse = neighbors.distinct_rows(repeated)
    assert_array_equal(first, np.arange(12))
    assert_array_equal(inverse, place)
    assert_array_equal(dense(repeated[first])[inverse], dense(repeated))


def test_zeros_of_both_signs_and_stored_zeros_are_the_same():
    first, inverse = neighbors.distinct_rows(np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]]))
    assert_array_equal(first, [0, 2])
    assert_array_equal(inverse, [0, 0, 1])
    stored = sp.csr_matrix((np.array([0.0, 1.0, 1.0]), [0, 1, 1], [0, 2, 3]), shape=(2, 2))
    assert_array_equal(neighbors.distinct_rows(stored)[1], [0, 0])


def test_equal_keys_by_chance_are_told_apart(monkeypatch):
    class Zero:
        def integers(self, high, size, dtype):
            return np.full(size, 0, dtype=dtype)  # every column counts alike, so swapped columns have equal keys

    monkeypatch.setattr(neighbors.np.random, "default_rng", lambda seed: Zero())
    X = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])
    first, inverse = neighbors.distinct_rows(X)
    assert_array_equal(X[first][inverse], X)
    assert len(first) == 2


def test_the_graph_is_symmetric_and_counts_both_directions():
    indices = np.array([[0, 1], [1, 0], [2, 1]])
    W = neighbor_graph(neighbors.Neighbors(indices, np.zeros((3, 2)), np.ones((3, 2)))).toarray()
    assert_array_equal(W, [[0, 1, 0], [1, 0, 0.5], [0, 0.5, 0]])


def test_points_that_are_equally_far_share_the_places_that_are_left():
    points = np.array([[0.0], [1.0], [-1.0], [2.0], [-2.0], [5.0]])
    found = neighbors.nearest(points[:1], points, 4)
    assert_array_equal(found.indices, [[0, 1, 2, 3, 4]])
    assert_array_equal(found.share, [[1, 1, 1, 0.5, 0.5]])
    moved = neighbors.nearest(points[:1] * (1 + 1e-13), points * (1 + 1e-13), 2)
    assert_array_equal(moved.indices, [[0, 1, 2]])
    assert_array_equal(moved.share, [[1, 0.5, 0.5]])


@pytest.mark.parametrize("chunk", [1 << 22, 100])
def test_ties_of_many_points_are_shared_by_all_of_them(rng, monkeypatch, chunk):
    monkeypatch.setattr(neighbors, "CHUNK", chunk)
    corners = np.concatenate([np.eye(60), np.zeros((1, 60)), 3.0 * np.eye(60)[:1]])
    order = rng.permutation(62)
    found = neighbors.nearest(corners[order], corners[order], 3)
    W = np.zeros((62, 62))
    for i, (near, share) in enumerate(zip(found.indices, found.share, strict=True)):
        np.add.at(W[order[i]], order[near], share)
    assert_allclose(W.sum(axis=1), 3.0)
    assert_allclose(W[60, :60], 2 / 60)  # the origin, from which all corners are equally far
    assert_allclose(W[5, [5, 60]], 1.0)
    assert_allclose(np.delete(W[5, :60], 5), 1 / 59)


def test_more_ties_than_there_are_places_for(monkeypatch):
    monkeypatch.setattr(neighbors, "MOST", 8 * 30)
    found = neighbors.nearest(np.eye(30), np.eye(30), 2)
    assert found.share.shape == (30, 8)
    assert_allclose(found.share.sum(axis=1), 2.0)
