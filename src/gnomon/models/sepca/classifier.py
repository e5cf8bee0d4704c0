"""How new rows are read: a ridge map from feature space to codes, and a classifier on the codes.

Given its code a row has a density, but codes have no distribution, so that x has no density of its own.
"""

from typing import NamedTuple

import numpy as np

from ..._types import Array, IntArray
from ...numerics.normalize import normalized
from ...numerics.ridge_map import RidgeMap, ridge_map
from ...rows import read
from ...rows.contract import Rows
from .data import Data
from .model import Options, fit
from .rank import refit


class Classifier(NamedTuple):
    """Codes and class scores of rows from their coordinates in feature space."""

    map: RidgeMap
    slopes: Array  # (k, q)
    intercept: Array  # (q,)
    residual: float = 0.0  # of the search for the classifier


def posterior(classifier: Classifier, rows: Rows) -> tuple[Array, None]:
    """Codes (l, k) of rows of coordinates; they have no covariance."""
    weights = classifier.map.weights
    return classifier.map.offset + rows.in_units(np.zeros(len(weights)), 1.0).times(weights), None


def _scores(classifier: Classifier, codes: Array) -> Array:
    return codes @ classifier.slopes + classifier.intercept


def predict(classifier: Classifier, rows: Rows) -> tuple[Array, Array]:
    """Codes (l, k) of rows of coordinates, and probabilities (l, q) of the classes."""
    codes, _ = posterior(classifier, rows)
    return codes, normalized(_scores(classifier, codes))[0]


class Map(NamedTuple):
    """How rows are mapped to codes: the ridge, None for the best by leave-one-out, and whether with an intercept."""

    ridge: float | None
    centered: bool = True


def learn(data: Data, Z: Array, wanted: Map) -> Classifier:
    """The map from coordinates to codes Z (n, k), and multinomial regression of the labels on the codes it gives.

    The regression has ridge 1, on the bias too, for codes of unit variance over all rows.
    """
    plan = ridge_map(data.rows, Z, wanted.ridge, data.weights, centered=wanted.centered)
    if not data.Y.shape[1]:
        return Classifier(plan, np.zeros((Z.shape[1], 0)), np.zeros(0), 0.0)
    codes = plan.offset + data.rows @ plan.weights
    n, labeled = len(codes), data.labeled
    w = np.full(n, 1.0 / n) if data.weights is None else data.weights / data.weights.sum()
    center = w @ codes
    scale = np.sqrt(w @ (codes - center) ** 2)
    scale[scale <= 1e-12 * scale.max(initial=0.0)] = 1.0
    x_part = (np.zeros((len(labeled), 0)), np.zeros((1, 0)))
    weights = None if data.weights is None else data.weights[labeled]
    alone = Data(*x_part, data.Y, np.arange(len(labeled)), codes.shape[1], 1.0, weights, np.ones(1))
    found = refit(alone, (codes[labeled] - center) / scale, np.zeros(data.Y.shape[1]), 1e-11)
    slopes = found.Omega / scale[:, None]
    return Classifier(plan, slopes, found.b - center @ slopes, found.residual)


def held_out_loss(data: Data, folds: IntArray, options: Options, wanted: Map) -> float:
    """Mean of - log P(class) in nats over labeled rows whose label was hidden, fold by fold; their x stays."""
    total = 0.0
    for fold in range(int(folds.max()) + 1):
        seen = folds != fold
        known, w = data.only(seen), data.labeled_weights[~seen]
        classifier = learn(known, fit(known, options).value.ranked.Z, wanted)
        scores = _scores(classifier, posterior(classifier, read(data.rows[data.labeled[~seen]]))[0])
        log_proba = scores - normalized(scores)[1][:, None]
        total -= float(np.vdot(log_proba, w * data.Y[~seen]))
    return total / float(data.labeled_weights[folds >= 0].sum())
