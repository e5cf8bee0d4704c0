"""A latent variable that has a posterior: `posterior`, and `transform` by its mean."""

from typing import Any

from ..describe import Projection
from ..rows.by_chunk import by_chunk
from ._estimator import Transformer, check_choice


def check_uncertainty(uncertainty: Any) -> None:
    """Raise unless it is one of the two that posteriors and deviations of numbers know."""
    check_choice("uncertainty", uncertainty, ("full", "plug-in"))


class LatentPosterior(Transformer):
    """From `_condition(rows, y)`: the mean (n, k), and the covariance by row or shared."""

    @by_chunk
    def posterior(self, X: Any, y: Any = None) -> Any:
        """Posterior mean and covariance of the latent variables given x, and the observed part of y if it is passed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets as in `fit`; what is missing is not conditioned on. None uses x alone. Unsupervised models ignore y.

        Returns
        -------
        mean : ndarray of shape (n_samples, n_components)
            Posterior means; the latent variables have unit variance a priori.
        cov : ndarray of shape (n_components, n_components) or (n_samples, n_components, n_components)
            One covariance when it is the same for every row, else one per row.
        """
        rows = self._check_rows(X)
        mean, cov = self._condition(rows, y)
        return rows.like(mean), rows.like(cov)

    @by_chunk
    def transform(self, X: Any, return_cov: Any = False) -> Any:
        """Project rows: the posterior mean of the latent variables given x.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        return_cov : bool, default=False
            Return the posterior covariance as well.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Projections.
        cov : ndarray of shape (n_components, n_components) or (n_samples, n_components, n_components)
            Their covariance, that of `posterior`; only with `return_cov=True`.
        """
        mean, cov = self._project(X, return_cov)
        return (mean, cov) if return_cov else mean

    def _project(self, X, with_cov):
        return self.posterior(X)

    def _said(self):
        return super()._said() | {"project": lambda X: Projection(*self.transform(X, return_cov=True))}
