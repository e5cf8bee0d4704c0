"""Rows beyond the limits of process monitoring: Hotelling's T2 and the squared prediction error."""

from typing import Any

import numpy as np

from ..models.linear.monitor import Limits, learn, limits, statistics
from ..rows.by_chunk import by_chunk
from ..rows.masked import filled
from ._estimator import check_real


class Monitored:
    """From `_check_rows`, `_monitor()` and `_monitored(rows)`."""

    @by_chunk
    def hotelling_t2(self, X: Any) -> Any:
        """How far rows are from the middle within the plane of the loadings (Hotelling's T2).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows. Missing entries are taken as their expectation given the others.

        Returns
        -------
        t2 : ndarray of shape (n_samples,)
            Squared distance in standard deviations of the scores under the model. `control_limits` has its limit.
        """
        return self._monitored(self._check_rows(X))[0]

    @by_chunk
    def spe(self, X: Any) -> Any:
        """How far rows are from the plane of the loadings: the squared prediction error (SPE, Q; DModX is its root).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows. What misses entries is scaled up to all of them.

        Returns
        -------
        spe : ndarray of shape (n_samples,)
            Squared distance, in squared units of X. `control_limits` has its limit.
        """
        return self._monitored(self._check_rows(X))[1]

    def control_limits(self, alpha: float = 0.05) -> Limits:
        """Limits that a share `alpha` of new rows passes, if they are like those of the fit.

        That of T2 is by the F distribution, which counts that means and variances are estimates: k (n^2 - 1) / (n
        (n - k)) F(k, n - k). That of SPE is by Jackson and Mudholkar (Technometrics 21, 1979, eq. 4.2), from the
        eigenvalues that the plane leaves; of these the ones behind the fit's own directions count as equal. Both are
        for normal rows; with more columns than rows the plane has turned towards the rows of the fit, and new ones pass
        the limit of SPE more often than `alpha`.

        Parameters
        ----------
        alpha : float, default=0.05
            Share, between 0 and 1.

        Returns
        -------
        limits : Limits(t2, spe)
            Numbers.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gnomon import PPCA
        >>> X = load_iris().data
        >>> model = PPCA(2).fit(X)
        >>> limits = model.control_limits(0.01)
        >>> odd = X[:1] * 3.0
        >>> bool(model.hotelling_t2(odd)[0] > limits.t2), bool(model.spe(odd)[0] > limits.spe)
        (True, True)
        """
        self._check_fitted()
        check_real("alpha", alpha, 0.0)
        if not alpha < 1.0:
            raise ValueError(f"alpha={alpha!r} must be less than 1.")
        return limits(self._monitor(), float(alpha))

    def _said(self):
        def both(X):
            return tuple(np.asarray(one, dtype=float) for one in self._monitored(self._check_rows(X)))

        return super()._said() | {"monitor": both, "limits": self.control_limits}


class MonitoredByLoadings(Monitored):
    """From `components_`, `mean_`, `noise_variance_`, and what `_remember` has kept of the fit."""

    def _monitor(self):
        loadings = np.asarray(self.components_, dtype=np.float64)
        return learn(loadings.T, self.noise_variance_, self._n_equal, self._beyond)

    def _monitored(self, rows):
        mean, components = (np.asarray(one, dtype=np.float64) for one in (self.mean_, self.components_))
        if not rows.masked:
            t2, spe = statistics(self._monitor(), rows, mean)
        else:
            share = np.maximum(rows.in_units(mean, 1.0).rows.gather("seen"), 1.0) / rows.shape[1]
            Z = np.asarray(self._condition(rows, with_cov=False)[0], dtype=np.float64)
            complete = filled(rows, mean, Z, components).anew(masked=False)
            t2, spe = statistics(self._monitor(), complete, mean, share)
        return rows.like(t2), rows.like(spe)
