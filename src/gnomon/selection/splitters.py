"""Cross-validation of partly labeled rows: folds of the labeled ones, and scores that leave out the others."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from gnomon.rows.kind import rows_at
from gnomon.selection.partial import plain
from gnomon.targets import read


def strata_of(targets, rows):
    """What every fold of some rows should have of (m,): each class of one target, each pattern of several."""
    if targets.vector and targets.kind == "classes":
        return targets.index[rows]
    return np.unique(np.isfinite(targets.table[rows]), axis=0, return_inverse=True)[1].ravel()


def deal(strata, n_folds, rng):
    """Folds (m,) of rows: one stratum after the other is dealt out in a random order."""
    rows = np.lexsort((rng.permutation(len(strata)), strata))
    fold = np.empty(len(strata), dtype=int)
    fold[rows] = (rng.randint(n_folds) + np.arange(len(rows))) % n_folds
    return fold


def deal_groups(strata, groups, n_folds, rng):
    """The same where rows of a group go together, by the stratum of its first row; every row alone where None."""
    if groups is None:
        return deal(strata, n_folds, rng)
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    return deal(strata[first], n_folds, rng)[place]


def groups_in(strata, groups):
    """How many groups, or rows where None, there are of each stratum, a group in that of its first row."""
    some = strata if groups is None else strata[np.unique(groups, return_index=True)[1]]
    return np.bincount(some, minlength=strata.max(initial=-1) + 1)


class PartialLabelKFold(BaseEstimator, KFold):
    """Folds of the labeled rows; every unlabeled row is in every training part, and in no test part.

    The splitters of scikit-learn do not know that a row has no label: they refuse None and NaN in classes, take -1 for
    a class, and would score predictions against it. With this one `cross_val_score`, `GridSearchCV` and the like fit
    to all unlabeled rows and the labels of the other folds, and score the labeled rows of one fold.

    Parameters
    ----------
    n_splits : int, default=5
        Folds; at most as many as labeled rows.
    target : {"auto", "classes", "real"}, default="auto"
        How to read y. Folds of classes are stratified.
    unlabeled : "auto", None or a label, default="auto"
        What marks an unlabeled row, as in `SPPCA`.
    random_state : int, RandomState instance or None, default=None
        Draws the folds.

    See Also
    --------
    labeled_scorer : scores of rows of which some have no label, for any other splitter.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from gnomon import DPPCA
    >>> from gnomon.selection import PartialLabelKFold
    >>> X, y = load_iris(return_X_y=True)
    >>> seen = np.where(np.arange(150) % 5 == 0, y, -1)
    >>> scores = cross_val_score(DPPCA(2), X, seen, scoring="accuracy", cv=PartialLabelKFold(5, random_state=0))
    >>> bool(scores.mean() > 0.9)
    True
    """

    def __init__(
        self, n_splits: Any = 5, *, target: Any = "auto", unlabeled: Any = "auto", random_state: Any = None
    ) -> Any:
        self.n_splits = n_splits
        self.target = target
        self.unlabeled = unlabeled
        self.random_state = random_state

    def _iter_test_indices(self, X, y, groups):
        targets = read(y, len(y), target=self.target, unlabeled=self.unlabeled)
        labeled = np.flatnonzero(targets.labeled)
        if len(labeled) < self.n_splits:
            raise ValueError(f"y has {len(labeled)} labeled rows, fewer than n_splits={self.n_splits}; label more.")
        fold = deal(strata_of(targets, labeled), self.n_splits, check_random_state(self.random_state))
        yield from (labeled[fold == f] for f in range(self.n_splits))


def labeled_scorer(scoring: Any = None, *, target: Any = "auto", unlabeled: Any = "auto") -> Any:
    """Return a scorer that leaves rows without a label out.

    Parameters
    ----------
    scoring : str, callable or None, default=None
        As in scikit-learn, for example "balanced_accuracy"; None takes `estimator.score`.
    target : {"auto", "classes", "real"}, default="auto"
        How to read y, for an estimator that does not say how it did.
    unlabeled : "auto", None or a label, default="auto"
        What marks an unlabeled row, as in `SPPCA`.

    Returns
    -------
    callable
        scorer(estimator, X, y), for `cross_val_score(..., scoring=...)` and the like.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import DPPCA
    >>> from gnomon.selection import labeled_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> seen = np.where(np.arange(150) % 5 == 0, y, -1)
    >>> bool(labeled_scorer("accuracy")(DPPCA(2).fit(X, seen), X, seen) > 0.9)
    True
    """
    return partial(_score_labeled, scoring=scoring, kind=target, mark=unlabeled)


def _score_labeled(estimator, X, y, *, scoring, kind, mark):
    if kind == "auto" and is_classifier(estimator):
        kind = "classes"
    elif kind == "auto" and is_regressor(estimator):
        kind = "real"
    if isinstance(mark, str) and mark == "auto" and is_classifier(estimator):
        classes = {label for part in estimator.classes_ for label in np.ravel(part).tolist()}
        mark = None if -1 in classes else -1  # in a fold, -1 beside 1 says nothing
    targets = read(y, len(y), target=kind, unlabeled=mark)
    rows = np.flatnonzero(targets.labeled)
    if not len(rows):
        raise ValueError("no row to score has a label; PartialLabelKFold gives every fold some.")
    score = check_scoring(estimator) if scoring is None else get_scorer(scoring)
    return score(estimator, rows_at(X, rows), plain(targets.given()[rows]))
