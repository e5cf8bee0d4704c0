"""A density of rows: `score_samples`, `score` and `sample`, and `bic` where parameters are counted."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..rows.by_chunk import by_chunk
from ..rows.namespace import to_host
from ._estimator import check_integer


class Density:
    """From `_log_density(rows, y)` of validated rows and `_draw(n_samples, rng)`: rows and what lies behind them."""

    @by_chunk
    def score_samples(self, X: Any, y: Any = None) -> Any:
        """Log-density of each row, log p(observed x, observed y) in nats, or log p(observed x) without y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets as in `fit`. Unsupervised models ignore y.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            In nats.
        """
        rows = self._check_rows(X)
        return rows.there(self._log_density(rows, y))

    def score(self, X: Any, y: Any = None) -> float:
        """Average of `score_samples` over rows, in nats.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Present for the scikit-learn convention.

        Returns
        -------
        score : float
            Average log-density.
        """
        return float(to_host(self.score_samples(X)).mean(dtype=np.float64))

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
        return self._drawn(n_samples, random_state)[0]

    def _said(self):
        return super()._said() | {"log_density": lambda X: self.score_samples(X)}

    def _drawn(self, n_samples, random_state):
        """Rows, what lies behind them, and the generator they came from."""
        check_is_fitted(self)
        check_integer("n_samples", n_samples, 1)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        return *self._draw(n_samples, rng), rng


class JointDensity(Density):
    """The same of rows and their targets, which `_draw_targets(X, latent, rng)` draws."""

    def sample(self, n_samples: Any = 1, return_y: Any = False, random_state: Any = None) -> Any:
        """Draw rows from the fitted model.

        Parameters
        ----------
        n_samples : int, default=1
            How many rows.
        return_y : bool, default=False
            Draw the targets too, classes with the probabilities of the model.
        random_state : int, RandomState instance or None, default=None
            Seed; None uses the `random_state` of the estimator.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows, in the units of X.
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Like what `predict` returns; only with `return_y=True`.
        """
        X, latent, rng = self._drawn(n_samples, random_state)
        return (X, self._draw_targets(X, latent, rng)) if return_y else X


class Criterion:
    """How well a density does for its parameters, which `_n_free()` counts."""

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
        return float(-2.0 * log_density.sum() + self._n_free() * np.log(len(log_density)))
