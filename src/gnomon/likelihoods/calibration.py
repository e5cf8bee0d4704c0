"""Probabilities of classes that are as sure as they are right, from a few models that know a few labels.

The odds of a model that was fitted to few labels are far too sure of themselves, and it is their size that is wrong.
How sure they may be is told by how often models that know other labels, or were fitted otherwise, name the same class,
and by how often labels held out are named rightly. The odds are divided by a temperature, of a row the higher the
farther it is from all classes, that brings the mean probability of the named class to that.

One temperature draws probabilities to equal ones, and where classes are unequal those of a rare one are then too large.
`as_often` makes rows that name a frequent class surer and those that name a rare one less sure. The class that is named
stays.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._types import Array, BoolArray, IntArray
from ..numerics.normalize import normalized

LOGS_OF_T, HALVINGS = (-10.0, 30.0), 44  # where the logarithm of a temperature is sought, and how often halved
ABOVE_CHANCE, MOST = 0.03, 0.99  # a model is held to be a little better than chance, and never sure
MOST_LABELS = 10.0  # per class, by which the weight of a model falls with its error
SURER = 1.13  # exponent of the mean of models, which is less sure than it may be where they differ
DEVIATION = 0.5  # of the logarithm of the exponent, before labels held out are asked
FEW, RICH = 3.0, 10.0  # labels of the median class at which these begin to count, and count in full
STEPS = np.linspace(-2.5, 2.5, 51)  # of the logarithm of the exponent
LEAST, SMALL = 1e-6, 1e-12  # probability that a held-out label is given at least, and any class by the mean
ROUNDING = 1e-9  # of odds: rows on their class are all as near
TINY = 1e-300
MOST_FACTOR = 2.0  # by which the power of rows of one class is larger or smaller
ROUNDS, STEP, BACK = 40, 0.7, 0.5  # in which these factors are found, and what is made good in one
LEAST_DOUBT = 0.05  # mean doubt of the class that is named, below which it is not brought back faster


class Voice(NamedTuple):
    """What a model says of some rows."""

    odds: Array  # (n, c) log-odds; of a labeled row by a fit without its label, NaN where there is none
    distances: Array  # (n,) squared distances from the nearest class, by the same fits
    halves: Sequence[tuple[IntArray, IntArray]]  # classes (n,) by fits to halves of the labels


class Calibration(NamedTuple):
    """How odds of models become probabilities."""

    temperatures: Array  # (m,)
    distances: Array  # (m,) median squared distance of a row
    weights: Array  # (m,) of the models in the mean
    exponent: float | Array  # of the mean, or (c,) by the class that it names
    confidence: Array  # (m,) mean probability of the class that a model names
    n_held_out: int  # labels that were held out; where none could be, confidence rests on a prior


def softened(odds: Array, distances: Array, middle: float) -> Array:
    """Log-odds (n, c) that are smaller in rows that are farther from all classes than most."""
    return np.asarray(odds / (1.0 + distances / max(middle, TINY))[:, None])


def temperature(odds: Array, confidence: float, weights: Array | None = None) -> float:
    """What odds (n, c) are divided by so that the mean probability of the named class is that. Weights are (n,)."""
    low, high = LOGS_OF_T
    for _ in range(HALVINGS):
        half = 0.5 * (low + high)
        sure = float(np.average(normalized(odds * np.exp(-half))[0].max(axis=1), weights=weights))
        low, high = (half, high) if sure > confidence else (low, half)
    return float(np.exp(0.5 * (low + high)))


def calibrate(voices: Sequence[Voice], index: IntArray, surer: float = SURER) -> Calibration:
    """How sure models may be of rows of classes `index` (n,), -1 where unlabeled.

    `surer` is the exponent of their mean before labels held out are asked. Judged are the unlabeled rows, and the
    labeled ones that could be held out. Where no class has two labels none can be, and a prior stands in their place,
    that a model is right by chance.
    """
    n_classes, unlabeled = voices[0].odds.shape[1], index < 0
    held = ~unlabeled & ~np.isnan(voices[0].odds[:, 0])
    judged, n_held = unlabeled | held, int(held.sum())
    if not judged.any():
        m = len(voices)
        return Calibration(np.ones(m), np.full(m, np.inf), np.full(m, 1.0 / m), 1.0, np.ones(m), 0)
    confidence, right = _confidence(voices, index, unlabeled, held)
    middles = np.array([_middle(voice.distances[judged], voice.odds[judged]) for voice in voices])
    soft = [softened(voice.odds, voice.distances, float(d)) for voice, d in zip(voices, middles, strict=True)]
    temperatures = np.array([temperature(z[judged], float(t)) for z, t in zip(soft, confidence, strict=True)])
    counts = np.bincount(index[~unlabeled], minlength=n_classes)
    weights = np.exp(min(float(counts.mean()), MOST_LABELS) * (right - right.max()))
    weights /= weights.sum()
    found = Calibration(temperatures, middles, weights, 1.0, confidence, n_held)
    if not n_held:
        return found
    mean = averaged([voice.odds[held] for voice in voices], [voice.distances[held] for voice in voices], found)
    return found._replace(exponent=_exponent(mean, index[held], float(np.median(counts)), surer))


def averaged(odds: Sequence[Array] | Array, distances: Sequence[Array] | Array, calibration: Calibration) -> Array:
    """Probabilities (n, c) of rows: the mean of what every model says of them, to the power of the exponent."""
    temperatures, middles, weights = map(np.asarray, calibration[:3])
    soft = 1.0 + np.asarray(distances) / np.maximum(middles, TINY)[:, None]
    soft *= temperatures[:, None]
    shares = normalized(np.asarray(odds) / soft[:, :, None], axis=2)[0]
    logs = np.log(np.maximum(np.einsum("m,mnc->nc", weights, shares), SMALL))
    return normalized(logs * by_named(calibration.exponent, logs))[0]


def by_named(powers: float | Array, logs: Array) -> Array:
    """Of powers by class (c,), or one for all, those (n, 1) of the classes that log-probabilities (n, c) name."""
    return np.broadcast_to(powers, logs.shape[1])[logs.argmax(axis=1), None]


def beyond_chance(counts: IntArray) -> float:
    """How much of the unequal numbers (c,) of labels is not chance, from 0 to 1; classes without one are left out.

    Random rows of equal classes have a chi-square of c - 1 in the mean, so that one minus c - 1 over theirs is left.
    """
    some = counts[counts > 0]
    chi_square = float(((some - some.mean()) ** 2).sum() / some.mean())
    return max(1.0 - (len(some) - 1.0) / chi_square, 0.0) if chi_square > 0.0 else 0.0


def as_often(calibration: Calibration, voices: Sequence[Voice], counts: IntArray) -> Calibration:
    """The same with an exponent for each class, so that the mean of what is said is nearer to what the models find.

    The more so the less chance can have made the numbers of their labels (c,) so unequal: where these are equal on
    purpose nothing says that what a few labels make of the shares is right.
    """
    judged, weight = ~np.isnan(voices[0].odds[:, 0]), beyond_chance(counts)
    if not judged.any() or weight == 0.0:
        return calibration
    odds = [voice.odds[judged] for voice in voices]
    said = averaged(odds, [voice.distances[judged] for voice in voices], calibration)
    own = np.average([normalized(one)[0].mean(axis=0) for one in odds], axis=0, weights=calibration.weights)
    shares = weight * own + (1.0 - weight) * said.mean(axis=0)
    return calibration._replace(exponent=calibration.exponent * factors(np.log(np.maximum(said, SMALL)), shares))


def factors(logs: Array, shares: Array) -> Array:
    """What log-probabilities (n, c) of rows are multiplied by, by the class they name, to have these mean shares (c,).

    A row names the class that it named, and the mean probability of the class that is named stays. No factor is above
    two or below a half, and that of a class that no row names is one.
    """
    n, c = logs.shape
    named, found = logs.argmax(axis=1), normalized(logs)[0]
    wanted = np.log((n * shares + 1.0 / c) / (n + 1.0))
    sure, are_named = float(found.max(axis=1).mean()), np.bincount(named, minlength=c) > 0
    doubt, most, out = max(1.0 - sure, LEAST_DOUBT), np.log(MOST_FACTOR), np.zeros(c)
    for _ in range(ROUNDS):
        out += STEP * (wanted - np.log(np.maximum(found.mean(axis=0), TINY)))
        out -= BACK * (float(found.max(axis=1).mean()) - sure) / doubt
        out = np.where(are_named, np.clip(out, -most, most), 0.0)
        found = normalized(logs * np.exp(out)[named, None])[0]
    return np.asarray(np.exp(out))


def _middle(distances: Array, odds: Array) -> float:
    """The median of squared distances (n,), above the rounding of those between classes."""
    return max(float(np.median(distances)), ROUNDING * float(np.median(np.abs(odds).max(axis=1))))


def _confidence(voices: Sequence[Voice], index: IntArray, unlabeled: BoolArray, held: BoolArray) -> tuple[Array, Array]:
    """Mean probability (m,) that each model may give the class it names, and how often it is right of labels held out.

    Of unlabeled rows: the mean of how often its halves name that class, the other models name it, and labels held out
    are right, beside one that is so by chance.
    """
    n_classes, m, n_held = voices[0].odds.shape[1], len(voices), int(held.sum())
    named = [voice.odds.argmax(axis=1) for voice in voices]
    n_right = np.array([(one == index)[held].sum() for one in named])
    right = (n_right + 1.0 / n_classes) / (n_held + 1.0)
    shares = right
    if unlabeled.any():
        same = np.array([[float((a == b)[unlabeled].mean()) for b in named] for a in named])
        others = (same.sum(axis=1) - 1.0) / (m - 1.0) if m > 1 else np.ones(1)
        parts = [right, others] if m > 1 or not n_held else [right]
        if n_held:
            parts.append(
                np.array([_share(one, voice.halves, unlabeled) for one, voice in zip(named, voices, strict=True)])
            )
        shares = np.mean(parts, axis=0)
    # labels held out say how often they are right
    shares = (unlabeled.sum() * shares + n_held * right) / (unlabeled.sum() + n_held)
    return np.clip(shares, min(1.0 / n_classes + ABOVE_CHANCE, MOST), MOST), right


def _share(named: IntArray, halves: Sequence[tuple[IntArray, IntArray]], unlabeled: BoolArray) -> float:
    return float(np.mean([(half == named)[unlabeled] for pair in halves for half in pair]))


def _exponent(mean: Array, index: IntArray, n_labels: float, surer: float) -> float:
    """The exponent, moved from what it is beforehand, `surer`, as far as the labels held out (n,) say.

    `mean` (n, c) are their probabilities; the more labels the median class has, `n_labels`, the more they say.
    """
    counted = float(np.clip((n_labels - FEW) / (RICH - FEW), 0.0, 1.0))
    return moved(surer, STEPS, mean, index, counted, LEAST)


def moved(exponent: float, steps: Array, mean: Array, index: IntArray, counted: float, least: float) -> float:
    """The exponent of probabilities (n, c) that is most likely by classes (n,), from what it is beforehand.

    Tried are the steps (s,) of its logarithm, which has a normal prior. Each row is worth `counted` rows, and what its
    class is given counts as no less than `least`.
    """
    if counted == 0.0:
        return exponent
    logs, at = np.log(np.maximum(mean, SMALL)), np.arange(len(index))
    exponents = exponent * np.exp(steps)
    told = [normalized(logs * x)[0][at, index] for x in exponents]
    losses = -counted * np.log(np.maximum(told, least)).sum(axis=1)
    return float(exponents[int(np.argmin(losses + steps**2 / (2.0 * DEVIATION**2)))])
