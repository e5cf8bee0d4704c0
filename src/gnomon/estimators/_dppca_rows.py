"""What DPPCA does with new rows once it is fitted."""

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..models import dppca as model
from ..rows.namespace import as_table, asarray_like
from ._density import JointDensity
from ._estimator import Transformer
from ._predictions import Predictor


def _has_one_target(estimator):
    if not vars(estimator).get("_vector", True):
        raise AttributeError(
            f"this DPPCA has {len(estimator.classes_)} targets, each with a model of x of its own: it has transform, "
            "predict, predict_proba and score. For densities, posteriors and samples fit one target."
        )
    return True


one_target = available_if(_has_one_target)


class DPPCARows(Predictor, JointDensity, Transformer):
    """Projection, class probabilities, density and samples of fitted models, one for each target."""

    _takes_devices = True

    def _per_target(self, values):
        """The values of all targets: a list with a table of labels, the one value with one column."""
        return values[0] if self._vector else values

    def _listed(self, value):
        """The opposite of `_per_target`."""
        return [value] if self._vector else value

    def _models(self):
        """The fitted model of each target."""
        parts = (self.class_prior_, self.class_means_, self.factors_, self.noise_variance_)
        return [model.Model(*one) for one in zip(*map(self._listed, parts), strict=True)]

    def _predicted(self, rows):
        return [model.log_joint(one, rows) for one in self._models()]

    def transform(self, X: Any, return_cov: Any = False) -> Any:
        """Project rows: (X - mean_) components_'.

        The projection is linear in x. `posterior` has the expected place of the row without its noise.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        return_cov : bool, default=False
            Return the covariance of `posterior` as well.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Projections, uncorrelated within a class: of variance one in the first `n_class_components_` columns and of
            0.01 in the others, which separate no classes and must not blur distances between rows.
        cov : ndarray of shape (n_samples, n_components, n_components)
            Covariance of the projection of the row without its noise, given x; only with `return_cov=True`.
        """
        rows = self._check_rows(X)
        Z = rows.project(self.mean_, self.components_.T.astype(np.float64))
        return (Z, self.posterior(X)[1]) if return_cov else Z

    @one_target
    def posterior(self, X: Any, y: Any = None) -> Any:
        """Mean and covariance of D'(m_c + V z - mean_), the projection of a row without its noise, given x.

        The class is averaged over by its posterior probability, so that the covariance holds the doubt about the class;
        a class given in y is taken as known.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            Classes as in `fit`; unlabeled rows are averaged over.

        Returns
        -------
        mean : ndarray of shape (n_samples, n_components)
            Expected projections.
        cov : ndarray of shape (n_samples, n_components, n_components)
            Their covariances.
        """
        rows = self._check_rows(X)
        (one,) = self._models()
        mean, cov = model.posterior(one, self.components_.astype(np.float64), rows, self._index(y, rows.shape[0]))
        return rows.like(mean), rows.like(cov)

    score_samples = one_target(JointDensity.score_samples)
    sample = one_target(JointDensity.sample)

    def _log_density(self, rows, y):
        (one,) = self._models()
        return model.log_density(one, rows, self._index(y, rows.shape[0]))

    def _index(self, y, n_samples):
        """Class number of new rows, -1 where unlabeled."""
        if y is None:
            return None
        values = self._values_of(y, n_samples)[:, 0]
        return np.where(np.isnan(values), -1, np.nan_to_num(values)).astype(np.intp)

    @one_target
    def inverse_transform(self, Z: Any) -> Any:
        """The row nearest to `mean_`, in the within-class metric, among those that project to Z.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Projections.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows, in the units of X.
        """
        check_is_fitted(self)
        Z = as_table(Z)
        if Z.ndim != 2 or Z.shape[1] != len(self.components_):
            raise ValueError(f"Z has shape {tuple(Z.shape)}; (n_samples, {len(self.components_)}) is wanted.")
        (one,) = self._models()
        back = model.back(one, self.components_.astype(np.float64))
        return Z @ asarray_like(back, Z) + asarray_like(self.mean_, Z)

    def _draw(self, n_samples, rng):
        (one,) = self._models()
        X, index = model.sample(one, n_samples, rng)
        return X.astype(self.components_.dtype), index

    def _draw_targets(self, X, latent, rng):
        return self.classes_[latent]
