"""Coordinates for targets: contrasts of classes, the span of linearly dependent outputs, plausibilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import helmert

from .._types import Array, IntArray
from ..rows.products import row_counts
from .columns import Targets


def class_contrasts(n_classes: int) -> Array:
    """Codes (C, C - 1) of the classes: orthonormal contrasts, all classes at the same distance from one another.

    One-of-C codes have rank C - 1, which makes a Gaussian likelihood unbounded; contrasts are the same points without
    the redundant direction.
    """
    return np.asarray(helmert(n_classes).T) if n_classes > 1 else np.zeros((n_classes, 0))


def code_classes(index: IntArray, n_classes: int) -> Array:
    """Rows of contrast codes; NaN where `index` is -1 (unlabeled)."""
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


class Coded(NamedTuple):
    """Targets as coordinates of a Gaussian model.

    Attributes
    ----------
    table : (n, q) float64
        NaN where not observed: contrasts of classes, numbers, or their coordinates on `basis`.
    basis : (q_given, q) or None
        Orthonormal span of linearly dependent outputs.
    origin : (q_given,) or None
        Their mean.
    """

    table: Array
    basis: Array | None
    origin: Array | None

    def one_target(self, kind: str) -> bool:
        """Whether the columns share a unit: those that code classes, or coordinates on a basis."""
        return kind == "classes" or self.basis is not None


def code(targets: Targets) -> Coded:
    """Code what was read: one column of classes by contrasts, numbers as they are or on the span where they vary."""
    if targets.kind == "none":
        return Coded(np.zeros((targets.n_samples, 0)), None, None)
    if targets.kind == "classes":
        return Coded(code_classes(targets.index, len(targets.classes)), None, None)
    refuse_constant(targets)
    table = targets.table
    basis = dependent_span(table[targets.labeled])
    if basis is None:
        return Coded(table, None, None)
    origin = table[~np.isnan(table).any(axis=1)].mean(axis=0)
    return Coded((table - origin) @ basis, basis, origin)


def code_like(table: Array, n_classes: int | None, basis: Array | None, origin: Array) -> Array:
    """Code values of new rows, as `read_like` gives them, as those of fit were (n, q)."""
    if n_classes is not None:
        return code_classes(np.where(np.isnan(table[:, 0]), -1, table[:, 0]).astype(np.intp), n_classes)
    return table if basis is None else _on_span(table, basis, origin)


def _on_span(table: Array, basis: Array, origin: Array) -> Array:
    seen = ~np.isnan(table)
    partly = np.flatnonzero(seen.any(axis=1) & ~seen.all(axis=1))
    if len(partly):
        raise ValueError(
            f"y misses some outputs of row {partly[0]}, but the outputs in fit were linearly dependent; "
            "give all of them or none."
        )
    deviation = table - origin
    coded = deviation @ basis
    away = np.abs(deviation - coded @ basis.T)
    scale = np.abs(origin).max() + np.nanmax(np.abs(deviation), initial=0.0)
    off = np.flatnonzero(np.nan_to_num(away).max(axis=1, initial=0.0) > 1e-6 * scale)
    if len(off):
        raise ValueError(
            f"row {off[0]} of y breaks a linear relation that the outputs in fit obey exactly; it has no density."
        )
    return np.asarray(coded)


def refuse_constant(targets: Targets, *, classes: bool = True) -> None:
    """Raise for a column of several that is never observed, and for numbers of a single value.

    With `classes`, for a single class in one of several columns too.
    """
    if targets.kind == "none":
        return
    for column in targets.columns:
        known = column.values[column.labeled]
        if not len(known):
            raise ValueError(f"{column.name} is never observed; drop it or give at least two values.")
        single = (known == known[0]).all()
        if single and (column.kind != "classes" or (classes and not targets.vector)):
            value = column.classes.tolist()[0] if column.classes is not None else float(known[0])
            raise ValueError(
                f"{column.name} has the single value {value!r} in its {len(known)} labeled rows; it cannot guide a "
                "projection. Drop it or label rows with other values."
            )


def log_plausibilities(index: IntArray, size: int) -> Array:
    """Log-plausibility (size, n) of each component: 0 for that of the label, minus infinity for others; 0 if none."""
    out = np.zeros((size, len(index)))
    seen = np.flatnonzero(index >= 0)
    out[:, seen] = -np.inf
    out[index[seen], seen] = 0.0
    return out
