"""Coordinates for targets: contrasts of classes, and the span of linearly dependent outputs."""

from __future__ import annotations

import numpy as np
from scipy.linalg import helmert

from .._types import Array, IntArray
from ..rows.products import row_counts


def class_contrasts(n_classes: int) -> Array:
    """Codes (C, C - 1) of the classes: orthonormal contrasts, all classes at the same distance from one another.

    One-of-C codes have rank C - 1, which makes a Gaussian likelihood unbounded; contrasts are the same points without
    the redundant direction.
    """
    return np.asarray(helmert(n_classes).T) if n_classes > 1 else np.zeros((n_classes, 0))


def code_classes(index: IntArray, n_classes: int) -> Array:
    """Rows of contrast codes; NaN where `index` is -1 (unlabelled)."""
    codes = class_contrasts(n_classes)
    out = np.full((len(index), codes.shape[1]), np.nan)
    out[index >= 0] = codes[index[index >= 0]]
    return out


def dependent_span(Y: Array) -> Array | None:
    """Orthonormal basis (q, rank) of the directions in which the outputs vary, or None when they are independent.

    Only an exact relation counts: rank below q although there are rows enough to show more, in a Y (n, q) whose rows
    are either complete or without any value. Then y has no density in q dimensions, but it has one on this span.
    """
    counts, q = row_counts(~np.isnan(Y)), Y.shape[1]
    complete = np.flatnonzero(counts == q)
    if q < 2 or len(complete) < 3 or ((counts > 0) & (counts < q)).any():
        return None
    rows = Y[complete]
    rows /= np.abs(rows).max() or 1.0
    rows -= rows.mean(axis=0)
    _, sizes, Vt = np.linalg.svd(np.linalg.qr(rows, mode="r"))
    rank = int((sizes > 1e-10 * sizes[0]).sum()) if sizes[0] > 0 else 0
    if 0 < rank < min(q, len(rows) - 1):
        return np.asarray(Vt[:rank].T)
    return None
