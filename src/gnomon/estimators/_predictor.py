"""Prediction of targets from a fitted linear-Gaussian model."""

import numpy as np
from sklearn.utils import ClassifierTags

from ..numerics.coding import class_contrasts


class TargetPredictor:
    """`predict` and `predict_proba`, integrating over the uncertainty of the projection."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags()  # scikit-learn's checks look for it beside predict_proba
        return tags

    def predict(self, X, return_std=False):
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
        mean, cov = self._predictive(X)
        std = np.broadcast_to(np.sqrt(np.diag(cov)), mean.shape)
        if self.y_basis_ is not None:
            std = np.broadcast_to(
                np.sqrt(np.diag(self.y_basis_ @ cov @ self.y_basis_.T)), (len(mean), len(self.y_mean_))
            )
            mean = self.y_mean_ + mean @ self.y_basis_.T
        if self._one_output:
            mean, std = mean[:, 0], std[:, 0]
        mean, std = mean.astype(X.dtype), std.astype(X.dtype)
        return (mean, std) if return_std else mean

    def predict_proba(self, X):
        """Probability of each class: the predictive density of y at the code of the class, normalised over classes.

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
        if self.target_kind_ != "classes":
            raise ValueError("predict_proba is for class targets; this model was fitted to real outputs, use predict.")
        logs = self._class_log_density(X)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return (weights / weights.sum(axis=1, keepdims=True)).astype(X.dtype)

    def _predictive(self, X):
        params, post, _, _ = self._condition(X, None)
        mean = params.m_y + post.mean @ params.W_y.T
        return mean, params.W_y @ post.covs[0] @ params.W_y.T + np.diag(params.y_noise_var)

    def _class_log_density(self, X):
        codes = class_contrasts(len(self.classes_))
        if len(codes) == 1:
            return np.zeros((X.shape[0], 1))
        mean, cov = self._predictive(X)
        root = np.linalg.cholesky(cov)
        gaps = (mean[:, None, :] - codes).reshape(len(mean) * len(codes), codes.shape[1])
        whitened = np.linalg.solve(root, gaps.T)
        return -0.5 * (whitened**2).sum(axis=0).reshape(len(mean), len(codes))
