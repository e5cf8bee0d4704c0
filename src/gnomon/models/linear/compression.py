"""Second moments taken at once, on whichever side of the table is shorter."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._types import Array
from ...rows.contract import Rows
from ...rows.standard import StandardRows
from .basis import GroupMoments, MomentBasis, Outputs


class Compressed(NamedTuple):
    """A basis over moments, and the map from its coordinates back to the features."""

    basis: MomentBasis
    rows: StandardRows
    expand: Callable[[Array], Array]  # (coordinates, r) -> (p, r)


def compress(rows: Rows, outputs: Outputs, capacity: int) -> Compressed:
    """Take p x p moments when n >= p (memory p^2 per pattern), else work with the n x n inner products."""
    n, p = rows.shape
    return _columns(rows, outputs, capacity) if n >= p else _rows(rows, outputs, capacity)


def _columns(rows: Rows, outputs: Outputs, capacity: int) -> Compressed:
    o, (n, p) = outputs, rows.shape
    if len(o.loose):
        raise ValueError("moments of columns need few patterns of missing outputs; use solver='subspace'")
    number = np.zeros(n, dtype=np.intp)
    for g, (_, inside) in enumerate(o.patterns, start=1):
        number[inside] = g
    summary = rows.summarize(o.Y, number, len(o.patterns) + 1, second=True)
    groups = []
    seen = [o.bulk_outputs, *(observed for observed, _ in o.patterns)]
    for observed, m in zip(seen, summary.standard_groups(), strict=True):
        assert m.xx is not None
        yy = m.yy[np.ix_(observed, observed)]
        groups.append(GroupMoments(observed, m.weight, m.x, m.y[observed], m.xx, m.xy[:, observed], yy))
    standard = rows.standard(summary)
    basis = MomentBasis(groups, None, p, o.Y.shape[1], n, standard.energy, capacity)
    return Compressed(basis, standard, lambda C: C)


def _rows(rows: Rows, outputs: Outputs, capacity: int) -> Compressed:
    standard = rows.standard(rows.summarize())
    found = standard.coordinates()
    basis = coordinate_basis(found.T, outputs, rows.shape[1], standard.energy, capacity)
    return Compressed(basis, standard, found.expand)


def coordinate_basis(
    T: Array, outputs: Outputs, n_features: float, energy: float, capacity: int, beyond: float = 0.0
) -> MomentBasis:
    """Moments of rows given by coordinates T (n, r) in a space of n_features dimensions, centered, in standard units.

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
    return MomentBasis(groups, loose, n_features, o.Y.shape[1], len(T), energy, capacity, True, beyond)
