"""Coordinates of rows in the space they span, from their inner products."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._types import Array
from ..rows import RowSource


class RowCoordinates(NamedTuple):
    """Rows in an orthonormal basis of the space they span, and the map back to the features."""

    T: Array  # (n, r), standard units, energy falling to the left
    expand: Callable[[Array], Array]  # (r, m) -> (p, m)


def row_coordinates(source: RowSource) -> RowCoordinates:
    """Coordinates of centred rows from their n x n inner products; two reads, and one for each use of `expand`."""
    n = source.shape[0]
    source.first_pass(np.zeros((n, 0)))
    gram = source.gram()
    w = np.ones(n) if source.weights is None else source.weights
    source.set_energy(float(w @ np.diag(gram)))
    gram *= source.standardise() ** 2
    root = np.sqrt(w)
    # NumPy's, not SciPy's: SciPy brings threads of its own, which fight those that the product above left spinning
    values, U = np.linalg.eigh(gram * np.outer(root, root))
    kept = values > 1e-13 * n * max(values[-1], 0.0)
    values, U = values[kept], U[:, kept]
    back = U / (root[:, None] * np.sqrt(values))  # rows whose weighted sum of x gives the orthonormal directions

    def expand(C: Array) -> Array:
        coefficients = back @ C
        return source.sweep(None, lambda _, index: (coefficients[index], None))[0]

    return RowCoordinates(U * np.sqrt(values) / root[:, None], expand)
