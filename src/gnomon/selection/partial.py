"""Fitting any estimator to partly labeled rows: one that can is given every row, another the labeled rows."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline


def last_step(estimator):
    """The model of a pipeline; any other estimator as it is.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from gnomon import SPPCA
    >>> last_step(make_pipeline(SPPCA(3))).n_components
    3
    """
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def takes_unlabeled(estimator):
    """Whether `fit` takes rows without a label: the model has a parameter `unlabeled`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from gnomon import DPPCA
    >>> takes_unlabeled(DPPCA()), takes_unlabeled(LogisticRegression())
    (True, False)
    """
    return "unlabeled" in last_step(estimator).get_params(deep=False)


def prepared(estimator, **settings):
    """A clone whose model has those settings that it knows.

    Examples
    --------
    >>> from gnomon import SPPCA
    >>> prepared(SPPCA(2), unlabeled=-1, no_such_parameter=0).unlabeled
    -1
    """
    made = clone(estimator)
    model = last_step(made)
    known = model.get_params(deep=False)
    model.set_params(**{name: value for name, value in settings.items() if name in known})
    return made


def fit_partial(estimator, X, y, labeled):
    """Fit to every row, or to the labeled ones where the estimator does not take others; returns the estimator."""
    if takes_unlabeled(estimator):
        return estimator.fit(X, y)
    rows = np.flatnonzero(labeled)
    known = y[rows]
    if known.dtype == object:
        known = np.array(known.tolist())
    return estimator.fit(X.iloc[rows] if hasattr(X, "iloc") else X[rows], known)


def labels_of(targets):
    """Labels of one target (n,) with None where there is none, or numbers with NaN.

    Examples
    --------
    >>> from gnomon.targets import read
    >>> labels_of(read(["b", None, "a"], 3)).tolist()
    ['b', None, 'a']
    """
    if targets.kind == "classes":
        return np.append(np.asarray(targets.classes).astype(object), None)[targets.index]
    return targets.table.ravel() if targets.vector else targets.table


@dataclass(frozen=True)
class HalfFit:
    """A function from the targets of half the labels to predictions of every row.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1]])
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> HalfFit(KNeighborsClassifier(1), X, "classes")(np.array([0, -1, 1, -1])).tolist()
    [0, 0, 1, 1]
    """

    MARK = {"classes": -1, "real": None}  # noqa: RUF012
    estimator: object
    X: object
    kind: str

    def __call__(self, half):
        return self.fitted(half).predict(self.X)

    def fitted(self, half):
        """The model of one half; the final fit says what there is to say."""
        labeled = half >= 0 if self.kind == "classes" else np.isfinite(half).all(axis=1)
        y = half.ravel() if half.ndim == 2 and half.shape[1] == 1 else half
        made = prepared(self.estimator, unlabeled=self.MARK[self.kind], target=self.kind)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fit_partial(made, self.X, y, labeled)
