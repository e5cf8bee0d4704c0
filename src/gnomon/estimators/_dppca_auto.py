"""What "auto" takes in DPPCA: candidates, and the agreement of half-label models that ranks them."""

from itertools import product
from typing import NamedTuple

import numpy as np

from ..models import dppca as model
from ..models.agreement import can_split, half_splits, is_rich, score_splits

N_PRIVATE = (30, 20)  # tried beside the usual number
UNLABELED_WEIGHT = (1.0, 0.1, 0.0)
RIDGE = 1e-3  # where "auto" has nothing to compare by, and the only one beside few factors
RIDGES = (1e-3, 1e-1)  # where all within-class factors are kept
N_SPLITS = 3
MOST_UNLABELLED = 2000  # votes; further rows would change the score by less than the labels do
SCORE_DIRECTIONS = 150  # coordinates in which candidates of few factors are compared, the rest being noise
SCORE_TOL, SCORE_ITER = 1e-2, 30


class Choice(NamedTuple):
    """One candidate and its score."""

    n_private: int
    ridge: float
    unlabeled_weight: float
    agreement: float
    error: float
    score: float


def candidates(estimator, n, rank, least, index):
    """Combinations of what the parameters leave open, for n rows whose coordinates have that rank.

    Halves with one labelled row a class cannot tell how many factors there are, and would choose too few: then the
    usual number is the only one beside all there are.

    `least` factors are needed by the projection; the labelled rows alone have `spread` within-class directions, so that
    as many factors, or more, are all they have.
    """
    full, all_labelled = rank, bool((index >= 0).all())
    spread = int((index >= 0).sum()) - int(index.max()) - 1
    usual = model.usual_factors(n)
    given = usual if estimator.n_private == "usual" else estimator.n_private
    some = sorted({usual, *N_PRIVATE}, reverse=True) if is_rich(index) else [usual]
    sizes = [size for size in some if least <= size < full] or [size for size in (least,) if size < full]
    weights = (1.0,) if all_labelled else UNLABELED_WEIGHT
    weights = weights if estimator.unlabeled_weight == "auto" else (float(estimator.unlabeled_weight),)
    found = []
    for w, size in product(weights, [*sizes, full]):
        if given != "auto" and size != full:
            continue
        if given == "auto" and w == 0 and spread <= size < full:
            continue
        ridges = RIDGES if size == full else (RIDGE,)
        if given == "auto" and size == full and w > 0 and full > max(*some, least) and not all_labelled:
            continue  # as many factors as the rows allow, and rows whose class is a guess: nothing is left to learn
        for ridge in ridges if estimator.ridge == "auto" else (float(estimator.ridge),):
            found.append((size if given == "auto" else int(given), ridge, w))
    return list(dict.fromkeys(found))


def choose(estimator, rows, index, options, least, generator):
    """Return the best candidate and the table of all, in the order they were tried.

    Without a class of two labelled rows there is nothing to compare by: the usual number of factors, a ridge of 1e-3
    and unlabelled rows that count in full.
    """
    n, n_classes, rank = len(index), int(index.max()) + 1, rows.T.shape[1]
    all_labelled = bool((index >= 0).all())
    tried = candidates(estimator, n, rank, least, index)
    if len(tried) == 1 or not can_split(index):
        first = min(tried, key=lambda c: (abs(c[0] - model.usual_factors(n)), tried.index(c)))
        return Choice(*first, np.nan, np.nan, np.nan), []
    rows, index = _some_rows(rows, index, generator)
    splits = half_splits(index, N_SPLITS, generator)
    short = _leading(rows)
    table = []
    for n_private, ridge, weight in tried:
        one = options._replace(
            n_private=n_private, ridge=ridge, unlabeled_weight=0.0 if all_labelled else weight, tol=SCORE_TOL,
            max_iter=SCORE_ITER,
        )  # fmt: skip

        table_rows = short if weight > 0 and n_private <= model.MOST_FACTORS else rows

        def fit_predict(train, table_rows=table_rows, one=one):
            return model.fit(table_rows, train, n_classes, 1, one).value.resp.argmax(axis=1)

        table.append(Choice(n_private, ridge, weight, *score_splits(fit_predict, index, splits)))
    return max(table, key=lambda choice: choice.score), table


def _some_rows(rows, index, generator):
    """All labelled rows and at most `MOST_UNLABELLED` others."""
    others = np.flatnonzero(index < 0)
    if len(others) <= MOST_UNLABELLED:
        return rows, index
    others = generator.choice(others, MOST_UNLABELLED, replace=False)
    kept = np.sort(np.concatenate([np.flatnonzero(index >= 0), others]))
    return rows._replace(T=rows.T[kept], outside=rows.outside[kept]), index[kept]


def _leading(rows):
    """The coordinates of largest energy; what is left out counts as outside the basis."""
    if rows.T.shape[1] <= SCORE_DIRECTIONS:
        return rows
    energy = np.einsum("ij,ij->j", rows.T, rows.T)
    order = np.argsort(-energy)
    kept, left = np.sort(order[:SCORE_DIRECTIONS]), order[SCORE_DIRECTIONS:]
    lost = np.einsum("ij,ij->i", rows.T[:, left], rows.T[:, left])
    return rows._replace(T=np.ascontiguousarray(rows.T[:, kept]), outside=rows.outside + lost)
