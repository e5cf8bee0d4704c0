import importlib.util
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris, make_moons

import gnomon.models.neighbor_features as module
from gnomon import NeighborFeatures
from gnomon.selection.baselines import lda_map, nearest_labels
from oracles import neighbor_graph as oracle


def test_features_are_those_of_the_definition(rng):
    X = rng.normal(size=(70, 4)) * 1e5 + 3e6
    F = NeighborFeatures(7, n_components=5, damping=0.05).fit_transform(X)
    wanted, _ = oracle.graph_features(X, 7, 5, 0.05)
    wanted = wanted - wanted.mean(axis=0)
    assert_allclose(F, wanted * np.sign((F * wanted).sum(axis=0)), atol=1e-6 * np.abs(wanted).max())


def test_rows_that_are_equally_far_share_their_places():
    X = np.unique(load_iris().data[50:], axis=0)
    graph = NeighborFeatures(7, n_components=5, damping=0.05).fit(X)
    wanted, values = oracle.graph_features(X, 7, 5, 0.05)
    assert_allclose(graph.eigenvalues_, values, atol=1e-9)
    signs = np.sign((graph.features_ * wanted).sum(axis=0))
    assert_allclose(graph.features_, wanted * signs, atol=1e-6 * np.abs(wanted).max())


def test_cosine_is_euclidean_on_rows_of_length_one(rng):
    X = rng.normal(size=(60, 5))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for rows in (X, X * rng.uniform(1e-3, 1e3, size=(60, 1))):
        cosine = NeighborFeatures(metric="cosine", n_components=4).fit_transform(rows)
        assert_allclose(cosine, NeighborFeatures(n_components=4).fit_transform(unit), atol=1e-7)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_is_dense(rng, metric):
    X = np.abs(rng.normal(size=(80, 12))) * (rng.random((80, 12)) < 0.4)
    X[:, 0] += 0.1
    new = X[:5] + 0.05
    graph, of_sparse = (NeighborFeatures(8, metric=metric, n_components=6) for _ in range(2))
    a, b = graph.fit_transform(X), of_sparse.fit_transform(sp.csc_matrix(X))
    assert_allclose(a, b, atol=1e-7)
    assert_allclose(graph.transform(new), of_sparse.transform(sp.csr_matrix(new)), atol=1e-7)
    assert_allclose(graph.transform(sp.csr_matrix(new)), graph.transform(new), atol=1e-12)
    assert_allclose(of_sparse.transform(new), of_sparse.transform(sp.csr_matrix(new)), atol=1e-12)
    assert sp.issparse(of_sparse.points_)


def test_rows_of_the_fit_keep_their_features_and_new_ones_are_extended(rng):
    X, new = rng.normal(size=(90, 3)), rng.normal(size=(10, 3))
    graph = NeighborFeatures(6, n_components=5)
    F = graph.fit_transform(X)
    assert_allclose(graph.transform(X[::-1])[::-1], F, atol=1e-12)
    wanted = [oracle.extension(X, graph.features_, graph.eigenvalues_, x, 6) for x in new]
    assert_allclose(graph.transform(new) + graph.mean_, wanted, atol=1e-9)
    assert_allclose(F.mean(axis=0), 0.0, atol=1e-12)


def test_repeated_rows_are_one_point(rng):
    X = rng.normal(size=(60, 3))
    place = np.concatenate([np.arange(60), np.zeros(40, dtype=int)])
    graph = NeighborFeatures(5, n_components=4)
    F = graph.fit_transform(X[place])
    once = NeighborFeatures(5, n_components=4).fit(X)
    assert graph.points_.shape == (60, 3)
    assert_allclose(np.abs(graph.features_), np.abs(once.features_), atol=1e-6)
    assert_array_equal(F[60:], np.tile(F[0], (40, 1)))
    assert_allclose(graph.transform(X[place]), F, atol=1e-12)


def test_two_moons_come_apart():
    X, y = make_moons(600, noise=0.06, random_state=0)
    F = NeighborFeatures(n_components=10).fit_transform(X)
    seen = np.array([np.flatnonzero(y == c)[:3] for c in (0, 1)]).ravel()
    errors = [
        np.mean(nearest_labels(m.project(rows[seen]), y[seen], m.project(rows)) != y)
        for rows in (F, X)
        for m in [lda_map(rows[seen], y[seen], 1, shrinkage=0.1)]
    ]
    assert errors[0] < 0.01 < 0.1 < errors[1]


def test_new_digits_are_classified_as_well_as_by_pixels():
    X, y = load_digits(return_X_y=True)
    graph = NeighborFeatures(n_components=30).fit(X[:1200])
    wrong = nearest_labels(graph.transform(X[:1200]), y[:1200], graph.transform(X[1200:])) != y[1200:]
    assert wrong.mean() < 0.06


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_the_scale_of_x_does_not_matter(rng, scale):
    X, new = rng.normal(size=(50, 3)), rng.normal(size=(5, 3))
    for metric in ("euclidean", "cosine"):
        plain = NeighborFeatures(metric=metric).fit(X).transform(new)
        assert_allclose(NeighborFeatures(metric=metric).fit(X * scale).transform(new * scale), plain, atol=1e-6)


def test_rows_of_zeros_have_no_direction_but_a_place(rng):
    X = rng.normal(size=(40, 4))
    X[[3, 8]] = 0.0
    for rows in (X, sp.csr_matrix(X)):
        F = NeighborFeatures(5, metric="cosine").fit_transform(rows)
        assert np.isfinite(F).all()
        assert_array_equal(F[3], F[8])


def test_few_rows_give_few_neighbors():
    X = np.arange(8.0)[:, None]
    graph = NeighborFeatures().fit(X)
    assert graph.n_neighbors_ == 4
    assert graph.n_components_ == graph.features_.shape[1] <= 7
    two = NeighborFeatures().fit([[0.0], [1.0]])
    assert_allclose(two.transform([[0.0], [1.0]]) * 2.02, [[1.0], [-1.0]])


def test_names_and_single_precision(rng):
    X = rng.normal(size=(50, 3)).astype(np.float32)
    graph = NeighborFeatures(n_components=3).fit(X)
    assert graph.transform(X).dtype == graph.fit_transform(X).dtype == np.float32
    assert list(graph.get_feature_names_out()) == [f"neighborfeatures{j}" for j in range(3)]


def test_bad_input_is_refused(rng):
    X = rng.normal(size=(20, 3))
    hole = X.copy()
    hole[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*impute"):
        NeighborFeatures().fit(hole)
    graph = NeighborFeatures().fit(X)
    with pytest.raises(ValueError, match="Input X contains infinity"):
        graph.transform(np.where(np.isnan(hole), np.inf, hole))
    with pytest.raises(ValueError, match="all 20 rows of X are the same"):
        NeighborFeatures().fit(np.ones((20, 3)))
    with pytest.raises(ValueError, match="same under metric='cosine'"):
        NeighborFeatures(metric="cosine").fit(np.arange(1.0, 5)[:, None])
    with pytest.raises(ValueError, match=r"metric='manhattan' must be one of"):
        NeighborFeatures(metric="manhattan").fit(X)
    with pytest.raises(TypeError, match=r"n_neighbors=1\.5"):
        NeighborFeatures(1.5).fit(X)
    with pytest.raises(ValueError, match="damping=0"):
        NeighborFeatures(damping=0).fit(X)
    with pytest.raises(ValueError, match="at most"):
        NeighborFeatures().fit(X * 1e200)


def test_many_rows_without_the_approximate_search_say_so(rng, monkeypatch):
    X = rng.normal(size=(60, 3))
    monkeypatch.setattr(module, "MOST_EXACT", 50)
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    with pytest.warns(UserWarning, match=r"pip install 'gnomon\[neighbors\]'"):
        auto = NeighborFeatures().fit(X)
    assert auto.algorithm_ == "exact"
    assert_array_equal(auto.features_, NeighborFeatures(algorithm="exact").fit(X).features_)


def test_the_approximate_search_is_refused_where_it_is_missing(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(ImportError, match=r"gnomon\[neighbors\]"):
        NeighborFeatures(algorithm="approximate").fit(rng.normal(size=(60, 3)))


class Exact:
    """A stand-in for pynndescent.NNDescent: right neighbors, in single precision, of which some got lost."""

    def __init__(self, points, metric, n_neighbors, random_state):
        found = module.nearest(points, points, n_neighbors)
        self.neighbor_graph = found.indices.astype(np.int32), np.sqrt(found.squared).astype(np.float32) + 1e-4
        self.neighbor_graph[0][5, -1] = -1


def test_an_approximate_search_without_a_miss_gives_the_exact_features(rng, monkeypatch):
    X = rng.normal(size=(60, 3))
    fake = type(sys)("pynndescent")
    fake.NNDescent = Exact
    monkeypatch.setitem(sys.modules, "pynndescent", fake)
    graph = NeighborFeatures(algorithm="approximate")
    F = graph.fit_transform(X)
    assert_allclose(F, NeighborFeatures(algorithm="exact").fit_transform(X), atol=1e-9)
    assert_allclose(graph.transform(X), F, atol=1e-9)


@pytest.mark.slow  # pynndescent compiles for a minute or two; the tests above go the same way with a stand-in
@pytest.mark.skipif(importlib.util.find_spec("pynndescent") is None, reason="pynndescent is not installed")
def test_the_approximate_search_comes_near_the_exact_one():
    X = load_digits().data
    F = NeighborFeatures(algorithm="approximate", n_components=8).fit_transform(X)
    exact = NeighborFeatures(algorithm="exact", n_components=8).fit_transform(X)
    span = np.linalg.qr(exact)[0]
    assert np.linalg.norm(F - span @ (span.T @ F)) < 0.2 * np.linalg.norm(F)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_signs_do_not_follow_the_order_of_rows_where_largest_entries_are_alike(form):
    X = np.array([[1.0, 4.0, 2.0], [2.0, 0.0, 1.0]])  # two points have one feature, of a value and of its opposite
    one, other = (NeighborFeatures().fit(form(rows)).transform(form(X)) for rows in (X, X[::-1]))
    assert_allclose(one, other)
    columns = [2, 0, 1]
    assert_allclose(NeighborFeatures().fit_transform(form(X[:, columns])), one)
