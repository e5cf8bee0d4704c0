"""What a supervised model has to beat: PCA, ridge LDA and PLS as linear maps, and with a classifier as estimators."""

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import pairwise_distances_argmin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

LDA_RIDGE = 1e-3  # of the mean within-class variance; enough to make LDA the strongest simple rival on faces
RIDGES = np.logspace(-3, 3, 13)


class NotApplicable(Exception):
    """A rival that has no answer on these data; the message says why."""


class LinearMap(NamedTuple):
    """An affine map z = (x - mean) rotation, with an optional read-out of the target from z."""

    mean: np.ndarray  # (p,)
    rotation: np.ndarray  # (p, k)
    read_out: object = None  # function of the projection: predicted labels or values

    def project(self, X):
        return X @ self.rotation - self.mean @ self.rotation


def pca_map(X, n_components, random_state=None):
    """PCA of all rows; sparse rows are centred implicitly."""
    sparse = hasattr(X, "tocsr")
    limit = min(X.shape) - sparse
    if n_components > limit:
        raise NotApplicable(f"{X.shape[0]} x {X.shape[1]} values have at most {limit} components")
    pca = PCA(n_components, svd_solver="arpack" if sparse else "auto", random_state=random_state).fit(X)
    return LinearMap(pca.mean_, pca.components_.T)


def lda_map(X, labels, n_components, ridge=LDA_RIDGE):
    """Ridge LDA of labelled rows: directions of between- against within-class variance, at most C - 1.

    The within-class covariance S is replaced by (1 - ridge) S + ridge tr(S)/p I, as `shrinkage` does in
    scikit-learn. The work is done in the row space: no p-by-p matrix is formed when p > n.
    """
    classes, index = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise NotApplicable("it needs two classes")
    mean, scores, back = _principal_coordinates(X)
    n, p = X.shape
    one_of_c = np.eye(len(classes))[index]
    centres = one_of_c.T @ scores / one_of_c.sum(axis=0)[:, None]  # (c, r)
    deviations = scores - centres[index]
    within, total = deviations.T @ deviations / n, scores.T @ scores / n
    scale = np.trace(within) or np.trace(total)  # one row a class: nothing varies within
    shrunk = (1 - ridge) * within + ridge * scale / p * np.eye(len(within))
    values, vectors = np.linalg.eigh(shrunk)
    whiten = vectors / np.sqrt(values)  # (r, r)
    spread = np.sqrt(one_of_c.mean(axis=0))[:, None] * (centres @ whiten)  # (c, r)
    directions = np.linalg.svd(spread, full_matrices=False)[2].T
    k = min(n_components, len(classes) - 1, directions.shape[1])
    rotation = whiten @ directions[:, :k]
    placed, log_prior = centres @ rotation, np.log(one_of_c.mean(axis=0))

    def nearest_class(Z):
        score = Z @ placed.T - 0.5 * (placed**2).sum(axis=1) + log_prior
        return classes[score.argmax(axis=1)]

    return LinearMap(mean, back(rotation), nearest_class)


def pls_map(X, Y, n_components, classes=None):
    """PLS2 of labelled rows (deflated by x scores, centred, never scaled), projected by `x_rotations_`.

    PLS commutes with a rotation of the rows, so it works on their coordinates in the span of the labelled rows: few
    columns, and sparse rows stay sparse. With `classes` the columns of Y are one-of-C and the read-out is the class of
    the largest fitted column.
    """
    n, p = X.shape
    limit = min(n - 1, p)
    if n_components > limit:
        raise NotApplicable(f"{n} labelled rows of {p} features have at most {limit} components")
    mean, scores, back = _principal_coordinates(X)
    if n_components > scores.shape[1]:
        raise NotApplicable(f"the labelled rows span {scores.shape[1]} dimensions")
    pls = PLSRegression(n_components, scale=False, max_iter=5000).fit(scores, Y)
    y_mean, y_map = Y.mean(axis=0), pls.y_loadings_.T

    def fitted(Z):
        values = Z @ y_map + y_mean
        return values if classes is None else classes[values.argmax(axis=1)]

    return LinearMap(mean, back(pls.x_rotations_), fitted)


def nearest_labels(Z_labelled, labels, Z):
    """Label of the nearest labelled row in Euclidean distance."""
    return np.asarray(labels)[pairwise_distances_argmin(Z, Z_labelled)]


def _principal_coordinates(X):
    """Return the mean, the centred rows in an orthonormal basis of their span, and its map to features."""
    n, p = X.shape
    mean = np.asarray(X.mean(axis=0)).ravel()
    if n > p:
        scatter = _dense(X.T @ X) - n * np.outer(mean, mean)
        basis = _leading(*np.linalg.eigh(scatter))[1]
        return mean, X @ basis - mean @ basis, lambda rotation: basis @ rotation
    gram = _dense(X @ X.T)
    row_mean = gram.mean(axis=0)
    values, vectors = _leading(*np.linalg.eigh(gram - row_mean - row_mean[:, None] + row_mean.mean()))
    root = np.sqrt(values)

    def back(rotation):
        weights = (vectors / root) @ rotation  # (n, k): each direction as a sum of centred rows
        return X.T @ weights - np.outer(mean, weights.sum(axis=0))

    return mean, vectors * root, back


def _leading(values, vectors):
    keep = values > 1e-12 * values[-1]
    if not keep.any() or values[-1] <= 0:
        raise NotApplicable("the labelled rows do not differ")
    return values[keep], vectors[:, keep]


def _dense(matrix):
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


class Baseline(BaseEstimator):
    """Read y, hand the labelled rows to `_fit`."""

    def fit(self, X, y):
        y = np.asarray(y)
        if y.dtype.kind == "f":
            self.target_kind_, Y = "real", y.reshape(len(y), -1)
            rows = np.flatnonzero(np.isfinite(Y).all(axis=1))
            self.one_column_ = y.ndim == 1
            self._fit(X, rows, Y[rows])
            return self
        self.target_kind_ = "classes"
        mark = -1 if isinstance(self.unlabeled, str) and self.unlabeled == "auto" else self.unlabeled
        missing = [value is None or (mark is not None and value == mark) for value in y.tolist()]
        rows = np.flatnonzero(~np.array(missing))
        self.classes_, index = np.unique(np.array(y[rows].tolist()), return_inverse=True)
        self._fit(X, rows, index)
        return self

    def transform(self, X):
        return self.map_.project(X)[:, : self.n_components]

    def predict(self, X):
        found = self._predict(X)
        if self.target_kind_ == "classes":
            return self.classes_[found]
        return found.ravel() if self.one_column_ else found


class RidgeLDA(Baseline):
    """Ridge LDA of the labelled rows; predictions use every discriminant direction."""

    def __init__(self, n_components=None, *, ridge=LDA_RIDGE, unlabeled=None):
        self.n_components = n_components
        self.ridge = ridge
        self.unlabeled = unlabeled

    def _fit(self, X, rows, index):
        self.map_ = lda_map(X[rows], index, len(self.classes_), ridge=self.ridge)

    def _predict(self, X):
        return self.map_.read_out(self.map_.project(X))


class PCAReader(Baseline):
    """PCA of all rows, and the nearest labelled row, logistic regression or ridge regression of the projection."""

    def __init__(self, n_components=None, *, read_out="nearest", unlabeled=None, random_state=0):
        self.n_components = n_components
        self.read_out = read_out
        self.unlabeled = unlabeled
        self.random_state = random_state

    def _fit(self, X, rows, target):
        self.map_ = pca_map(X, self.n_components, self.random_state)
        self.seen_, self.target_ = self.map_.project(X[rows]), target
        if self.read_out == "logistic":
            self.reader_ = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
            self.reader_.fit(self.seen_, target)
        elif self.read_out == "ridge":
            self.reader_ = make_pipeline(StandardScaler(), RidgeCV(RIDGES)).fit(self.seen_, target)

    def _predict(self, X):
        Z = self.map_.project(X)
        return nearest_labels(self.seen_, self.target_, Z) if self.read_out == "nearest" else self.reader_.predict(Z)


class PLS(Baseline):
    """PLS of the labelled rows, for real targets."""

    def __init__(self, n_components=None, *, unlabeled=None):
        self.n_components = n_components
        self.unlabeled = unlabeled

    def _fit(self, X, rows, Y):
        self.map_ = pls_map(X[rows], Y, self.n_components)

    def _predict(self, X):
        return self.map_.read_out(self.map_.project(X))
