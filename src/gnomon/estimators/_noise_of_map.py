"""How far noise of the entries moves the projections of rows by a linear map that was learnt from them.

A row is s + e, its signal and noise that is independent from column to column. By a map D (p, k) that does not know the
row, noise moves its projection by D'e. A row of the fit has drawn the map towards itself: D = X'A, in which it has the
part x a', so that its own noise moves it by about |e|^2 a more.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._types import Array
from ..models.dppca import principal_rows
from ..numerics.linalg import symmetrize
from ..rows.contract import Rows
from ..rows.standard import StandardRows
from ._seen import remembered, seen

MOST_SIGNAL = 10  # directions of the signal, as in the PPCA that tells how usual rows are
TINY = 1e-13  # of the largest: nothing but rounding
ROUNDING = 1e-13  # of the mean variance: less is no noise
PRIOR = 0.2  # of a column: weight of the mean of all beside what is seen of its own noise
LONGEST = 1000  # of rows or columns: with more of both, rows of the fit count as new ones


class MapNoise(NamedTuple):
    """What is known of the noise; of rows about the mean, in squared units of X."""

    cov: Array  # (k, k)   of the projection of a new row
    total: float  # variance of the noise over all columns
    pull: Array  # (p, k)   times a row of the fit: |e|^2 a
    known: Array  # prints of the rows of the fit


def moved(estimator: Any, rows: Rows) -> Array | None:
    """Covariances (n, k, k) of what noise has moved the projections of complete rows by, about where they are.

    None where the estimator has kept no `_noise`: its rows came in batches, or it is of a file of an older release.
    """
    kept = vars(estimator).get("_noise")
    if kept is None:
        return None
    noise, D = MapNoise(*kept), np.asarray(estimator.components_, dtype=np.float64)
    covs = np.broadcast_to(noise.cov, (rows.shape[0], *noise.cov.shape)).copy()
    of_fit = np.flatnonzero(seen(rows, D, np.sqrt(noise.total / D.shape[1]), noise.known))
    if len(of_fit):
        more = np.asarray(rows.take(of_fit).project(estimator.mean_, noise.pull), dtype=np.float64)
        covs[of_fit] += more[:, :, None] * more[:, None, :]
    return covs


def noise_of_map(rows: Rows, components: Array) -> tuple[Any, ...] | None:
    """A `MapNoise` of complete rows and the transposed map (k, p); None where nothing is left for noise.

    Variances of the noise are those of the columns without the leading principal directions, over the degrees of
    freedom that these leave. Along no direction is there more noise than the rows vary, nor has a row drawn more of
    the map than there is of it: spectra vary less in most directions than noise alike in all would.
    """
    n, p = rows.shape
    most = min(MOST_SIGNAL, n - 2, p - 1)
    if most < 1 or (min(n, p) > LONGEST and rows.elsewhere):
        return None
    D = np.asarray(components, dtype=np.float64).T
    if min(n, p) <= LONGEST:
        found = _principal(rows, D)
        values, V, summary = found.squares[-most:], found.axes(most), found.standard.summary
    else:
        found, leading = None, principal_rows(rows, most)
        values = (leading.T**2).sum(axis=0) * leading.standard.scale**2
        V, summary = leading.expand(np.eye(len(values))), leading.standard.summary
    falling = np.argsort(-values)
    values, V, squares = values[falling], V[:, falling], summary.squares * summary.unit**2
    k = n_signal(values, float(squares.sum()), n, p)
    signal = V[:, :k] ** 2
    left = np.maximum(squares - signal @ values[:k], 0.0) / (n - 1.0 - k)
    noise = float(left.sum()) / (p - k)
    if noise <= ROUNDING * squares.sum() / (n * p):
        return None
    free = 1.0 - signal.sum(axis=1)  # of every column what the signal's directions leave
    left = (left + PRIOR * noise) / (free + PRIOR)
    total = float(left.sum())
    known, moving, pull = remembered(rows, D.T, np.sqrt(total / p)), D, np.zeros(D.shape)
    if found is not None:
        least = noise * max((np.sqrt(n) - np.sqrt(p)) ** 2, TINY * n)  # that of noise alone alike in all directions
        moving = found.times(np.sqrt(np.minimum(found.squares / least, 1.0)))
        pull = found.times(np.minimum(total / np.maximum(found.squares, TINY * total), 1.0))
    return tuple(MapNoise(symmetrize((moving * left[:, None]).T @ moving), total, pull, known))


def n_signal(values: Array, energy: float, n: int, p: int) -> int:
    """How many leading eigenvalues noise alone does not reach (Marchenko and Pastur), once the others are noise.

    `values`, falling, are those of n rows about their mean, and `energy` all their squares.
    """
    k = len(values)
    while k:
        noise = (energy - float(values[:k].sum())) / ((n - 1.0 - k) * (p - k))
        above = int((values[:k] > noise * (np.sqrt(n) + np.sqrt(p)) ** 2).sum())
        if above == k:
            break
        k = above
    return k


class Principal(NamedTuple):
    """Rows, and a map, along the principal directions of the rows."""

    standard: StandardRows
    squares: Array  # (r,)   of the rows along each, rising
    axes: Callable[[int], Array]  # the last ones (p, m)
    times: Callable[[Array], Array]  # the map with its part in each direction times a share


def _principal(rows: Rows, D: Array) -> Principal:
    n, p = rows.shape
    summary = rows.summarize(second=p < n)
    standard = rows.standard(summary)
    second = summary.standard_groups()[0].xx if p < n else standard.gram()
    assert second is not None
    values, U = np.linalg.eigh(second)
    values = np.maximum(values, 0.0)
    squares = values * standard.scale**2
    if p < n:
        return Principal(standard, squares, lambda m: U[:, -m:], lambda shares: (U * shares) @ (U.T @ D))
    inverse = np.where(values > TINY * values[-1], 1.0 / np.maximum(values, TINY), 0.0)
    of_rows = U.T @ standard.times(D)
    return Principal(
        standard,
        squares,
        lambda m: standard.back((U * np.sqrt(inverse))[:, -m:]),
        lambda shares: standard.back((U * (shares * inverse)) @ of_rows),
    )
