"""A posterior of latent vectors that counts how well the parameters are known, or takes them for known."""

from typing import Any

import numpy as np

from ..models.linear.positions import given_outputs
from ..rows.by_chunk import by_chunk
from ._posterior import LatentPosterior, check_uncertainty


def n_equal(n, weights):
    """How many rows of equal weights would tell as much."""
    return float(n if weights is None else np.sum(weights) ** 2 / np.sum(np.square(weights)))


class PlacedPosterior(LatentPosterior):
    """From `_condition(rows, y)` under the estimates, and `_placed(rows, mean, cov)`, which counts what those leave."""

    @by_chunk
    def posterior(self, X: Any, y: Any = None, uncertainty: Any = "full") -> Any:
        """Posterior mean and covariance of the latent variables given x, and the observed part of y if it is passed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets as in `fit`; what is missing is not conditioned on. None uses x alone. Unsupervised models ignore y.
        uncertainty : {"full", "plug-in"}, default="full"
            "plug-in" takes the parameters for known. "full" counts that loadings, mean and scale are estimates, which
            matters where columns are many beside rows: means are those of the population's directions, longer or
            shorter than what `transform` gives, rows of the fit and new rows are placed apart, and covariances are for
            regions by chi-squared. Rows with missing entries are averaged over what they lack; y adds to the precision
            what it adds by "plug-in".

        Returns
        -------
        mean : ndarray of shape (n_samples, n_components)
            Posterior means; the latent variables have unit variance a priori.
        cov : ndarray of shape (n_components, n_components) or (n_samples, n_components, n_components)
            One covariance when it is the same for every row, else one per row. By "full" it is one for complete rows
            where the rows of the fit, without landmarks, were more than 1,000 and more than 20 for each dimension of x
            or phi(x).
        """
        check_uncertainty(uncertainty)
        rows = self._check_rows(X)
        mean, cov = given = self._condition(rows, y)
        if uncertainty == "full":
            alone = given if y is None else self._condition(rows)
            mean, cov = self._placed(rows, *alone)
            if y is not None:
                mean, cov = given_outputs((mean, cov), alone, given)
        return rows.like(mean), rows.like(cov)

    @by_chunk
    def transform(self, X: Any, return_cov: Any = False, uncertainty: Any = "full") -> Any:
        """Project rows: the posterior mean of the latent variables given x under the estimated parameters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        return_cov : bool, default=False
            Return a covariance as well.
        uncertainty : {"full", "plug-in"}, default="full"
            As in `posterior`, for the covariance; the projection is the same.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Projections, a linear map of complete rows.
        cov : ndarray of shape (n_components, n_components) or (n_samples, n_components, n_components)
            Covariance about Z, so that regions by chi-squared are drawn around it: by "full" that of `posterior` plus
            the square of the way from Z to its mean. Only with `return_cov=True`.
        """
        check_uncertainty(uncertainty)
        if not return_cov or uncertainty == "plug-in":
            return super().transform(X, return_cov)
        rows = self._check_rows(X)
        given = self._condition(rows)
        mean, cov = self._placed(rows, *given)
        away = mean - given[0]
        if cov.ndim == 3:
            cov = cov + away[:, :, None] * away[:, None, :]
        return self._shown(X, rows.like(given[0])), rows.like(cov)

    def _project(self, X, with_cov):
        rows = self._check_rows(X)
        mean, cov = self._condition(rows)
        return rows.like(mean), rows.like(cov)

    def _shown(self, X, mean):
        """What `transform` gives of X, where the posterior means under the estimates are `mean`."""
        return mean
