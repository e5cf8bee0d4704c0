"""Kernel discriminant analysis: the directions of feature space that separate classes most, with shrinkage.

Everything is done in the coordinates T of the labeled rows on an orthonormal basis of their centered span in feature
space, where the kernel is a plain inner product. With S the within-class covariance (divisor n) and d the number of
dimensions it is taken over, S is replaced by (1 - shrinkage) S + shrinkage tr(S) / d I. With a linear kernel this is
linear discriminant analysis with that shrinkage. It is a model of projections: x itself has no density.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from .._types import Array, IntArray
from ..likelihoods.calibration import Calibration, Voice, as_often, averaged, calibrate
from ..numerics.folds import ranks_of_rows
from ..numerics.linalg import sign_of_columns, symmetrize
from ..numerics.normalize import normalized
from ..rows import read
from ..rows.contract import Rows

FOLDS = 5  # in which labels are held out
SINGULAR = 1e-12  # of the largest eigenvalue: a within-class covariance that is smaller somewhere cannot be inverted


class Fitted(NamedTuple):
    """Discriminant directions in the coordinates T, in which the (shrunk) within-class covariance is the identity."""

    origin: Array  # (r,)        mean of the labeled rows
    directions: Array  # (r, m)  columns by falling share of the between-class variance; m at most c - 1
    centers: Array  # (c, m)     projected class means
    log_prior: Array  # (c,)
    between: Array  # (m,)       between-class variance along each direction, in units of the within-class variance


def fit(rows: Rows, index: IntArray, n_classes: int, shrinkage: float, dimension: float) -> Fitted:
    """All discriminant directions of labeled rows.

    Parameters
    ----------
    rows : Rows         coordinates (n, r) of the labeled rows, mean zero
    index : (n,)        class of each row, 0 to n_classes - 1, each at least once
    shrinkage : float       0 to 1
    dimension : float   over how many dimensions the trace of the within-class covariance is divided

    Laws (each is a test): directions' S directions = I with S the shrunk covariance; projections of the class means
    have the distances of the means under the inverse of S; a rotation of T leaves the projections as they are.
    Source: Mika et al. 1999, in the coordinates of the kernel; Fukunaga 1990, chapter 10.
    """
    T = rows.gather()
    n, r = T.shape
    one_of_c = np.eye(n_classes)[index]  # (n, c)
    share = one_of_c.mean(axis=0)
    means = one_of_c.T @ T / (n * share)[:, None]
    deviations = T - means[index]
    within = deviations.T @ deviations / n
    trace = float(np.trace(within)) or float((T**2).sum()) / n  # one row per class: nothing varies within
    least = shrinkage * trace / dimension
    shrunk = symmetrize((1.0 - shrinkage) * within + least * np.eye(r))
    if least <= SINGULAR * float(np.trace(shrunk)) and np.linalg.cond(shrunk) >= 1.0 / SINGULAR:
        raise ValueError(
            f"shrinkage={shrinkage:g} is too small: the within-class covariance of {n} labeled rows is singular in the "
            f"{r} dimensions they span. Take a larger shrinkage, such as 1e-3, or label more rows."
        )
    root = np.linalg.cholesky(shrunk)
    placed = solve_triangular(root, means.T, lower=True).T
    _, sizes, Vt = np.linalg.svd(np.sqrt(share)[:, None] * placed, full_matrices=False)
    m = min(n_classes - 1, r)
    directions = solve_triangular(root, Vt[:m].T, lower=True, trans="T")
    directions *= sign_of_columns(T @ directions)
    return Fitted(np.zeros(r), directions, means @ directions, np.log(share), sizes[:m] ** 2)


def posterior(fitted: Fitted, rows: Rows) -> tuple[Array, None]:
    """Projections (l, m) of rows, known by the same coordinates or by kernel values; they have no covariance."""
    return rows.in_units(fitted.origin, 1.0).times(fitted.directions), None


def predict(fitted: Fitted, rows: Rows, calibration: Calibration | None = None) -> Array:
    """Probabilities (l, c) of classes of rows, whose projections are normal with covariance I around the centers.

    With a calibration they are as sure as that says.
    """
    odds, distances = told(fitted, posterior(fitted, rows)[0])
    return normalized(odds)[0] if calibration is None else averaged([odds], [distances], calibration)


def told(fitted: Fitted, Z: Array) -> tuple[Array, Array]:
    """Log-odds (l, c), zero of the most probable class, and squared distances (l,) from the nearest center."""
    logs = Z @ fitted.centers.T - 0.5 * (fitted.centers**2).sum(axis=1)
    distances = np.maximum((Z**2).sum(axis=1) - 2.0 * logs.max(axis=1), 0.0)
    joint = logs + fitted.log_prior
    return joint - joint.max(axis=1, keepdims=True), distances


def calibrated(T: Array, index: IntArray, n_classes: int, shrinkage: float, dimension: float) -> Calibration:
    """How sure `predict` may be, by fits without some of the labeled rows T (n, r) of classes `index`.

    Which labels are held out together follows from what rows hold, not from their order; the only one of a class
    is not. What cannot be inverted without them raises, as in `fit`.
    """
    order = np.lexsort((ranks_of_rows(T, index), index))
    place = np.empty(len(T), dtype=np.intp)  # of a row among those of its class
    place[order] = np.concatenate([np.arange(n) for n in np.bincount(index)])
    folds = np.where(np.bincount(index)[index] > 1, place % FOLDS, -1)
    odds, distances = np.full((len(T), n_classes), np.nan), np.zeros(len(T))
    for fold in range(int(folds.max(initial=-1)) + 1):
        out, kept = np.flatnonzero(folds == fold), folds != fold
        origin = T[kept].mean(axis=0)
        found = fit(read(T[kept] - origin), index[kept], n_classes, shrinkage, dimension)
        odds[out], distances[out] = told(found, (T[out] - origin) @ found.directions)
    voices = [Voice(odds, distances, [])]
    return as_often(calibrate(voices, index), voices, np.bincount(index))
