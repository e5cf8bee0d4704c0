"""What every latent variable estimator with Gaussian views can do once it is fitted."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..describe import Description, Fit
from ..models.linear.sppca import n_free_parameters
from ..numerics import linear_gaussian as lg
from ..numerics.masked import masked_posterior
from ..numerics.moments import output_sets
from ..rows.kind import is_sparse
from ..rows.masked import filled, incomplete_rows
from ..rows.namespace import all_finite, as_table, beside, like, take_rows, to_host
from ..rows.products import project
from ..rows.read import read
from ._described import identity, posterior_of
from ._gaussian import check_table, check_values
from ._validation import check_integer, check_variance


class LatentTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Projection, uncertainty and density from the fitted loadings of a linear-Gaussian model."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = False
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    # -- the fitted model in the letters of the formulas ---------------------------------------------------------

    def _params(self):
        W_x = np.asarray(self.components_, dtype=np.float64).T
        m_x = np.asarray(self.mean_, dtype=np.float64)
        return lg.Params(W_x, m_x, self.noise_variance_, *self._target_params())

    def _target_params(self):
        """W_y, m_y and the noise variances of y; none in an unsupervised model."""
        return np.zeros((0, self.components_.shape[0])), np.zeros(0), np.zeros(0)

    def _code_targets(self, y, n_samples):
        """Targets of new rows as coded in fit, NaN where not observed; an unsupervised model ignores y."""
        return np.zeros((n_samples, 0))

    def _check_rows(self, X):
        check_is_fitted(self, "components_")
        X = check_table(self, X, reset=False, min_samples=1, anywhere=True)
        check_values(X)
        return X

    def _condition(self, X, y=None, want=("mean",)):
        """Posterior statistics of validated rows: any of "mean", "cov" (by row or shared) and "log_density"."""
        params = self._params()
        Y = self._code_targets(y, X.shape[0])
        observed = ~np.isnan(Y)
        groups = output_sets(observed)
        incomplete = incomplete_rows(X)
        out = {}
        if len(incomplete) < X.shape[0]:
            noise_std = float(np.sqrt(params.x_noise_var))
            rows = read(X).in_units(params.m_x, noise_std)
            XW = rows.times(params.W_x) * noise_std
            post = lg.row_posterior(params, XW, Y, observed, groups)
            out["mean"] = post.mean
            if "cov" in want:
                shared = len(post.covs) == 1 and len(incomplete) == 0
                out["cov"] = post.covs[0] if shared else post.covs[post.of_row]
            if "log_density" in want:
                out["log_density"] = _log_density(params, post, rows.lengths(), X.shape[1], Y, observed)
        if len(incomplete):
            self._condition_incomplete(params, X, Y, observed, groups, incomplete, want, out)
        return out

    def _condition_incomplete(self, params, X, Y, observed, groups, incomplete, want, out):
        """Fill in the statistics of rows with missing features."""
        n, k = X.shape[0], params.W_x.shape[1]
        shapes = {"mean": (n, k), "cov": (n, k, k), "log_density": (n,)}
        for name in want:
            out.setdefault(name, np.empty(shapes[name]))
        rows, Y, observed = read(take_rows(X, incomplete), masked=True), Y[incomplete], observed[incomplete]
        groups = groups._replace(of_row=groups.of_row[incomplete])
        with np.errstate(over="ignore"):  # the square of a distance may be infinite
            post = masked_posterior(params, rows, Y, observed, groups)
        found = {"mean": post.mean, "cov": post.cov}
        if "log_density" in want:
            found["log_density"] = _log_density(params, post, post.x_energy, post.n_observed, Y, observed)
        for name in want:
            out[name][incomplete] = found[name]

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
        X = self._check_rows(X)
        post = self._condition(X, y, ("mean", "cov"))
        return like(post["mean"], X), like(post["cov"], X)

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
            Their covariance, the same for every row unless entries are missing; only with `return_cov=True`.
        """
        check_is_fitted(self, "components_")
        X = check_table(self, X, reset=False, min_samples=1, anywhere=True)
        params = self._params()
        post = lg.latent_map(params, np.arange(0))
        with np.errstate(over="ignore", invalid="ignore"):
            Z = project(X, params.m_x, post.gain.T)
        if not all_finite(Z) and check_values(X):  # what is not finite in X shows in Z: no look at X before
            some = self._condition(X, None, ("mean", "cov") if return_cov else ("mean",))
            Z = like(some["mean"], X)
            return (Z, like(some["cov"], X)) if return_cov else Z
        return (Z, like(post.cov, X)) if return_cov else Z

    def impute(self, X: Any, y: Any = None) -> Any:
        """Fill missing entries with their expectation given what is observed in the row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks missing entries.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets as in `fit`, conditioned on as well. Unsupervised models ignore them.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            A copy without missing entries; observed ones are unchanged.
        """
        X = self._check_rows(X)
        if is_sparse(X):
            raise TypeError("impute needs a dense X: an entry that a sparse X does not store is a zero, not missing.")
        if len(incomplete_rows(X)) == 0:
            return filled(X, self.mean_, np.zeros((X.shape[0], 0)), np.zeros((0, X.shape[1])))
        components = np.asarray(self.components_, dtype=np.float64)
        return filled(X, self.mean_, to_host(self.posterior(X, y)[0]), components)

    def inverse_transform(self, Z: Any) -> Any:
        """Map latent variables to the mean of x: mean + Z components.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Latent variables.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Expected rows, in the units of X.
        """
        check_is_fitted(self, "components_")
        Z = as_table(Z)
        k = self.components_.shape[0]
        if Z.ndim != 2 or Z.shape[1] != k:
            raise ValueError(f"Z has shape {tuple(Z.shape)}; (n_samples, {k}) is wanted.")
        return Z @ beside(self.components_, Z) + beside(self.mean_, Z)

    def score_samples(self, X: Any, y: Any = None) -> Any:
        """Log-density of each row, log p(observed x, observed y) in nats, or log p(observed x) without y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets as in `fit`. Classes are points in the space of their contrasts, (n_classes - 1) dimensions.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            In nats.
        """
        X = self._check_rows(X)
        return beside(self._condition(X, y, ("log_density",))["log_density"], X)

    def score(self, X: Any, y: Any = None) -> float:
        """Average of `score_samples` over rows, in nats.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like, default=None
            Targets as in `fit`.

        Returns
        -------
        score : float
            Average log-density.
        """
        return float(to_host(self.score_samples(X, y)).mean(dtype=np.float64))

    def bic(self, X: Any, y: Any = None) -> float:
        """Bayesian information criterion of the rows: -2 log-likelihood + (free parameters) log(n); lower is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like, default=None
            Targets as in `fit`.

        Returns
        -------
        bic : float
            In nats times two.
        """
        log_density = to_host(self.score_samples(X, y))
        free = n_free_parameters(self._params(), getattr(self, "output_noise", "ml"))
        return float(-2.0 * log_density.sum() + free * np.log(len(log_density)))

    def sample(self, n_samples: Any = 1, random_state: Any = None) -> Any:
        """Draw rows from the fitted model.

        Parameters
        ----------
        n_samples : int, default=1
            How many rows.
        random_state : int, RandomState instance or None, default=None
            Seed; None uses the `random_state` of the estimator.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows, in the units of X.
        """
        return self._draw(n_samples, random_state)[0]

    def _draw(self, n_samples, random_state):
        """Rows, targets as coded, and the generator they came from."""
        check_is_fitted(self, "components_")
        check_integer("n_samples", n_samples, 1)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        p = self._params()
        Z = rng.standard_normal((n_samples, p.W_x.shape[1]))
        X = p.m_x + Z @ p.W_x.T + np.sqrt(p.x_noise_var) * rng.standard_normal((n_samples, len(p.m_x)))
        Y = p.m_y + Z @ p.W_y.T + np.sqrt(p.y_noise_var) * rng.standard_normal((n_samples, len(p.m_y)))
        return X.astype(self.components_.dtype), Y, rng

    def get_covariance(self) -> Any:
        """Covariance of x under the model, components' components + noise_variance I.

        Returns
        -------
        cov : ndarray of shape (n_features, n_features)
            In squared units of X.
        """
        check_is_fitted(self, "components_")
        W = np.asarray(self.components_, dtype=np.float64).T
        return W @ W.T + self.noise_variance_ * np.eye(len(W))

    def get_precision(self) -> Any:
        """Inverse of `get_covariance`, by the matrix inversion lemma in K dimensions.

        Returns
        -------
        precision : ndarray of shape (n_features, n_features)
            In inverse squared units of X.
        """
        check_is_fitted(self, "components_")
        p = self._params()
        gain = lg.latent_map(p, np.arange(0)).gain
        return (np.eye(len(p.W_x)) - p.W_x @ gain) / p.x_noise_var

    def describe(self) -> Description:
        """Return what the fitted model says of itself, as plots, reports and the command line read it.

        Returns
        -------
        Description
        """
        check_is_fitted(self, "components_")
        return Description(
            **identity(self),
            n_components=len(self.components_),
            project=posterior_of(self),
            impute=self.impute,
            log_density=self.score_samples,
            loadings=self.components_,
            fit=Fit(
                solver=self.solver_,
                converged=self.converged_,
                n_iter=self.n_iter_,
                n_reads=self.n_passes_,
                log_likelihood=self.log_likelihood_,
                noise_variance=self.noise_variance_,
                path=self.objective_path_,
                floors=self.noise_floors_,
            ),
        )

    def _store(self, result, dtype):
        """Set the fitted attributes from a model's result; warn once when it did not converge."""
        fitted, stats = result.value, result.stats
        p = fitted.params
        self.components_ = np.ascontiguousarray(p.W_x.T, dtype=dtype)
        self.mean_ = p.m_x.astype(dtype)
        check_variance("X", p.x_noise_var)
        self.noise_variance_ = float(p.x_noise_var)
        self.log_likelihood_ = fitted.log_likelihood
        self.objective_path_ = result.path
        self.n_iter_ = max(1, int(stats["n_iter"]))
        self.n_passes_ = float(stats["n_passes"])
        self.solver_ = stats["solver"]
        self.objective_residual_ = float(stats["residual"])
        self.noise_floors_ = tuple(stats["floors"])
        self.converged_ = self.objective_residual_ <= self.tol
        if not self.converged_:
            warnings.warn(
                f"{type(self).__name__} {result.status.value} "
                f"(relative residual {stats['residual']:.1e}, tol={self.tol}).",
                ConvergenceWarning,
                stacklevel=3,
            )


def _log_density(params, post, energy, n_features, Y, observed):
    """As in `linear_gaussian`; minus infinity so far away that the square of the distance is no float."""
    with np.errstate(invalid="ignore"):
        density = lg.log_density(params, post, energy, n_features, Y, observed)
    return np.where(np.isinf(energy), -np.inf, density)
