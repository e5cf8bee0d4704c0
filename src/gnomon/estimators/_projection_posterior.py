"""A projection of rows that is no posterior mean, and regions about it that take neither map nor classes for known."""

from typing import Any

from ..rows.by_chunk import by_chunk
from ._posterior import LatentPosterior, check_uncertainty


class ProjectionPosterior(LatentPosterior):
    """From `_projected(rows)` and `_moved(rows)`, how far noise has moved them or None, and `_condition(rows, y)`."""

    @by_chunk
    def posterior(self, X: Any, y: Any = None, uncertainty: Any = "full") -> Any:
        """Where the projections of rows without their noise may lie: mean and covariance.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets as in `fit`. "plug-in" conditions on one target of classes, "full" on x alone.
        uncertainty : {"full", "plug-in"}, default="full"
            "plug-in" takes the parameters for known, with them the map and where each class lies. "full" counts that
            both were learned, the classes from few labels: the mean is the projection itself, which no class draws to
            it, the covariance that of `transform`. A model that knows nothing of its rows' noise, since they came in
            batches or are too many, gives what "plug-in" does.

        Returns
        -------
        mean : ndarray of shape (n_samples, n_components)
            In the units of `transform`.
        cov : ndarray of shape (n_components, n_components) or (n_samples, n_components, n_components)
            One covariance when it is the same for every row, else one per row; regions are by chi-squared.
        """
        check_uncertainty(uncertainty)
        rows = self._check_rows(X)
        covs = self._moved(rows) if uncertainty == "full" else None
        if covs is None:
            mean, cov = self._condition(rows, y)
            return rows.like(mean), rows.like(cov)
        if y is not None:
            self._values_of(y, rows.shape[0])
        return self._projected(rows), rows.like(covs)

    @by_chunk
    def transform(self, X: Any, return_cov: Any = False, uncertainty: Any = "full") -> Any:
        """Project rows.

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
            Projections.
        cov : ndarray of shape (n_components, n_components) or (n_samples, n_components, n_components)
            Only with `return_cov=True`. By "full" that of what noise of the entries, and gaps, have moved each
            projection by, for regions by chi-squared about it; a row of the fit has drawn the map towards itself and is
            moved farther. By "plug-in" that of `posterior`.
        """
        check_uncertainty(uncertainty)
        rows = self._check_rows(X)
        Z = self._projected(rows)
        if not return_cov:
            return Z
        covs = self._moved(rows) if uncertainty == "full" else None
        return Z, self.posterior(X, uncertainty="plug-in")[1] if covs is None else rows.like(covs)
