"""The rivals must be what scikit-learn computes, on dense and sparse rows alike."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.linalg import subspace_angles
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from gnomon.selection.baselines import NotApplicable, lda_map, nearest_labels, pca_map, pls_map


@pytest.fixture
def wide():
    rng = np.random.default_rng(3)
    labels = np.repeat(["a", "b", "c", "d"], 5)
    centers = rng.normal(size=(4, 60))
    return rng.normal(size=(20, 60)) * 0.5 + np.repeat(centers, 5, axis=0), labels


def same_up_to_sign(A, B, **tol):
    assert_allclose(A * np.sign((A * B).sum(axis=0)), B, **tol)


def test_pca_map_is_scikit_learns_pca():
    X = load_wine().data
    same_up_to_sign(pca_map(X, 3).project(X), PCA(3).fit_transform(X), rtol=1e-8, atol=1e-8)


def test_pca_of_sparse_rows_is_pca_of_dense_rows():
    X = sp.random(80, 30, density=0.2, random_state=0, format="csr")
    same_up_to_sign(pca_map(X, 3).project(X), pca_map(X.toarray(), 3).project(X.toarray()), atol=1e-8)


def test_pls_map_is_scikit_learns_unscaled_pls():
    X, y = load_iris(return_X_y=True)
    Y = np.eye(3)[y]
    ours, theirs = pls_map(X, Y, 2, classes=np.arange(3)), PLSRegression(2, scale=False).fit(X, Y)
    same_up_to_sign(ours.project(X), theirs.transform(X), atol=1e-10)
    assert_allclose(ours.predict(ours.project(X)), theirs.predict(X).argmax(axis=1))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_pls_of_wide_rows_is_scikit_learns(wide, form):
    X, labels = wide
    Y = (labels[:, None] == np.unique(labels)).astype(float)
    ours, theirs = pls_map(form(X), Y, 4), PLSRegression(4, scale=False, max_iter=5000).fit(X, Y)
    assert_allclose(np.abs(ours.project(form(X))), np.abs(theirs.transform(X)), rtol=1e-4, atol=1e-4)
    assert_allclose(ours.predict(ours.project(X)), theirs.predict(X), atol=1e-4)


def test_pls_has_no_more_components_than_the_rows_span():
    X = np.outer(np.arange(8.0), np.ones(5))
    with pytest.raises(NotApplicable, match="span 1 dimensions"):
        pls_map(X, np.arange(8.0)[:, None], 2)


def test_lda_with_a_vanishing_ridge_spans_classical_lda():
    X, y = load_wine(return_X_y=True)
    ours = lda_map(X, y, 2, shrinkage=1e-12)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    assert subspace_angles(ours.rotation, theirs.scalings_[:, :2]).max() < 1e-5
    assert_allclose(ours.predict(ours.project(X)), theirs.predict(X))


def test_lda_whitens_the_shrunk_within_class_covariance(wide):
    X, labels = wide
    ridge = 0.1
    deviations = np.vstack([X[labels == c] - X[labels == c].mean(axis=0) for c in np.unique(labels)])
    within = deviations.T @ deviations / len(X)
    shrunk = (1 - ridge) * within + ridge * np.trace(within) / X.shape[1] * np.eye(X.shape[1])
    rotation = lda_map(X, labels, 3, shrinkage=ridge).rotation
    assert_allclose(rotation.T @ shrunk @ rotation, np.eye(3), atol=1e-8)
    centers = np.stack([X[labels == c].mean(axis=0) for c in np.unique(labels)]) - X.mean(axis=0)
    between = rotation.T @ centers.T @ centers @ rotation
    assert_allclose(between, np.diag(np.diag(between)), atol=1e-8 * between.max())
    assert (np.diff(np.diag(between)) < 0).all()


def test_lda_of_wide_rows_does_not_depend_on_the_route(wide):
    X, labels = wide
    padded = np.vstack([X] * 4)  # 80 rows of 60 features: the p-by-p route; same covariances
    by_gram, by_scatter = lda_map(X, labels, 3), lda_map(padded, np.tile(labels, 4), 3)
    same_up_to_sign(by_gram.project(X), by_scatter.project(X), rtol=1e-5, atol=1e-5)
    sparse = lda_map(sp.csr_array(X), labels, 3)
    same_up_to_sign(sparse.project(sp.csr_array(X)), by_gram.project(X), rtol=1e-6, atol=1e-6)


def test_lda_with_one_row_per_class_separates_the_labeled_rows(wide):
    X, labels = wide[0][::5], wide[1][::5]
    found = lda_map(X, labels, 3)
    assert_allclose(found.predict(found.project(X)) == labels, True)


def test_lda_has_at_most_one_direction_less_than_classes(wide):
    assert lda_map(*wide, 10).rotation.shape == (60, 3)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda X, y: pca_map(X, 21), "at most 20 components"),
        (lambda X, y: pca_map(sp.csr_array(X), 20), "at most 19 components"),
        (lambda X, y: pls_map(X, np.eye(4)[np.repeat(range(4), 5)], 20), "at most 19 components"),
        (lambda X, y: lda_map(X, np.zeros(20), 1), "two classes"),
        (lambda X, y: lda_map(np.ones((20, 60)), y, 1), "do not differ"),
    ],
)
def test_a_rival_says_why_it_does_not_apply(wide, call, words):
    with pytest.raises(NotApplicable, match=words):
        call(*wide)


def test_nearest_labels_takes_the_closest_labeled_row():
    found = nearest_labels(np.array([[0.0, 0.0], [4.0, 0.0]]), np.array(["near", "far"]), np.array([[1.0, 0], [3, 0]]))
    assert found.tolist() == ["near", "far"]
