"""What a comparison hides and scores: targets of classes and of numbers behind one face.

A table of values (n, q) holds class numbers and reals, NaN where there is none: `visible` is what the methods may see,
`truth` what they are scored by. The loss of a row is 0 or 1 for classes, squared error over the variance of the scored
values for numbers.
"""

from dataclasses import dataclass

import numpy as np

from gnomon.describe import Target
from gnomon.selection.baselines import predict_from_projection
from gnomon.selection.splitters import deal, strata_of
from gnomon.targets import read, read_like

MAX_FOLDS = 5


@dataclass(frozen=True)
class Task:
    """Targets that are scored together: one column of classes, or all columns of numbers."""

    name: str
    columns: list[int]
    truth: np.ndarray  # (n, q) numbers, or numbers of classes: that of the classes for one without a labeled row
    classes: np.ndarray | None = None
    variance: np.ndarray | None = None  # (q,) of the scored numbers, NaN where a column has none

    @property
    def metric(self):
        return "R2" if self.classes is None else "error"

    def codes(self, predicted):
        """Predicted numbers, or numbers of classes (n, q); -1 for what is none of them."""
        if self.classes is None:
            return np.asarray(predicted, dtype=float)
        return Target("classes", self.classes).codes(np.ravel(predicted))[:, None].astype(float)

    def loss(self, predicted, rows):
        predicted = np.reshape(predicted, (len(rows), -1))
        if self.classes is not None:
            return (predicted != self.truth[rows]).astype(float).ravel()
        scored = np.isfinite(self.variance)
        return np.nanmean((predicted - self.truth[rows])[:, scored] ** 2 / self.variance[scored], axis=1)

    def projection_loss(self, Z_seen, seen, Z, rows):
        if self.classes is None:
            return self.loss(predict_from_projection("real", Z_seen, seen, Z), rows)
        known = np.isfinite(seen).ravel()
        return self.loss(predict_from_projection("classes", Z_seen[known], seen[known], Z), rows)


class Problem:
    """Targets of the rows, what is known of the hidden ones, and the tasks they make."""

    def __init__(self, y, n_samples, y_true, *, target, unlabeled, several):
        self.targets = read(y, n_samples, target=target, unlabeled=unlabeled, several=several)
        if self.targets.kind == "none":
            raise ValueError("y has no label; compare needs labeled rows. Give y with some labels.")
        self.visible = self.targets.table
        self.has_truth = y_true is not None
        truth = self.visible
        if self.has_truth:
            truth = read_like(y_true, n_samples, self.targets.form, unlabeled=unlabeled, strict=False)
            truth[np.isfinite(self.visible)] = np.nan
        columns = self.targets.columns
        classes = [j for j, column in enumerate(columns) if column.kind == "classes"]
        numbers = [j for j, column in enumerate(columns) if column.kind in ("real", "counts")]
        self.tasks = [Task(columns[j].name, [j], truth[:, [j]], columns[j].classes) for j in classes]
        self.tasks += [self._numbers(numbers, truth)] if numbers else []

    def _numbers(self, columns, truth):
        values = truth[:, columns]
        scored = np.isfinite(values).any(axis=0)
        variance = np.full(len(columns), np.nan)
        variance[scored] = np.nanvar(values[:, scored], axis=0)
        if not scored.any() or not variance[scored].all():
            raise ValueError("R2 needs scored targets that vary; they are missing or constant here.")
        name = self.targets.columns[columns[0]].name if len(columns) == 1 else f"the {len(columns)} columns of numbers"
        return Task(name, columns, values, variance=variance)

    def settings(self):
        """Parameters of a model that say how to read what `Targets.given` returns."""
        return {"unlabeled": None, "target": self.targets.asked}

    def splits(self, n_splits, rng):
        """Pairs of targets (n, q) with the scored rows hidden, and those rows.

        One where their truth is known, else `n_splits` that hold labeled rows out.
        """
        if not self.has_truth:
            return self._held_out(n_splits, rng)
        scored = np.column_stack([task.truth for task in self.tasks])
        rows = np.flatnonzero(np.isfinite(scored).any(axis=1))
        if not len(rows):
            raise ValueError("y_true adds nothing to y: no row is unlabeled in y and known in y_true.")
        return [(self.visible, rows)]

    def _held_out(self, n_splits, rng):
        """Hide each labeled row in turn, up to five folds a repeat.

        A class with m labeled rows loses at most one of them in a split when m <= 5; a class with one row keeps it.
        """
        labeled = np.flatnonzero(self.targets.labeled)
        if self.tasks[0].metric == "R2" and len(labeled) < 3:
            raise ValueError(
                f"y has {len(labeled)} labeled rows; holding some out takes three. Label more or give y_true."
            )
        strata, most = strata_of(self.targets, labeled), len(labeled)
        if self.targets.vector and self.targets.kind == "classes":
            counts = np.bincount(strata)
            labeled, strata = labeled[counts[strata] > 1], strata[counts[strata] > 1]
            most = counts.max()
        if most < 2:
            raise ValueError(
                "y has one labeled row in each class, so none can be held out. Label a second row of one "
                "class, or give y_true."
            )
        n_folds = min(MAX_FOLDS, most)
        splits = []
        for _ in range(-(-n_splits // n_folds)):
            fold = deal(strata, n_folds, rng)
            splits += [self._hide(labeled[fold == f]) for f in range(n_folds)]
        return splits

    def _hide(self, rows):
        visible = self.visible.copy()
        visible[rows] = np.nan
        return visible, rows
