"""What is hidden, what is scored and how: class targets and real targets behind one face.

`visible` is what the methods may see, `truth` what they are scored by: codes with -1, or (n, q) values with
NaN. The loss of a row is 0 or 1 for classes, squared error over the variance of the scored values for real
targets.
"""

from typing import NamedTuple

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon.describe import real_values
from gnomon.selection.baselines import nearest_labels

RIDGES = np.logspace(-3, 3, 13)
MAX_FOLDS = 5


class Split(NamedTuple):
    """Targets with the scored rows hidden, and those rows."""

    visible: np.ndarray
    rows: np.ndarray


class Classes:
    """A target of classes as codes, -1 where unlabeled."""

    metric = "error"

    def __init__(self, target, y, y_true=None):
        self.visible = self.truth = target.codes(y)
        self.n_classes = len(target.classes)
        if y_true is not None:
            # A class without a labeled row cannot be predicted: it is scored, and always wrong.
            self.truth = np.where(target.unseen(y_true), self.n_classes, target.codes(y_true))

    @staticmethod
    def observed(targets):
        return targets >= 0

    def hide(self, rows):
        visible = self.visible.copy()
        visible[rows] = -1
        return Split(visible, rows)

    def strata(self, rows):
        """Return what must be spread over the folds, and a finer order within it."""
        return self.visible[rows], np.zeros(len(rows))

    def rival_targets(self, visible):
        """Return the rows that LDA and PLS learn from, their labels and their one-of-C coding."""
        rows = np.flatnonzero(visible >= 0)
        return rows, visible[rows], np.eye(self.n_classes)[visible[rows]]

    def projection_loss(self, Z_seen, seen, Z, rows):
        return self.loss(nearest_labels(Z_seen, seen, Z), rows)

    def loss(self, predicted, rows):
        return (predicted != self.truth[rows]).astype(float)


class Real:
    """Real targets of shape (n, q), NaN where missing."""

    metric = "R2"

    def __init__(self, y, y_true=None):
        self.visible = self.truth = real_values(y)
        if y_true is not None:
            self.truth = np.where(np.isfinite(self.visible), np.nan, real_values(y_true))
        scored = self.truth[:, np.isfinite(self.truth).any(axis=0)]
        self.variance = np.nanvar(scored, axis=0)
        if not np.isfinite(self.truth).any() or not self.variance.all():
            raise ValueError("R2 needs scored targets that vary; they are missing or constant here.")

    @staticmethod
    def observed(targets):
        return np.isfinite(targets).any(axis=1)

    def hide(self, rows):
        visible = self.visible.copy()
        visible[rows] = np.nan
        return Split(visible, rows)

    def strata(self, rows):
        """Return one stratum, ordered by which outputs are seen, so that no fold takes all values of one output."""
        patterns = np.unique(np.isfinite(self.visible[rows]), axis=0, return_inverse=True)[1]
        return np.zeros(len(rows), dtype=int), patterns.ravel()

    def rival_targets(self, visible):
        """Return the rows that PLS learns from (every output seen), no labels, and their outputs."""
        rows = np.flatnonzero(np.isfinite(visible).all(axis=1))
        return rows, None, visible[rows]

    def projection_loss(self, Z_seen, seen, Z, rows):
        return self.loss(np.column_stack([_ridge(Z_seen, column).predict(Z) for column in seen.T]), rows)

    def loss(self, predicted, rows):
        truth = self.truth[rows]
        squared = (np.reshape(predicted, truth.shape) - truth) ** 2
        scored = np.isfinite(self.truth).any(axis=0)
        return np.nanmean(squared[:, scored] / self.variance, axis=1)


def _ridge(Z, column):
    seen = np.isfinite(column)
    scaler = StandardScaler(with_mean=not hasattr(Z, "tocsr"))
    return make_pipeline(scaler, RidgeCV(RIDGES)).fit(Z[seen], column[seen])


def hidden_truth(task):
    """Return the one split of a task whose truth is known: rows unlabelled but with a true value."""
    if isinstance(task, Classes):
        rows = np.flatnonzero((task.visible < 0) & (task.truth >= 0))
    else:
        rows = np.flatnonzero(np.isfinite(task.truth).any(axis=1))
    if not len(rows):
        raise ValueError("y_true adds nothing to y: no row is unlabelled in y and known in y_true.")
    return [Split(task.visible, rows)]


def held_out(task, n_splits, rng):
    """Return splits that hide each labelled row in turn, up to five folds a repeat, drawn class by class.

    A class with m labelled rows loses at most one of them a split when m <= 5; a class with one row keeps it.
    """
    labelled = np.flatnonzero(task.observed(task.visible))
    strata, order = task.strata(labelled)
    strata, counts = np.unique(strata, return_inverse=True, return_counts=True)[1:]
    if task.metric == "R2" and len(labelled) < 3:
        raise ValueError(
            f"y has {len(labelled)} labelled rows; holding some out takes three. Label more or give y_true."
        )
    if counts.max() < 2:
        raise ValueError(
            "y has one labelled row in each class, so none can be held out. Label a second row of one "
            "class, or give y_true."
        )
    n_folds = min(MAX_FOLDS, counts.max())
    splits = []
    for _ in range(-(-n_splits // n_folds)):
        fold = np.full(len(labelled), -1)
        for stratum in np.flatnonzero(counts > 1):
            members = rng.permutation(np.flatnonzero(strata == stratum))
            members = members[np.argsort(order[members], kind="stable")]
            fold[members] = (np.arange(len(members)) + rng.randint(n_folds)) % n_folds
        splits += [task.hide(labelled[fold == f]) for f in range(n_folds) if (fold == f).any()]
    return splits
