"""Independent directions of white rows by the symmetric fixed point of Hyvarinen (1999).

It is quick, and right where the rows are independent latents mixed. Elsewhere it depends on the contrast: the slopes
tanh z and z^3, one bounded and one led by the farthest rows, find other directions.
"""

from typing import NamedTuple

import numpy as np

from ..._types import Array
from ...numerics.scramble import random_rows

MOST_ROWS = 5000  # that are looked at, chosen whatever their order
ROWS_PER_DIRECTION = 50  # but not fewer than these
N_STEPS = 30
SETTLED = 1e-4  # one minus the cosine of any direction with itself a step before
WANDERING = 1e-2  # the same, in any of the last `RECENT` steps: rounding grows with every step then
RECENT = 10
FEW_STEPS = 5  # whose directions are taken where they wander
ALIKE = 0.97  # least cosine of directions that two contrasts agree on


class Directions(NamedTuple):
    """Orthonormal directions (m, d), and whether both contrasts find them."""

    V: Array
    separated: bool


def independent_directions(U: Array, V: Array, generator: np.random.Generator) -> Directions:
    """Directions of white rows U (d, n), from orthonormal ones (m, d)."""
    d, n = U.shape
    most = max(MOST_ROWS, ROWS_PER_DIRECTION * d)
    if n > most:
        some = U[:, random_rows(most, np.einsum("dn,dn->n", U, U) / d, generator)]
        values, vectors = np.linalg.eigh(some @ some.T / most)
        U = (vectors / np.sqrt(values) @ vectors.T) @ some  # white again, along the same axes
    found, moved = _fixed_point(U, V, N_STEPS, bounded=True)
    if moved[-1] > SETTLED:
        wander = max(moved[-RECENT:]) > WANDERING
        return Directions(_fixed_point(U, V, FEW_STEPS, bounded=True)[0] if wander else found, False)
    other, _ = _fixed_point(U, found, N_STEPS, bounded=False)
    return Directions(found, float(np.abs(np.einsum("md,md->m", found, other)).min()) >= ALIKE)


def _fixed_point(U: Array, V: Array, n_steps: int, *, bounded: bool) -> tuple[Array, list[float]]:
    """Steps until no direction moves, at most so many, and how far the one that moves farthest does in each."""
    moved: list[float] = []
    for _ in range(n_steps):
        before, Z = V, V @ U
        squares = Z * Z
        slope = np.tanh(Z) if bounded else squares * Z
        curvature = 1.0 - np.einsum("mn,mn->m", slope, slope) / U.shape[1] if bounded else 3.0 * squares.mean(axis=1)
        V = _orthonormal(slope @ U.T / U.shape[1] - curvature[:, None] * before)
        moved.append(1.0 - float(np.abs(np.einsum("md,md->m", V, before)).min()))
        if moved[-1] <= SETTLED:
            break
    return V, moved


def _orthonormal(V: Array) -> Array:
    """The nearest orthonormal rows."""
    left, _, right = np.linalg.svd(V, full_matrices=False)
    return np.asarray(left @ right)
