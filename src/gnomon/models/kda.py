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
from ..numerics.linalg import sign_of_columns, symmetrize
from ..numerics.normalize import normalized
from ..rows.contract import Rows

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


def predict(fitted: Fitted, rows: Rows) -> Array:
    """Probabilities (l, c) of classes of rows, whose projections are normal with covariance I around the centers."""
    Z = posterior(fitted, rows)[0]
    return normalized(Z @ fitted.centers.T - 0.5 * (fitted.centers**2).sum(axis=1) + fitted.log_prior)[0]
