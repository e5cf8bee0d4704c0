"""Starts for independent latents: discriminant directions of the labelled rows, or random directions."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from ..._types import Array
from ...numerics.linalg import orthonormal_columns, symmetrise
from .likelihood import Params, Rows

SMALLEST_START = 0.05  # variances within components at the start: labelled rows look tighter along their own direction


def label_weights(log_pl: Array) -> Array:
    """Plausibilities (c, n) of one class variable as weights: they sum to one in a row with a label, zero without."""
    pl = np.exp(log_pl - log_pl.max(axis=0))
    possible = np.isfinite(log_pl).any(axis=1)
    informed = np.ptp(pl[possible], axis=0) > 0
    return np.asarray(pl / pl.sum(axis=0) * informed)


def discriminant_directions(U: Array, weights: Array, count: int) -> Array:
    """Leading discriminant directions (count, d) of rows (d, n) with class weights (c, n), shrunk towards white.

    The covariance within classes of m labelled rows counts m / (m + d), that of all rows, which is I, the rest.
    """
    d = len(U)
    some = np.flatnonzero(weights.any(axis=0))
    U, weights = U[:, some], weights[:, some]
    shares = weights.sum(axis=1)
    kept = shares > 0
    shares, means = shares[kept], (weights[kept] @ U.T) / shares[kept, None]
    m = float(shares.sum())
    total = (U * weights[kept].sum(axis=0)) @ U.T
    within = symmetrise(total - (means.T * shares) @ means) / m
    within = (m * within + d * np.eye(d)) / (m + d)
    centred = means - shares @ means / m
    between = (centred.T * shares) @ centred / m
    return np.asarray(eigh(between, within, subset_by_index=[d - count, d - 1])[1].T[::-1])


def labelled_start(rows: Rows, sizes: tuple[int, ...], generator: np.random.Generator, *, tied: bool) -> Params:
    """Rows of V from the labels of each latent; a random one where a latent has labels of fewer than two components."""
    d, S = len(rows.U), len(sizes)
    V = np.zeros((S, d))
    for b, log_pl in enumerate(rows.log_pl):
        weights = label_weights(log_pl)
        n_seen = int((weights.sum(axis=1) > 0).sum())
        latents = slice(None) if tied else slice(b, b + 1)
        found = discriminant_directions(rows.U, weights, min(n_seen - 1, S if tied else 1)) if n_seen > 1 else V[:0]
        V[latents] = _completed(found, S if tied else 1, generator)
    return mixtures_along(_spread(V, generator), rows, sizes, tied=tied)


def random_start(rows: Rows, sizes: tuple[int, ...], generator: np.random.Generator, *, tied: bool) -> Params:
    """Random orthonormal rows of V."""
    V = orthonormal_columns(generator.standard_normal((len(rows.U), len(sizes)))).T
    return mixtures_along(V, rows, sizes, tied=tied)


def _completed(found: Array, count: int, generator: np.random.Generator) -> Array:
    """Unit rows, with random ones added up to `count`."""
    found = np.asarray(found)
    extra = generator.standard_normal((count - len(found), found.shape[1]))
    rows = np.vstack([found, extra])
    return np.asarray(rows / np.linalg.norm(rows, axis=1)[:, None])


def _spread(V: Array, generator: np.random.Generator) -> Array:
    """Move rows apart that are almost dependent: two latents with the same labels start from the same direction."""
    if np.linalg.svd(V, compute_uv=False)[-1] > 0.05:
        return V
    V = V + 0.5 * generator.standard_normal(V.shape) / np.sqrt(V.shape[1])
    return np.asarray(V / np.linalg.norm(V, axis=1)[:, None])


def mixtures_along(V: Array, rows: Rows, sizes: tuple[int, ...], *, tied: bool) -> Params:
    """Start the mixtures of given rows of V: means of the labelled rows, quantiles for components without any."""
    S, c = len(V), max(sizes)
    Z = V @ rows.U
    means, variances = np.zeros((S, c)), np.ones((S, c))
    log_weights = np.full((1 if tied else S, c), -np.inf)
    for s, size in enumerate(sizes):
        b = 0 if tied else s
        weights = label_weights(rows.log_pl[b])[:size]
        counts = weights.sum(axis=1)
        means[s, :size] = np.quantile(Z[s], (np.arange(size) + 0.5) / size)
        seen = counts > 0
        means[s, :size][seen] = (weights @ Z[s])[seen] / counts[seen]
        shares = (counts + 1.0) / (counts.sum() + size)
        between = shares @ (means[s, :size] - shares @ means[s, :size]) ** 2
        variances[s, : c if tied else size] = max(1.0 - between, SMALLEST_START)
        log_weights[b, :size] = np.log(shares)
    return Params(V, log_weights, means, variances)
