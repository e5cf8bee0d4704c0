"""Second moments taken at once, on whichever side of the table is shorter."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._types import Array
from ...rows import RowSource
from ...solvers.compression import row_coordinates
from .basis import GroupMoments, MomentBasis, Outputs


class Compressed(NamedTuple):
    """A basis over moments, and the map from its coordinates back to the features."""

    basis: MomentBasis
    expand: Callable[[Array], Array]  # (coordinates, r) -> (p, r)


def compress(source: RowSource, outputs: Outputs, capacity: int) -> Compressed:
    """Take p x p moments when n >= p (memory p^2 per pattern), else work with the n x n inner products."""
    n, p = source.shape
    return _columns(source, outputs, capacity) if n >= p else _rows(source, outputs, capacity)


def _columns(source: RowSource, outputs: Outputs, capacity: int) -> Compressed:
    o, (n, p) = outputs, source.shape
    if len(o.loose):
        raise ValueError("moments of columns need few patterns of missing outputs; use solver='subspace'")
    frequent = [(o.bulk_outputs, o.bulk), *o.patterns]
    groups = []
    moments = source.group_moments([rows for _, rows in frequent], o.Y)
    for (observed, rows), m in zip(frequent, moments, strict=True):
        w, Y = o.weights[rows], o.Y[np.ix_(rows, observed)]
        yy = (Y * w[:, None]).T @ Y
        groups.append(GroupMoments(observed, float(w.sum()), m.x, w @ Y, m.xx, m.xy[:, observed], yy))
    return Compressed(MomentBasis(groups, None, p, o.Y.shape[1], n, source.energy, capacity), lambda C: C)


def _rows(source: RowSource, outputs: Outputs, capacity: int) -> Compressed:
    rows = row_coordinates(source)
    return Compressed(coordinate_basis(rows.T, outputs, source.shape[1], source.energy, capacity), rows.expand)


def coordinate_basis(T: Array, outputs: Outputs, n_features: float, energy: float, capacity: int) -> MomentBasis:
    """Moments of rows given by coordinates T (n, r) in a space of n_features dimensions, centred, in standard units.

    Any inner product serves: T = U sqrt(values) of a kernel matrix makes the linear model one of its feature space.
    """
    o = outputs
    groups = []
    for observed, rows in [(o.bulk_outputs, o.bulk), *o.patterns]:
        Tg, Y, wg = T[rows], o.Y[np.ix_(rows, observed)], o.weights[rows, None]
        wT, wY = wg * Tg, wg * Y
        moments = (wT.sum(axis=0), wY.sum(axis=0), wT.T @ Tg, wT.T @ Y, wY.T @ Y)
        groups.append(GroupMoments(observed, float(wg.sum()), *moments))
    loose = o.loose_rows(T[o.loose]) if len(o.loose) else None
    return MomentBasis(groups, loose, n_features, o.Y.shape[1], len(T), energy, capacity, principal=True)
