"""Regions of latent vectors that count how well loadings, mean and scale are known.

In the spiked model, n rows of p columns with gamma = p / (n - 1), an eigenvalue of the sample is larger than that of
the population and its direction is off by an angle that both tell. A row of the fit has pulled the directions towards
itself, a new one has not, so the two are placed apart.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, fdtri

from ..._types import Array, BoolArray

SEEN, NEW = 0, 1
LEVEL = 0.95  # at which regions by chi-squared are exact; beside it nearly so
ROUNDS = 20
SHOWN = 1.05  # times what noise alone would show: eigenvalues beyond the loadings that are told from it
APART = 1e-3  # of an eigenvalue: the least that another is taken to lie behind it
ROWS_PER_COLUMN, ROWS, NEARLY = (
    20,
    1000,
    0.05,
)  # from which on a row of typical length stands for all, to a percent of a variance


class Positions(NamedTuple):
    """What leads from posterior means under the estimates to regions."""

    axes: Array  # (k, k) principal directions of the loadings, in columns
    factors: Array  # (2, k) on means, of rows of the fit and of new ones
    variances: Array  # (2, k)
    n: float  # rows that weigh the same
    widening: float  # of covariances, since the scale is an estimate
    settled: bool  # whether rows are so many that one covariance serves all


def learn(
    W_x: Array, noise_var: float, n: float, beyond: Array | None = None, dimension: float | None = None
) -> Positions:
    """From loadings (p, k), the noise variance, and the number of rows they are estimates from.

    `beyond` (m,) are eigenvalues of the covariance of the rows behind the k largest, where they are known: directions
    of nearly the same variance have mixed with those of the loadings. `dimension` is that of the space of the noise, if
    it is not p but the loadings are coordinates in a part of it.
    """
    k, p = W_x.shape[1], dimension or W_x.shape[0]
    n = max(float(n), k + 2.0)
    explained, axes = np.linalg.eigh(W_x.T @ W_x)
    explained, axes = np.maximum(explained[::-1], 1e-12 * noise_var), axes[:, ::-1]
    gamma = p / (n - 1.0)
    strength, noise = _spikes(explained, noise_var, gamma, p)
    found = strength**2 > gamma  # below that a direction of the sample tells nothing of one of the population
    e = np.where(found, strength, 1.0)
    of_rows = np.where(found, (1.0 - gamma / e**2) / (1.0 + 1.0 / e), 0.0)  # squared cosines with true scores
    of_columns = np.where(found, (1.0 - gamma / e**2) / (1.0 + gamma / e), 0.0)  # and with true loadings
    scale = np.sqrt((explained + noise_var) / explained)  # of means, to a variance of one over the rows of the fit
    signal = strength * of_columns
    gain = np.sqrt(signal) / (1.0 + signal)
    factors = np.stack([np.sqrt(of_rows), gain * np.sqrt((explained + noise_var) / noise)]) * scale
    variances = np.stack([1.0 - of_rows, 1.0 / (1.0 + signal) + gain**2 / n]) + 1.0 / n
    if beyond is not None:
        shown = beyond[beyond > SHOWN * noise_var * (1.0 + np.sqrt(gamma)) ** 2]
        variances += _mixed(explained + noise_var, shown, n)
    ratio = fdtri(k, n - k, LEVEL) / chdtri(k, 1.0 - LEVEL)
    settled = n > ROWS and n > ROWS_PER_COLUMN * p and bool((np.abs(factors - 1.0) < NEARLY).all())
    return Positions(axes, factors, variances, n, float(k * (n - 1.0) / (n - k) * ratio), settled)


def _mixed(leading: Array, behind: Array, n: float) -> Array:
    """Variance (k,) of positions by directions that eigenvalues (m,) behind them have turned theirs towards."""
    gap = np.maximum(leading[:, None] - behind, APART * leading[:, None])
    return np.asarray(((behind / gap) ** 2).sum(axis=1) / n)


def _spikes(explained: Array, noise_var: float, gamma: float, p: float) -> tuple[Array, float]:
    """Variances of the population beyond the noise, in units of it, zero where none shows; and the noise.

    Leading directions have taken up more noise than others, which is given back to the estimate.
    """
    noise = noise_var
    for _ in range(ROUNDS):
        above = (explained + noise_var) / noise - 1.0 - gamma
        root = np.sqrt(np.maximum(above**2 - 4.0 * gamma, 0.0))
        strength = np.where((above > 0) & (root > 0), (above + root) / 2.0, 0.0)
        edge = (1.0 + np.sqrt(gamma)) ** 2
        taken = np.where(strength > 0, 1.0 + gamma + gamma / np.where(strength > 0, strength, 1.0), edge)
        if p > taken.sum():
            noise = noise_var * (p - len(explained)) / float(p - taken.sum())
    return strength, noise


def place(known: Positions, mean: Array, seen: BoolArray, lacking: Array | None = None) -> tuple[Array, Array]:
    """Means (n, k) and covariances, (k, k) or (n, k, k), from posterior means under the estimates.

    `seen` (n,) marks rows of the fit. `lacking` (n, k, k) is, of rows that miss entries, the covariance of what their
    posterior means would be if nothing were missing: these are placed as complete rows are, and averaged over.
    """
    kind = np.where(seen, SEEN, NEW)
    factors = known.factors[kind]
    at = (mean @ known.axes) * factors
    k = at.shape[1]
    if known.settled and lacking is None:
        cov = np.diag(known.variances[NEW] + (k + 1.0) / (4.0 * known.n))
        return at @ known.axes.T, known.widening * (known.axes @ cov @ known.axes.T)
    cov = at[:, :, None] * at[:, None, :] / (4.0 * known.n)  # directions that are turned towards each other
    along = known.variances[kind] + (at**2).sum(axis=1)[:, None] / (4.0 * known.n)
    cov[:, np.arange(k), np.arange(k)] += along
    if lacking is not None:
        cov += factors[:, :, None] * (known.axes.T @ lacking @ known.axes) * factors[:, None, :]
    return at @ known.axes.T, known.widening * (known.axes @ cov @ known.axes.T)


def given_outputs(
    placed: tuple[Array, Array], of_x: tuple[Array, Array], of_both: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Means and covariances as `place` finds them from x, once y has added what it adds under the estimates.

    `of_x` and `of_both` are posterior means and covariances under the estimates, without y and with it: y adds the
    difference of their precisions, and of their precisions times means.
    """
    (mean, cov), n = placed, len(placed[0])
    cov, x_cov, both_cov = (np.broadcast_to(one, (n, *one.shape[-2:])) for one in (cov, of_x[1], of_both[1]))
    precision, x_precision, both_precision = (np.linalg.inv(one) for one in (cov, x_cov, both_cov))
    target = precision @ mean[:, :, None]
    target = target + both_precision @ of_both[0][:, :, None] - x_precision @ of_x[0][:, :, None]
    found = np.linalg.inv(precision + both_precision - x_precision)
    return (found @ target)[:, :, 0], found
