"""Hotelling's T2 and the squared prediction error of rows, with the limits of process monitoring.

T2 is the squared distance from the middle within the plane of the loadings, in deviations of the scores; SPE (Q, the
square of DModX up to a factor) the squared distance from that plane.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, fdtri, ndtri

from ..._types import Array
from ...numerics.tails import n_tail, of_sorted
from ...rows.contract import Rows

LEAST_EXPLAINED = 1e-12  # of a variance
LEAST_LEFT = 0.05  # of a row without which the others are judged
SMALLEST_POWER = 1e-3  # of Jackson and Mudholkar's transform; below it Box's chi-squared is taken


class Monitor(NamedTuple):
    """What T2 and SPE are measured by."""

    axes: Array  # (p, k) orthonormal, of the plane
    variances: Array  # (k,) of the scores along them
    n: float  # rows of the fit that weigh the same
    left: Array  # (3,) sums of the first three powers of the eigenvalues that the plane leaves
    unit: float = 1.0  # of the columns in which all this is
    noise: float = 0.0  # part of the variances that the plane has by noise


class Limits(NamedTuple):
    """Limits that a share alpha of new rows like those of the fit passes."""

    t2: float
    spe: float


def learn(W_x: Array, noise_var: float, n: float, beyond: Array | None = None) -> Monitor:
    """From loadings (p, k), the noise variance and the number of rows; `beyond` are eigenvalues behind the k largest.

    What is not known of these shares what they leave of the noise. The unit is the deviation of the noise.
    """
    p, k = W_x.shape
    n, unit = max(float(n), k + 2.0), float(np.sqrt(noise_var)) or 1.0
    W, noise = W_x / unit, noise_var / unit / unit
    explained, R = np.linalg.eigh(W.T @ W)
    explained = np.maximum(explained, 1e-12 * noise)
    axes, unbiased = W @ R / np.sqrt(explained), n / (n - 1.0)
    known = np.zeros(0) if beyond is None else beyond[: max(0, p - k - 1)] / unit / unit
    total, rest = (p - k) * noise, p - k - len(known)
    other = max(total - float(known.sum()), 0.0) / max(rest, 1)
    left = np.array([(known**i).sum() + rest * other**i for i in (1, 2, 3)])
    return Monitor(axes, (explained + noise) * unbiased, n, left * unbiased ** np.arange(1, 4), unit, noise * unbiased)


def statistics(monitor: Monitor, rows: Rows, mean: Array, observed: Array | None = None) -> tuple[Array, Array]:
    """T2 and SPE (n,) of complete rows; `observed` (n,) is the share of entries that were there before they were.

    Rows are in units of the monitor's, and so is SPE, squared.
    """
    T, spe = scores(monitor, rows, mean, observed)
    return (T**2 / monitor.variances).sum(axis=1), spe


def scores(monitor: Monitor, rows: Rows, mean: Array, observed: Array | None = None) -> tuple[Array, Array]:
    """Scores (n, k) along the axes of the plane, and SPE (n,), of the same."""
    here = rows.in_units(mean, monitor.unit)
    T, lengths = here.products_and_lengths(monitor.axes)
    spe = np.maximum(lengths - np.einsum("ij,ij->i", T, T), 0.0)
    return T, spe if observed is None else spe / observed


def rows_left_out(monitor: Monitor, T: Array, spe: Array) -> tuple[Array, Array]:
    """About what T2 and SPE (m,) of rows with scores T (m, k) would be, had each been left out of the fit.

    A row turns the axes towards itself, the more the less an axis stands out from the noise: by the first order of this
    its leverage is that of scores whose variances have no noise.
    """
    explained = np.maximum(monitor.variances - monitor.noise, LEAST_EXPLAINED * monitor.variances)
    t2, pull = ((T**2 / variances).sum(axis=1) for variances in (monitor.variances, explained))
    return left_out(t2, spe, monitor.n, pull)


def left_out(t2: Array, spe: Array, n: float, pull: Array | None = None) -> tuple[Array, Array]:
    """The same from T2 and `pull`, that distance by which SPE is less for having been in the fit; None where axes stay.

    T2 by the covariance of the scores without the row, SPE by the regression of the columns on the scores without it.
    """
    left = np.maximum(1.0 - n * t2 / (n - 1.0) ** 2, LEAST_LEFT)
    leverage = np.minimum(1.0 / n + (t2 if pull is None else pull) / (n - 1.0), 1.0 - LEAST_LEFT)
    return t2 * n**2 * (n - 2.0) / (n - 1.0) ** 3 / left, spe / (1.0 - leverage) ** 2


def limits_by_rows(t2: Array, spe: Array, alpha: float) -> Limits:
    """Limits that a share alpha of rows with these rising T2 and SPE passes; where few do, by Pareto tails."""
    return Limits(*(of_sorted(found).limit(alpha) if _has_tail(found) else 0.0 for found in (t2, spe)))


def _has_tail(found: Array) -> bool:
    return bool(found[-n_tail(len(found)) - 1] > 0.0)


def limits(monitor: Monitor, alpha: float) -> Limits:
    """Limit of T2 by the F distribution, for rows that were not in the fit; of SPE by Jackson and Mudholkar (1979)."""
    n, k = monitor.n, len(monitor.variances)
    t2 = k * (n**2 - 1.0) / (n * (n - k)) * float(fdtri(k, n - k, 1.0 - alpha))
    one, two, three = map(float, monitor.left)
    if one <= 0.0:
        return Limits(t2, 0.0)
    power = 1.0 - 2.0 * one * three / (3.0 * two**2)
    if power < SMALLEST_POWER:
        return Limits(t2, two / one * float(chdtri(one**2 / two, alpha)))
    inner = ndtri(1.0 - alpha) * np.sqrt(2.0 * two * power**2) / one + 1.0 + two * power * (power - 1.0) / one**2
    return Limits(t2, one * float(max(inner, 0.0)) ** (1.0 / power))
