"""Rows beyond the limits of process monitoring: Hotelling's T2 and the squared prediction error."""

from typing import Any

import numpy as np

from ..models.linear.monitor import Limits, learn, limits, limits_by_rows, rows_left_out, scores, statistics
from ..rows.by_chunk import by_chunk
from ..rows.masked import filled
from ._estimator import check_real

FEWEST, MOST_KEPT = 10, 1000  # rows that limits go by
MOST_FETCHED = 1 << 25  # entries of a table elsewhere, which is read once more for them


class Monitored:
    """From `_check_rows`, `_monitored(rows)` and `_limits(alpha, by)`."""

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

    def control_limits(self, alpha: float = 0.05, *, by: Any = None) -> Limits:
        """Limits that a share `alpha` of new rows passes, if they are like those of the fit.

        Parameters
        ----------
        alpha : float, default=0.05
            Share, between 0 and 1.
        by : {"rows", "normal"}, default=None
            "rows" goes by the rows of the fit, 1,000 of them at most: by what T2 and SPE each would have had, had it
            been left out, and where less than a tenth is asked for by a Pareto tail through that tenth. It needs no
            assumption, but ten rows or more of equal weight, in memory or in a Dask collection of at most 2^25
            entries, which is read once more. "normal" is for normal rows: that of T2 by the F distribution, which
            counts that means and variances are estimates, k (n^2 - 1) / (n (n - k)) F(k, n - k); that of SPE by
            Jackson and Mudholkar (Technometrics 21, 1979, eq. 4.2) from the eigenvalues that the plane leaves, of
            which the ones behind the fit's own directions count as equal. With more columns than rows, or rows that
            are not normal, many more pass them. None is "rows" where the fit has them, else "normal".

        Returns
        -------
        limits : Limits(t2, spe)
            Numbers.

        Raises
        ------
        ValueError
            When `alpha` is no share, or the limits are to go by rows that the fit has not kept.

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
        if by not in (None, "rows", "normal"):
            raise ValueError(f"by={by!r} must be 'rows', 'normal' or None.")
        return self._limits(float(alpha), by)

    def _said(self):
        def both(X):
            return tuple(np.asarray(one, dtype=float) for one in self._monitored(self._check_rows(X)))

        return super()._said() | {"monitor": both, "limits": self.control_limits}


class MonitoredByLoadings(Monitored):
    """From `components_`, `mean_`, `noise_variance_`, and what `_remember` has kept of the fit."""

    def _monitor(self):
        loadings = np.asarray(self.components_, dtype=np.float64)
        return learn(loadings.T, self.noise_variance_, self._n_equal, self._beyond)

    def _limits(self, alpha, by):
        kept = vars(self).get("_of_rows")  # absent in files of older releases
        if by == "rows" and kept is None:
            raise ValueError(
                f"by='rows' needs a fit to {FEWEST} rows or more that weigh the same, in memory or few enough to be "
                "read once more; this one has kept none, so use by='normal'."
            )
        monitor = self._monitor()
        found = limits(monitor, alpha) if kept is None or by == "normal" else limits_by_rows(*kept, alpha)
        return found._replace(spe=found.spe * monitor.unit**2)

    def _keep_of_rows(self, rows):
        """Keep T2 and SPE of some rows of the fit at even distances, rising, as if each had been left out."""
        self._of_rows, n = None, rows.shape[0]
        far = rows.elsewhere and n * rows.shape[1] > MOST_FETCHED
        if far or (rows.weights is not None and np.ptp(rows.weights) > 0.0) or n < FEWEST:
            return
        some = rows if n <= MOST_KEPT else rows.take(np.linspace(0, n - 1, MOST_KEPT).astype(int))
        monitor = self._monitor()
        T, spe = (np.asarray(one, dtype=np.float64) for one in self._in_units(scores, monitor, some))
        self._of_rows = tuple(np.sort(one) for one in rows_left_out(monitor, T, spe))

    def _in_units(self, ask, monitor, rows):
        """The answer of `ask` about complete rows: those without gaps as they are."""
        mean, components = (np.asarray(one, dtype=np.float64) for one in (self.mean_, self.components_))
        if not rows.masked:
            return ask(monitor, rows, mean)
        share = np.maximum(rows.in_units(mean, 1.0).rows.gather("seen"), 1.0) / rows.shape[1]
        Z = np.asarray(self._condition(rows, with_cov=False)[0], dtype=np.float64)
        return ask(monitor, filled(rows, mean, Z, components).anew(masked=False), mean, share)

    def _monitored(self, rows):
        monitor = self._monitor()
        t2, spe = self._in_units(statistics, monitor, rows)
        return rows.like(t2), rows.like(spe * monitor.unit**2)
