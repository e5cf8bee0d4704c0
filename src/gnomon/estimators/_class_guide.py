"""What `GuidedProjection` learns of classes: teachers, their mean, and two pupils that learn from it."""

from typing import Any, NamedTuple

import numpy as np

from ..models import dppca
from ..rows import read
from ..targets import groups_among
from ._preparations import MOST, UNION, Coordinates, lengths_of, side_by_side
from ._teaching import (
    ROWS_STEPS,
    UNION_STEPS,
    Voice,
    calibrate,
    calibrated,
    held_out,
    log_densities,
    log_odds,
    params_of,
    prior_of,
    pupil,
    skills_of,
    speak,
    sureness,
    teachers,
    trust,
    weigh,
    with_exponent,
)

ENOUGH_ROWS = 2000  # unlabeled, of a fit that only says how likely labels are that it does not know


class Union(NamedTuple):
    """The leading coordinates of all preparations side by side, in plain arrays."""

    lengths: list[float]  # of the coordinates of each preparation
    mean: Any
    scale: float
    basis: Any

    def bring(self, seen):
        """Rows in every preparation, in the coordinates of the union."""
        found = read(side_by_side(seen, self.lengths)).in_units(self.mean, self.scale).project(self.basis)
        return Coordinates(found.gather(), found.gather("outside"), len(self.mean))


def fit_union(preparations, n_components):
    """The union of preparations, and their rows in it."""
    lengths = lengths_of([reduced for _, reduced in preparations])
    whole = dppca.principal_rows(read(side_by_side([reduced for _, reduced in preparations], lengths)), MOST)
    rows = dppca.leading(whole, max(UNION, n_components))
    basis = whole.expand(np.eye(whole.T.shape[1], rows.T.shape[1]))
    return Union(lengths, whole.standard.mean, whole.standard.scale, basis), rows


class ClassGuide(NamedTuple):
    """Everything that says how probable classes are, in plain tuples and arrays."""

    voices: list[tuple[int, str, Any]]  # number of the preparation, name and `Voice` of every teacher
    weights: Any  # (m,) of teachers
    kappas: Any  # (m,)
    pupils: tuple[Any, Any]  # voices on the union of all preparations and on the rows
    trust: Any  # (3,) weights of the teachers' mean and of the pupils
    calibration: Any
    prior: Any  # (c,)

    def teachers(self, names):
        """(preparation, model, weight, kappa) of every teacher."""
        told = zip(self.voices, self.weights, self.kappas, strict=True)
        return [(names[i], name, float(weight), float(kappa)) for (i, name, _), weight, kappa in told]

    def probabilities(self, seen, union):
        """(n, c) of rows, in the coordinates of every preparation and of the union."""
        return self.as_sure(self.mean(seen, union), seen)

    def as_sure(self, mean, seen):
        """The mean (n, c) of all, as sure as it is right."""
        return calibrated(mean, log_densities(Voice(*self.pupils[1]), seen[0]), self.calibration)

    def mean(self, seen, union):
        """What is said in the mean (n, c), before it is as sure as it is right."""
        said = [speak(Voice(*voice), seen[i]) for i, _, voice in self.voices]
        pupils = [Voice(*voice) for voice in self.pupils]
        told = [speak(voice, one) for voice, one in zip(pupils, (union, seen[0]), strict=True)]
        return np.average([np.tensordot(self.weights, said, axes=1), *told], axis=0, weights=self.trust)


class Taught(NamedTuple):
    """A guide, and what the rows of the fit have from it."""

    guide: ClassGuide
    proba: Any  # (n, c) the mean, as sure as it is
    calibrated: Any  # (n, c)
    learned: list[Any]  # parameters of two more pupils, that learn from this mean


class Said(NamedTuple):
    """What teachers and pupils that know some labels make of the rows."""

    voices: list[tuple[int, str, Any]]
    probas: Any  # (m, n, c) by teachers
    weights: Any
    kappas: Any
    pupils: tuple[Any, Any]
    shares: Any  # (3,) weights of the teachers' mean and of the pupils
    proba: Any  # (n, c) the mean of all
    prior: Any  # (c,)
    learn: Any  # from probabilities (n, c) to parameters of two pupils


def _average(preparations, union, index, voices, skills):
    """What is said by teachers and by the pupils of their mean, from labels `index` (n,) that both know."""
    probas = np.array([speak(voice, preparations[i][1]) for i, _, voice in voices])
    weights, kappas = weigh(probas, index, skills)
    taught = np.tensordot(weights, probas, axes=1)
    seen = (union, preparations[0][1])
    prior, n_factors = prior_of(taught, index)

    def learn(proba):
        steps = (UNION_STEPS, ROWS_STEPS)
        return [pupil(one, proba, index, prior, n_factors, n) for one, n in zip(seen, steps, strict=True)]

    pupils = [
        with_exponent((one.prior, one.means, tuple(one.within)), rows.T.shape[1], rows)
        for one, rows in zip(learn(taught), seen, strict=True)
    ]
    said = [speak(voice, one) for voice, one in zip(pupils, seen, strict=True)]
    shares = np.array([1.0, *(trust(proba, index) for proba in said)])
    mean = np.average([taught, *said], axis=0, weights=shares)
    return Said(voices, probas, weights, kappas, tuple(pupils), shares, mean, prior, learn)


def _without_labels(preparations, union, index, n_classes, groups=None):
    """How well every teacher tells labels that it does not know (m,), and what is said of labeled rows (n, c).

    Of that those who know a label have no say, nor has it one in how teachers count; NaN where nobody was asked.
    """
    trains = held_out(preparations[0][1], index, n_classes, groups)
    asked = [np.flatnonzero((known < 0) & (index >= 0)) for known in trains]
    alone = [teachers(preparations, known, n_classes) for known in trains]
    at, held = np.concatenate([[], *asked]).astype(int), np.full((len(index), n_classes), np.nan)
    if not len(at):
        return 1.0, held
    told = [_told(voices, preparations, some) for voices, some in zip(alone, asked, strict=True)]
    told, fold_of = np.concatenate(told, axis=1), np.repeat(np.arange(len(trains)), [len(some) for some in asked])
    for fold, (known, voices, some) in enumerate(zip(trains, alone, asked, strict=True)):
        others = fold_of != fold
        one = _average(preparations, union, known, voices, skills_of(told[:, others], index[at[others]]))
        held[some] = one.proba[some] ** sureness(one.proba, one.probas, one.weights, known)
    return skills_of(told, index[at]), held


def _told(voices, preparations, some):
    """Log-odds (m, n, c) of some rows, by every teacher."""
    return np.array([log_odds(voice, preparations[i][1].take(some)) for i, _, voice in voices])


def teach(preparations, union, index, n_classes, groups=None):
    """Learn classes `index` (n,), -1 where unlabeled, from rows in every preparation and in their union.

    Labeled rows of one class and one of the `groups` (n,) count as one row, their mean.
    """
    rows = np.arange(len(index))
    place = groups_among(None if groups is None else np.where(index < 0, -1 - rows, groups * n_classes + index), rows)
    if place is None:
        return _teach(preparations, union, index, n_classes, groups)
    first, seen = np.unique(place, return_index=True)[1], [reduced for _, reduced in preparations]
    means = [(how, reduced.means(place)) for how, reduced in preparations]
    found = _teach(means, union.means(place), index[first], n_classes, groups[first])
    mean = found.guide.mean(seen, union)
    return found._replace(proba=mean, calibrated=found.guide.as_sure(mean, seen))


def _teach(preparations, union, index, n_classes, groups):
    """The same of rows that each count as one; those of a group are held out together."""
    rows = preparations[0][1]
    kept = dppca.some_rows(rows, index, ENOUGH_ROWS)
    few = [(how, reduced.take(kept)) for how, reduced in preparations]
    held = np.full((len(index), n_classes), np.nan)
    some = groups_among(groups, kept)
    skills, held[kept] = _without_labels(few, union.take(kept), index[kept], n_classes, some)
    one = _average(preparations, union, index, teachers(preparations, index, n_classes), skills)
    densities = log_densities(one.pupils[1], rows)
    calibration = calibrate(one.proba, densities, one.probas, one.weights, index, held)
    guide = ClassGuide(one.voices, one.weights, one.kappas, one.pupils, one.shares, calibration, one.prior)
    return Taught(guide, one.proba, calibrated(one.proba, densities, calibration), one.learn(one.proba))


def best_by_labels_alone(guide, preparations, name, k):
    """Preparation and parameters of the teacher of that name and largest weight in at least `k` dimensions."""
    alone = [j for j, (i, other, _) in enumerate(guide.voices) if other == name and preparations[i][1].T.shape[1] >= k]
    at, _, voice = guide.voices[max(alone, key=lambda j: guide.weights[j])]
    return at, params_of(voice)
