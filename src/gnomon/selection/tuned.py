"""Baselines that choose for themselves, by the labels that they see: the preparation of the rows, the ridge of LDA."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import StandardScaler, normalize

from gnomon.rows.kind import is_sparse
from gnomon.selection.baselines import NotApplicable
from gnomon.selection.splitters import deal_groups, groups_in

FOLDS = 5
AS_GIVEN = "as given"


class Variant(NamedTuple):
    """A baseline with one setting."""

    name: str
    X: Any  # the rows as it sees them
    learn: Any  # of rows and visible targets: how it projects, and predicts or None


def preparations(X, several):
    """The rows as given and, if models prepare them themselves, standardized and at unit length; by name."""
    if not several:
        return {AS_GIVEN: X}
    standard = StandardScaler(with_mean=not is_sparse(X)).fit_transform(X)
    return {AS_GIVEN: X, "standardized": standard, "unit length": normalize(X)}


class Tuned:
    """The variant that does best in folds of the visible labels; the first where these allow no folds.

    It is given numbers of rows (m, 1) in place of rows, of which its variants have their own.
    """

    def __init__(self, variants, tasks, groups=None):
        self.variants, self.tasks, self.groups, self.chosen = variants, tasks, groups, Counter()

    def __call__(self, rows, visible):
        """How it projects, and predicts or None, from visible targets (n, q)."""
        best = self.variants[0]
        if len(self.variants) > 1 and (folds := _folds(visible, self.tasks, self.groups)):
            losses = [self._loss(variant, visible, folds) for variant in self.variants]
            best = self.variants[int(np.argmin(losses))]
        project, predict = best.learn(best.X, visible)
        self.chosen[best.name] += 1
        return _of_numbers(project, best.X), _of_numbers(predict, best.X)

    def _loss(self, variant, visible, folds):
        total = 0.0
        for held in folds:
            seen = visible.copy()
            seen[held] = np.nan
            try:
                project, _ = variant.learn(variant.X, seen)
            except NotApplicable:
                return np.inf
            known = np.flatnonzero(np.isfinite(seen).any(axis=1))
            Z = project(variant.X[known])
            for task in self.tasks:
                rows = held[np.isfinite(visible[held][:, task.columns]).any(axis=1)]
                if len(rows):
                    values = seen[known][:, task.columns]
                    total += float(task.projection_loss(Z, values, project(variant.X[rows]), rows).sum())
        return total

    @property
    def said(self):
        """What it chose most often, and how often."""
        if len(self.variants) < 2 or not self.chosen:
            return ""
        (name, times), n = self.chosen.most_common(1)[0], sum(self.chosen.values())
        return name if times == n else f"{name} ({times} of {n} times)"


def _of_numbers(method, X):
    return None if method is None else lambda numbers: method(X[np.ravel(numbers).astype(int)])


def _folds(visible, tasks, groups=None):
    """Rows to hide in turn, of one class each kind of which keeps a label; none where too few are labeled."""
    labeled = np.flatnonzero(np.isfinite(visible).any(axis=1))
    strata = np.zeros(len(labeled), dtype=int)
    if len(tasks) == 1 and tasks[0].classes is not None:
        strata = visible[labeled, tasks[0].columns[0]].astype(int)
        counts = groups_in(strata, None if groups is None else groups[labeled])
        several = counts[strata] > 1
        labeled, strata = labeled[several], strata[several]
    elif len(labeled) < FOLDS:
        return []
    if not len(labeled):
        return []
    together = None if groups is None else groups[labeled]
    n_folds = min(FOLDS, int(groups_in(strata, together).max()))
    fold = deal_groups(strata, together, n_folds, np.random.RandomState(0))
    return [labeled[fold == f] for f in range(n_folds)]
