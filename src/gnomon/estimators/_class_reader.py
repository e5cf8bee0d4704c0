"""What DPPCA does with new rows once it is fitted."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..models import dppca as model
from ..rows.namespace import as_table, beside, like, of_type, to_host
from ..rows.products import project
from ..rows.read import read
from ._class_labels import number_like
from ._gaussian import check_table, check_values
from ._validation import check_integer


class ClassReader:
    """Projection, class probabilities, density and samples from class means and shared within-class factors."""

    def _check_rows(self, X):
        check_is_fitted(self, "components_")
        X = check_table(self, X, reset=False, min_samples=1, anywhere=True)
        refuse_missing(X)
        return X

    def _units(self):
        """The model centerd at `mean_`, in units of the noise standard deviation."""
        noise_std = np.sqrt(self.noise_variance_)
        means = (self.class_means_.astype(np.float64) - self.mean_) / noise_std
        V = self.factors_.T.astype(np.float64) / noise_std
        squares = np.einsum("ij,ij->j", V, V)
        return model.Params(self.class_prior_, means, model.Within(V / np.sqrt(squares), 1.0 + squares, 1.0))

    def _log_joint(self, X):
        """Log pi_c + log N(x; m_c, Sigma) (n, c), in nats, density in the units of X."""
        params, noise_std = self._units(), float(np.sqrt(self.noise_variance_))
        mean = self.mean_.astype(np.float64)
        rows = read(X).in_units(mean, noise_std)
        products, own = rows.times(np.hstack([params.means.T, params.within.Q])), rows.lengths()
        c, p = len(self.classes_), X.shape[1]
        joint = model.joint_of(params, params.means, products[:, :c], products[:, c:], own, p)
        return joint - p * np.log(noise_std)

    def predict(self, X: Any) -> Any:
        """Name the most probable class of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Of `classes_`.
        """
        X = self._check_rows(X)
        return self.classes_[self._log_joint(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Any:
        """Posterior probability of each class given x.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Rows sum to one; columns in the order of `classes_`.
        """
        X = self._check_rows(X)
        return like(model.posterior(self._log_joint(X))[0], X)

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
            0.01 in the others, which separate no classes and shall not blur distances between rows.
        cov : ndarray of shape (n_samples, n_components, n_components)
            Covariance of the projection of the row without its noise, given x; only with `return_cov=True`.
        """
        X = self._check_rows(X)
        Z = project_rows(X, self.mean_, self.components_)
        return (Z, self.posterior(X)[1]) if return_cov else Z

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
        X = self._check_rows(X)
        resp = model.posterior(self._log_joint(X))[0]
        index = self._index(y, X.shape[0])
        known = np.flatnonzero(index >= 0)
        resp[known] = np.eye(len(self.classes_))[index[known]]
        noise_std = np.sqrt(self.noise_variance_)
        place = model.noise_free(self._units(), self.components_.T.astype(np.float64) * noise_std)
        T = to_host(project(X, self.mean_.astype(np.float64), place.gain / noise_std)).astype(np.float64)
        mean, cov = place.moments(T, resp)
        return like(mean, X), like(cov, X)

    def score_samples(self, X: Any, y: Any = None) -> Any:
        """Log-density of each row in nats: log p(x, class) where the class is given in y, else log p(x).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            Classes as in `fit`.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            In nats.
        """
        X = self._check_rows(X)
        joint, index = self._log_joint(X), self._index(y, X.shape[0])
        density = model.posterior(joint)[1]
        known = np.flatnonzero(index >= 0)
        density[known] = joint[known, index[known]]
        return beside(density, X)

    def _index(self, y, n_samples):
        if y is None:
            return np.full(n_samples, -1)
        return number_like("DPPCA", to_host(y), n_samples, self.classes_, self.unlabeled)

    def score(self, X: Any, y: Any = None) -> float:
        """Average of `score_samples` over rows, in nats.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            Classes as in `fit`.

        Returns
        -------
        score : float
            Average log-density.
        """
        return float(to_host(self.score_samples(X, y)).mean(dtype=np.float64))

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
        check_is_fitted(self, "components_")
        Z = as_table(Z)
        if Z.ndim != 2 or Z.shape[1] != len(self.components_):
            raise ValueError(f"Z has shape {tuple(Z.shape)}; (n_samples, {len(self.components_)}) is wanted.")
        V, D = self.factors_, self.components_
        back = (D @ V.T) @ V + self.noise_variance_ * D  # (k, p): D' Sigma
        back /= (back * D).sum(axis=1)[:, None]  # D' Sigma D, which is diagonal
        return Z @ beside(back, Z) + beside(self.mean_, Z)

    def sample(self, n_samples: Any = 1, return_y: Any = False, random_state: Any = None) -> Any:
        """Draw rows from the fitted model.

        Parameters
        ----------
        n_samples : int, default=1
            How many rows.
        return_y : bool, default=False
            Return their classes too.
        random_state : int, RandomState instance or None, default=None
            Seed; None uses the `random_state` of the estimator.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows, in the units of X.
        y : ndarray of shape (n_samples,)
            Classes; only with `return_y=True`.
        """
        check_is_fitted(self, "components_")
        check_integer("n_samples", n_samples, 1)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        V = self.factors_
        index = rng.choice(len(self.classes_), size=n_samples, p=self.class_prior_ / self.class_prior_.sum())
        noise = np.sqrt(self.noise_variance_) * rng.standard_normal((n_samples, V.shape[1]))
        X = self.class_means_[index] + rng.standard_normal((n_samples, len(V))) @ V + noise
        X = X.astype(self.components_.dtype)
        return (X, self.classes_[index]) if return_y else X


def project_rows(X, mean, components):
    """(X - mean) components' in the type of X, and where X is."""
    Z = project(X, mean.astype(np.float64), components.T.astype(np.float64))
    return of_type(Z, X)


def refuse_missing(X, name="DPPCA"):
    if check_values(X):
        raise ValueError(
            f"Input X contains NaN; {name} needs complete rows: fill them in first, for example by the `impute` of "
            "PPCA or MixturePPCA fitted to the same X."
        )
