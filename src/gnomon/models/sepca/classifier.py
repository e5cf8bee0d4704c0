"""How new rows are read: a ridge map from feature space to codes, and a classifier on the codes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

from ..._types import Array, IntArray
from ...numerics.ridge_map import RidgeMap, ridge_map
from .data import Data
from .model import Options, fit
from .rank import refit


class Classifier(NamedTuple):
    """Codes and class scores of rows from their coordinates in feature space."""

    map: RidgeMap
    slopes: Array  # (k, q)
    intercept: Array  # (q,)
    residual: float  # of the search for the classifier

    def codes(self, T: Array) -> Array:
        """Codes (l, k) of rows with coordinates T (l, r)."""
        return np.asarray(self.map.offset + T @ self.map.weights)

    def log_proba(self, codes: Array) -> Array:
        """Log-probability (l, q) of each class given codes."""
        return np.asarray(log_softmax(codes @ self.slopes + self.intercept, axis=1))


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


def deal_folds(Y: Array, n_folds: int, generator: np.random.Generator) -> IntArray:
    """Fold of each labeled row, stratified by class; -1 for the only row of a class, which is never held out."""
    folds = np.full(len(Y), -1)
    for column in Y.T:
        rows = np.flatnonzero(column)
        if len(rows) > 1:
            folds[generator.permutation(rows)] = np.arange(len(rows)) % n_folds
    return folds


def held_out_loss(data: Data, folds: IntArray, options: Options, wanted: Map) -> float:
    """Mean of - log P(class) in nats over labeled rows whose label was hidden, fold by fold; their x stays."""
    total = 0.0
    for fold in range(int(folds.max()) + 1):
        seen = folds != fold
        known, w = data.only(seen), data.labeled_weights[~seen]
        classifier = learn(known, fit(known, options).value.ranked.Z, wanted)
        codes = classifier.codes(data.rows[data.labeled[~seen]])
        total -= float(np.vdot(classifier.log_proba(codes), w * data.Y[~seen]))
    return total / float(data.labeled_weights[folds >= 0].sum())
