"""Starts for independent latents: discriminant directions of the labeled rows, or random directions.

A start depends on the rows and their labels only: not on the axes in which the whitened rows are held, which rounding
may choose where directions tie, nor on the order of rows, columns or labels.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from ..._types import Array
from ...numerics.linalg import symmetrize, top_eigh
from ...numerics.scramble import random_signs
from .likelihood import Params, Rows
from .profile import N_SWEEPS, ranked, sweeps
from .pursuit import independent_directions
from .shapes import fit_shapes, histograms

SMALLEST_START = 0.05  # variances within components at the start: labeled rows look tighter along their own direction
N_TRIED = 3  # sweeps after which random directions are compared
N_KEPT = 4  # of them, compared again after `N_SCREENED` sweeps more
N_SCREENED = 10
MOST_TRIED = 30
TRIED = 12e6  # fewer of them where rows times squared directions exceed this, so that they take a second at most
SMALL = 1e5  # rows times squared directions up to which a search is cheap, and made even where it seems needless
LEAST_APART = 1e-5  # of quantiles, in deviations
DEPENDENT = 0.05  # smallest singular value of rows of V that are moved apart


def label_weights(log_pl: Array) -> Array:
    """Plausibilities (c, n) of one class variable as weights: they sum to one in a row with a label, zero without."""
    pl = np.exp(log_pl - log_pl.max(axis=0))
    possible = np.isfinite(log_pl).any(axis=1)
    informed = np.ptp(pl[possible], axis=0) > 0
    return np.asarray(pl / pl.sum(axis=0) * informed)


def discriminant_directions(U: Array, weights: Array, count: int) -> Array:
    """Leading discriminant directions (count, d) of rows (d, n) with class weights (c, n), shrunk toward white.

    The covariance within classes of m labeled rows counts m / (m + d), that of all rows, which is I, the rest.
    """
    d = len(U)
    some = np.flatnonzero(weights.any(axis=0))
    U, weights = U[:, some], weights[:, some]
    shares = weights.sum(axis=1)
    kept = shares > 0
    shares, means = shares[kept], (weights[kept] @ U.T) / shares[kept, None]
    m = float(shares.sum())
    total = (U * weights[kept].sum(axis=0)) @ U.T
    within = symmetrize(total - (means.T * shares) @ means) / m
    within = (m * within + d * np.eye(d)) / (m + d)
    centered = means - shares @ means / m
    between = (centered.T * shares) @ centered / m
    return np.asarray(eigh(between, within, subset_by_index=[d - count, d - 1])[1].T[::-1])


class Starts(NamedTuple):
    """Where to begin."""

    params: list[Params]
    n_sweeps: int = N_SWEEPS  # that are made from there


def draw_starts(rows: Rows, init: str, n_init: int, generator: np.random.Generator) -> Starts:
    """Starts of a fit; see `gnomon.IFA` for the meaning of `init`.

    Where some latent has no labels the random ones are searched for: most random directions end in a lesser maximum.
    Without any label the first is that of the independent directions; where these are beyond doubt it is the only one.
    """
    if init != "labels" and not rows.n_tied and not rows.labeled.any():
        first, separated = independent_start(rows, generator)
        if separated and len(rows.present) == len(rows.U) and rows.U.size * len(rows.U) >= SMALL:
            return Starts([first], 0)
        return Starts([first] + [searched_start(rows, generator) for _ in range(n_init - 1)])
    starts = [] if init == "random" else [labeled_start(rows, generator)]
    n_random = 0 if init == "labels" else n_init - len(starts)
    make = random_start if rows.labeled.all() else searched_start
    return Starts(starts + [make(rows, generator) for _ in range(n_random)])


def independent_start(rows: Rows, generator: np.random.Generator) -> tuple[Params, bool]:
    """Latents without labels along the independent directions whose mixtures are the most likely.

    Also whether these directions are beyond doubt.
    """
    U, present = rows.U, rows.present
    size = min(len(U), max(MOST_TRIED, len(present)))
    V, separated = independent_directions(U, random_directions(rows, size, generator), generator)
    V = _signed(V, rows, generator)
    sizes = np.array([rows.sizes(v[None]) for v in V])
    found, counts, left = histograms(V @ U), present.sum(axis=1), np.ones(len(V), dtype=bool)
    fits = {int(c): fit_shapes(found, int(c)) for c in np.unique(counts)}
    blank = np.zeros(present.shape)
    out = Params(np.zeros((len(present), len(U))), blank - np.inf, blank.copy(), blank + 1.0)
    for s, c in enumerate(counts):
        shapes, values = fits[int(c)]
        best = ranked(np.where(left, values, -np.inf), sizes)[0]
        left[best], out.V[s] = False, V[best]
        order = np.argsort(shapes.means[best], kind="stable")
        for table, fitted in zip(out[1:], shapes, strict=True):
            table[s, present[s]] = fitted[best, order]
    return out, separated


def searched_start(rows: Rows, generator: np.random.Generator) -> Params:
    """Latents found one after the other, each orthogonal to those before; those of one class variable together."""
    V = np.zeros((0, len(rows.U)))
    for log_pl in rows.log_pl:
        outside = np.linalg.qr(V.T, mode="complete")[0][:, len(V) :]
        V = np.vstack([V, _best_of_many(rows.within(outside, log_pl[None]), generator) @ outside.T])
    return mixtures_along(V, rows)


def _best_of_many(rows: Rows, generator: np.random.Generator) -> Array:
    """Rows of V, from random directions, for one class variable that a few sweeps take farthest."""
    d, n = rows.U.shape
    size = rows.n_latents
    n_tried = int(np.clip(TRIED / (n * d**2), 1, min(MOST_TRIED, d // size)))
    random = random_directions(rows, n_tried * size, generator).reshape(n_tried, size, d)
    tried = [sweeps(mixtures_along(_signed(V, rows, generator), rows), rows, N_TRIED) for V in random]
    kept = [sweeps(params, rows, N_SCREENED) for params, _ in _ranked(tried, rows)[:N_KEPT]]
    return _ranked(kept, rows)[0][0].V


def _ranked(found: list[tuple[Params, list[float]]], rows: Rows) -> list[tuple[Params, list[float]]]:
    """Ends of sweeps, the most likely first."""
    values, sizes = (np.array(part) for part in zip(*((path[-1], rows.sizes(at.V)) for at, path in found), strict=True))
    return [found[i] for i in ranked(values, sizes)]


def labeled_start(rows: Rows, generator: np.random.Generator) -> Params:
    """Rows of V from the labels of each latent; a random one where a latent has labels of fewer than two components.

    Latents without any are those of the independent directions orthogonal to the others.
    """
    size, free = rows.n_tied or 1, ~rows.labeled
    found = [_directions(rows, label_weights(log_pl), size, generator) for log_pl in rows.log_pl]
    V = _apart(np.vstack(found), rows, generator)
    if not rows.n_tied and free.any() and not free.all():
        outside = np.linalg.qr(V[~free].T, mode="complete")[0][:, int((~free).sum()) :]
        V[free] = independent_start(rows.within(outside, rows.log_pl[free]), generator)[0].V @ outside.T
    return mixtures_along(_signed(V, rows, generator), rows)


def random_start(rows: Rows, generator: np.random.Generator) -> Params:
    """Random orthonormal rows of V."""
    V = random_directions(rows, rows.n_latents, generator)
    return mixtures_along(_signed(V, rows, generator), rows)


def random_directions(rows: Rows, count: int, generator: np.random.Generator) -> Array:
    """Orthonormal directions (count, d) up to their signs: eigenvectors of randomly weighted moments of rows."""
    U, numbers = rows.U, rows.mean_squares()
    squares = np.maximum(np.einsum("dn,dn->n", U, U) / len(U), np.finfo(float).tiny)
    weights = random_signs(numbers, generator) / squares
    return np.asarray(top_eigh(symmetrize((U * weights) @ U.T), count)[1].T)


def _signed(V: Array, rows: Rows, generator: np.random.Generator) -> Array:
    """Rows of V with signs that the rows of X choose."""
    toward = V @ (rows.U @ random_signs(rows.mean_squares(), generator))
    return np.where(toward < 0, -1.0, 1.0)[:, None] * V


def _directions(rows: Rows, weights: Array, count: int, generator: np.random.Generator) -> Array:
    """Unit discriminant directions, with random ones added up to `count`."""
    n_seen = int((weights.sum(axis=1) > 0).sum())
    found = (
        discriminant_directions(rows.U, weights, min(n_seen - 1, count)) if n_seen > 1 else np.zeros((0, len(rows.U)))
    )
    V = found if len(found) == count else np.vstack([found, random_directions(rows, count - len(found), generator)])
    return np.asarray(V / np.linalg.norm(V, axis=1)[:, None])


def _apart(V: Array, rows: Rows, generator: np.random.Generator) -> Array:
    """Move rows apart that are almost dependent: two latents with the same labels start from the same direction."""
    if np.linalg.svd(V, compute_uv=False)[-1] > DEPENDENT:
        return V
    extra = random_directions(rows, len(V), generator)
    along = np.where(np.einsum("sd,sd->s", V, extra) < 0, -1.0, 1.0)
    V = V + 0.5 * along[:, None] * extra
    return np.asarray(V / np.linalg.norm(V, axis=1)[:, None])


def mixtures_along(V: Array, rows: Rows) -> Params:
    """Start the mixtures of given rows of V: means of the labeled rows, quantiles for components without any."""
    Z, present = V @ rows.U, rows.present
    means, variances = np.zeros(present.shape), np.ones(present.shape)
    log_weights = np.full((len(rows.log_pl), present.shape[1]), -np.inf)
    for s, used in enumerate(present):
        b = 0 if rows.n_tied else s
        weights = label_weights(rows.log_pl[b])
        counts = weights.sum(axis=1)
        seen = counts > 0
        means[s, seen] = (weights @ Z[s])[seen] / counts[seen]
        means[s, used & ~seen] = _free_quantiles(Z[s], means[s, seen], int(used.sum()))
        shares = (counts + 1.0) * used / (counts.sum() + used.sum())
        between = shares @ (means[s] - shares @ means[s]) ** 2
        variances[s, used] = max(1.0 - between, SMALLEST_START)
        log_weights[b, used] = np.log(shares[used])
    return Params(V, log_weights, means, variances)


def _free_quantiles(z: Array, taken: Array, size: int) -> Array:
    """Evenly spaced quantiles, less those nearest to means that are known: whatever the numbers of the components."""
    places = (np.arange(size) + 0.5) / size
    free = np.quantile(z, places)
    if size > 1 and np.diff(free).min() < LEAST_APART:  # most rows are as one: components that start there stay so
        free = z.min() + np.ptp(z) * places
    for mean in np.sort(taken):
        free = np.delete(free, np.abs(free - mean).argmin())
    return np.asarray(free)
