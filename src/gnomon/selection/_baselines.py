"""What a guided model has to beat: projections with a read-out that take all rows, labelled or not, in `fit`."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon.selection.rivals import LDA_RIDGE, lda_map, nearest_labels, pca_map, pls_map

RIDGES = np.logspace(-3, 3, 13)


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
