"""ColoredMVU: labels, graphs in parts, the map to new rows, the extra it needs, errors."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from estimators.support import load
from gnomon import ColoredMVU
from gnomon.export import load_model, save_model
from oracles import colored_mvu as oracle

WHY = "the extra gnomon[convex] is not installed"


@pytest.fixture
def solver():
    """The tests that solve the program need its solver."""
    return pytest.importorskip("clarabel", reason=WHY)


def wine(hidden=0.0):
    X, y = load("wine", hidden)
    return scale(X), y


def between(Z, y):
    """Share of the variance that lies between classes."""
    means = np.stack([Z[y == c].mean(axis=0) for c in range(3)])[y]
    return (means**2).sum() / (Z**2).sum()


def test_without_the_solver_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    X, y = wine()

    def never(*args):
        raise AssertionError("rows were compared before the solver was looked for")

    monkeypatch.setattr("gnomon.models.colored_mvu.fit", never)
    with pytest.raises(ImportError, match=r"pip install 'gnomon\[convex\]'"):
        ColoredMVU().fit(X, y)


def test_the_embedding_is_that_of_the_definition(solver):
    X, y = wine(0.5)
    X, y = X[::4], y[::4]
    labels = [None if c < 0 else int(c) for c in y]
    model = ColoredMVU(20, n_basis=20, penalty=5.0).fit(X, y)
    K, L = model.embedding_ @ model.embedding_.T, oracle.label_kernel(labels)
    best = oracle.objective(K, X, L, model.edges_, 5.0)
    for other in (0.9 * K, 1.1 * K, 0.9 * K + 0.1 * X @ X.T, (X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T):
        assert oracle.objective(other, X, L, model.edges_, 5.0) < best
    assert_allclose(model.spectrum_, np.sort(np.linalg.eigvalsh(K))[::-1][:20], atol=1e-6 * model.spectrum_[0])
    squared = np.array([((X[i] - X[j]) ** 2).sum() for i, j in model.edges_])
    kept = np.array([((model.embedding_[i] - model.embedding_[j]) ** 2).sum() for i, j in model.edges_])
    assert_allclose(model.edge_errors_, (kept - squared) / squared.mean(), atol=1e-6)
    bounds = model.certificate_
    assert_allclose(bounds["lower"], bounds["upper"], rtol=1e-5)
    assert 0 <= bounds["gap"] <= 1e-5


def test_labels_pull_classes_apart(solver):
    X, y = wine()
    plain, colored = ColoredMVU().fit(X), ColoredMVU().fit(X, y)
    assert between(colored.embedding_, y) > between(plain.embedding_, y) + 0.05
    partly = ColoredMVU().fit(X, np.where(np.arange(178) % 2, y, -1))
    assert between(partly.embedding_, y) > between(plain.embedding_, y)
    assert partly.n_labeled_ == 89


def test_all_rows_unlabeled_is_maximum_variance_unfolding(solver):
    X, y = wine()
    X, y = X[::3], y[::3]
    plain = ColoredMVU().fit(X)
    for other in (np.full(60, -1), np.full(60, np.nan)):
        with pytest.warns(UserWarning, match="every row as unlabeled"):
            assert_allclose(ColoredMVU().fit(X, other).embedding_, plain.embedding_, atol=1e-8)
    with pytest.warns(UserWarning, match="single class"):
        assert_allclose(ColoredMVU().fit(X, np.ones(60, dtype=int)).embedding_, plain.embedding_, atol=1e-8)
    assert_array_equal(ColoredMVU().fit(X, y).classes_, [0, 1, 2])


def test_real_outputs_and_outputs_missing(solver):
    X, y = load("diabetes", 0.5)
    X, y = scale(X[:120]), y[:120]
    model = ColoredMVU().fit(X, y)
    known = ~np.isnan(y)
    assert model.n_labeled_ == known.sum()
    plain = ColoredMVU().fit(X)

    def fitted(Z):
        D = np.column_stack([Z[known], np.ones(known.sum())])
        return np.corrcoef(D @ np.linalg.lstsq(D, y[known], rcond=None)[0], y[known])[0, 1]

    assert fitted(model.embedding_) > fitted(plain.embedding_)
    both = np.column_stack([y, X[:, 0]])
    assert np.isfinite(ColoredMVU().fit(X, both).transform(X)).all()


def test_a_graph_in_parts_is_bounded(solver):
    """Two clouds far apart: only the spanning tree joins them, and the embedding keeps them at that distance."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(20, 3)), rng.normal(size=(20, 3)) + 50.0])
    model = ColoredMVU(2, n_neighbors=3).fit(X, np.arange(40) // 20)
    assert model.converged_
    across = (model.edges_[:, 0] < 20) != (model.edges_[:, 1] < 20)
    assert across.sum() == 1
    gap = np.linalg.norm(model.embedding_[:20].mean(axis=0) - model.embedding_[20:].mean(axis=0))
    assert 40 < gap < 200


def test_the_pseudo_inverse_gives_training_rows_their_embedding(solver):
    X, y = wine()
    model = ColoredMVU(projection_ridge=0).fit(X, y)
    assert_allclose(model.transform(X), model.embedding_, atol=1e-6 * np.abs(model.embedding_).max())
    ridged = ColoredMVU().fit(X, y)
    assert ridged.projection_ridge_ > 0
    assert_allclose(ridged.embedding_, model.embedding_, atol=1e-9)
    K = rbf_kernel(X, gamma=ridged.gamma_)
    H = np.eye(178) - 1 / 178
    unit = np.trace(H @ K @ H) / 178
    dual = H @ np.linalg.solve(H @ K @ H + ridged.projection_ridge_ * unit * np.eye(178), model.embedding_)
    new = X[:7] + 0.1
    expected = (rbf_kernel(new, X, gamma=ridged.gamma_) - K.mean(axis=0)) @ dual
    assert_allclose(ridged.transform(new), expected, atol=1e-6 * np.abs(expected).max())
    assert_allclose(ridged.gamma_, 1 / ((X[:, None] - X[None]) ** 2).sum(axis=-1).mean())


def test_kernels_sparse_rows_and_repeated_rows(solver):
    X, y = wine(0.5)
    X, y = X[::3], y[::3]
    named = ColoredMVU(kernel="rbf", gamma=0.1).fit(X, y)
    by_function = ColoredMVU(kernel=rbf_kernel, kernel_params={"gamma": 0.1}).fit(X, y)
    assert_allclose(by_function.transform(X), named.transform(X), atol=1e-8)
    sparse = ColoredMVU(kernel="rbf", gamma=0.1).fit(sp.csr_matrix(X), y)
    assert_allclose(sparse.transform(sp.csr_matrix(X)), named.transform(X), atol=1e-5)
    twice = ColoredMVU(n_neighbors=1).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert np.isfinite(twice.transform(X)).all()
    kept = twice.embedding_.reshape(-1, 2, 2)
    assert np.abs(kept[:, 0] - kept[:, 1]).max() < 0.2 * np.abs(kept).max()


@pytest.mark.parametrize("size", [1e-140, 1e-3, 1e140])
def test_the_embedding_has_the_units_of_x(solver, size):
    X, y = wine(0.5)
    X, y = X[::3], y[::3]
    expected = ColoredMVU().fit(X, y)
    found = ColoredMVU().fit(X * size, y)
    assert_allclose(found.embedding_ / size, expected.embedding_, atol=1e-4)
    assert_allclose(found.transform(X * size) / size, expected.transform(X), atol=1e-4)


def test_model_files_precision_and_names(solver, tmp_path):
    X, y = wine()
    model = ColoredMVU(3).fit(X.astype(np.float32), y)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert list(model.get_feature_names_out()) == ["coloredmvu0", "coloredmvu1", "coloredmvu2"]
    save_model(model, tmp_path / "m.gnomon")
    assert_array_equal(load_model(tmp_path / "m.gnomon").transform(X), model.transform(X))
    assert ColoredMVU().fit(X[:2]).transform(X).shape == (178, 1)


def test_bad_input(solver):
    X, y = wine()
    for params, match in [
        ({"n_components": 21}, "n_components=21 must be at most 20"),
        ({"n_neighbors": 0}, "n_neighbors=0 must be at least 1"),
        ({"penalty": 0}, "penalty=0 must be finite and above 0"),
        ({"kernel": "precomputed"}, "gives no distances"),
        ({"kernel": "gauss"}, "kernel='gauss' must be one of"),
        ({"projection_ridge": "loo"}, "projection_ridge='loo' must be one of 'auto', or a number"),
        ({"projection_ridge": -1.0}, "projection_ridge=-1.0 must be finite and at least 0"),
    ]:
        with pytest.raises(ValueError, match=match):
            ColoredMVU(**params).fit(X, y)
    for rows, targets, match in [
        (np.ones((5, 3)), [0, 1, 0, 1, 1], "all 5 rows of X are the same"),
        (np.where(X > 2, np.nan, X), y, "NaN"),
        (X, y[1:], "y has 177 rows"),
        (X, np.where(y == 0, 1, -1), "ambiguous"),
    ]:
        with pytest.raises(ValueError, match=match):
            ColoredMVU().fit(rows, targets)


@pytest.mark.usefixtures("solver")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_converged_means_a_residual_within_tol():
    X, y = load("iris", 0.5)
    for max_iter in (1, 200):
        model = ColoredMVU(1, max_iter=max_iter).fit(X, y)
        assert model.converged_ == (model.objective_residual_ <= model.tol) == (max_iter == 200)


@pytest.mark.usefixtures("solver")
def test_rows_too_near_for_a_gamma_are_refused():
    X, y = load("iris")
    with pytest.raises(ValueError, match=r"mean squared distance of rows of X, 0\.0e\+00, is too small a number"):
        ColoredMVU(1).fit(X * 1e-200, y)


@pytest.mark.usefixtures("solver")
def test_a_kernel_that_tells_no_rows_apart_is_refused():
    X, y = load("iris")
    with pytest.raises(ValueError, match="all 150 rows of X are the same to the kernel"):
        ColoredMVU(1, gamma=1.0).fit(X * 1e-150, y)
