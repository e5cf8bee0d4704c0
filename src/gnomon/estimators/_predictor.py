"""Prediction of targets from a fitted linear-Gaussian model."""

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..likelihoods.family import drawn_class
from ..rows.masked import incomplete_rows
from ..rows.namespace import like
from ..targets.code import class_contrasts, code_like
from ._guided import GuidedPredictor, with_classes
from ._validation import check_variance

BATCH = 1 << 21  # numbers held at once for rows with missing entries


class TargetReader(GuidedPredictor):
    """`predict` and `predict_proba`, integrating over the uncertainty of the projection."""

    _kinds = ("classes", "real")
    _several = "real"
    _few_directions = True

    def _store_targets(self, result, dtype, coded):
        p = result.value.params
        y_loadings, y_mean = p.W_y, p.m_y
        if coded.basis is not None:
            y_mean = coded.origin + coded.basis @ y_mean
            y_loadings = coded.basis @ y_loadings
        self.y_basis_ = coded.basis
        self.y_loadings_, self.y_intercept_ = y_loadings.astype(dtype), y_mean.astype(dtype)
        self.y_noise_variance_ = None
        if len(p.y_noise_var):
            check_variance("y", p.y_noise_var)
            shared = (p.y_noise_var == p.y_noise_var[0]).all()
            self.y_noise_variance_ = float(p.y_noise_var[0]) if shared else p.y_noise_var.astype(dtype)

    def _target_params(self):
        y_loadings = np.asarray(self.y_loadings_, dtype=np.float64)
        y_mean = np.asarray(self.y_intercept_, dtype=np.float64)
        if self.y_basis_ is not None:
            y_loadings, y_mean = self.y_basis_.T @ y_loadings, np.zeros(self.y_basis_.shape[1])
        y_noise = np.broadcast_to(np.asarray(self.y_noise_variance_, dtype=np.float64), y_mean.shape)
        return y_loadings, y_mean, y_noise

    def _code_targets(self, y, n_samples):
        if y is None:
            return np.full((n_samples, len(self._target_params()[1])), np.nan)
        n_classes = len(self.classes_) if self.target_kind_ == "classes" else None
        return code_like(self._values_of(y, n_samples), n_classes, self.y_basis_, self.y_intercept_)

    def predict(self, X: Any, return_std: Any = False) -> Any:
        """Predict the targets, integrating over the uncertainty of the projection.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        return_std : bool, default=False
            For real outputs, return the predictive standard deviations too (noise included, units of y).

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Class labels, or expected outputs.
        std : ndarray of the shape of y
            Only with `return_std=True`.
        """
        X = self._check_rows(X)
        self._require_targets("predict")
        if self.target_kind_ == "classes":
            if return_std:
                raise ValueError("return_std=True is for real outputs; for classes use predict_proba.")
            return self.classes_[self._class_log_density(X).argmax(axis=1)]
        parts = [self._expected_outputs(rows) for rows in self._batches(X)]
        mean, std = (np.concatenate(part) for part in zip(*parts, strict=True))
        if self._vector:
            mean, std = mean[:, 0], std[:, 0]
        mean, std = like(mean, X), like(std, X)
        return (mean, std) if return_std else mean

    @available_if(with_classes)
    def predict_proba(self, X: Any) -> Any:
        """Probability of each class: the predictive density of y at the code of the class, normalized over classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Rows sum to one; columns in the order of `classes_`.
        """
        X = self._check_rows(X)
        self._require_targets("predict_proba")
        logs = self._class_log_density(X)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return like(weights / weights.sum(axis=1, keepdims=True), X)

    def _batches(self, X):
        """X as it is, or in slices when every row has a predictive covariance of its own."""
        if len(incomplete_rows(X)) == 0:
            return [X]
        size = max(1, BATCH // max(self.y_loadings_.shape[0], self.components_.shape[0]) ** 2)
        return [X[start : min(start + size, X.shape[0]), :] for start in range(0, X.shape[0], size)]

    def _predictive(self, X):
        """Predictive mean (n, q) and covariance (q, q) or (n, q, q) of the targets as coded."""
        p = self._params()
        post = self._condition(X, None, ("mean", "cov"))
        return p.m_y + post["mean"] @ p.W_y.T, p.W_y @ post["cov"] @ p.W_y.T + np.diag(p.y_noise_var)

    def _expected_outputs(self, X):
        mean, cov = self._predictive(X)
        if self.y_basis_ is not None:
            mean, cov = self.y_intercept_ + mean @ self.y_basis_.T, self.y_basis_ @ cov @ self.y_basis_.T
        std = np.sqrt(np.diagonal(cov, axis1=-2, axis2=-1))
        return mean, np.broadcast_to(std, mean.shape)

    def _class_log_density(self, X):
        """Log-density of the code of every class, up to a constant in each row."""
        codes = class_contrasts(len(self.classes_))
        if len(codes) == 1:
            return np.zeros((X.shape[0], 1))
        out = []
        for rows in self._batches(X):
            mean, cov = self._predictive(rows)
            root = np.linalg.cholesky(cov)
            center, code = np.linalg.solve(root, mean[:, :, None]), np.linalg.solve(root, codes.T)
            out.append((center * code).sum(axis=-2) - 0.5 * (code**2).sum(axis=-2))  # no square of a large mean
        return np.concatenate(out)


class TargetPredictor(TargetReader):
    """`predict`, `predict_proba`, and `sample` of rows with their targets."""

    def sample(self, n_samples: Any = 1, return_y: Any = False, random_state: Any = None) -> Any:
        """Draw rows from the fitted model.

        Parameters
        ----------
        n_samples : int, default=1
            How many rows.
        return_y : bool, default=False
            Draw the targets too: real outputs, or classes with the probabilities that `predict_proba` gives the row.
        random_state : int, RandomState instance or None, default=None
            Seed; None uses the `random_state` of the estimator.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows, in the units of X.
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Only with `return_y=True`.
        """
        X, Y, rng = self._draw(n_samples, random_state)
        if not return_y:
            return X
        self._require_targets("sample(return_y=True)")
        if self.target_kind_ == "classes":
            proba = self.predict_proba(X)
            return X, self.classes_[drawn_class(proba, rng.random_sample(n_samples)).astype(np.intp)]
        if self.y_basis_ is not None:
            Y = self.y_intercept_ + Y @ self.y_basis_.T
        return X, Y[:, 0] if self._vector else Y
