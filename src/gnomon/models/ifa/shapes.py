"""Mixtures in one dimension, many at a time: slopes and Hessians from moments of rows, and fits to histograms.

A row's score is r_k times a polynomial in z for each component k with responsibility r_k: 1 for its logit,
(z - mu) / nu for its mean and ((z - mu)^2 / nu - 1) / 2 for its log-variance. The Hessian is therefore made of averages
of r_k z^m and r_k r_l z^m with m up to four.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from ..._types import Array, BoolArray
from ...numerics.linear_gaussian import LOG_2PI
from ...numerics.normalize import normalized

POWERS = 5  # 1, z, .., z^4
LEAST_CURVATURE = 1e-3  # in units of the Fisher information
ABSENT = -1e30  # log-weight of a component without any: a number that no other one comes near
LEAST_SHARE = 1e-3  # of a component, where units are measured
N_BINS = 128
WIDTH = 2.0  # latents between this and its negative have half of the bins
NARROWEST = 2.5e-3  # variance of a component of a histogram: a bin is .03 wide where it is narrowest
N_STEPS = 30
EARLY = 4  # steps after which the starts of one mixture are compared
ENOUGH = 1e-4  # nats per row that the next step promises
DAMPING = (1e-3, 0.1, 1e3)  # least, first and most, in units of the Fisher information
FACTOR = 4.0


class Mixtures(NamedTuple):
    """Mixtures of one latent each; absent components have log-weight minus infinity."""

    log_weights: Array  # (s, c)
    means: Array  # (s, c)
    variances: Array  # (s, c)


class Moments(NamedTuple):
    """Averages over rows of responsibilities, and of products of two, times powers of the latent."""

    one: Array  # (s, c, 5)
    two: Array  # (s, c, c, 5)


def fill_powers(powers: Array) -> None:
    """Powers (s, m, n) of latents, which are powers[:, 1], from the second on."""
    for m in range(2, powers.shape[1]):
        np.multiply(powers[:, m - 1], powers[:, 1], out=powers[:, m])


def log_joint_terms(mixtures: Mixtures) -> Array:
    """Coefficients (s, c, 3) of 1, z and z^2 in log(weight N(z; mean, variance))."""
    log_weights, means, variances = mixtures
    constant = np.maximum(log_weights, ABSENT) - 0.5 * (LOG_2PI + np.log(variances) + means**2 / variances)
    return np.stack([constant, means / variances, -0.5 / variances], axis=2)


def sum_moments(resp: Array, powers: Array) -> Moments:
    """Sums over rows, from responsibilities (s, c, n), or (1, c, n) for all, and powers (s, 5, n)."""
    per_row = powers.transpose(0, 2, 1)
    one = np.matmul(resp, per_row)
    c = one.shape[1]
    two = np.zeros((len(one), c, c, POWERS))
    for k in range(c - 1):
        of_pairs = np.matmul(resp[:, k : c - 1] * resp[:, [k]], per_row)
        two[:, k, k : c - 1] = of_pairs
        two[:, k : c - 1, k] = of_pairs
    two[:, : c - 1, c - 1] = one[:, : c - 1] - two[:, : c - 1].sum(axis=2)  # responsibilities sum to one
    two[:, c - 1, : c - 1] = two[:, : c - 1, c - 1]
    two[:, c - 1, c - 1] = one[:, c - 1] - two[:, c - 1].sum(axis=1)
    return Moments(one, two)


def slopes(mixtures: Mixtures, one: Array) -> Array:
    """Gradient (s, 3, c) in logits, means and log-variances from averages (s, c, 3) of r_k z^m."""
    log_weights, means, variances = mixtures
    shares = one[:, :, 0]
    first = one[:, :, 1] - means * shares
    second = one[:, :, 2] - 2.0 * means * one[:, :, 1] + means**2 * shares
    return np.stack([shares - np.exp(log_weights), first / variances, 0.5 * (second / variances - shares)], axis=1)


def _scores(mixtures: Mixtures) -> Array:
    """Coefficients (s, c, 3, 3) of 1, z, z^2 in the scores of every component's logit, mean and log-variance."""
    _, means, variances = mixtures
    zero, inverse = np.zeros_like(means), 1.0 / variances
    logit = np.stack([zero + 1.0, zero, zero], axis=2)
    mean = np.stack([-means * inverse, inverse, zero], axis=2)
    log_variance = 0.5 * np.stack([means**2 * inverse - 1.0, -2.0 * means * inverse, inverse], axis=2)
    return np.stack([logit, mean, log_variance], axis=2)


def information(mixtures: Mixtures, moments: Moments) -> Array:
    """Minus the Hessian (s, 3, c, 3, c) of the average log-density of rows, at shares that sum to one."""
    s, c = mixtures.means.shape
    scores, one, shifts = _scores(mixtures), moments.one, np.arange(3)[:, None] + np.arange(3)
    two = moments.two[..., shifts].transpose(0, 1, 3, 2, 4).reshape(s, c, 3, 3 * c)
    half = np.matmul(scores, two).reshape(s, c, 3, c, 3).transpose(0, 3, 1, 2, 4).reshape(s, c, 3 * c, 3)
    H = np.matmul(half, scores.transpose(0, 1, 3, 2)).reshape(s, c, c, 3, 3).transpose(0, 3, 2, 4, 1).copy()
    own = scores @ one[..., shifts] @ scores.transpose(0, 1, 3, 2)
    gradient, weights, k = slopes(mixtures, one), np.exp(mixtures.log_weights), np.arange(c)
    H[:, :, k, :, k] -= own.transpose(1, 0, 2, 3)
    H[:, 0, k, 0, k] += weights
    H[:, 0, :, 0, :] -= weights[:, :, None] * weights[:, None, :]
    H[:, 1, k, 1, k] += one[:, :, 0] / mixtures.variances
    H[:, 1, k, 2, k] += gradient[:, 1]
    H[:, 2, k, 1, k] += gradient[:, 1]
    H[:, 2, k, 2, k] += gradient[:, 2] + 0.5 * one[:, :, 0]
    return np.asarray(H)


def fisher_units(mixtures: Mixtures) -> Array:
    """Lengths (s, 3, c) of logits, means and log-variances with a curvature of about one."""
    shares = np.maximum(np.exp(mixtures.log_weights), LEAST_SHARE)
    return np.asarray(1.0 / np.sqrt(np.stack([shares, shares / mixtures.variances, 0.5 * shares], axis=1)))


def damped_inverse(mixtures: Mixtures, moments: Moments, free: BoolArray, damping: Array | float = 0.0) -> Array:
    """From slopes to steps (s, 3 c, 3 c) of what is free (s, 3, c): the inverse information, positive and damped."""
    s, c = mixtures.means.shape
    units = (fisher_units(mixtures) * free).reshape(s, 3 * c, 1)
    H = information(mixtures, moments).reshape(s, 3 * c, 3 * c)
    values, vectors = np.linalg.eigh(H * units * units.transpose(0, 2, 1))
    values = np.maximum(np.abs(values), LEAST_CURVATURE) + np.reshape(damping, (-1, 1))
    scaled = units * vectors
    return np.asarray((scaled / values[:, None, :]) @ scaled.transpose(0, 2, 1))


# -- fits to histograms ----------------------------------------------------------------------------------------------


class Histograms(NamedTuple):
    """Latents of variance one, by bins that are alike for all: means of bins, and shares of rows."""

    places: Array  # (s, bins)
    shares: Array  # (s, bins)


def histograms(Z: Array) -> Histograms:
    """Histograms of latents Z (s, n)."""
    s, n = Z.shape
    index = ((Z / np.sqrt(WIDTH**2 * 3.0 + Z * Z) + 1.0) * (0.5 * N_BINS)).astype(np.int64)
    index = (np.minimum(index, N_BINS - 1) + N_BINS * np.arange(s)[:, None]).ravel()
    counts = np.bincount(index, minlength=s * N_BINS)
    sums = np.bincount(index, weights=Z.ravel(), minlength=s * N_BINS)
    return Histograms((sums / np.maximum(counts, 1)).reshape(s, N_BINS), counts.reshape(s, N_BINS) / n)


def fit_shapes(found: Histograms, n_components: int) -> tuple[Mixtures, Array]:
    """Mixtures of every histogram, the best of a few starts, and their likelihoods (s,) per row."""
    starts = _shape_starts(n_components)
    s = len(found.places)
    all_of = Histograms(*(np.concatenate([A] * len(starts)) for A in found))
    vectors, values = _climb(np.repeat(starts, s, axis=0), all_of, EARLY)
    best = values.reshape(len(starts), s).argmax(axis=0) * s + np.arange(s)
    vectors, values = _climb(vectors[best], found, N_STEPS - EARLY)
    return Mixtures(vectors[:, 0], vectors[:, 1], np.exp(vectors[:, 2])), values


def _shape_starts(c: int) -> Array:
    """Logits, means and log-variances (3, 3, c): components side by side, and narrow ones within wide ones."""
    level, places = np.full(c, -np.log(c)), ndtri((np.arange(c) + 0.5) / c)
    apart = np.full(c, np.log(max(1.0 - float(np.mean(places**2)), 0.05)))
    widths = np.linspace(-1.8, 1.2, c)
    return np.stack(
        [
            np.stack([level, places, apart]),
            np.stack([level, 0.1 * places, widths]),
            np.stack([level, -0.1 * places, widths]),
        ]
    )


class _State(NamedTuple):
    vectors: Array  # (s, 3, c)
    values: Array  # (s,)
    resp: Array  # (s, c, bins)


def _state(vectors: Array, powers: Array, shares: Array) -> _State:
    logits = vectors[:, 0] - normalized(vectors[:, 0])[1][:, None]
    vectors = np.stack([logits, vectors[:, 1], np.maximum(vectors[:, 2], np.log(NARROWEST))], axis=1)
    terms = log_joint_terms(Mixtures(vectors[:, 0], vectors[:, 1], np.exp(vectors[:, 2])))
    resp, log_density = normalized(np.matmul(terms, powers[:, :3]))
    return _State(vectors, np.einsum("si,si->s", log_density, shares), resp)


def _climb(vectors: Array, found: Histograms, n_steps: int) -> tuple[Array, Array]:
    """Damped Newton steps (Levenberg and Marquardt) of many mixtures, each with a damping of its own."""
    s, _, c = vectors.shape
    powers = np.ones((s, POWERS, N_BINS))
    powers[:, 1] = found.places
    fill_powers(powers)
    weighted = powers * found.shares[:, None]
    damping = np.full(s, DAMPING[1])
    at = _state(vectors, powers, found.shares)
    for _ in range(n_steps):
        mixtures = Mixtures(at.vectors[:, 0], at.vectors[:, 1], np.exp(at.vectors[:, 2]))
        moments = sum_moments(at.resp, weighted)
        slope = slopes(mixtures, moments.one)
        free = np.ones_like(slope, dtype=bool)
        free[:, 2] = (mixtures.variances > NARROWEST * (1.0 + 1e-9)) | (slope[:, 2] > 0.0)
        slope = (slope * free).reshape(s, 3 * c, 1)
        step = damped_inverse(mixtures, moments, free, damping) @ slope
        if float((slope * step).sum(axis=1).max(initial=0.0)) <= ENOUGH:
            break
        step = step.reshape(s, 3, c)
        step /= np.maximum(1.0, np.abs(step[:, [0, 2]]).max(axis=(1, 2), initial=0.0))[:, None, None]
        trial = _state(at.vectors + step, powers, found.shares)
        higher = trial.values > at.values
        damping = np.clip(np.where(higher, damping / FACTOR, damping * FACTOR), DAMPING[0], DAMPING[2])
        at = _State(*(np.where(higher.reshape(-1, *[1] * (A.ndim - 1)), A, B) for A, B in zip(trial, at, strict=True)))
    return at.vectors, at.values
