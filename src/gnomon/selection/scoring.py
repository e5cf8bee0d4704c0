"""What a comparison hides and scores: targets of classes and of numbers behind one face.

A table of values (n, q) holds class numbers and reals, NaN where there is none: `visible` is what the methods may see,
`truth` what they are scored by. The loss of a row is 0 or 1 for classes, squared error over the variance of the scored
values for numbers.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon.rows.kind import is_sparse
from gnomon.selection.baselines import nearest_labels
from gnomon.targets import read

RIDGES = np.logspace(-3, 3, 13)
MAX_FOLDS = 5


class Split(NamedTuple):
    """Targets with the scored rows hidden, and those rows."""

    visible: np.ndarray  # (n, q)
    rows: np.ndarray


@dataclass(frozen=True)
class ClassTask:
    """One column of classes."""

    name: str
    columns: list[int]
    truth: np.ndarray  # (n, 1) class numbers; the number of classes for one without a labeled row
    classes: np.ndarray
    metric = "error"

    def codes(self, predicted):
        """Class numbers (n, 1) of predicted labels; -1 for what is none of them."""
        place = {label: code for code, label in enumerate(self.classes.tolist())}
        return np.array([[place.get(value, -1)] for value in np.ravel(predicted).tolist()], dtype=float)

    def loss(self, predicted, rows):
        return (predicted != self.truth[rows]).astype(float).ravel()

    def projection_loss(self, Z_seen, seen, Z, rows):
        known = np.isfinite(seen).ravel()
        return self.loss(nearest_labels(Z_seen[known], seen[known], Z), rows)


@dataclass(frozen=True)
class RealTask:
    """All columns of numbers."""

    name: str
    columns: list[int]
    truth: np.ndarray  # (n, q)
    variance: np.ndarray  # (q,) of the scored values, NaN where a column has none
    metric = "R2"

    def codes(self, predicted):
        """The predicted numbers (n, q)."""
        return np.asarray(predicted, dtype=float).reshape(-1, len(self.columns))

    def loss(self, predicted, rows):
        squared = (np.reshape(predicted, (len(rows), -1)) - self.truth[rows]) ** 2
        scored = np.isfinite(self.variance)
        return np.nanmean(squared[:, scored] / self.variance[scored], axis=1)

    def projection_loss(self, Z_seen, seen, Z, rows):
        return self.loss(np.column_stack([_ridge(Z_seen, column).predict(Z) for column in seen.T]), rows)


def _ridge(Z, column):
    seen = np.isfinite(column)
    scaler = StandardScaler(with_mean=not is_sparse(Z))
    return make_pipeline(scaler, RidgeCV(RIDGES)).fit(Z[seen], column[seen])


def _is_table_of_floats(y):
    """Whether y is numbers only; columns of several types make an array of objects."""
    return np.ndim(y) == 2 and np.asarray(y).dtype.kind == "f"


class Problem:
    """Targets of the rows, what is known of the hidden ones, and the tasks they make."""

    def __init__(self, y, n_samples, y_true, target, unlabeled):
        several = "real" if _is_table_of_floats(y) else "columns"
        self.targets = read(y, n_samples, target=target, unlabeled=unlabeled, several=several)
        if self.targets.kind == "none":
            raise ValueError("y has no label; compare needs labeled rows. Give y with some labels.")
        self.visible = self.targets.table
        self.kinds = [column.kind for column in self.targets.columns]
        self.has_truth = y_true is not None
        truth = self._truth(read(y_true, n_samples, target=self.kinds, unlabeled=unlabeled)) if self.has_truth else None
        classes = [j for j, kind in enumerate(self.kinds) if kind == "classes"]
        numbers = [j for j, kind in enumerate(self.kinds) if kind in ("real", "counts")]
        truth = self.visible if truth is None else truth
        self.tasks = [self._classes(j, truth) for j in classes] + ([self._numbers(numbers, truth)] if numbers else [])

    def _truth(self, given):
        """The values of hidden entries by the class numbers of y."""
        table = np.full_like(self.visible, np.nan)
        for j, (mine, other) in enumerate(zip(self.targets.columns, given.columns, strict=True)):
            values = other.values
            if mine.kind == "classes":
                place = {label: code for code, label in enumerate(mine.classes.tolist())}
                codes = np.array([place.get(label, len(place)) for label in other.classes.tolist()], dtype=float)
                values = np.append(codes, np.nan)[np.where(np.isnan(values), -1, values).astype(int)]
            table[:, j] = np.where(np.isnan(self.visible[:, j]), values, np.nan)
        return table

    def _classes(self, j, truth):
        column = self.targets.columns[j]
        return ClassTask(column.name, [j], truth[:, [j]], column.classes)

    def _numbers(self, columns, truth):
        values = truth[:, columns]
        scored = np.isfinite(values).any(axis=0)
        variance = np.full(len(columns), np.nan)
        variance[scored] = np.nanvar(values[:, scored], axis=0)
        if not scored.any() or not variance[scored].all():
            raise ValueError("R2 needs scored targets that vary; they are missing or constant here.")
        name = self.targets.columns[columns[0]].name if len(columns) == 1 else f"the {len(columns)} columns of numbers"
        return RealTask(name, columns, values, variance)

    def settings(self):
        """Parameters of a model that say how to read what `Targets.given` returns."""
        return {"unlabeled": None, "target": self.targets.asked}

    def splits(self, n_splits, rng):
        """The one split whose truth is known, or `n_splits` that hold labeled rows out."""
        return [self._hidden()] if self.has_truth else self._held_out(n_splits, rng)

    def _hidden(self):
        scored = np.column_stack([task.truth for task in self.tasks])
        rows = np.flatnonzero(np.isfinite(scored).any(axis=1))
        if not len(rows):
            raise ValueError("y_true adds nothing to y: no row is unlabeled in y and known in y_true.")
        return Split(self.visible, rows)

    def _held_out(self, n_splits, rng):
        """Hide each labeled row in turn, up to five folds a repeat, drawn class by class.

        A class with m labeled rows loses at most one of them in a split when m <= 5; a class with one row keeps it.
        """
        labeled = np.flatnonzero(self.targets.labeled)
        strata, order = self._strata(labeled)
        strata, counts = np.unique(strata, return_inverse=True, return_counts=True)[1:]
        if self.tasks[0].metric == "R2" and len(labeled) < 3:
            raise ValueError(
                f"y has {len(labeled)} labeled rows; holding some out takes three. Label more or give y_true."
            )
        if counts.max() < 2:
            raise ValueError(
                "y has one labeled row in each class, so none can be held out. Label a second row of one "
                "class, or give y_true."
            )
        n_folds = min(MAX_FOLDS, counts.max())
        splits = []
        for _ in range(-(-n_splits // n_folds)):
            fold = np.full(len(labeled), -1)
            for stratum in np.flatnonzero(counts > 1):
                members = rng.permutation(np.flatnonzero(strata == stratum))
                members = members[np.argsort(order[members], kind="stable")]
                fold[members] = (np.arange(len(members)) + rng.randint(n_folds)) % n_folds
            splits += [self._hide(labeled[fold == f]) for f in range(n_folds) if (fold == f).any()]
        return splits

    def _hide(self, rows):
        visible = self.visible.copy()
        visible[rows] = np.nan
        return Split(visible, rows)

    def _strata(self, rows):
        """What must be spread over the folds, and a finer order within it: no fold takes all values of one column."""
        if self.targets.vector and self.kinds == ["classes"]:
            return self.visible[rows, 0], np.zeros(len(rows))
        patterns = np.unique(np.isfinite(self.visible[rows]), axis=0, return_inverse=True)[1]
        return np.zeros(len(rows), dtype=int), patterns.ravel()
