import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse.linalg import ArpackNoConvergence

from gnomon.graphs.graph import neighbor_graph
from gnomon.graphs.neighbors import nearest
from gnomon.models import neighbor_features as model
from oracles import neighbor_graph as oracle


def clouds(rng, sizes, gap=0.0):
    """Points in clouds whose centers lie `gap` apart along one axis."""
    return np.vstack([rng.normal(size=(n, 3)) + [gap * i, 0, 0] for i, n in enumerate(sizes)])


def graph_of(X, k):
    found = nearest(X, X, k + 1)
    return found, neighbor_graph(found)


@pytest.mark.parametrize("dense", [400, 10])
def test_features_are_those_of_the_definition(rng, monkeypatch, dense):
    monkeypatch.setattr(model, "DENSE", dense)
    X = clouds(rng, [80])
    _, W = graph_of(X, 6)
    made = model.graph_features(W, 8, 0.02)
    features, values = oracle.graph_features(X, 6, 8, 0.02)
    assert_allclose(made.eigenvalues, values, rtol=1e-9)
    signs = np.sign((made.features * features).sum(axis=0))
    assert_allclose(made.features, features * signs, rtol=1e-6, atol=1e-6 * np.abs(features).max())


def test_columns_are_eigenvectors_of_the_random_walk_with_mean_zero(rng):
    W = graph_of(clouds(rng, [60]), 5)[1]
    made = model.graph_features(W, 10, 0.1)
    degrees = np.asarray(W.sum(axis=1)).ravel()
    assert_allclose((W @ made.features) / degrees[:, None], made.features * made.eigenvalues, atol=1e-8)
    assert_allclose(degrees @ made.features, 0.0, atol=1e-8)
    unscaled = made.features * (1.1 - made.eigenvalues)
    assert_allclose(degrees @ unscaled**2, degrees.sum(), rtol=1e-8)


@pytest.mark.parametrize("dense", [400, 10])
def test_parts_of_a_graph_each_get_a_feature(rng, monkeypatch, dense):
    monkeypatch.setattr(model, "DENSE", dense)
    X = clouds(rng, [40, 30, 20, 20], gap=100.0)
    _, W = graph_of(X, 5)
    made = model.graph_features(W, 6, 0.02)
    assert made.n_parts == 4
    assert_allclose(made.eigenvalues[:3], 1.0)
    assert (made.eigenvalues[3:] < 1 - 1e-6).all()
    degrees = np.asarray(W.sum(axis=1)).ravel()
    assert_allclose((W @ made.features) / degrees[:, None], made.features * made.eigenvalues, atol=1e-7)
    gram = (made.features.T * degrees) @ made.features
    assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-6 * gram.max())
    assert_allclose(made.features[:40, :3].std(axis=0), 0.0, atol=1e-9 * np.abs(made.features).max())


def test_more_parts_than_features_keeps_the_largest(rng):
    W = graph_of(clouds(rng, [12, 40, 30, 20], gap=100.0), 3)[1]
    made = model.graph_features(W, 2, 0.02)
    assert_allclose(made.eigenvalues, 1.0)
    assert np.abs(made.features[:12]).max() < 1e-9 < np.abs(made.features[12:52]).min()


def test_the_order_of_the_points_does_not_matter(rng):
    X = clouds(rng, [50])
    order = rng.permutation(50)
    a, b = (model.graph_features(graph_of(rows, 5)[1], 4, 0.02) for rows in (X, X[order]))
    assert_allclose(b.features, a.features[order], atol=1e-8 * np.abs(a.features).max())


def test_extension_is_the_mean_of_neighbors_over_the_eigenvalue(rng):
    X = clouds(rng, [60])
    _, W = graph_of(X, 5)
    made = model.graph_features(W, 5, 0.02)
    new = rng.normal(size=(7, 3))
    values = model.extend(nearest(new, X, 5), made.features, made.eigenvalues)
    assert_allclose(values, [oracle.extension(X, made.features, made.eigenvalues, x, 5) for x in new], rtol=1e-9)


def test_a_point_takes_its_own_value(rng):
    X = clouds(rng, [30])
    _, W = graph_of(X, 5)
    made = model.graph_features(W, 5, 0.02)
    assert_allclose(model.extend(nearest(X[4:9], X, 5), made.features, made.eigenvalues), made.features[4:9])


def test_rough_eigenvectors_are_left_out_but_one(rng):
    X = rng.normal(size=(40, 10))
    made = model.graph_features(graph_of(X, 15)[1], 39, 0.02)
    assert made.eigenvalues.min() >= model.SMOOTH
    two = model.graph_features(neighbor_graph(nearest(np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]]), 2)), 5, 0.02)
    assert_allclose(two.eigenvalues, [-1.0])
    assert_allclose(two.features[:, 0] * 2.02, [1.0, -1.0])


def test_an_iteration_that_does_not_end_says_what_to_do(rng, monkeypatch):
    def never(*args, **kwargs):
        raise ArpackNoConvergence("never", np.zeros(0), np.zeros((0, 0)))

    monkeypatch.setattr(model, "DENSE", 10)
    monkeypatch.setattr(model, "eigsh", never)
    with pytest.raises(RuntimeError, match="fewer n_components"):
        model.graph_features(graph_of(clouds(rng, [60]), 5)[1], 4, 0.02)
