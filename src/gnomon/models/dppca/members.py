"""Several models of the same classes, and what each says of rows that it has not seen: what probabilities rest on."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..._types import Array
from ...likelihoods.calibration import Voice
from .anneal import embedded
from .away import Away
from .choice import TIE, Open, Setting, Trials
from .mixture import Params, log_joint, odds_and_distances
from .reduction import Reduced

MORE_SHRINKAGES = (0.5, 0.9)  # tried beside the others where only labeled rows count


class Member(NamedTuple):
    """A model, and what it says of some rows."""

    setting: Setting
    params: Params  # in all coordinates
    voice: Voice


def members(trials: Trials, first: Setting, params: Params, tried: list[Setting], rows: Reduced | Away) -> list[Member]:
    """The model that was chosen, and for each other weight of unlabeled rows its best candidate, less closely fitted.

    Parameters
    ----------
    first : tuple, Params  the candidate that was chosen, and its parameters in the coordinates of `rows`
    tried : list           candidates; what is given is the same in all
    rows : Reduced         all rows
    """
    weights = dict.fromkeys(weight for *_, weight in tried)
    settings = [first] + [_best(trials, tried, weight) for weight in weights if weight != first[2]]
    return [_member(trials, one, params if one is first else None, rows) for one in settings]


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
    seen, index, folds = trials.seen(one), trials.index, trials.folds
    if params is None:
        params = embedded(trials.fit(one, index).params, seen.columns, rows.shape[1])
    odds, distances = told(params, trials.rows)
    odds[index >= 0] = np.nan
    for fold in range(int(folds.max(initial=-1)) + 1):
        out = np.flatnonzero(folds == fold)
        without = trials.fit(one, np.where(folds == fold, -1, index)).params
        odds[out], distances[out] = told(without, replace(seen, T=seen.T[out], outside=seen.outside[out]))
    halves = trials.halves(one) if (index < 0).any() else []
    return Member(one, params, Voice(odds, distances, halves))


def told(params: Params, rows: Reduced) -> tuple[Array, Array]:
    """Log-odds (n, c) of the classes, and the least squared distance (n,) from one, of rows in these coordinates."""
    squares = np.einsum("ij,ij->i", rows.T, rows.T) + rows.outside
    return odds_and_distances(params, log_joint(params, rows.T, squares, rows.n_features), rows.n_features)
