"""Kernel ridge regression with an exact leave-one-out choice of the ridge."""

from typing import NamedTuple

import numpy as np

from .._types import Array

GRID = np.logspace(-8, 3, 56)
NOTHING = 1e-9  # of a row: what lies outside all coordinates, where they are of full rank


class RidgeMap(NamedTuple):
    """Affine map from coordinates to codes, z = offset + coordinates weights."""

    weights: Array  # (r, k)
    offset: Array  # (k,)
    ridge: float


def ridge_map(
    T: Array,
    Z: Array,
    ridge: float | None,
    weights: Array | None = None,
    *,
    centered: bool = True,
    grid: Array = GRID,
) -> RidgeMap:
    """Kernel ridge regression of codes Z (n, k) on coordinates T (n, r) with orthogonal columns that sum to zero.

    T T' is the kernel matrix, so this is z(x) = offset + k(x, X) (K + ridge I)^-1 (Z - offset). None takes the ridge of
    `grid`, in units of the mean squared length of rows, with the smallest `held_out_errors`. With `centered=False` and
    ridge 0 it is (11) of Guo 2008, the pseudo-inverse. Rows count `weights` (n,) times, also in T' diag(weights) T,
    which is diagonal.
    """
    w = np.ones(len(T)) if weights is None else weights
    energies = w @ T**2
    offset = w @ Z / w.sum() if centered else np.zeros(Z.shape[1])
    if ridge is None:
        candidates = energies.sum() / w.sum() * grid
        ridge = float(candidates[int(np.argmin(held_out_errors(T, Z, candidates, weights, centered=centered)))])
    return RidgeMap((T.T @ (w[:, None] * (Z - offset))) / (energies + ridge)[:, None], offset, ridge)


def held_out_errors(T: Array, Z: Array, ridges: Array, weights: Array | None = None, *, centered: bool = True) -> Array:
    """Sums of squared leave-one-out errors (c,) of each ridge: residual / (1 - leverage), exact without a refit.

    Both are sums of positive parts, so that no digit is lost where a small ridge makes both vanish. Of a row that
    counts several times one is left out.
    """
    w = np.ones(len(T)) if weights is None else weights
    energies = w @ T**2
    U = T / np.sqrt(energies)
    rest = Z - w @ Z / w.sum() if centered else Z
    inner = U.T @ (w[:, None] * rest)
    outside = 1.0 - float(centered) / w.sum() - (U * U).sum(axis=1)
    outside = np.where(outside > NOTHING, outside, 0.0)
    residual = rest - U @ inner if outside.any() else np.zeros_like(rest)
    left = ridges / (energies[:, None] + ridges)  # (r, c)
    errors = [
        w @ (((residual + U @ (part[:, None] * inner)) / lost[:, None]) ** 2).sum(axis=1)
        for part, lost in zip(left.T, (outside[:, None] + (U * U) @ left).T, strict=True)
    ]
    return np.array(errors)
