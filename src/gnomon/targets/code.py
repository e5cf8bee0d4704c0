"""Coordinates for targets: contrasts of classes, the span of linearly dependent outputs, plausibilities."""

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import helmert, qr

from .._types import Array, IntArray
from ..rows.products import row_counts
from .columns import Targets


@cache
def class_contrasts(n_classes: int) -> Array:
    """Codes (C, C - 1) of the classes: orthonormal contrasts, all classes at the same distance from one another.

    One-of-C codes have rank C - 1, which makes a Gaussian likelihood unbounded; contrasts are the same points without
    the redundant direction.
    """
    codes = np.asarray(helmert(n_classes).T) if n_classes > 1 else np.zeros((n_classes, 0))
    codes.setflags(write=False)  # shared by all who ask
    return codes


def code_classes(index: IntArray, n_classes: int) -> Array:
    """Rows of contrast codes; NaN where `index` is -1 (unlabeled)."""
    codes = class_contrasts(n_classes)
    out = np.full((len(index), codes.shape[1]), np.nan)
    out[index >= 0] = codes[index[index >= 0]]
    return out


def dependent_span(Y: Array, weights: Array | None = None) -> Array | None:
    """Basis (q, rank) of the directions in which the outputs vary, or None when they are independent.

    Every output counts in its own unit, the root of its variance, or the distance of its values where it has but two,
    as codes of classes do: there the basis is orthonormal up to a factor, which is such that coordinates have the
    volume of what they stand for. Only an exact relation counts: rank below q
    although there are rows enough to show more, in a Y (n, q) whose rows are either complete or without any value. Then
    y has no density in q dimensions, but it has one on this span.
    """
    counts, q = row_counts(~np.isnan(Y)), Y.shape[1]
    complete = np.flatnonzero(counts == q)
    if q < 2 or len(complete) < 3 or ((counts > 0) & (counts < q)).any():
        return None
    rows, w = (
        np.asfortranarray(Y.take(complete, axis=0)),
        np.ones(len(complete)) if weights is None else weights[complete],
    )
    largest = np.abs(rows).max(axis=0)
    largest[largest == 0.0] = 1.0
    rows /= largest
    low, high = rows.min(axis=0), rows.max(axis=0)
    two_values = ((rows == low) | (rows == high)).all(axis=0)
    rows -= w @ rows / w.sum()
    units = np.where(two_values, high - low, np.sqrt(w @ rows**2 / w.sum()))
    units[units == 0.0] = 1.0
    _, sizes, Vt = np.linalg.svd(np.linalg.qr(rows / units, mode="r"))
    rounding = 4.0 * np.finfo(np.float64).eps / units.min()
    rank = int((sizes > max(1e-10, rounding) * sizes[0]).sum()) if sizes[0] > 0 else 0
    if 0 < rank < min(q, len(rows) - 1):
        return _of_unit_volume(Vt[:rank].T, units * largest)
    return None


def _of_unit_volume(basis: Array, units: Array) -> Array:
    """Multiply the rows of an orthonormal basis by their units, and all by what makes its volume one."""
    most = float(units.max())
    scaled = basis * (units / most)[:, None]
    # with the longest rows first and pivots, short ones keep their digits
    (R, _) = qr(scaled[np.argsort(-units)], mode="r", pivoting=True)
    side = float(np.exp(np.log(np.abs(R.diagonal())).mean()))
    return np.asarray(scaled / side)


def to_coordinates(basis: Array) -> Array:
    """The map (q, rank) from outputs on the span of `basis`, less their origin, to coordinates on it."""
    units = np.linalg.norm(basis, axis=1)
    return np.asarray(np.linalg.pinv(basis / units[:, None]).T / units[:, None])


class Coded(NamedTuple):
    """Targets as coordinates of a Gaussian model."""

    table: Array  # (n, q) contrasts of classes, numbers, or their coordinates on `basis`; NaN where not observed
    basis: Array | None  # (q_given, q) span of linearly dependent outputs, see `dependent_span`
    origin: Array | None  # (q_given,) their mean

    def one_target(self, kind: str) -> bool:
        """Whether the columns share a unit: those that code classes, or coordinates on a basis."""
        return kind == "classes" or self.basis is not None


def code(targets: Targets, weights: Array | None = None) -> Coded:
    """Code what was read: one column of classes by contrasts, numbers as they are or on the span where they vary.

    Weights (n,) of the rows enter the units of outputs that are linearly dependent. No column is constant.
    """
    if targets.kind == "none":
        return Coded(np.zeros((targets.n_samples, 0)), None, None)
    if targets.kind == "classes":
        return Coded(code_classes(targets.index, len(targets.classes)), None, None)
    table = targets.table
    labeled = np.flatnonzero(targets.labeled)
    basis = dependent_span(table.take(labeled, axis=0), None if weights is None else weights[labeled])
    if basis is None:
        return Coded(table, None, None)
    origin = table[~np.isnan(table).any(axis=1)].mean(axis=0)
    return Coded((table - origin) @ to_coordinates(basis), basis, origin)


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
    coded = deviation @ to_coordinates(basis)
    units = np.linalg.norm(basis, axis=1)
    away = np.abs(deviation - coded @ basis.T) / units
    scale = np.abs(origin / units).max() + np.nanmax(np.abs(deviation / units), initial=0.0)
    off = np.flatnonzero(np.nan_to_num(away).max(axis=1, initial=0.0) > 1e-6 * scale)
    if len(off):
        raise ValueError(
            f"row {off[0]} of y breaks a linear relation that the outputs in fit satisfy exactly; it has no density."
        )
    return np.asarray(coded)


def check_variation(targets: Targets, *, classes: bool = True) -> None:
    """Raise for a column of several that is never observed, and for numbers of a single value.

    With `classes`, for a single class in one of several columns too.
    """
    if targets.kind == "none":
        return
    for column in targets.columns:
        low, high = np.fmin.reduce(column.values), np.fmax.reduce(column.values)
        if np.isnan(low):
            raise ValueError(f"{column.name} is never observed; drop it or give at least two values.")
        if low == high and (column.kind != "classes" or (classes and not targets.vector)):
            value = column.classes.tolist()[0] if column.classes is not None else float(low)
            known = np.count_nonzero(column.labeled)
            raise ValueError(
                f"{column.name} has the single value {value!r} in its {known} labeled rows; it cannot guide a "
                "projection. Drop it or label rows with other values."
            )


def log_plausibilities(index: IntArray, size: int) -> Array:
    """Log-plausibility (size, n) of each component: 0 for that of the label, minus infinity for others; 0 if none."""
    out = np.zeros((size, len(index)))
    seen = np.flatnonzero(index >= 0)
    out[:, seen] = -np.inf
    out[index[seen], seen] = 0.0
    return out
