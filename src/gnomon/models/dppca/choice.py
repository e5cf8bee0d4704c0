"""What "auto" takes in DPPCA: candidates, and the agreement of half-label models that ranks them."""

from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from ..._types import Array, IntArray
from ...numerics.folds import ranks
from ...targets import groups_among
from ...targets.halves import Score, can_split, half_splits, is_rich, score_splits
from . import anneal
from .away import Away
from .labeled import Labeled
from .mixture import Params
from .reduction import Reduced, Relabeled, at_hand, leading

FEWEST_FACTORS, MOST_FACTORS = 20, 40  # of those taken where nothing tells how many there are
N_FACTORS = (30, 20)  # tried besides the usual number
UNLABELED_WEIGHT = (1.0, 0.1, 0.0)
SHRINKAGE = 1e-3  # where "auto" has nothing to compare by, and the only one besides few factors
SHRINKAGES = (1e-3, 1e-1)  # where all within-class factors are kept
N_SPLITS = 3
FEWEST_FOLDS, MOST_FOLDS = 2, 5  # as many as the median class has labels
TIE = 0.04  # of the score: candidates nearer to the best are told apart by the order in which they are tried
BEHIND = 0.3  # of the sum of two scores: candidates farther from the best are spared the last split
MOST_UNLABELED = 2000  # votes; further rows would change the score by less than the labels do
SCORE_DIRECTIONS = 150  # coordinates in which candidates of few factors are compared, the rest being noise
SCORE_TOL = 1e-2  # to which the level is set, and so the fit: none ascends at it


Setting = tuple[int, float, float]  # number of factors, shrinkage, weight of an unlabeled row


class Open(NamedTuple):
    """The parameters of which some are to be chosen; see `gnomon.DPPCA`."""

    n_factors: int | str  # a number, "usual" or "auto"
    shrinkage: float | str  # a number or "auto"
    unlabeled_weight: float | str  # a number or "auto"


class Choice(NamedTuple):
    """One candidate and its score."""

    n_factors: int
    shrinkage: float
    unlabeled_weight: float
    agreement: float
    error: float
    score: float

    @property
    def setting(self) -> Setting:
        """The candidate."""
        return self[:3]


def usual_factors(n: int) -> int:
    """Within-class factors for n rows where nothing tells how many there are: one for ten rows, between 20 and 40."""
    return min(max(n // 10, FEWEST_FACTORS), MOST_FACTORS)


def candidates(given: Open, n: int, rank: int, least: int, index: IntArray) -> list[Setting]:
    """Combinations of what the parameters leave open, for n rows whose coordinates have that rank.

    Halves with one labeled row per class cannot tell how many factors there are, and would choose too few: then the
    usual number is the only one beside all there are.

    `least` factors are needed by the projection; the labeled rows alone have `n_within` directions within classes, so
    that as many factors, or more, are all they have.
    """
    all_labeled = bool((index >= 0).all())
    n_within = int((index >= 0).sum()) - int(index.max()) - 1
    usual = usual_factors(n)
    wanted = usual if given.n_factors == "usual" else given.n_factors
    some = sorted({usual, *N_FACTORS}, reverse=True) if is_rich(index) else [usual]
    sizes = [size for size in some if least <= size < rank] or [size for size in (least,) if size < rank]
    weights = (1.0,) if all_labeled else UNLABELED_WEIGHT
    if given.unlabeled_weight != "auto":
        weights = (float(given.unlabeled_weight),)
    found = []
    for w, size in product(weights, [*sizes, rank]):
        if wanted != "auto" and size != rank:
            continue
        if wanted == "auto" and w == 0 and n_within <= size < rank:
            continue
        if wanted == "auto" and size == rank and w > 0 and rank > max(*some, least) and not all_labeled:
            continue  # as many factors as the rows allow, and rows whose class is a guess: nothing is left to learn
        shrinkages = SHRINKAGES if size == rank else (SHRINKAGE,)
        if given.shrinkage != "auto":
            shrinkages = (float(given.shrinkage),)
        found += [(size if wanted == "auto" else int(wanted), shrinkage, w) for shrinkage in shrinkages]
    return list(dict.fromkeys(found))


class Trials:
    """Candidates fitted to a part of the labels, on some of the rows, as closely as comparing them needs.

    The halves follow from what the rows hold, so that what is chosen is the same in any order of rows and under any
    names of classes.
    """

    def __init__(self, rows: Reduced | Away, index: IntArray, options: anneal.Options) -> None:
        self.n_classes, self.options = int(index.max()) + 1, options
        kept = some_rows(rows, index, MOST_UNLABELED)
        self.rows, self.index = _some_rows(rows, index, kept)
        self.short = leading(self.rows, SCORE_DIRECTIONS)
        self.relabeled: Relabeled | None = None
        self._by_labels: dict[tuple[bool, bytes], Reduced] = {}
        self.splits: list[tuple[IntArray, IntArray]] = []
        if can_split(index):
            self.relabeled = Relabeled.of(rows, kept, self.rows) if self.rows.of_labels else None
            self.splits = content_splits(self.rows, self.index, N_SPLITS)
        self._scores: dict[tuple[Setting, int], Score] = {}
        self._named: dict[tuple[Setting, int], tuple[IntArray, IntArray]] = {}
        self._ends: dict[tuple[tuple[float, float], bool, bytes], tuple[Setting, Params]] = {}
        self._labeled: dict[tuple[bool, bytes], Labeled] = {}

    @cached_property
    def folds(self) -> IntArray:
        """Fold of the labels in which that of a row is held out, -1 where it never is."""
        if not self.splits:
            return np.full(len(self.index), -1)
        n_labels = int(np.median(np.bincount(self.index[self.index >= 0])))
        return content_folds(self.rows, self.index, min(max(n_labels, FEWEST_FOLDS), MOST_FOLDS))

    def seen(self, one: Setting, train: IntArray | None = None) -> Reduced:
        """The coordinates that a candidate is fitted in, to all labels or to those of some rows, -1 elsewhere."""
        short = _short(one)
        if train is None or self.relabeled is None or np.array_equal(train, self.index):
            return self.short if short else self.rows
        return self._relabeled(train, short)

    def _relabeled(self, train: IntArray, short: bool) -> Reduced:
        assert self.relabeled is not None
        known = train >= 0
        key = short, known.tobytes()
        if key not in self._by_labels:
            self._by_labels[key] = (
                leading(self._relabeled(train, False), SCORE_DIRECTIONS)
                if short
                else self.relabeled.by(np.eye(self.n_classes)[train] * known[:, None])
            )
        return self._by_labels[key]

    def fit(self, one: Setting, train: IntArray) -> anneal.Fitted:
        """Fit a candidate to labels of some rows, -1 elsewhere.

        EM begins where that of the first candidate has ended, if this one had more factors.
        """
        n_factors, shrinkage, weight = one
        options = self.options._replace(
            n_factors=n_factors,
            shrinkage=shrinkage,
            unlabeled_weight=0.0 if (self.index >= 0).all() else weight,
            tol=SCORE_TOL,
            max_iter=0,
        )
        known, rows, key = self._labeled_of(one, train), self.seen(one, train), (one[1:], _short(one), train.tobytes())
        first, begin = self._ends.get(key, (one, None))
        found = anneal.fit_coordinates(
            rows, train, self.n_classes, options, labeled=known, begin=begin if first[0] > n_factors else None
        ).value
        if options.unlabeled_weight > 0.0 and key not in self._ends:
            self._ends[key] = one, found.params
        return found

    def _labeled_of(self, one: Setting, train: IntArray) -> Labeled:
        """The labeled rows of a fit, which those of all candidates share."""
        key = _short(one), train.tobytes()
        if key not in self._labeled:
            self._labeled[key] = Labeled(self.seen(one, train), train, self.n_classes)
        return self._labeled[key]

    def score(self, one: Setting, i: int) -> Score:
        """Score a candidate on a split, once."""
        if (one, i) not in self._scores:
            named: list[IntArray] = []

            def fit_predict(train: IntArray) -> IntArray:
                proba = anneal.class_probabilities(self.seen(one, train), train, self.fit(one, train).params)
                named.append(np.asarray(proba.argmax(axis=1)))
                return named[-1]

            self._scores[one, i] = score_splits(fit_predict, self.index, [self.splits[i]])
            self._named[one, i] = (named[0], named[1])
        return self._scores[one, i]

    def scored(self, one: Setting) -> list[int]:
        """The splits that a candidate has been scored on; all, and it is scored now, where there was none."""
        some = [i for i in range(len(self.splits)) if (one, i) in self._scores]
        return some or [i for i in range(len(self.splits)) if self.score(one, i)]

    def halves(self, one: Setting) -> list[tuple[IntArray, IntArray]]:
        """Classes of the rows by the fits to both halves of the labels, of every split that it has been scored on."""
        return [self._named[one, i] for i in self.scored(one)]


def choose(given: Open, n: int, rank: int, least: int, trials: Trials) -> tuple[Choice, list[Choice]]:
    """Return the best candidate and the table of those that were scored, in the order of candidates.

    Of candidates within `TIE` of the best score the one that was tried first is taken: unlabeled rows count as much as
    they may, then more factors, then less shrinkage. The first is scored on all splits; the others on one after
    another, as long as they could take its place.

    Without a class of two labeled rows there is nothing to compare by: the usual number of factors, a shrinkage of
    1e-3 and unlabeled rows that count in full.
    """
    tried = candidates(given, n, rank, least, trials.index)
    if len(tried) == 1 or not trials.splits:
        first = min(tried, key=lambda c: (abs(c[0] - usual_factors(n)), tried.index(c)))
        return Choice(*first, np.nan, np.nan, np.nan), []
    scores = np.full((len(tried), N_SPLITS, len(Score._fields)), np.nan)
    scores[0] = [trials.score(tried[0], i) for i in range(N_SPLITS)]
    for n_seen in range(N_SPLITS):
        for i in still_open(scores[:, :, -1], n_seen):
            scores[i, n_seen] = trials.score(tried[i], n_seen)
    seen = ~np.isnan(scores[:, :, 0])
    table = [Choice(*one, *of[some].mean(axis=0).tolist()) for one, of, some in zip(tried, scores, seen) if some[0]]
    last = [choice for choice, some in zip(table, seen[seen[:, 0]], strict=True) if some.all()]
    best = max(choice.score for choice in last)
    return next(choice for choice in last if choice.score >= best - TIE), table


def still_open(scores: Array, n_seen: int) -> IntArray:
    """Candidates that could take the place of the first, which has been scored on all splits, by scores (m, s).

    No score is above one, and one that is not more than `TIE` above the first does not count.
    """
    so_far = scores[:, :n_seen].sum(axis=1)
    could = so_far + scores.shape[1] - n_seen > scores[0].sum() + scores.shape[1] * TIE
    near = (so_far >= np.nanmax(so_far) - BEHIND) | (n_seen < 2)
    return 1 + np.flatnonzero((could & near)[1:])


def content_order(rows: Reduced, index: IntArray) -> tuple[IntArray, IntArray]:
    """Labeled rows in an order that follows from what they hold, and their classes by ranks that do (m,).

    By lengths and inner products: the same in any order of rows, and under any names of classes.
    """
    known = np.flatnonzero(index >= 0)
    T, classes = rows.T[known], index[known]
    one_hot = np.eye(int(classes.max()) + 1)[classes]
    counts = one_hot.sum(axis=0)
    sums = one_hot.T @ T
    means = sums / np.maximum(counts, 1.0)[:, None]
    all_mean = T.mean(axis=0)
    alike = np.arange(len(counts), dtype=np.float64)  # classes of the same rows are still two
    squares = np.einsum("ij,ij->i", T, T) + rows.outside[known]
    # means of two classes of as many rows are as long where all rows are labeled
    within = one_hot.T @ squares / np.maximum(counts, 1.0)
    size = float(squares.max()) or 1.0
    of_class = ranks(counts, (means**2).sum(axis=1) / size, within / size, means @ all_mean / size, alike, unit=1.0)
    of_row = ranks(squares, (T * means[classes]).sum(axis=1), T @ all_mean, unit=size)
    order = np.lexsort((of_row, of_class[classes]))
    return known[order], of_class[classes[order]]


def content_splits(rows: Reduced, index: IntArray, n_splits: int) -> list[tuple[IntArray, IntArray]]:
    """Halves of the labels (n,), -1 for the rows of the other half, that follow from what the rows hold.

    Classes and rows are put in an order of their own, and are split there by random numbers that are always the same.
    """
    at, classes = content_order(rows, index)
    splits = []
    for halves in half_splits(classes, n_splits, np.random.default_rng(0)):
        found = []
        for half in halves:
            part = np.full(len(index), -1)
            part[at[half]] = index[at[half]]
            found.append(part)
        splits.append((found[0], found[1]))
    return splits


def content_folds(rows: Reduced, index: IntArray, n_folds: int, groups: IntArray | None = None) -> IntArray:
    """Fold of each row (n,) whose label is held out in one, -1 elsewhere: the only row of a class never is.

    Rows of one of the `groups` (n,) go together, by the class of the first of them.
    """
    at, classes = content_order(rows, index)
    place = np.arange(len(at)) if (found := groups_among(groups, at)) is None else found
    first = np.unique(place, return_index=True)[1]
    order = np.lexsort((np.random.default_rng(0).random(len(first)), classes[first]))
    dealt = np.empty(len(first), dtype=np.intp)
    dealt[order] = np.arange(len(first)) % n_folds
    pairs = np.unique(np.stack([classes, dealt[place]]), axis=1)[0]
    kept = np.isin(place, place[np.bincount(pairs)[classes] == 1])  # else a class would be held out as a whole
    folds = np.full(len(index), -1)
    folds[at] = np.where(kept, -1, dealt[place])
    return folds


def _short(one: Setting) -> bool:
    """Whether a candidate is fitted in leading coordinates alone."""
    n_factors, _, weight = one
    return weight > 0 and n_factors <= MOST_FACTORS


def near_rows(rows: Reduced | Away, index: IntArray, n_factors: int) -> tuple[Reduced, IntArray]:
    """Rows and directions in which a start cools: all labeled rows and some others, and where factors are few some."""
    some, index = _some_rows(rows, index, some_rows(rows, index, MOST_UNLABELED))
    return leading(some, SCORE_DIRECTIONS) if n_factors <= MOST_FACTORS else some, index


def held(rows: Reduced | Away, index: IntArray) -> Reduced | Away:
    """The rows, in this process where so few are unlabeled that all are needed there."""
    return at_hand(rows) if (index < 0).sum() <= MOST_UNLABELED else rows


def _some_rows(rows: Reduced | Away, index: IntArray, kept: IntArray) -> tuple[Reduced, IntArray]:
    """The rows that are kept; in this process."""
    return (at_hand(rows), index) if len(kept) == len(index) else (at_hand(rows, kept), index[kept])


def some_rows(rows: Reduced | Away, index: IntArray, most: int) -> IntArray:
    """All labeled rows and at most `most` others, taken by what they hold."""
    labeled, others = np.flatnonzero(index >= 0), np.flatnonzero(index < 0)
    if len(others) <= most:
        return np.arange(len(index))
    lengths, products = rows.lengths_and_products(at_hand(rows, labeled).T.mean(axis=0), others)
    order = np.argsort(ranks(lengths, products, unit=float(lengths.max())), kind="stable")
    picked = np.random.default_rng(0).choice(len(others), most, replace=False)
    return np.sort(np.concatenate([labeled, others[order[picked]]]))
