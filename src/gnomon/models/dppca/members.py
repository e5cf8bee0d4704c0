"""Several models of the same classes, and what each says of rows that it has not seen: what probabilities rest on."""

from typing import NamedTuple

import numpy as np

from ..._types import Array
from ...likelihoods.calibration import Voice
from .anneal import embedded
from .away import Away
from .choice import TIE, Open, Setting, Trials
from .mixture import Params, log_joint, odds_and_distances
from .reduction import Reduced
from .regression import Regression, regress

MORE_SHRINKAGES = (0.5, 0.9)  # tried beside the others where only labeled rows count
MOST_REGRESSED = 1000  # labels: with more no regression is needed beside the models


class Member(NamedTuple):
    """A model, and what it says of some rows."""

    setting: Setting
    params: Params  # in the coordinates of `rows`
    voice: Voice
    rows: Reduced | Away


def members(trials: Trials, first: Setting, params: Params, tried: list[Setting], rows: Reduced | Away) -> list[Member]:
    """The model that was chosen, and for each other weight of unlabeled rows its best candidate, less closely fitted.

    Where their weight is open, a regression on the labeled rows as well, as one without factors.

    Parameters
    ----------
    first : tuple, Params  the candidate that was chosen, and its parameters in the coordinates of `rows`
    tried : list           candidates; what is given is the same in all
    rows : Reduced         all rows
    """
    weights = dict.fromkeys(weight for *_, weight in tried)
    settings = [first] + [_best(trials, tried, weight) for weight in weights if weight != first[2]]
    found = [_member(trials, one, params if one is first else None, rows) for one in settings]
    return found + ([_regressed(trials)] if len(weights) > 1 and (trials.index >= 0).sum() <= MOST_REGRESSED else [])


def with_more_shrinkage(tried: list[Setting], given: Open) -> list[Setting]:
    """Candidates, and where only labeled rows count and it is open, more shrinkage than a projection would take."""
    alone = [n_factors for n_factors, _, weight in tried if weight == 0.0]
    if given.shrinkage != "auto" or not alone:
        return tried
    return tried + [(alone[-1], shrinkage, 0.0) for shrinkage in MORE_SHRINKAGES]


def _best(trials: Trials, tried: list[Setting], weight: float) -> Setting:
    """Of the candidates with that weight the first of the best, as `choose` takes it."""
    some = [one for one in tried if one[2] == weight]
    if not trials.splits:
        return some[0]
    scores = np.array([np.mean([trials.score(one, i).score for i in trials.scored(one)]) for one in some])
    return some[int(np.flatnonzero(scores >= scores.max() - TIE)[0])]


def _member(trials: Trials, one: Setting, params: Params | None, rows: Reduced | Away) -> Member:
    index, folds = trials.index, trials.folds
    if params is None:
        params = embedded(trials.fit(one, index).params, trials.seen(one).columns, rows.shape[1])
    odds, distances = told(params, trials.rows)
    odds[index >= 0] = np.nan
    for fold in range(int(folds.max(initial=-1)) + 1):
        out = np.flatnonzero(folds == fold)
        train = np.where(folds == fold, -1, index)
        odds[out], distances[out] = told(trials.fit(one, train).params, trials.seen(one, train).take(out))
    halves = trials.halves(one) if (index < 0).any() else []
    return Member(one, params, Voice(odds, distances, halves), rows)


def _regressed(trials: Trials) -> Member:
    index, n_classes = trials.index, trials.n_classes
    labeled = np.flatnonzero(index >= 0)
    regression = Regression(trials.rows, trials.relabeled, labeled)
    found = regress(regression.gram, index[labeled], n_classes)
    rows, params = regression.mixture(found.of_rows)
    odds, distances = told(params, rows)
    odds[labeled] = np.where(trials.folds[labeled, None] >= 0, found.left_out, np.nan)
    halves = [
        (regression.named(first, n_classes), regression.named(second, n_classes)) for first, second in trials.splits
    ]
    return Member((0, found.ridge, 0.0), params, Voice(odds, distances, halves), rows)


def told(params: Params, rows: Reduced) -> tuple[Array, Array]:
    """Log-odds (n, c) of the classes, and the least squared distance (n,) from one, of rows in these coordinates."""
    squares = np.einsum("ij,ij->i", rows.T, rows.T) + rows.outside
    return odds_and_distances(params, log_joint(params, rows.T, squares, rows.n_features), rows.n_features)
