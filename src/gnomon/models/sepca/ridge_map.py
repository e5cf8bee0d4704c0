"""Kernel ridge regression with an exact leave-one-out choice of the ridge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import Array


class RidgeMap(NamedTuple):
    """Affine map from coordinates to codes, z = offset + coordinates weights."""

    weights: Array  # (r, k)
    offset: Array  # (k,)
    ridge: float


def ridge_map(
    T: Array, Z: Array, ridge: float | None, weights: Array | None = None, *, centered: bool = True
) -> RidgeMap:
    """Kernel ridge regression of codes Z (n, k) on coordinates T (n, r) with orthogonal columns that sum to zero.

    T T' is the kernel matrix, so this is z(x) = offset + k(x, X) (K + ridge I)^-1 (Z - offset). None takes the ridge
    with the smallest `held_out_errors`. With `centered=False` and ridge 0 it is the paper's (11). Rows count `weights`
    (n,) times, also in T' diag(weights) T, which is diagonal.
    """
    w = np.ones(len(T)) if weights is None else weights
    energies = w @ T**2
    U = T / np.sqrt(energies)
    offset = w @ Z / w.sum() if centered else np.zeros(Z.shape[1])
    inner = U.T @ (w[:, None] * (Z - offset))
    if ridge is None:
        candidates = energies.sum() / w.sum() * np.logspace(-8, 3, 56)
        ridge = float(candidates[int(np.argmin(held_out_errors(T, Z, candidates, weights, centered=centered)))])
    return RidgeMap((np.sqrt(energies) / (energies + ridge))[:, None] * inner, offset, ridge)


def held_out_errors(T: Array, Z: Array, ridges: Array, weights: Array | None = None, *, centered: bool = True) -> Array:
    """Sums of squared leave-one-out errors (c,) of each ridge: residual / (1 - leverage), exact without a refit.

    Of a row that counts several times one is left out.
    """
    w = np.ones(len(T)) if weights is None else weights
    energies = w @ T**2
    U = T / np.sqrt(energies)
    rest = Z - w @ Z / w.sum() if centered else Z
    inner = U.T @ (w[:, None] * rest)
    shares = energies[:, None] / (energies[:, None] + ridges)  # (r, c)
    leverages = float(centered) / w.sum() + (U * U) @ shares
    errors = [
        w @ (((rest - U @ (share[:, None] * inner)) / np.maximum(1.0 - h, 1e-10)[:, None]) ** 2).sum(axis=1)
        for share, h in zip(shares.T, leverages.T, strict=True)
    ]
    return np.array(errors)
