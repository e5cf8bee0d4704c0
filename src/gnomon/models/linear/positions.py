"""Regions of latent vectors that count how well loadings, mean and scale are known.

In the spiked model, n rows of p columns with gamma = p / (n - 1), an eigenvalue of the sample is larger than that of
the population and its direction is off by an angle that both tell. A row of the fit has pulled the directions towards
itself, a new one has not, so the two are placed apart.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import chi2
from scipy.stats import f as f_distribution

from ..._types import Array, BoolArray

SEEN, NEW = 0, 1
LEVEL = 0.95  # at which regions by chi-squared are exact; beside it nearly so
ROUNDS = 20


class Positions(NamedTuple):
    """What leads from posterior means under the estimates to regions."""

    axes: Array  # (k, k) principal directions of the loadings, in columns
    factors: Array  # (2, k) on means, of rows of the fit and of new ones
    variances: Array  # (2, k)
    n: float  # rows that weigh the same
    widening: float  # of covariances, since the scale is an estimate


def learn(W_x: Array, noise_var: float, n: float) -> Positions:
    """From loadings (p, k), the noise variance, and the number of rows they are estimates from."""
    p, k = W_x.shape
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
    ratio = f_distribution.ppf(LEVEL, k, n - k) / chi2.ppf(LEVEL, k)
    return Positions(axes, factors, variances, n, float(k * (n - 1.0) / (n - k) * ratio))


def _spikes(explained: Array, noise_var: float, gamma: float, p: int) -> tuple[Array, float]:
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


def place(known: Positions, mean: Array, seen: BoolArray) -> tuple[Array, Array]:
    """Means (n, k) and covariances (n, k, k) from posterior means under the estimates; `seen` marks rows of the fit."""
    kind = np.where(seen, SEEN, NEW)
    at = (mean @ known.axes) * known.factors[kind]
    k = at.shape[1]
    cov = at[:, :, None] * at[:, None, :] / (4.0 * known.n)  # directions that are turned towards each other
    along = known.variances[kind] + (at**2).sum(axis=1)[:, None] / (4.0 * known.n)
    cov[:, np.arange(k), np.arange(k)] += along
    return at @ known.axes.T, known.widening * (known.axes @ cov @ known.axes.T)
