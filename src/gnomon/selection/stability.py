"""The score of a choice, as `GuidedSearch` defines it, and the halves of the labels that it is made on."""

from typing import NamedTuple

import numpy as np

from gnomon.rows.kind import is_sparse
from gnomon.selection.intervals import standard_error
from gnomon.targets import groups_among
from gnomon.targets.halves import can_split, deal, is_rich

FEWEST_REAL = 4  # labeled rows: two per half


class Score(NamedTuple):
    """Averages over the splits of the labeled rows."""

    agreement: float | None  # None where every row is labeled
    error: float
    score: float  # agreement - error / error of chance; without agreement where every row is labeled
    each: tuple[float, ...] = ()  # the score of every split

    def gain(self, other):
        """How much higher it is than another on the same splits, and the standard error of that.

        Halves of the same rows are no independent draws: as many rows are held out as are learned from. None where
        there is one split.
        """
        gains = np.subtract(self.each, other.each)
        return self.score - other.score, standard_error(gains, overlap=1.0) if len(gains) > 1 else None


class _Halves:
    """Random halves of the labeled rows. `order` (n,) ranks rows by what they hold, so that their place is nothing.

    Rows of one of the `groups` (n,), where there are such, are in one half.
    """

    def __init__(self, targets, labeled, order, n_splits, rng, groups=None):
        self.targets, self.labeled, self.order, self.groups = targets, labeled, order, groups
        self.best = 1.0 if (~labeled).any() else 0.0  # full agreement without an error
        rows = np.flatnonzero(labeled)
        self.rows = rows[np.argsort(order[rows], kind="stable")]
        together = groups_among(groups, self.rows)
        self.place = np.arange(len(rows)) if together is None else together  # group of each of the rows
        self.first = self.rows[np.unique(self.place, return_index=True)[1]]  # row of each group
        self._check()
        self.splits = [self._split(rng) for _ in range(n_splits)]

    @property
    def complete(self):
        """Which rows have every target."""
        return self.targets >= 0 if self.kind == "classes" else np.isfinite(self.targets).all(axis=1)

    def _only(self, rows):
        kept = np.full_like(self.targets, self.missing)
        kept[rows] = self.targets[rows]
        return kept

    def permuted(self, rng, n_splits=1):
        """The same with labels that have changed places.

        A group takes the label of another where all its rows have one, else the labels of one of as many rows.
        """
        moved, sizes = self.targets.copy(), np.bincount(self.place)
        if np.array_equal(self.targets[self.first][self.place], self.targets[self.rows], equal_nan=True):
            moved[self.rows] = self.targets[rng.permutation(self.first)][self.place]
        else:
            by_group = self.rows[np.argsort(self.place, kind="stable")]
            for size in np.unique(sizes):
                some = by_group[sizes[np.sort(self.place)] == size].reshape(-1, size)
                moved[some] = self.targets[rng.permutation(some)]
        return type(self)(moved, self.order, n_splits, rng, self.groups)

    def score(self, fit_predict):
        """Score a function from the targets of one half to predictions of every row."""
        agreements, errors, each = [], [], []
        for halves in self.splits:
            predicted = [self._as_targets(fit_predict(half)) for half in halves]
            errors.append(self._error(*halves, *predicted))
            if not self.labeled.all():
                agreements.append(self._agreement(*(values[~self.labeled] for values in predicted)))
            each.append((agreements[-1] if agreements else 0.0) - errors[-1] / self.chance_error)
        error = float(np.mean(errors))
        agreement = float(np.mean(agreements)) if agreements else None
        return Score(agreement, error, (agreement or 0.0) - error / self.chance_error, tuple(each))


def cohen_kappa(a, b):
    """Agreement of two sets of class numbers above that of chance; 0 where both name one class only."""
    observed = np.mean(a == b)
    size = int(max(a.max(), b.max())) + 1
    expected = np.dot(np.bincount(a, minlength=size), np.bincount(b, minlength=size)) / len(a) ** 2
    return float((observed - expected) / (1 - expected)) if expected < 1 else 0.0


class ClassHalves(_Halves):
    """Halves of class numbers (n,), -1 where unlabeled: class by class, the only row of a class in both."""

    kind = "classes"
    missing = -1
    _agreement = staticmethod(cohen_kappa)

    def __init__(self, index, order, n_splits, rng, groups=None):
        self.n_classes = int(index.max()) + 1
        self.n_columns = self.n_classes - 1
        self.chance_error = 1 - 1 / self.n_classes
        super().__init__(index, index >= 0, order, n_splits, rng, groups)

    def _check(self):
        if not can_split(self.targets[self.first]):
            what = "row" if len(self.first) == len(self.rows) else "group of rows"
            raise ValueError(
                f"every class of y has one labeled {what} at most, so nothing can be held out to choose a model by. "
                f"Label a second {what} of one class, or take a model by name, such as gnomon.DPPCA."
            )
        self.is_rich = is_rich(self.targets[self.first])

    def _split(self, rng):
        places, odd = rng.random((2, len(self.first)))
        classes, odd_first = self.targets[self.first], np.zeros(self.n_classes, dtype=int)
        odd_first[classes[::-1]] = odd[::-1] < 0.5  # as the first row of the class says
        return tuple(self._only(self.rows[half[self.place]]) for half in deal(classes, places, odd_first))

    @staticmethod
    def _as_targets(predicted):
        return np.asarray(predicted).astype(int).ravel()

    def _error(self, first, second, by_first, by_second):
        wrong, held = np.zeros(self.n_classes), np.zeros(self.n_classes)
        for half, predicted in ((first, by_first), (second, by_second)):
            rows = np.flatnonzero(self.labeled & (half < 0))
            truth = self.targets[rows]
            held += np.bincount(truth, minlength=self.n_classes)
            wrong += np.bincount(truth, predicted[rows] != truth, minlength=self.n_classes)
        return float(np.mean(wrong[held > 0] / held[held > 0]))


class RealHalves(_Halves):
    """Halves of the rows with a real target (n, q), NaN where missing."""

    kind = "real"
    missing = np.nan
    is_rich = True
    chance_error = 1.0  # of the mean of the target

    def __init__(self, targets, order, n_splits, rng, groups=None):
        self.n_columns = targets.shape[1]
        super().__init__(targets, np.isfinite(targets).any(axis=1), order, n_splits, rng, groups)

    def _check(self):
        if len(self.first) < FEWEST_REAL:
            what = "rows" if len(self.first) == len(self.rows) else "groups of rows"
            raise ValueError(
                f"y has {len(self.first)} labeled {what}; choosing a model takes {FEWEST_REAL}. Label more, or take a "
                "model by name, such as gnomon.SPPCA."
            )

    def _split(self, rng):
        drawn = rng.permutation(len(self.first))
        second = drawn[len(drawn) // 2 :]
        return self._only(self.rows[~np.isin(self.place, second)]), self._only(self.rows[np.isin(self.place, second)])

    def _as_targets(self, predicted):
        return np.reshape(np.asarray(predicted, dtype=float), self.targets.shape)

    def _agreement(self, a, b):
        return float(np.mean([_correlation(u, v) for u, v in zip(a.T, b.T)]))

    def _error(self, first, second, by_first, by_second):
        held = np.where(np.isfinite(first), by_second, by_first)  # each row from the half that has not seen it
        return float(np.mean(np.nanmean((held - self.targets) ** 2, axis=0) / np.nanvar(self.targets, axis=0)))


def halves_of(targets, order, n_splits, rng, groups=None):
    """Halves of one target of classes, or of real targets, as `gnomon.targets.read` gives them."""
    if targets.kind == "real":
        return RealHalves(targets.table, order, n_splits, rng, groups)
    if targets.kind == "none":
        raise ValueError("y has no label; a choice needs labeled rows. Without labels, fit gnomon.PPCA.")
    if targets.kind != "classes" or len(targets.columns) > 1:
        raise ValueError(
            f"y has {len(targets.columns)} columns of kind {targets.kind!r}; a choice takes one target of classes, or "
            "real targets. Choose for each column by itself."
        )
    (column,) = targets.columns
    if len(column.classes) < 2:
        raise ValueError(f"y holds the single class {column.classes[0]}, which cannot guide a choice; label others.")
    return ClassHalves(targets.index, order, n_splits, rng, groups)


def row_order(X):
    """A number (n,) of each row by what it holds: its squared distance from the mean row, missing entries left out.

    It stays with a row when rows and columns change places, so that random halves do as well.
    """
    if is_sparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        lengths = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        return lengths - 2 * np.asarray(X @ mean).ravel()
    counts = np.maximum(np.isfinite(X).sum(axis=0), 1)
    deviations = X - np.nansum(X, axis=0) / counts
    return np.nansum(deviations**2, axis=1)


def _correlation(a, b):
    """Correlation of two sets of predictions; 0 where one of them is constant or there is none."""
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])
