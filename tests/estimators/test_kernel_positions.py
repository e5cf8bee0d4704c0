"""Regions of KernelSPPCA: those of SPPCA where the features are known; landmarks and rows of the fit are told apart."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel

from gnomon import SPPCA, KernelSPPCA
from gnomon.experiments.breadth_numbers import load
from models.linear.test_positions import GRID, held, planted
from oracles import positions

LANDMARKS = [(500, 50, 40), (400, 1000, 60), (400, 1000, 200), (200, 2000, 190), (120, 700, 40), (60, 700, 50)]


def half_labeled(Z):
    return np.where(np.arange(len(Z)) % 2, Z[:, 0] > 0, -1).astype(int)


def assert_same_regions(one, other, tol=1e-5):
    for mine, theirs in zip(one, other, strict=True):
        assert_allclose(mine, theirs, rtol=tol, atol=tol)


def aligned(model, U, Z):
    """Planted latent vectors in the axes of a model whose kernel is linear."""
    left, _, right = np.linalg.svd(U.T @ (np.asarray(model.X_fit_).T @ model.dual_coef_))
    return Z @ left @ right


def coverage(n, p, k, n_draws, **options):
    """Share of landmarks (or rows of the fit), of other rows of it, and of new ones that 95 % regions hold."""
    rng, found = np.random.default_rng(7), []
    for draw in range(n_draws):
        X, Z, U = planted(rng, n, p, k, (6.0, 3.5, 2.0, 1.2) if k > 2 else (6.0, 2.0))
        model = KernelSPPCA(k, random_state=draw, **options).fit(X[:n], half_labeled(Z[:n]))
        inside = held(*model.posterior(X), aligned(model, U, Z))
        others = np.setdiff1d(np.arange(n), model.references_)
        found.append([inside[model.references_].mean(), inside[others].mean() if len(others) else 1, inside[n:].mean()])
    return np.mean(found, axis=0)


@pytest.mark.parametrize(("n", "p"), [(60, 400), (150, 30)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_linear_kernel_has_the_regions_of_sppca(rng, n, p, weighted):
    X, Z, _ = planted(rng, n, p)
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    given = half_labeled(Z)
    for y in (given[:n], None):
        primal, kernel = (model.fit(X[:n], y, weights) for model in (SPPCA(2, tol=1e-9), KernelSPPCA(2, tol=1e-9)))
        assert_same_regions(kernel.posterior(X), primal.posterior(X))
        assert_same_regions(kernel.transform(X, return_cov=True), primal.transform(X, return_cov=True))
        if y is not None:
            assert_same_regions(kernel.posterior(X, given), primal.posterior(X, given))


def test_a_region_is_the_definition(rng):
    n, p = 50, 400
    X, _, _ = planted(rng, n, p)
    model = KernelSPPCA(2).fit(X[:n])
    W = (X[:n] - X[:n].mean(axis=0)).T @ model.dual_coef_
    values = np.linalg.eigvalsh(np.cov(X[:n].T, bias=True))[::-1]
    Z, found = model.transform(X), model.posterior(X)
    for i in (0, 3, n, n + 5):
        want = positions.region(W.T, model.noise_variance_, n, values, Z[i], i >= n)
        assert_same_regions((found[0][i], found[1][i]), want)


def test_a_curved_kernel_has_the_regions_of_sppca_on_its_coordinates(rng):
    X, _, _ = planted(rng, 50, 6)
    K = rbf_kernel(X, X[:50], gamma=0.01)
    center = np.eye(50) - 1.0 / 50
    values, vectors = np.linalg.eigh(center @ K[:50] @ center)
    basis = vectors[:, 1:] / np.sqrt(values[1:])  # all but the mean
    T = (K - K[:50].mean(axis=0)) @ basis
    primal = SPPCA(2, tol=1e-9).fit(T[:50])
    kernel = KernelSPPCA(2, kernel="rbf", gamma=0.01, tol=1e-9).fit(X[:50])
    assert kernel.effective_dimension_ == 49
    signs = np.sign((primal.transform(T) * kernel.transform(X)).sum(axis=0))
    mean, cov = primal.posterior(T)
    assert_same_regions(kernel.posterior(X), (mean * signs, cov * np.outer(signs, signs)), 1e-4)


def told_apart(model, rows):
    """Whether the region of a row is another than that of a row nearly the same."""
    mean, cov = model.posterior(rows)
    near_mean, near_cov = model.posterior(rows * (1.0 + 1e-6))
    return np.abs(mean - near_mean).max(axis=1) + np.abs(cov - near_cov).max(axis=(1, 2)) > 1e-3


@pytest.mark.parametrize("n_landmarks", [None, 15])
def test_rows_of_the_fit_are_known_in_any_order_storage_and_precision(rng, n_landmarks):
    X, _, _ = planted(rng, 40, 200)
    options = {"kernel": "rbf", "gamma": 1e-3, "n_landmarks": n_landmarks}
    model = KernelSPPCA(2, **options).fit(X[:40])
    assert_array_equal(np.flatnonzero(told_apart(model, X)), model.references_)
    mean, cov = model.posterior(X)
    some = rng.permutation(len(X))[:30]
    assert_same_regions(model.posterior(X[some]), (mean[some], cov[some]))
    assert_allclose(model.posterior(X.astype(np.float32))[0], mean, atol=1e-4)
    assert_same_regions(KernelSPPCA(2, **options).fit(csr_array(X[:40])).posterior(csr_array(X)), (mean, cov))


def test_rows_of_a_precomputed_kernel_are_known_by_their_kernel_values(rng):
    X, Z, _ = planted(rng, 40, 200)
    y, weights = half_labeled(Z[:40]), np.where(np.arange(40) % 8, 1.0, 0.0)  # rows of weight zero are none of the fit
    K = X @ X[:40].T
    few = KernelSPPCA(2, kernel="precomputed", effective_dimension=200, n_landmarks=20).fit(K[:40], y, weights)
    assert_array_equal(np.flatnonzero(told_apart(few, K)), few.references_)
    given = KernelSPPCA(2, kernel="precomputed", effective_dimension=200).fit(K[:40], y, weights)
    assert_array_equal(np.flatnonzero(told_apart(given, K)), np.flatnonzero(weights))
    named = KernelSPPCA(2).fit(X[:40], y, weights)
    signs = np.sign((named.transform(X) * given.transform(K)).sum(axis=0))
    mean, cov = named.posterior(X)
    assert_same_regions(given.posterior(K), (mean * signs, cov * np.outer(signs, signs)))


@pytest.mark.parametrize(("n", "p", "m"), [(400, 500, 60), (120, 700, 100)])
def test_landmarks_are_placed_apart_from_other_rows(n, p, m):
    assert (np.abs(coverage(n, p, 2, 8, n_landmarks=m) - 0.965) < 0.03).all()


def test_a_landmark_is_less_sure_where_landmarks_are_few(rng):
    X, _, _ = planted(rng, 300, 600)
    model = KernelSPPCA(2, n_landmarks=30).fit(X[:300])
    size = np.linalg.det(model.posterior(X)[1])
    landmark = np.isin(np.arange(len(X)), model.landmarks_)
    assert np.median(size[landmark]) > 2.0 * np.median(size[~landmark])
    lone = model.posterior(X[model.landmarks_[:1]])[1]
    assert_allclose(lone, model.posterior(X)[1][model.landmarks_[:1]])


def test_with_many_rows_the_two_are_one(rng):
    X, _, _ = planted(rng, 1100, 6)
    for options, shape in (({}, (2, 2)), ({"n_landmarks": 40}, (len(X), 2, 2))):
        model = KernelSPPCA(2, **options).fit(X)
        mean, cov = model.posterior(X)
        assert cov.shape == shape
        plain = model.posterior(X, uncertainty="plug-in")
        others = np.setdiff1d(np.arange(len(X)), model.references_ if options else [])
        assert_allclose(mean[others], plain[0][others], atol=0.08)
        assert_allclose(
            np.broadcast_to(cov, (len(X), 2, 2))[others], np.broadcast_to(plain[1], (len(others), 2, 2)), atol=0.03
        )


def test_unknown_uncertainty_is_refused(rng):
    model = KernelSPPCA(2).fit(planted(rng, 40, 30)[0])
    for method in (model.posterior, model.transform):
        with pytest.raises(ValueError, match="uncertainty='some'"):
            method(np.zeros((2, 30)), uncertainty="some")


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p", "k"), GRID)
def test_regions_hold_what_they_say_over_the_grid(n, p, k):
    of_fit, _, of_new = coverage(n, p, k, 4 if n > 1000 else 12 if p > 1000 else 30)
    assert 0.94 < of_fit < 0.985
    assert 0.94 < of_new < 0.99


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p", "m"), LANDMARKS)
def test_regions_of_landmarks_and_others_hold_what_they_say(n, p, m):
    found = coverage(n, p, 2, 20, n_landmarks=m)
    assert (found > 0.94).all()
    assert (found < 0.995).all()


@pytest.mark.slow
@pytest.mark.realdata
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", ["gasoline", "nirsoil", "nir_glc", "corn m5", "corn mp6"])
def test_regions_of_spectra_hold_where_all_rows_place_them(name, kernel):
    """The truth is the fit to all rows; 20 and 40 rows are seen."""
    X, found = load(name)[0], []
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for n, k, draw in product((20, 40), (2, 3), (0, 1)):
        if n > 0.7 * len(X):
            continue
        some = np.random.default_rng(draw).permutation(len(X))[:n]
        whole, model = (KernelSPPCA(k, kernel=kernel).fit(rows) for rows in (X, X[some]))
        scores = whole.transform(X)
        products = whole.dual_coef_.T @ whole._values(X, X[some]) @ model.dual_coef_
        left, _, right = np.linalg.svd(products / np.linalg.norm(products))
        found.append(held(*model.posterior(X), scores / scores.std(axis=0) @ (left @ right)).mean())
    assert np.mean(found) > 0.9
