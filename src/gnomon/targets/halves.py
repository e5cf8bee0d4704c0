"""How well two models, each fitted to half of the labels, agree: a score for choices made with few labels.

With twenty labels the error of cross-validation is too coarse to choose by. The unlabeled rows hold thousands of votes
more: fit on one half of the labeled rows and on the other, and see how often the two models name the same class.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._types import Array, BoolArray, IntArray

RICH = 4  # labeled rows of the median class from which each half has two

FitPredict = Callable[[IntArray], IntArray]


class Score(NamedTuple):
    """Averages over the splits of the labeled rows."""

    agreement: float  # share of unlabeled rows of which both halves name the same class; 0 where there is none
    error: float  # share of the held-out half's rows that are named wrongly
    score: float  # agreement - error, between -1 and 1


def can_split(index: IntArray) -> bool:
    """Whether some class has two labeled rows, so that `half_splits` leaves something to be held out."""
    labeled = index[index >= 0]
    return len(labeled) > 0 and int(np.bincount(labeled).max()) >= 2


def is_rich(index: IntArray) -> bool:
    """Whether a half still has two rows of most classes; with one row it cannot tell the covariance of a class."""
    labeled = index[index >= 0]
    return len(labeled) > 0 and bool(np.median(np.bincount(labeled)) >= RICH)


def deal(classes: IntArray, places: Array, odd_first: IntArray) -> tuple[BoolArray, BoolArray]:
    """Labeled rows of both halves: those of a class by turns in the order of `places`, its only row to both.

    Where `odd_first` (n_classes,) is 1, the second half has the first row.
    """
    counts = np.bincount(classes, minlength=len(odd_first))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank = np.empty(len(classes), dtype=np.int64)
    order = np.lexsort((places, classes))
    rank[order] = np.arange(len(classes)) - starts[classes[order]]
    single = counts[classes] == 1
    first = (rank + odd_first[classes]) % 2 == 0
    return first | single, ~first | single


def half_splits(classes: IntArray, n_splits: int, generator: np.random.Generator) -> list[tuple[BoolArray, BoolArray]]:
    """Random halves of labeled rows; an odd row goes to either half by chance."""
    m, n_classes = len(classes), int(classes.max(initial=0)) + 1
    return [deal(classes, generator.random(m), generator.integers(0, 2, size=n_classes)) for _ in range(n_splits)]


def score_splits(fit_predict: FitPredict, index: IntArray, splits: list[tuple[IntArray, IntArray]]) -> Score:
    """Score one candidate on given splits, so that several candidates can be compared on the same ones."""
    unlabeled = index < 0
    agreements, errors = [], []
    for first, second in splits:
        named_first, named_second = fit_predict(first), fit_predict(second)
        agree = named_first[unlabeled] == named_second[unlabeled]
        agreements.append(float(agree.mean()) if len(agree) else 0.0)
        held_second, held_first = (index >= 0) & (first < 0), (index >= 0) & (second < 0)
        wrong = np.concatenate([(named_first != index)[held_second], (named_second != index)[held_first]])
        if not len(wrong):
            raise ValueError("the agreement score needs a class with two labeled rows; every class has one at most.")
        errors.append(float(wrong.mean()))
    agreement, error = float(np.mean(agreements)), float(np.mean(errors))
    return Score(agreement, error, agreement - error)
