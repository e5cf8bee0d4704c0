"""What a supervised model has to beat: PCA, ridge LDA and PLS as linear maps, and with a classifier as estimators."""

from typing import NamedTuple

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import pairwise_distances_argmin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from gnomon.describe import Description, Prediction, Projection, Target
from gnomon.rows.kind import is_sparse
from gnomon.targets import read

LDA_SHRINKAGE = 1e-3  # of the mean within-class variance; enough to make LDA the strongest simple baseline on faces
RIDGES = np.logspace(-3, 3, 13)


class NotApplicable(Exception):
    """A baseline that has no answer on these data; the message says why."""


class LinearMap(NamedTuple):
    """An affine map z = (x - mean) rotation, with optional affine predictions of the target from z."""

    mean: np.ndarray  # (p,)
    rotation: np.ndarray  # (p, k)
    weights: np.ndarray | None = None  # (k, c) of one column per class, or of the values
    offsets: np.ndarray | None = None  # (c,)
    classes: np.ndarray | None = None  # (c,); None for values

    def project(self, X):
        return X @ self.rotation - self.mean @ self.rotation

    def predict(self, Z):
        """Predict values from the projection, or the class of the largest one."""
        values = Z @ self.weights + self.offsets
        return values if self.classes is None else self.classes[values.argmax(axis=1)]


def pca_map(X, n_components, random_state=None):
    """PCA of all rows; sparse rows are centered implicitly."""
    sparse = is_sparse(X)
    limit = min(X.shape) - sparse
    if n_components > limit:
        raise NotApplicable(f"{X.shape[0]} x {X.shape[1]} values have at most {limit} components")
    pca = PCA(n_components, svd_solver="arpack" if sparse else "auto", random_state=random_state).fit(X)
    return LinearMap(pca.mean_, pca.components_.T)


def lda_map(X, labels, n_components, shrinkage=LDA_SHRINKAGE):
    """Ridge LDA of labeled rows: directions of between- against within-class variance, at most C - 1.

    The within-class covariance S is replaced by (1 - shrinkage) S + shrinkage tr(S)/p I, as `shrinkage` does in
    scikit-learn. The work is done in the row space: no p-by-p matrix is formed when p > n.
    """
    classes, index = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise NotApplicable("it needs two classes")
    mean, scores, back = _principal_coordinates(X)
    n, p = X.shape
    one_of_c = np.eye(len(classes))[index]
    centers = one_of_c.T @ scores / one_of_c.sum(axis=0)[:, None]  # (c, r)
    deviations = scores - centers[index]
    within, total = deviations.T @ deviations / n, scores.T @ scores / n
    scale = np.trace(within) or np.trace(total)  # one row per class: nothing varies within
    shrunk = (1 - shrinkage) * within + shrinkage * scale / p * np.eye(len(within))
    values, vectors = np.linalg.eigh(shrunk)
    whiten = vectors / np.sqrt(values)  # (r, r)
    between = np.sqrt(one_of_c.mean(axis=0))[:, None] * (centers @ whiten)  # (c, r)
    directions = np.linalg.svd(between, full_matrices=False)[2].T
    k = min(n_components, len(classes) - 1, directions.shape[1])
    rotation = whiten @ directions[:, :k]
    placed, log_prior = centers @ rotation, np.log(one_of_c.mean(axis=0))
    return LinearMap(mean, back(rotation), placed.T, log_prior - 0.5 * (placed**2).sum(axis=1), classes)


def pls_map(X, Y, n_components, classes=None):
    """PLS2 of labeled rows (deflated by x scores, centered, never scaled), projected by `x_rotations_`.

    PLS commutes with a rotation of the rows, so it works on their coordinates in the span of the labeled rows: few
    columns, and sparse rows stay sparse. With `classes` the columns of Y are one-of-C and the prediction is the
    class of the largest fitted column.
    """
    n, p = X.shape
    limit = min(n - 1, p)
    if n_components > limit:
        raise NotApplicable(f"{n} labeled rows of {p} features have at most {limit} components")
    mean, scores, back = _principal_coordinates(X)
    if n_components > scores.shape[1]:
        raise NotApplicable(f"the labeled rows span {scores.shape[1]} dimensions")
    pls = PLSRegression(n_components, scale=False, max_iter=5000).fit(scores, Y)
    return LinearMap(mean, back(pls.x_rotations_), pls.y_loadings_.T, Y.mean(axis=0), classes)


def nearest_labels(Z_labeled, labels, Z):
    """Label of the nearest labeled row in Euclidean distance."""
    return np.asarray(labels)[pairwise_distances_argmin(Z, Z_labeled)]


def ridge(Z, values):
    """Ridge regression on projected rows."""
    return make_pipeline(StandardScaler(with_mean=not is_sparse(Z)), RidgeCV(RIDGES)).fit(Z, values)


def predict_from_projection(kind, Z_labeled, known, Z):
    """Targets by the projection alone: classes of the nearest labeled row, or numbers by ridge regressions.

    A column of numbers learns from the rows that have one.
    """
    if kind == "classes":
        return nearest_labels(Z_labeled, known, Z)
    seen = np.isfinite(known)
    return np.column_stack([ridge(Z_labeled[at], y[at]).predict(Z) for at, y in zip(seen.T, known.T)])


def _principal_coordinates(X):
    """Return the mean, the centered rows in an orthonormal basis of their span, and its map to features."""
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
        weights = (vectors / root) @ rotation  # (n, k): each direction as a sum of centered rows
        return X.T @ weights - np.outer(mean, weights.sum(axis=0))

    return mean, vectors * root, back


def _leading(values, vectors):
    keep = values > 1e-12 * values[-1]
    if not keep.any() or values[-1] <= 0:
        raise NotApplicable("the labeled rows do not differ")
    return values[keep], vectors[:, keep]


def _dense(matrix):
    return matrix.toarray() if is_sparse(matrix) else matrix


class _Baseline(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Read X and y, hand the labeled rows to `_fit`."""

    _kind = "classes"
    _uses_unlabeled = False

    def __init__(self, n_components=None, *, unlabeled="auto"):
        self.n_components = n_components
        self.unlabeled = unlabeled

    def fit(self, X, y):
        X = validate_data(self, X, accept_sparse="csr")
        targets = read(y, X.shape[0], target=self._kind, unlabeled=self.unlabeled, several="real")
        rows = np.flatnonzero(np.isfinite(targets.table).all(axis=1))
        if self._kind == "classes":
            self.classes_ = targets.classes
        columns = [None] if targets.vector else range(targets.table.shape[1])
        self.targets_ = tuple(Target(self._kind, targets.classes, column) for column in columns)
        self.n_labeled_ = len(rows)
        self._fit(X, rows, targets.index[rows] if self._kind == "classes" else targets.table[rows])
        return self

    @property
    def _n_features_out(self):
        return min(self.n_components, self.map_.rotation.shape[1])

    def _project(self, X):
        check_is_fitted(self)
        return self.map_.project(validate_data(self, X, accept_sparse="csr", reset=False))

    def transform(self, X):
        return self._project(X)[:, : self.n_components]

    def _predict(self, Z):
        return self.map_.predict(Z)

    def predict(self, X):
        found = self._predict(self._project(X))
        if self._kind == "classes":
            return self.classes_[found]
        return found.ravel() if self.targets_[0].column is None else found

    def describe(self):
        """Return what the fitted baseline says of itself: plots and reports ask a choice, which may be one."""
        names = vars(self).get("feature_names_in_")
        return Description(
            type(self).__name__,
            self.get_params(),
            self.n_features_in_,
            self._n_features_out,
            lambda X: Projection(self._project(X)[:, : self.n_components]),
            feature_names=None if names is None else tuple(names),
            targets=self.targets_,
            n_labeled=self.n_labeled_,
            uses_unlabeled=self._uses_unlabeled,
            predict=lambda X: tuple(Prediction(column) for column in np.atleast_2d(self.predict(X).T)),
        )


class RidgeLDA(ClassifierMixin, _Baseline):
    """Ridge LDA of the labeled rows; predictions use every discriminant direction."""

    def __init__(self, n_components=None, *, shrinkage=LDA_SHRINKAGE, unlabeled="auto"):
        super().__init__(n_components, unlabeled=unlabeled)
        self.shrinkage = shrinkage

    def _fit(self, X, rows, index):
        self.map_ = lda_map(X[rows], index, len(self.classes_), shrinkage=self.shrinkage)


class PCAClassifier(ClassifierMixin, _Baseline):
    """PCA of all rows, then the class of the nearest labeled row or logistic regression of the projection."""

    _uses_unlabeled = True

    def __init__(self, n_components=None, *, classifier="nearest", unlabeled="auto"):
        super().__init__(n_components, unlabeled=unlabeled)
        self.classifier = classifier

    def _fit(self, X, rows, index):
        self.map_ = pca_map(X, self.n_components, 0)
        self.seen_, self.index_ = self.map_.project(X[rows]), index
        if self.classifier == "logistic":
            self.classifier_ = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
            self.classifier_.fit(self.seen_, index)

    def _predict(self, Z):
        if self.classifier == "logistic":
            return self.classifier_.predict(Z)
        return nearest_labels(self.seen_, self.index_, Z)


class PCARidge(RegressorMixin, _Baseline):
    """PCA of all rows, then ridge regression on the projection of the labeled rows."""

    _kind = "real"
    _uses_unlabeled = True

    def _fit(self, X, rows, Y):
        self.map_ = pca_map(X, self.n_components, 0)
        self.regression_ = ridge(self.map_.project(X[rows]), Y)

    def _predict(self, Z):
        return np.reshape(self.regression_.predict(Z), (len(Z), -1))


class PLS(RegressorMixin, _Baseline):
    """PLS of the labeled rows, for real targets."""

    _kind = "real"

    def _fit(self, X, rows, Y):
        self.map_ = pls_map(X[rows], Y, self.n_components)
