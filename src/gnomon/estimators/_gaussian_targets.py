"""Targets that are noisy linear views of the latent variables: SPPCA and KernelSPPCA."""

import numpy as np

from ..likelihoods.class_densities import ClassDensities
from ..models.linear.class_densities import learn, log_joint
from ..models.linear.conditioning import outputs_at
from ..numerics.normalize import normalized
from ..rows.namespace import holding
from ..targets.code import code_like, to_coordinates
from ._estimator import check_variance
from ._number_intervals import NumberPredictor


class GaussianTargets(NumberPredictor):
    """Predictions that integrate over the uncertainty of the projection.

    Classes are told by Bayes' rule, from a density of each in the latent directions that foretell their codes.
    """

    _kinds = ("classes", "real")
    _few_directions = True

    def _store_targets(self, result, dtype, coded):
        p = result.value.params
        y_loadings, y_mean = p.W_y, p.m_y
        if coded.basis is not None:
            y_mean = coded.origin + coded.basis @ y_mean
            y_loadings = coded.basis @ y_loadings
        self.y_basis_ = coded.basis
        dtype = holding(dtype, y_loadings, y_mean, p.y_noise_var)
        self.y_loadings_, self.y_intercept_ = y_loadings.astype(dtype), y_mean.astype(dtype)
        self.y_noise_variance_ = None
        if len(p.y_noise_var):
            check_variance("y", p.y_noise_var)
            shared = (p.y_noise_var == p.y_noise_var[0]).all()
            self.y_noise_variance_ = float(p.y_noise_var[0]) if shared else p.y_noise_var.astype(dtype)
        optima, lower = result.stats["optima"], self.log_likelihood_
        self.certificate_ = {"upper": None, "lower": lower, "gap": None, "optima": optima} if optima else None

    def _learn_from_labels(self, rows, targets, weights, n_columns, beside_latent=None):
        """Learn where classes are, or how well numbers are known, from labeled rows once the parameters are stored.

        `beside_latent` is what the fit says of complete rows that observe numbers, or None.
        """
        if self.target_kind_ == "classes":
            self._store_classes(rows, targets)
        elif self.target_kind_ == "real" and beside_latent is not None and self.y_basis_ is None:
            total = float(len(targets.table) if weights is None else weights.sum())
            beside = beside_latent._replace(moments=beside_latent.moments / self.label_weight)
            self._learn_numbers_from_moments(beside, self.label_weight / total, n_columns)
        elif self.target_kind_ == "real":
            self._learn_numbers(rows, targets.table, weights, n_columns)

    def _readings(self):
        if self.target_kind_ == "classes":
            return np.zeros((0, self.y_loadings_.shape[1])), np.zeros(0), np.zeros(0)
        W, intercept, noise = self._target_params()
        if self.y_basis_ is not None:
            basis = self.y_basis_
            W, intercept, noise = basis @ W, self.y_intercept_ + basis @ intercept, basis**2 @ noise
        return W, intercept, noise

    def _store_classes(self, rows, targets):
        numbers = targets.columns[0].numbers
        known = np.flatnonzero(numbers >= 0)
        means = [self._condition(batch)[0] for batch in self._batches(rows.take(known))]
        weights = np.ones(len(known)) if rows.weights is None else np.asarray(rows.weights, dtype=np.float64)[known]
        found = learn(self._params(), np.concatenate(means), numbers[known], weights, len(self.classes_))
        self.class_axes_, self.class_centers_, self.class_covariance_, self.class_counts_ = found

    def _densities(self):
        return ClassDensities(self.class_axes_, self.class_centers_, self.class_covariance_, self.class_counts_)

    def _target_params(self):
        y_loadings = np.asarray(self.y_loadings_, dtype=np.float64)
        y_mean = np.asarray(self.y_intercept_, dtype=np.float64)
        if self.y_basis_ is not None:
            y_loadings, y_mean = to_coordinates(self.y_basis_).T @ y_loadings, np.zeros(self.y_basis_.shape[1])
        y_noise = np.broadcast_to(np.asarray(self.y_noise_variance_, dtype=np.float64), y_mean.shape)
        return y_loadings, y_mean, y_noise

    def _code_targets(self, y, n_samples):
        if y is None:
            return None
        n_classes = len(self.classes_) if self.target_kind_ == "classes" else None
        return code_like(self._values_of(y, n_samples), n_classes, self.y_basis_, self.y_intercept_)

    def _predicted_with_std(self, rows):
        parts = [self._of_batch(batch) for batch in self._batches(rows)]
        found, std = (np.concatenate(part) for part in zip(*parts, strict=True))
        return ([found] if self.target_kind_ == "classes" else list(found.T)), std

    def _of_batch(self, rows):
        """Probabilities (n, C) of classes, or outputs (n, q); and (n, q)."""
        params, given = self._params(), self._condition(rows)
        if self.target_kind_ == "classes":
            logs = log_joint(params, self._densities(), *given)
            return normalized(logs)[0], np.zeros((len(logs), 0))
        mean, cov = outputs_at(params, *given)
        if self.y_basis_ is not None:
            mean, cov = self.y_intercept_ + mean @ self.y_basis_.T, self.y_basis_ @ cov @ self.y_basis_.T
        std = np.sqrt(np.diagonal(cov, axis1=-2, axis2=-1))
        return mean, np.broadcast_to(std, mean.shape)
