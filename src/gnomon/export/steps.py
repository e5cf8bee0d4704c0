"""What stands before a model of a table: its columns by name, and its gaps filled."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from gnomon.estimators._filler import filled, filler_of_gaps
from gnomon.rows.frames import as_frame
from gnomon.rows.kind import is_sparse
from gnomon.tables import answers_of, count_missing, indicators, listing, names_of_answers, said_of_unseen

OPTIONS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}


class Step(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A step that gives as many columns as it gets, missing entries and sparse rows included."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X, y=None):
        """Learn what the rows are like.

        Parameters
        ----------
        X : DataFrame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows, NaN where an entry is missing.
        y : object, default=None
            Ignored.

        Returns
        -------
        self : Columns or GapFiller
            Fitted.
        """
        self._fit(X)
        return self

    def transform(self, X):
        """Return the rows as what comes after this step takes them.

        Parameters
        ----------
        X : DataFrame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows, NaN where an entry is missing.

        Returns
        -------
        X : ndarray or sparse matrix of shape (n_samples, n_features)
            Numbers: columns in the order of the fit, or without NaN; observed entries are unchanged.
        """
        check_is_fitted(self, "n_features_in_")
        return self._transform(X)

    def inverse_transform(self, X):
        """Return X as it is: what was ordered or filled stays.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X : array-like of shape (n_samples, n_features)
            The same.
        """
        return X


class Columns(Step):
    """Take the columns of a frame by name, in the order of the fit; arrays pass as they are.

    The first step of a model of a table: what comes after it sees the columns that it was fitted to, in their order.

    Parameters
    ----------
    ignored : sequence of str, default=()
        Columns that a frame may have and that are left out: targets, names of rows.
    categorical : sequence of str, default=()
        Columns of answers. Each answer becomes a feature, behind all others: 1 in rows that gave it, 0 in rows that
        gave another, NaN in rows that gave none. An answer that the fit did not have counts as none, with a warning.

    Attributes
    ----------
    feature_names_in_ : ndarray of shape (n_features,)
        The features, in order, that of an answer as "column=answer"; only where X was a frame.
    n_features_in_ : int
        How many they are; an array has a column for each.
    answers_ : dict of str to list of str
        The answers in each column of them.

    See Also
    --------
    GapFiller : Fills missing entries for models that take complete rows only.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from gnomon import PPCA
    >>> from gnomon.export import Columns
    >>> X = pd.DataFrame({"a": [1.0, 2.0, 4.0, 3.0], "b": [0.0, 1.0, 0.0, 2.0], "c": [5.0, 5.0, 6.0, 7.0]})
    >>> model = make_pipeline(Columns(), PPCA(1)).fit(X)
    >>> bool((model.transform(X[["c", "a", "b"]]) == model.transform(X)).all())
    True
    >>> answers = pd.DataFrame({"age": [31, 25, 40], "smokes": ["no", "yes", None]})
    >>> columns = Columns(categorical=["smokes"]).fit(answers)
    >>> columns.get_feature_names_out().tolist()
    ['age', 'smokes=no', 'smokes=yes']
    >>> columns.transform(answers)
    array([[31.,  1.,  0.],
           [25.,  0.,  1.],
           [40., nan, nan]])
    """

    def __init__(self, ignored: Any = (), categorical: Any = ()) -> None:
        self.ignored = ignored
        self.categorical = categorical

    def _fit(self, X):
        self.__dict__.pop("feature_names_in_", None)
        frame = as_frame(X)
        if frame is None:
            _matrix(self, X, reset=True)
            self.answers_ = {}
            return
        lacking = [name for name in self.categorical if name not in frame.columns]
        if lacking:
            raise ValueError(f"X has no column {lacking[0]!r} of those in categorical.")
        names = [name for name in frame.columns if name not in (*self.ignored, *self.categorical)]
        self._name(names, {name: answers_of(_cells(frame[name])) for name in self.categorical})

    def _name(self, names, answers):
        new = [one for name, some in answers.items() for one in names_of_answers(name, some)]
        self.feature_names_in_ = np.array([*names, *new], dtype=object)
        self.n_features_in_, self.answers_ = len(self.feature_names_in_), answers

    def _transform(self, X):
        frame = as_frame(X)
        if "feature_names_in_" not in vars(self):
            return _matrix(self, X, reset=False)
        if frame is not None:
            return self._by_name(frame)
        X = check_array(X, **OPTIONS)  # an array has no names to check, and its columns are taken as they stand
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but Columns is expecting {self.n_features_in_} features.")
        return X

    def _by_name(self, frame):
        known = known_answers(self)
        n_answers = sum(map(len, known.values()))
        plain = self.feature_names_in_.tolist()[: self.n_features_in_ - n_answers]
        names = [*plain, *known]
        missing = [name for name in names if name not in frame.columns]
        extra = [name for name in frame.columns if name not in (*names, *self.ignored)]
        parts = [f"the model needs {listing(missing)}, which X lacks"] if missing else []
        which = "it" if len(extra) == 1 else "them"
        parts += [f"the model does not know {listing(extra)}: leave {which} out"] if extra else []
        if parts:
            raise ValueError(f"X: {'; '.join(parts)}.")
        blocks = [check_array(frame.select(plain).to_numpy(), **OPTIONS)] if plain else []
        for name, answers in known.items():
            block, unseen = indicators(_cells(frame[name]), answers)
            blocks.append(block.astype(blocks[0].dtype) if blocks else block)
            if unseen:
                warnings.warn(f"X: {said_of_unseen(name, unseen)}.", UserWarning, stacklevel=5)
        return blocks[0] if len(blocks) == 1 else np.hstack(blocks)


def named_columns(names, ignored, answers=None):
    """The step as fitted to a frame with columns of numbers and of answers of these names."""
    step = Columns(ignored, list(answers or ()))
    step._name(names, answers or {})
    return step


def _cells(column):
    return [None if gone else cell for gone, cell in zip(column.is_null().to_list(), column.to_list(), strict=True)]


class GapFiller(Step):
    """Fill missing entries with their expectation under probabilistic PCA; rows without gaps pass as they are.

    Columns are taken in units of their deviations. Parts of the table that hardly any row joins have components of
    their own, as in `GuidedProjection`.

    Parameters
    ----------
    max_components : int, default=10
        Most components of the model, of each part; it has fewer where the rank of X allows no more, or where fewer
        foretell better what is held out of the observed entries.
    random_state : int, RandomState instance or None, default=0
        Of the model.

    Attributes
    ----------
    model_ : PPCA or None
        What fills, in units of the columns; None where X has no rank to spare, and column means do.
    units_ : ndarray of shape (n_features,)
        Units of the columns.
    mean_ : ndarray of shape (n_features,)
        Column means of what is observed.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X was a frame.

    Raises
    ------
    ValueError
        When a column is never observed.

    See Also
    --------
    Columns : Takes the columns of a table by name.

    Examples
    --------
    >>> import numpy as np
    >>> from gnomon.export import GapFiller
    >>> X = np.random.default_rng(0).normal(size=(30, 1)) * [1.0, 2.0, 3.0]
    >>> X += 0.01 * np.random.default_rng(1).normal(size=(30, 3))
    >>> GapFiller(1).fit(X).transform([[1.0, np.nan, 3.0]]).round(1)
    array([[1., 2., 3.]])
    """

    def __init__(self, max_components: Any = 10, random_state: Any = 0) -> None:
        self.max_components = max_components
        self.random_state = random_state

    def _fit(self, X):
        X = _matrix(self, X, reset=True)
        self.model_, self.units_ = None, np.ones(X.shape[1])
        if is_sparse(X):
            self.mean_ = np.zeros(X.shape[1])
            return
        never = np.flatnonzero(np.isnan(X).all(axis=0))
        if len(never):
            names = vars(self).get("feature_names_in_", np.arange(X.shape[1]))
            raise ValueError(f"column {names.tolist()[never[0]]!r} of X is never observed; drop it.")
        self.mean_ = np.nanmean(X, axis=0)
        self.model_, self.units_, _ = filler_of_gaps(X.astype(np.float64), self.max_components, self.random_state)

    def _transform(self, X):
        X = _matrix(self, X, reset=False)
        if not count_missing(X):
            return X
        if self.model_ is None:
            return np.where(np.isnan(X), self.mean_.astype(X.dtype), X)
        return filled(X, self.model_, vars(self).get("units_", 1.0))  # of a file of an earlier version one


def known_answers(step):
    """The answers in each column of them of a fitted `Columns`; none in that of a file of an earlier version."""
    return vars(step).get("answers_", {})


def _matrix(step, X, reset):
    return validate_data(step, X, reset=reset, **OPTIONS)
