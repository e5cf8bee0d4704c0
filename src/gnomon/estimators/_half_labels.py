"""How sure a model may be of classes, told by fits that know half of its labels each."""

from collections.abc import Callable

import numpy as np

from .._types import Array, IntArray
from ..likelihoods.calibration import Calibration, Voice, as_often, calibrate
from ..rows.contract import Rows
from ..targets.halves import deal

MOST_UNLABELED = 2000  # rows that are asked
LEAST = 1e-300  # probability


def calibration_by_halves(
    rows: Rows, index: IntArray, probabilities: Array, places: Array, fit: Callable[[IntArray], Callable[[Rows], Array]]
) -> Calibration:
    """How sure a model of classes `index` (n,), -1 where unlabeled, may be of what it says, `probabilities` (n, c).

    Labels of a class are dealt to both halves in the order of `places` (n,), which should follow from what rows hold:
    then neither the order of rows nor names of classes matter. `fit` gives, of other labels, the function from rows to
    probabilities that a model with these labels has.
    """
    by_place = np.argsort(places, kind="stable")
    labeled, unlabeled = by_place[index[by_place] >= 0], by_place[index[by_place] < 0]
    at = np.linspace(0, len(unlabeled) - 1, min(MOST_UNLABELED, len(unlabeled))).round().astype(np.intp)
    some = np.concatenate([labeled, unlabeled[at]])
    asked, known = rows.take(some), index[some]
    odds = np.log(np.maximum(probabilities[some], LEAST))
    odds[: len(labeled)] = np.nan
    named = []
    none_first = np.zeros(int(index.max()) + 1, dtype=np.intp)
    for half in deal(known[: len(labeled)], places[labeled], none_first):
        part = np.full_like(index, -1)
        part[labeled[half]] = index[labeled[half]]
        found = fit(part)(asked)
        named.append(found.argmax(axis=1))
        held = np.flatnonzero(~half)
        odds[held] = np.log(np.maximum(found[held], LEAST))
    voices = [Voice(odds, np.zeros(len(some)), [(named[0], named[1])])]
    return as_often(calibrate(voices, known), voices, np.bincount(known[: len(labeled)], minlength=odds.shape[1]))
