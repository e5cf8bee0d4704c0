"""Kernel ridge regression with an exact leave-one-out choice of the ridge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import Array


class RidgeMap(NamedTuple):
    """Affine map from coordinates to codes, z = offset + coordinates weights."""

    weights: Array  # (r, k)
    offset: Array  # (k,)
    ridge: float


def ridge_map(T: Array, Z: Array, ridge: float | None, *, centred: bool = True) -> RidgeMap:
    """Kernel ridge regression of codes Z (n, k) on coordinates T (n, r) with orthogonal columns that sum to zero.

    T T' is the kernel matrix, so this is z(x) = offset + k(x, X) (K + ridge I)^-1 (Z - offset). None takes the ridge
    with the smallest `held_out_errors`. With `centred=False` and ridge 0 it is the paper's (11).
    """
    n, energies = len(T), np.einsum("ij,ij->j", T, T)
    U = T / np.sqrt(energies)
    offset = Z.mean(axis=0) if centred else np.zeros(Z.shape[1])
    inner = U.T @ (Z - offset)
    if ridge is None:
        candidates = energies.sum() / n * np.logspace(-8, 3, 56)
        ridge = float(candidates[int(np.argmin(held_out_errors(T, Z, candidates, centred=centred)))])
    return RidgeMap((np.sqrt(energies) / (energies + ridge))[:, None] * inner, offset, ridge)


def held_out_errors(T: Array, Z: Array, ridges: Array, *, centred: bool = True) -> Array:
    """Sums of squared leave-one-out errors (c,) of each ridge: residual / (1 - leverage), exact without a refit."""
    energies = np.einsum("ij,ij->j", T, T)
    U = T / np.sqrt(energies)
    rest = Z - Z.mean(axis=0) if centred else Z
    inner = U.T @ rest
    weights = energies[:, None] / (energies[:, None] + ridges)  # (r, c)
    leverages = float(centred) / len(T) + (U * U) @ weights
    errors = [
        (((rest - U @ (w[:, None] * inner)) / np.maximum(1.0 - h, 1e-10)[:, None]) ** 2).sum()
        for w, h in zip(weights.T, leverages.T, strict=True)
    ]
    return np.array(errors)
