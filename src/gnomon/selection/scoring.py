"""What a comparison hides and scores: targets of classes and of numbers behind one face.

A table of values (n, q) holds class numbers and reals, NaN where there is none: `visible` is what the methods may see,
`truth` what they are scored by. The loss of a row is 0 or 1 for classes, squared error over the variance of the scored
values for numbers.
"""

from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np

from gnomon.describe import Target
from gnomon.selection.baselines import predict_from_projection
from gnomon.selection.splitters import deal_groups, groups_in, strata_of
from gnomon.targets import read, read_groups, read_like

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

    def unseen(self, visible):
        """The same without the truth of what methods may see."""
        return replace(self, truth=np.where(np.isfinite(visible[:, self.columns]), np.nan, self.truth))

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

    def __init__(self, y, n_samples, y_true, *, target, unlabeled, several, groups=None):
        self.targets = read(y, n_samples, target=target, unlabeled=unlabeled, several=several)
        if self.targets.kind == "none":
            raise ValueError("y has no label; compare needs labeled rows. Give y with some labels.")
        self.visible, self.groups = self.targets.table, read_groups(groups, n_samples)
        self.has_truth = y_true is not None
        truth = self.visible
        if self.has_truth:
            truth = read_like(y_true, n_samples, self.targets.form, unlabeled=unlabeled, strict=False)
            truth = np.where(np.isfinite(self.visible), self.visible, truth)
        columns = self.targets.columns
        classes = [j for j, column in enumerate(columns) if column.kind == "classes"]
        numbers = [j for j, column in enumerate(columns) if column.kind in ("real", "counts")]
        self.tasks = [Task(columns[j].name, [j], truth[:, [j]], columns[j].classes) for j in classes]
        self.tasks += [self._numbers(numbers, truth)] if numbers else []

    def _numbers(self, columns, truth):
        values = truth[:, columns]
        if self.has_truth:
            values = np.where(np.isfinite(self.visible[:, columns]), np.nan, values)
        scored = np.isfinite(values).any(axis=0)
        variance = np.full(len(columns), np.nan)
        variance[scored] = np.nanvar(values[:, scored], axis=0)
        if not scored.any() or not variance[scored].all():
            raise ValueError("R2 needs scored targets that vary; they are missing or constant here.")
        name = self.targets.columns[columns[0]].name if len(columns) == 1 else f"the {len(columns)} columns of numbers"
        return Task(name, columns, truth[:, columns], variance=variance)

    def settings(self):
        """Parameters of a model that say how to read what `Targets.given` returns."""
        return {"unlabeled": None, "target": self.targets.asked}

    def splits(self, n_splits, rng):
        """Pairs of targets (n, q) with the scored rows hidden, and those rows.

        Of `n_splits` hold labeled rows out; where the truth is known, so many are draws of labeled rows, y the first.
        """
        if isinstance(n_splits, bool) or not isinstance(n_splits, Integral) or n_splits < 1:
            name = "n_draws" if self.has_truth else "n_splits"
            raise ValueError(f"{name}={n_splits!r} must be a whole number of at least 1.")
        if not self.has_truth:
            return self._held_out(n_splits, rng)
        truth = np.column_stack([task.truth for task in self.tasks])
        found = []
        for i in range(n_splits):
            visible = self._drawn(truth, rng) if i else self.visible
            hidden = np.isfinite(truth) & ~np.isfinite(visible[:, [j for task in self.tasks for j in task.columns]])
            found.append((visible, np.flatnonzero(hidden.any(axis=1))))
        if not len(found[0][1]):
            raise ValueError("y_true adds nothing to y: no row is unlabeled in y and known in y_true.")
        return found

    def _drawn(self, truth, rng):
        """Targets of as many random rows as are labeled, of each class where there is one target of classes."""
        classes = truth[:, 0] if self.one_target_of_classes else np.where(np.isfinite(truth).all(axis=1), 0.0, np.nan)
        visible, labeled = np.full_like(self.visible, np.nan), self.targets.labeled
        for c in np.unique(classes[labeled & np.isfinite(classes)]):
            of_class = np.flatnonzero(classes == c)
            some = rng.choice(of_class, np.count_nonzero(labeled[of_class]), replace=False)
            visible[np.ix_(some, [j for task in self.tasks for j in task.columns])] = truth[some]
        return visible

    @property
    def one_target_of_classes(self):
        """Whether y is one column of classes."""
        return self.targets.vector and self.targets.kind == "classes"

    def shares(self, told):
        """Shares of the classes among unlabeled rows, of which a model told how many are of each; None without it.

        The shares s among labeled rows and q among those told, with one row more in each class, as s^t q^(1 - t), where
        1/t is the median number of labels in a class.
        """
        if told is None:
            return None
        counts = np.bincount(self.visible[self.targets.labeled, 0].astype(int), minlength=len(told))
        weight = min(1.0, 1.0 / float(np.median(counts)))
        logs = weight * np.log((counts + 1.0) / (counts + 1.0).sum())
        logs += (1.0 - weight) * np.log((told + 1.0) / (told + 1.0).sum())
        return np.exp(logs) / np.exp(logs).sum()

    def weights(self, shares):
        """By how much rows (n,) count in the scores: by the shares of their classes, where they are known."""
        if shares is None:
            return np.ones(len(self.visible))
        codes = self.visible[:, 0]
        labeled = np.isfinite(codes)
        index = codes[labeled].astype(int)
        counts = np.bincount(index, minlength=len(shares))
        weights = np.zeros(len(codes))
        weights[labeled] = shares[index] / counts[index]
        return weights

    def _held_out(self, n_splits, rng):
        """Hide each labeled row in turn, up to five folds a repeat.

        A class with m labeled rows loses at most one of them in a split when m <= 5; a class with one row keeps it.
        Of rows in groups the same holds for groups.
        """
        labeled = np.flatnonzero(self.targets.labeled)
        if self.tasks[0].metric == "R2" and len(labeled) < 3:
            raise ValueError(
                f"y has {len(labeled)} labeled rows; holding some out takes three. Label more or give y_true."
            )
        strata, groups = strata_of(self.targets, labeled), self.groups_of(labeled)
        most = len(labeled) if groups is None else len(np.unique(groups))
        if self.targets.vector and self.targets.kind == "classes":
            counts = groups_in(strata, groups)
            several = counts[strata] > 1
            labeled, strata = labeled[several], strata[several]
            most, groups = counts.max(), self.groups_of(labeled)
        if most < 2:
            what = "row" if groups is None else "group of rows"
            where = " in each class" if self.one_target_of_classes else ""
            raise ValueError(
                f"y has one labeled {what}{where}, so none can be held out. Label a second {what} of one "
                "class, or give y_true."
            )
        n_folds = min(MAX_FOLDS, most)
        splits = []
        for _ in range(-(-n_splits // n_folds)):
            fold = deal_groups(strata, groups, n_folds, rng)
            splits += [self._hide(labeled[fold == f]) for f in range(n_folds)]
        return splits

    def groups_of(self, rows):
        """Groups (m,) of some rows, None where every row is one of its own."""
        return None if self.groups is None else self.groups[rows]

    @property
    def n_groups(self):
        """Groups of the labeled rows that are held out together; 0 where every row is one of its own."""
        if self.groups is None or self.has_truth:
            return 0
        n = len(np.unique(self.groups[self.targets.labeled]))
        return n if n < self.targets.n_labeled else 0

    def _hide(self, rows):
        visible = self.visible.copy()
        visible[rows] = np.nan
        return visible, rows
