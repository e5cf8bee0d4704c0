"""What a model with outputs of several kinds can do once it is fitted: condition on them, predict and draw them."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..likelihoods.inference import sites_of
from ..likelihoods.layout import Layout
from ..models.linear.class_likelihood import Labeled, LabelParams, applies, log_evidence
from ..rows.namespace import beside, like, to_host
from ._guided import GuidedPredictor, join, with_classes
from ._outputs import usable
from ._validation import check_integer


class OutputPredictor(GuidedPredictor):
    """Posterior, density, predictions and samples of a model whose outputs have linear predictors V z + b."""

    _few_directions = True

    @property
    def _layout(self):
        return Layout(tuple(self._distributions), tuple(self._n_classes))

    def _label_params(self):
        """V (h, k), b (h,) and the noise variances (q,) of the outputs."""
        layout, row = self._layout, 0
        coef, intercept = (
            np.asarray(self.y_loadings_, dtype=np.float64),
            np.asarray(self.y_intercept_, dtype=np.float64),
        )
        V, b = [coef[:0]], [intercept[:0]]
        for family in layout.families:
            back = np.linalg.pinv(family.contrasts)
            rows = slice(row, row + len(family.contrasts))
            V.append(back @ coef[rows])
            b.append(back @ intercept[rows])
            row = rows.stop
        noise = np.ones(len(layout.kinds))
        if self.y_noise_variance_ is not None:
            noise = np.array([1.0 if v is None else v for v in np.atleast_1d(self.y_noise_variance_)], dtype=float)
        return np.vstack(V), np.concatenate(b), noise

    def _predictors(self, X):
        """Mean (n, h) and covariance (h, h) or (n, h, h) of the predictors of validated rows, given x."""
        V, b, _ = self._label_params()
        post = self._condition(X, None, ("mean", "cov"))
        return post["mean"] @ V.T + b, V @ post["cov"] @ V.T

    def _values(self, X, y):
        """The outputs of validated rows as numbers (n, q), NaN where missing."""
        return self._values_of(y, X.shape[0])[:, usable(self._form)]

    def _labels(self, X, y, post):
        """The fit of the labels of validated rows, given what x says of z."""
        V, b, noise = self._label_params()
        sites = sites_of(self._layout, self.inference_)
        return sites(self._values(X, y), post["mean"] @ V.T + b, V @ post["cov"] @ V.T, noise)

    def _log_evidence(self, X, y, post):
        """Log-density (n,) of the outputs of validated rows given x."""
        if not applies(self._layout, self.inference_):
            return self._labels(X, y, post).log_z
        V, b, noise = self._label_params()
        rows = Labeled(self._values(X, y), post["mean"], post["cov"], np.ones(X.shape[0]))
        return log_evidence(self._layout, rows, LabelParams(V, b, noise))

    def _uses(self, y):
        """Whether there is something to condition on in y."""
        if y is not None and self.target_kind_ == "none":
            raise ValueError("y was given, but the model was fitted without targets; pass y=None or fit with y.")
        return y is not None

    def posterior(self, X: Any, y: Any = None) -> Any:
        """Posterior mean and covariance of the latent variables given x, and the observed part of y if it is passed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Outputs as in `fit`; what is missing is not conditioned on. None uses x alone.

        Returns
        -------
        mean : ndarray of shape (n_samples, n_components)
            Posterior means; the latent variables have unit variance a priori.
        cov : ndarray of shape (n_components, n_components) or (n_samples, n_components, n_components)
            One covariance when it is the same for every row, else one per row. With y they are those of `inference_`.
        """
        X = self._check_rows(X)
        post = self._condition(X, None, ("mean", "cov"))
        mean, cov = post["mean"], post["cov"]
        if self._uses(y):
            fit = self._labels(X, y, post)
            VS = self._label_params()[0] @ cov  # (h, k) or (n, h, k)
            mean = mean + np.matmul(fit.slope[:, None, :], VS)[:, 0]
            cov = cov - np.matmul(np.swapaxes(VS, -1, -2), np.matmul(fit.curvature, VS))
        return like(mean, X), like(cov, X)

    def score_samples(self, X: Any, y: Any = None) -> Any:
        """Log-density of each row, log p(observed x, observed y) in nats, or log p(observed x) without y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Outputs as in `fit`.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            In nats; with y exact where `inference_` is "quadrature" and where y is one output of classes under
            "variational" (to about 1e-2), else a lower bound or an approximation.
        """
        X = self._check_rows(X)
        post = self._condition(X, None, ("mean", "cov", "log_density"))
        density = post["log_density"]
        if self._uses(y):
            density = density + self._log_evidence(X, y, post)
        return beside(density, X)

    def bic(self, X: Any, y: Any = None) -> float:
        """Bayesian information criterion of the rows: -2 log-likelihood + (free parameters) log(n); lower is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like, default=None
            Outputs as in `fit`.

        Returns
        -------
        bic : float
            In nats times two; the ridge does not count.
        """
        log_density = to_host(self.score_samples(X, y))
        (h, k), p = self._label_params()[0].shape, self.components_.shape[1]
        g = self.n_components_ if h else k
        rotations = g * (g - 1) // 2 + (k - g) * (k - g - 1) // 2
        free = p * (k + 1) + 1 + h * (g + 1) + int(self._layout.noisy.sum()) - rotations
        return float(-2.0 * log_density.sum() + free * np.log(len(log_density)))

    def predict(self, X: Any, return_std: Any = False) -> Any:
        """Predict the outputs, integrating over the uncertainty of the projection.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        return_std : bool, default=False
            Return predictive standard deviations too, of real outputs and counts.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The most probable class, the expected count or the expected real output of each.
        std : ndarray of the shape of y
            In units of y, the noise of real outputs and the chance of counts included; NaN for outputs of classes. Only
            with `return_std=True`.
        """
        X = self._check_rows(X)
        self._require_targets("predict")
        if return_std and self.target_kind_ == "classes":
            raise ValueError("return_std=True is for real outputs and counts; for classes use predict_proba.")
        mean, cov = self._predictors(X)
        y = self._expected(mean, cov)
        if not return_std:
            return y
        std = self._deviations(mean, cov)
        return y, std[:, 0] if self._vector else std

    def _expected(self, mean, cov):
        """The outputs that are expected at predictors N(mean, cov)."""
        columns = []
        for values, (_, classes, _) in zip(self._predicted(mean, cov), self._form, strict=True):
            columns.append(values if classes is None else classes[values.argmax(axis=1)])
        return columns[0] if self._vector else join(columns)

    @available_if(with_classes)
    def predict_proba(self, X: Any) -> Any:
        """Probability of each class, integrating over the posterior of the latent variables given x.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes) or list
            Rows sum to one; columns in the order of `classes_`. With several outputs a list with one array for each,
            None for counts and real outputs.
        """
        X = self._check_rows(X)
        self._require_targets("predict_proba")
        pairs = zip(self._predicted(*self._predictors(X)), self._form, strict=True)
        tables = [None if classes is None else like(values, X) for values, (_, classes, _) in pairs]
        return tables[0] if self._vector else tables

    def _predicted(self, mean, cov):
        """Probabilities (n, C) of every output of classes, expectations (n,) of the others."""
        found = [family.predict(mean[:, at], cov[..., at, at]) for family, at in self._layout.parts]
        return found or [np.ones((len(mean), 1))]  # one class only

    def _deviations(self, mean, cov):
        """Predictive standard deviations (n, q) at predictors N(mean, cov), NaN for outputs of classes."""
        noise = self._label_params()[2]
        columns = []
        for (family, at), s in zip(self._layout.parts, noise, strict=True):
            columns.append(family.deviation(mean[:, at.start], cov[..., at.start, at.start], s))
        return np.column_stack(columns)

    def sample(self, n_samples: Any = 1, return_y: Any = False, random_state: Any = None) -> Any:
        """Draw rows from the fitted model.

        Parameters
        ----------
        n_samples : int, default=1
            How many rows.
        return_y : bool, default=False
            Draw the outputs too.
        random_state : int, RandomState instance or None, default=None
            Seed; None uses the `random_state` of the estimator.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows, in the units of X.
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Only with `return_y=True`; like what `predict` returns.
        """
        check_is_fitted(self, "components_")
        check_integer("n_samples", n_samples, 1)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        Z = rng.standard_normal((n_samples, self.components_.shape[0]))
        noise = np.sqrt(self.noise_variance_) * rng.standard_normal((n_samples, len(self.mean_)))
        X = (self.mean_ + Z @ self.components_ + noise).astype(self.components_.dtype)
        if not return_y:
            return X
        self._require_targets("sample(return_y=True)")
        V, b, y_noise = self._label_params()
        layout, a = self._layout, Z @ V.T + b
        if not layout.kinds:
            return X, np.repeat(self.classes_, n_samples)
        columns = []
        for (family, at), noise, (_, classes, _) in zip(layout.parts, y_noise, self._form, strict=True):
            uniform, normal = rng.random_sample(n_samples), rng.standard_normal(n_samples)
            drawn = family.draw(a[:, at], float(noise), uniform, normal)
            columns.append(drawn if classes is None else classes[drawn.astype(np.intp)])
        return X, columns[0] if self._vector else join(columns)
