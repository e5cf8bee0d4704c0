"""How typical rows are of those of a fit: the share of rows held out that were as far from a model of the others.

A row may also be too near to the middle, as one of zeros is where the others are counts of words: noise is missing. And
it may be much longer or shorter than any other, as one of zeros is among rows that lie around zero on all sides.
"""

from typing import Any, NamedTuple

import numpy as np

from .._types import Array
from ..describe import UNUSUAL
from ..likelihoods.calibration import SMALL
from ..numerics.normalize import normalized
from ..numerics.tails import Tail, n_tail, of_sorted
from ..rows.by_chunk import by_chunk
from ..rows.kind import is_sparse

FOLDS, MOST_IN_FOLDS = 5, 2000  # rows up to which every one is held out once; of more, some are
MOST_FOLDS, ROWS_OF_FITS = 20, 4000  # more parts of few rows, whose distances are larger the fewer are left to the fit
HELD_OUT = 500
FEWEST = 10
LEAST_POWER = 0.01  # of probabilities of rows that nothing in the fit is like: hardly more than equal, in their order
NEAR = 0.05  # share of the rows called unusual that may be so for being near
LONG = 0.05  # and for being long or short
LEAST_AWAY, LEAST_SPREAD = 0.1, 0.25  # of logarithms of squared lengths, where those of the fit are alike
MOST_AWAY = 1e4  # of them, which rows of zeros are
NEAREST = 1e-6  # distance over that where the tail of the near ones begins


class Reference(NamedTuple):
    """The tail of distances of rows held out, and what is known of the rows of the fit beside it."""

    distances: Array  # (m,) rising; this and the next two are a `Tail`
    start: float
    spread: float
    own: Array | None = None  # rising distances of rows of the fit, which are nearer than others: it has seen them
    lengths: Array | None = None  # logarithms of squared lengths of rows of the fit

    def typicality(self, distances: Array, observed: Array, lengths: Array) -> Array:
        """Like a p-value of being as far, as near, or as long or short, of rows with this share of entries observed.

        Being near is judged as if the entries that are missing were at the median. `lengths` are `log_lengths`.
        """
        found = np.minimum(Tail(*self[:3]).beyond(distances) / (1.0 - NEAR - LONG), 1.0)
        near = None if self.own is None else _nearness(self.own)
        if near is not None:
            whole = observed * distances + (1.0 - observed) * np.median(self.distances)
            least = NEAREST / near.start
            found = np.minimum(found, near.beyond(1.0 / np.maximum(whole, least)) / NEAR)
        middle = -np.inf if self.lengths is None else float(np.median(self.lengths))
        if np.isfinite(middle):
            away = _away(lengths, middle)
            found = np.minimum(found, _of_lengths(self.lengths, middle).beyond(away) / LONG)
        return found


def _away(lengths: Array, middle: float) -> Array:
    return np.clip(np.abs(lengths - middle), LEAST_AWAY, MOST_AWAY)


def _of_lengths(lengths: Array, middle: float) -> Tail:
    """The tail of the distances of lengths from their median, which is at hand."""
    return of_sorted(np.sort(_away(lengths, middle)), LEAST_SPREAD)


def _nearness(distances: Array) -> Tail | None:
    """The tail of one over rising distances."""
    start = distances[n_tail(len(distances))]
    return None if start <= 0.0 else of_sorted(1.0 / np.maximum(distances[::-1], NEAREST * start))


def distances(model: Any, X: Any, n_observed: Array) -> Array:
    """How far rows are from the middle of a Gaussian, squared, in standard deviations, a mean over observed entries.

    Of a row that misses entries the others alone count: what fills gaps may be far from what this Gaussian expects.
    """
    middle = model.score_samples(model.mean_[None])[0]
    missing = np.zeros((0, 0), dtype=bool) if is_sparse(X) else np.isnan(X)
    if missing.any():
        middle = np.asarray(model.score_samples(np.where(missing, np.nan, model.mean_)), dtype=float)
    return np.asarray(2.0 * np.maximum(middle - np.asarray(model.score_samples(X), dtype=float), 0.0) / n_observed)


def counts(X: Any) -> Array:
    """Observed entries of each row (n,), at least one."""
    n, p = X.shape
    if is_sparse(X):
        return np.full(n, float(p))
    return np.maximum(np.count_nonzero(~np.isnan(X), axis=1), 1).astype(float)


def log_lengths(X: Any, n_observed: Array) -> Array:
    """Logarithms of the mean square of the observed entries of rows (n,); of zeros minus infinity."""
    if is_sparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=1), dtype=float).ravel()
    else:
        seen = np.nan_to_num(X, nan=0.0, posinf=np.inf, neginf=-np.inf)
        squares = np.einsum("ij,ij->i", seen, seen, dtype=float)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(squares / n_observed))


def reference_of(fit: Any, X: Any, given: Any, whole: Any) -> Reference | None:
    """Of complete rows X, of which `fit` makes a Gaussian that `distances` takes, or None; `whole` is that of all.

    Rows that are held out are measured as `given`, maybe without some entries.

    None for fewer than `FEWEST` rows, and where `fit` makes none.

    Which rows are held out together follows from their distances, not from their order.
    """
    n, n_observed = X.shape[0], counts(given)
    if n < FEWEST:
        return None
    own = distances(whole, given, n_observed)
    order = np.argsort(own, kind="stable")
    if n <= MOST_IN_FOLDS:
        folds = min(max(FOLDS, min(MOST_FOLDS, ROWS_OF_FITS // n)), n)
        held = [order[i::folds] for i in range(folds)]
    else:
        held = [order[np.linspace(0, n - 1, HELD_OUT).astype(int)]]
    found = []
    for some in held:
        rest = np.ones(n, dtype=bool)
        rest[some] = False
        model = fit(X[rest])
        if model is None:
            return None
        found.append(distances(model, given[some], n_observed[some]))
    every = np.sort(np.concatenate(found))
    if every[-n_tail(len(every)) - 1] <= 0.0:
        return None
    few = order if n <= MOST_IN_FOLDS else order[np.linspace(0, n - 1, MOST_IN_FOLDS).astype(int)]
    return Reference(*of_sorted(every), own[few], log_lengths(given[few], n_observed[few]))


def flattened(proba: Array, typicality: Array) -> Array:
    """Probabilities (n, c), nearer to equal ones in rows that are unusual; others are as they were.

    The power that they are raised to is the typicality in units of what is unusual, and leaves their order.
    """
    odd = np.flatnonzero(typicality < UNUSUAL)
    found = proba.copy()
    powers = np.maximum(typicality[odd] / UNUSUAL, LEAST_POWER)
    found[odd] = normalized(np.log(np.maximum(proba[odd], SMALL)) * powers[:, None])[0]
    return found


class Typical:
    """From `_gaussian`, a model of rows, and `_tail`, a tuple of a `Reference` or None."""

    @by_chunk
    def typicality(self, X: Any) -> Any:
        """How typical rows are of those of the fit, a number between 0 and 1 like a p-value.

        It is the share of the rows of the fit that were at least as far from a model of the others: rows were held out
        in five to twenty parts (of more than 2,000, 500 once). Far is minus the log-density of `score_samples`, of rows
        with missing entries for each entry that is there. Where fewer than a tenth were as far, the share follows a
        Pareto tail through that tenth. A row much nearer to the middle than any of the fit, which lacks the noise of
        the others, is as unlike them: 20 times the share of the rows as near is taken, where it is less; and so is a
        row much longer or shorter (by its mean square) than any of the fit. So of rows like those of the fit one in a
        hundred is below 0.01.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        typicality : ndarray of shape (n_samples,)
            Below 0.01 a row is unlike the rows of the fit, and what is said of it should not be trusted.

        Raises
        ------
        ValueError
            When the fit had fewer than ten rows, or they left nothing for noise.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from gnomon import GuidedProjection
        >>> X, y = load_wine(return_X_y=True)
        >>> y[[i for i in range(178) if i % 20]] = -1
        >>> model = GuidedProjection().fit(X, y)
        >>> (model.typicality(10 * X[:2]) < 0.01).tolist()
        [True, True]
        """
        rows = self._check_rows(X)
        if self._tail is None:
            raise ValueError(
                f"X of fit had {self.n_samples_} rows and tells too little of what is typical: at least {FEWEST} rows "
                "of rank 2 or more are wanted."
            )
        return self._typicality_of(rows)

    def _typicality_of(self, rows):
        X = rows.gather().astype(np.float64, copy=False)
        entries = counts(X)
        away = distances(self._gaussian, X, entries)
        return Reference(*self._tail).typicality(away, entries / rows.shape[1], log_lengths(X, entries))
