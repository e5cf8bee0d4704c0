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
from ..rows import read
from ..rows.checkpoint import RecordedRows
from ..rows.contract import Rows
from ..rows.local import LocalRows
from ..rows.standard import StandardRows
from ..rows.summary import power_of_two
from ._seen import remembered, seen

MOST_SIGNAL = 10  # directions of the signal, as in the PPCA that tells how usual rows are
TINY = 1e-13  # of the largest: nothing but rounding
LEVEL = 1e-12  # of the largest deviation: less is none
ALIKE = 0.9  # mean correlation of columns that are next to each other, as of spectra
UNEVEN = 10.0  # deviations of columns, beside each other
ROUNDING = 1e-13  # of the mean variance: less is no noise
VANISHING = 1e-315  # a variance; smaller ones have too few digits as floats
PRIOR = 0.2  # of a column: weight of the mean of all beside what is seen of its own noise
LONGEST = 1000  # of rows or columns: with more of both, rows of the fit count as new ones


class MapNoise(NamedTuple):
    """What is known of the noise; of rows about the mean, in squared units of X."""

    cov: Array  # (k, k)   of the projection of a new row
    total: float  # variance of the noise over all columns
    pull: Array  # (p, k)   times a row of the fit: |e|^2 a
    known: Array  # prints of the rows of the fit
    variances: Array | None = None  # (p,)   of the noise of each column; kept for rows with gaps
    moving: Array | None = None  # (p, k)   the map, less along directions in which rows vary less than noise


def moved(estimator: Any, rows: Rows) -> Array | None:
    """Covariances (n, k, k) of what noise has moved the projections of complete rows by, about where they are.

    None where the estimator has kept no `_noise`: its rows came in batches, or it is of a file of an older release.
    """
    kept = vars(estimator).get("_noise")
    if kept is None:
        return None
    noise, D = MapNoise(*kept), np.asarray(estimator.components_, dtype=np.float64)
    covs = np.broadcast_to(noise.cov, (rows.shape[0], *noise.cov.shape)).copy()
    of_fit = np.flatnonzero(of_the_fit(noise, rows, D))
    if len(of_fit):
        add_squares(covs, of_fit, rows.take(of_fit).project(estimator.mean_, noise.pull))
    return covs


def of_the_fit(noise: MapNoise, rows: Rows, components: Array) -> Array:
    """Mask (n,) of the rows that have drawn the map."""
    return seen(rows, components, np.sqrt(noise.total / components.shape[1]), noise.known)


def add_squares(covs: Array, at: Array, away: Any) -> None:
    """Add to some covariances the squares of what rows may be away besides (m, k)."""
    away = np.asarray(away, dtype=np.float64)
    covs[at] += away[:, :, None] * away[:, None, :]


def noise_of_map(rows: Rows, components: Array, *, gaps: bool = False) -> tuple[Any, ...] | None:
    """A `MapNoise` of complete rows and the transposed map (k, p); None where nothing is left for noise."""
    noise = noise_in_units(rows)
    return None if noise is None else tuple(map_noise(noise, rows, components, gaps=gaps))


def noise_in_units(rows: Rows, observed: Array | None = None) -> "Noise | None":
    """Noise of rows; where columns are of very different scales, in units of their deviations."""
    own = rows.rows if isinstance(rows, RecordedRows) else rows
    X = own.gather() if type(own) is LocalRows else None
    if not isinstance(X, np.ndarray):
        return noise_of_rows(rows, observed)
    unit = power_of_two(float(np.abs(X).max()))
    if unit != 1.0:  # squares of the noise may vanish where those of the rows do not
        rows, X = read(X / unit), X / unit
    units = np.ones(X.shape[1])
    mean, std = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    varies = std > LEVEL * std.max()
    low, high = np.quantile(std[varies], (0.05, 0.95)) if varies.any() else (0.0, 0.0)
    if high > UNEVEN * low:
        deviations = np.where(varies, std, std.max())
        Z = (X - mean) / deviations
        if np.einsum("ij,ij->", Z[:, 1:], Z[:, :-1]) < ALIKE * len(Z) * (Z.shape[1] - 1):
            rows, units = read(Z), deviations  # channels of a spectrum share their units
    noise = noise_of_rows(rows, observed, units * unit)
    return None if noise is None or noise.variances @ units**2 * unit**2 < VANISHING else noise


def map_noise(noise: "Noise", rows: Rows, components: Array, *, gaps: bool = False) -> MapNoise:
    """What noise does to the projections of rows by a map; with `gaps`, to those of rows that miss entries as well."""
    D, units = np.asarray(components, dtype=np.float64).T, noise.units
    variances = noise.variances * units[:, 0] ** 2
    total = float(variances.sum())
    known, moving, pull = remembered(rows, D.T, np.sqrt(total / len(D))), noise.less(D * units), np.zeros(D.shape)
    if noise.found is not None:
        pull = noise.found.times(D * units, drawn(noise.found.squares, noise.total)) / units
    cov = symmetrize((moving * noise.variances[:, None]).T @ moving)
    return MapNoise(cov, total, pull, known, *((variances, moving / units) if gaps else ()))


def drawn(squares: Array, total: float) -> Array:
    """Of the score of a row along principal directions, the share that its own noise has drawn them by."""
    return np.asarray(np.minimum(total / np.maximum(squares, TINY * total), 1.0))


class Noise(NamedTuple):
    """Noise of the entries of rows, in units of columns where these are given."""

    variances: Array  # (p,)
    total: float
    found: "Principal | None"  # None of rows that are large on both sides
    shares: Array | None  # (r,)   of its deviation that there can be along each principal direction
    units: Array  # (p, 1)   of the columns

    def less(self, D: Array) -> Array:
        """A map (p, k), less along the principal directions that have less noise."""
        return D if self.found is None else D - self.found.times(D, 1.0 - self.shares)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Noise of n rows (n, p)."""
        E = rng.standard_normal((n, len(self.variances))) * np.sqrt(self.variances)
        return np.asarray((self.less(E.T) * self.units).T)


def noise_of_rows(rows: Rows, observed: Array | None = None, units: Array | None = None) -> Noise | None:
    """Noise of complete rows, of which a share `observed` (p,) of each column is not filled in.

    Rows come in `units` (p,) of their columns, by which their noise is given back.

    Variances of the noise are those of the columns without the leading principal directions, over the degrees of
    freedom that these leave. Along no direction is there more noise than the rows vary, nor has a row drawn more of
    the map than there is of it: spectra vary less in most directions than noise alike in all would.
    """
    n, p = rows.shape
    most = min(MOST_SIGNAL, n - 2, p - 1)
    if most < 1 or (min(n, p) > LONGEST and rows.elsewhere):
        return None
    if min(n, p) <= LONGEST:
        found = _principal(rows)
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
    if observed is not None:
        left /= np.maximum(observed, 1.0 / n)  # what fills gaps has no noise
    noise = float(left.sum()) / (p - k)
    if noise <= ROUNDING * squares.sum() / (n * p):
        return None
    free = 1.0 - signal.sum(axis=1)  # of every column what the signal's directions leave
    left = np.minimum((left + PRIOR * noise) / (free + PRIOR), squares / (n - 1.0))
    units = np.ones((p, 1)) if units is None else units[:, None]
    if found is None:
        return Noise(left, float(left.sum()), None, None, units)
    least = noise * max((np.sqrt(n) - np.sqrt(p)) ** 2, TINY * n)  # that of noise alone alike in all directions
    return Noise(left, float(left.sum()), found, np.sqrt(np.minimum(found.squares / least, 1.0)), units)


def n_signal(values: Array, energy: float, n: float, p: int) -> int:
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
    """Rows, and what else has their columns, along the principal directions of the rows."""

    standard: StandardRows
    squares: Array  # (r,)   of the rows along each, rising
    axes: Callable[[int], Array]  # the last ones (p, m)
    times: Callable[[Array, Array], Array]  # a map (p, k) with its part in each direction times a share


def _principal(rows: Rows) -> Principal:
    n, p = rows.shape
    summary = rows.summarize(second=p < n)
    standard = rows.standard(summary)
    second = summary.standard_groups()[0].xx if p < n else standard.gram()
    assert second is not None
    values, U = np.linalg.eigh(second)
    values = np.maximum(values, 0.0)
    squares = values * standard.scale**2
    if p < n:
        return Principal(standard, squares, lambda m: U[:, -m:], lambda D, shares: (U * shares) @ (U.T @ D))
    inverse = np.where(values > TINY * values[-1], 1.0 / np.maximum(values, TINY), 0.0)
    return Principal(
        standard,
        squares,
        lambda m: standard.back((U * np.sqrt(inverse))[:, -m:]),
        lambda D, shares: standard.back((U * (shares * inverse)) @ (U.T @ standard.times(D))),
    )
