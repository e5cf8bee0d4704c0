"""Probabilities of classes by two: a model that is fitted to few labels, and densities of the labeled points.

Where a model has put all rows, labeled ones also tell classes by Bayes' rule, from Student densities that count how
few they are. These are about as sure as they are right; models, which take what they have fitted for known, are
often far from it. So the odds of a model are divided by the temperature at which the mean probability of the class it
names is that of the densities, and probabilities are the mean of both. With more labels the model counts for more, and
so does how sure it is by itself.
"""

from typing import NamedTuple

import numpy as np

from .._types import Array, IntArray
from ..numerics.normalize import normalized
from .calibration import temperature
from .class_densities import ClassDensities, learn, log_joint

ALIKE = 3.0  # labels of the median class with which a model counts for as much as the densities
AS_SURE = 30.0  # with which it is as sure as the mean of both is
LEAST = 1e-300
CONSTANT = 1e-12  # of the largest deviation: a coordinate that does not vary
FARTHEST = 1e100  # deviations from the mean
SMALL = 1e-9  # of the largest: a direction of coordinates without units that does not


class Mean(NamedTuple):
    """How what a model says and what densities say become one."""

    temperature: float  # of the odds of the model
    weight: float  # of the densities
    confidence: float  # mean probability that the model gives the class it names, with the temperature


class Opinion(NamedTuple):
    """Densities of the labeled points around the mean of all, and their mean with what a model says."""

    origin: Array  # (k,)
    densities: ClassDensities
    mean: Mean


def agree(proba: Array, logs: Array, weights: Array, counts: Array) -> Mean:
    """Of probabilities (n, C) by a model and log-joint densities (n, C) of rows of these weights (n,).

    `counts` (C,) are the labeled rows of each class, at least one; no weight of a row is negative, nor are all zero.
    """
    n_labels = float(np.median(counts))
    share = AS_SURE / (AS_SURE + n_labels)
    own, other = (np.average(table.max(axis=1), weights=weights) for table in (proba, normalized(logs)[0]))
    wanted = float(share * other + (1.0 - share) * own)
    return Mean(temperature(_odds(proba), wanted, weights), ALIKE / (ALIKE + n_labels), wanted)


def said(proba: Array, logs: Array, mean: Mean) -> Array:
    """Probabilities (n, C) by both."""
    own = normalized(_odds(proba) / mean.temperature)[0]
    return np.asarray((1.0 - mean.weight) * own + mean.weight * normalized(logs)[0])


def opinion_of(Z: Array, proba: Array, index: IntArray, weights: Array | None = None) -> Opinion | None:
    """Of the points Z (n, k) of all rows, their probabilities (n, C), and classes `index` (n,), -1 where unlabeled.

    None where some class has no label, or there is but one.
    """
    n_classes, labeled = proba.shape[1], np.flatnonzero(index >= 0)
    if n_classes < 2 or len(np.unique(index[labeled])) < n_classes:
        return None
    w = np.ones(len(Z)) if weights is None else weights
    origin = np.average(Z, axis=0, weights=w)
    axes = _axes(Z - origin, w)
    found = learn(axes, np.eye(axes.shape[1]), Z[labeled] - origin, index[labeled], w[labeled], n_classes)
    return Opinion(origin, found, agree(proba, _log_joint(found, Z - origin), w, found.counts))


def told(proba: Array, Z: Array, opinion: Opinion | None) -> Array:
    """Probabilities (n, C) of rows with these points (n, k) by both; those of the model where it is alone."""
    if opinion is None:
        return proba
    return said(proba, _log_joint(opinion.densities, Z - opinion.origin), opinion.mean)


def _log_joint(densities: ClassDensities, Z: Array) -> Array:
    """Of centered points (n, k), which may be infinite."""
    with np.errstate(divide="ignore"):
        bounds = FARTHEST / np.abs(densities.axes).max(axis=1, initial=0.0)
    return log_joint(densities, np.clip(Z, -bounds, bounds))


def _odds(proba: Array) -> Array:
    """Log-odds (n, C), zero of the most probable class."""
    logs = np.log(np.maximum(proba, LEAST))
    return np.asarray(logs - logs.max(axis=1, keepdims=True))


def _axes(Z: Array, weights: Array) -> Array:
    """Directions (k, r) in which centered points vary, with variance one and no covariance."""
    largest = np.abs(Z).max(initial=0.0)
    size = largest * np.sqrt(np.average((Z / (largest or 1.0)) ** 2, axis=0, weights=weights))
    kept = np.flatnonzero(size > CONSTANT * size.max(initial=0.0))
    units = np.eye(len(size))[:, kept] / size[kept]
    U = Z @ units
    values, vectors = np.linalg.eigh((U * weights[:, None]).T @ U / weights.sum())
    seen = values > SMALL * values.max(initial=0.0)
    return np.asarray(units @ (vectors[:, seen] / np.sqrt(values[seen])))
