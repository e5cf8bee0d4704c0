"""The score of `choose_guided`: half-label models must agree where no label is, and be right where one is.

For classes it is `gnomon.targets.halves`. For real targets agreement is the correlation of the two halves'
predictions of the unlabelled rows, and the error is their squared error on each other's labels over the variance of
the target.
"""

from __future__ import annotations

import numpy as np

from gnomon.targets.halves import Score, can_split, half_splits, is_rich, score_splits

FEWEST_REAL = 4  # labelled rows: two a half


class ClassHalves:
    """Class numbers (n,), -1 where unlabelled, and random halves of the labelled rows."""

    kind = "classes"

    def __init__(self, index, n_splits, rng):
        if not can_split(index):
            raise ValueError(
                "every class of y has one labelled row at most, so nothing can be held out to choose a model by. Label "
                "a second row of one class, or take a model by name, such as gnomon.DPPCA."
            )
        self.targets, self.splits = index, half_splits(index, n_splits, rng)
        self.is_rich = is_rich(index)

    def score(self, fit_predict):
        """Score a function from the targets of one half to predictions of every row."""
        return score_splits(fit_predict, self.targets, self.splits)

    def permuted(self, rng):
        """The same with labels that have changed places."""
        return ClassHalves(_shuffled(self.targets, self.targets >= 0, rng), 1, rng)


class RealHalves:
    """Real targets (n, q), NaN where missing, and random halves of the rows with a target."""

    kind = "real"
    is_rich = True

    def __init__(self, targets, n_splits, rng):
        self.targets, self.labelled = targets, np.isfinite(targets).any(axis=1)
        rows = np.flatnonzero(self.labelled)
        if len(rows) < FEWEST_REAL:
            raise ValueError(
                f"y has {len(rows)} labelled rows; choosing a model takes {FEWEST_REAL}. Label more, or take a "
                "model by name, such as gnomon.SPPCA."
            )
        self.splits = []
        for _ in range(n_splits):
            first = np.zeros(len(targets), dtype=bool)
            first[rng.permutation(rows)[: len(rows) // 2]] = True
            self.splits.append((self._only(first), self._only(self.labelled & ~first)))

    def _only(self, rows):
        return np.where(rows[:, None], self.targets, np.nan)

    def score(self, fit_predict):
        """Score a function from the targets of one half to predictions of every row."""
        agreements, errors = [], []
        for first, second in self.splits:
            a, b = (np.reshape(fit_predict(half), self.targets.shape) for half in (first, second))
            agreements.append(np.mean([_correlation(u, v) for u, v in zip(a[~self.labelled].T, b[~self.labelled].T)]))
            held = np.where(np.isfinite(first), b, a)  # each row from the half that has not seen it
            errors.append(np.mean(np.nanmean((held - self.targets) ** 2, axis=0) / np.nanvar(self.targets, axis=0)))
        agreement, error = float(np.mean(agreements)), float(np.mean(errors))
        return Score(agreement, error, agreement - error)

    def permuted(self, rng):
        """The same with targets that have changed places."""
        return RealHalves(_shuffled(self.targets, self.labelled, rng), 1, rng)


def _shuffled(targets, labelled, rng):
    rows = np.flatnonzero(labelled)
    shuffled = targets.copy()
    shuffled[rows] = targets[rng.permutation(rows)]
    return shuffled


def _correlation(a, b):
    """Correlation of two sets of predictions; 0 where one of them is constant or there is none."""
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])
