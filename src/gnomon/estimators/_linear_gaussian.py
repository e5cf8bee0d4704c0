"""Features that are noisy linear views of Gaussian latent variables: what PPCA, SPPCA and CPPCA share once fitted."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._warn import warn
from ..describe import Spectrum
from ..models import linear
from ..models.linear.conditioning import draw_rows
from ..models.linear.positions import learn, place
from ..models.linear.sites_em import X_FLOOR
from ..models.linear.sppca import n_free_parameters
from ..numerics import linear_gaussian as lg
from ..rows.masked import filled
from ..rows.namespace import all_finite, asarray_like, holding
from ..rows.threads import one_thread
from ._density import Criterion, Density
from ._estimator import Invertible, Weighted, check_table, check_values, check_variance
from ._imputation import Imputer
from ._monitored import MonitoredByLoadings
from ._placed_posterior import PlacedPosterior, n_equal
from ._seen import remembered, seen

MANY = 1000  # rows from which waking and stopping threads for small matrices is worth avoiding


class LinearGaussian(Weighted, MonitoredByLoadings, Density, Criterion, Imputer, Invertible, PlacedPosterior):
    """Projection, uncertainty and density of rows, with missing entries or without."""

    _takes_missing = True
    _takes_devices = True

    @property
    def _n_features_out(self):
        return len(self.components_)  # guided and private ones

    # -- the fitted model in the letters of the formulas ---------------------------------------------------------

    def _params(self):
        W_x = np.asarray(self.components_, dtype=np.float64).T
        m_x = np.asarray(self.mean_, dtype=np.float64)
        return lg.Params(W_x, m_x, self.noise_variance_, *self._target_params())

    def _target_params(self):
        """W_y, m_y and the noise variances of Gaussian y; none in a model without."""
        return np.zeros((0, self.components_.shape[0])), np.zeros(0), np.zeros(0)

    def _code_targets(self, y, n_samples):
        """Targets of new rows as coded in fit, NaN where not observed, or None; an unsupervised model ignores y."""

    def _model(self):
        """The parameters that rows are conditioned with."""
        return self._params()

    def _condition(self, rows, y=None, with_cov=True):
        """Posterior mean and covariance of validated rows."""
        return linear.posterior(self._model(), rows, self._code_targets(y, rows.shape[0]), with_cov=with_cov)

    def _placed(self, rows, mean, cov):
        """Posterior means and covariances given x, once it is counted that the parameters are estimates."""
        loadings = np.asarray(self.components_, dtype=np.float64)
        known = learn(loadings.T, self.noise_variance_, self._n_equal, self._beyond)
        lacking = cov - lg.given_x(self._params()).cov if rows.masked else None
        of_fit = seen(rows, loadings, np.sqrt(self.noise_variance_), self._seen)
        return place(known, mean, of_fit, lacking)

    def _remember(self, rows, beyond=None):
        """What tells how well the parameters are known, and which rows they are from.

        `beyond` are eigenvalues behind those of the loadings, where the fit has seen them.
        """
        self._n_equal = n_equal(rows.shape[0], rows.weights)
        loadings = np.asarray(self.components_, dtype=np.float64)
        self._seen = remembered(rows, loadings, np.sqrt(self.noise_variance_))
        self._beyond = None if beyond is None else beyond[beyond > self.noise_variance_]

    def _shown(self, X, mean):
        return self._project(X, False)[0]

    def _project(self, X, with_cov):
        self._check_fitted()
        rows = check_table(self, X, reset=False)
        params = self._params()
        with one_thread(when=rows.shape[0] > MANY):
            post = lg.given_x(params)
        with np.errstate(over="ignore", invalid="ignore"):
            Z = rows.project(params.m_x, post.gain.T)
        if all_finite(Z) or not check_values(rows):  # what is not finite in X shows in Z
            return Z, rows.like(post.cov)
        mean, cov = self._condition(rows.anew(masked=True), with_cov=with_cov)
        return rows.like(mean), rows.like(cov) if with_cov else None

    def _imputed(self, rows, y):
        Z, components = np.zeros((rows.shape[0], len(self.components_))), np.asarray(self.components_, dtype=np.float64)
        if rows.masked:
            Z = self._condition(rows, y, with_cov=False)[0]
        return filled(rows, self.mean_, Z, components)

    def _back(self, Z):
        return Z @ asarray_like(self.components_, Z) + asarray_like(self.mean_, Z)

    def _log_density(self, rows, y):
        return linear.log_density(self._model(), rows, self._code_targets(y, rows.shape[0]))

    def _n_free(self):
        return n_free_parameters(self._params(), getattr(self, "output_noise", "ml"))

    def _draw(self, n_samples, rng):
        X, Z = draw_rows(self._params(), n_samples, rng)
        return X.astype(holding(self.components_.dtype, X)), Z

    def get_covariance(self) -> Any:
        """Covariance of x under the model, components' components + noise_variance I.

        Returns
        -------
        cov : ndarray of shape (n_features, n_features)
            In squared units of X.
        """
        check_is_fitted(self)
        W = np.asarray(self.components_, dtype=np.float64).T
        return W @ W.T + self.noise_variance_ * np.eye(len(W))

    def get_precision(self) -> Any:
        """Inverse of `get_covariance`, by the matrix inversion lemma in K dimensions.

        Returns
        -------
        precision : ndarray of shape (n_features, n_features)
            In inverse squared units of X.
        """
        check_is_fitted(self)
        p = self._params()
        gain = lg.given_x(p).gain
        return (np.eye(len(p.W_x)) - p.W_x @ gain) / p.x_noise_var

    def _said(self):
        return super()._said() | {"loadings": self.components_, "spectrum": self._spectrum()}

    def _spectrum(self):
        """Variances of x along the components, and what the fit has seen of those behind them, both falling."""
        W, beyond = np.asarray(self.components_, dtype=np.float64), vars(self).get("_beyond")
        own = np.linalg.eigvalsh(W @ W.T)[::-1] + self.noise_variance_
        return Spectrum(own, np.zeros(0) if beyond is None else beyond, self.noise_variance_)

    def _record(self, result):
        super()._record(result)
        if "x" in self.noise_floors_:
            name = type(self).__name__
            warn(
                f"{name} holds noise_variance_ at its floor, {X_FLOOR:.0e} of the mean variance of the columns of X: "
                "what varies less is taken for noise. Bring columns of different units to one scale, for example by "
                f"make_pipeline(StandardScaler(), {name}(...))."
            )

    def _store_features(self, W, mean, noise_variance, log_likelihood, dtype):
        """Set what the fitted model knows of x."""
        check_variance("X", noise_variance)
        self.components_ = np.ascontiguousarray(W.T, dtype=dtype)
        self.mean_ = mean.astype(dtype)
        self.noise_variance_ = float(noise_variance)
        self.log_likelihood_ = log_likelihood
