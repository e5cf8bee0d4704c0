"""Classes of points by Bayes' rule: a Student density of each, from labeled points and what is known of all points.

In every class points have a Gaussian of one covariance. Its parameters are not known but from labeled points, so
densities are Student's. The covariance is learned beside that of all points, the centers beside one point at the mean
of all, and shares beside one point of each class.
"""

from functools import lru_cache
from math import isqrt
from typing import NamedTuple

import numpy as np

from .._types import Array, IntArray

HUGE = 1e250  # squares up to which, and from whose inverse on, nothing is lost
CHUNK = 1 << 18  # numbers held at once for the distances of points from the centers


class ClassDensities(NamedTuple):
    """What labeled points say of the classes in the directions u = axes' z."""

    axes: Array  # (k, r)
    centers: Array  # (C, r)
    cov: Array  # (r, r)
    counts: Array  # (C,) labeled points, as weighted

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the densities."""
        n_classes, r = self.centers.shape
        return float(r + 2.0 + max(self.counts.sum() - n_classes, 0.0))


def learn(axes: Array, total: Array, Z: Array, index: IntArray, weights: Array, n_classes: int) -> ClassDensities:
    """Of labeled points Z (n, k), their classes (n,) and weights (n,), where all points have the mean zero.

    `total` (r, r) is the covariance of u over all points.
    """
    one_of = np.eye(n_classes)[index] * weights[:, None]
    counts, U = one_of.sum(axis=0), Z @ axes
    centers = one_of.T @ U / (counts + 1.0)[:, None]
    R = U - centers[index]
    r = axes.shape[1]
    found = ClassDensities(axes, centers, np.zeros((r, r)), counts)
    scatter = (R * weights[:, None]).T @ R + (r + 2.0) * total
    return found._replace(cov=scatter / found.freedom)


def log_joint(classes: ClassDensities, Z: Array) -> Array:
    """Log-density of u of every point (n, k) and class plus log-share, (n, C) up to a constant of the point."""
    U = Z @ classes.axes
    if not U.shape[1]:
        return np.tile(log_shares(classes), (len(U), 1))
    return student(classes, *_whitened(classes, U))


def log_shares(classes: ClassDensities) -> Array:
    """Logarithms of the shares of the classes (C,), up to a constant."""
    return np.log(classes.counts + 1.0)


def student(classes: ClassDensities, away: Array, log_det: Array) -> Array:
    """The same from logs of squared distances (n, C) and log-determinants, (C,) or (n, C), of the roots."""
    freedom, r = classes.freedom, classes.centers.shape[1]
    far = np.logaddexp(0.0, away - np.log(freedom))
    return np.asarray(log_shares(classes) - log_det - 0.5 * (freedom + r) * far)


def _whitened(classes: ClassDensities, U: Array) -> tuple[Array, Array]:
    """Log of squared distances (n, C) from the centers, and log-determinants (C,) of the roots."""
    n_classes, r = classes.centers.shape
    white, log_det = _whitening(*(np.asarray(one, dtype=np.float64).tobytes() for one in (classes.cov, classes.counts)))
    out = np.empty((len(U), n_classes))
    size = max(1, CHUNK // (n_classes * r))
    for start in range(0, len(U), size):
        some = slice(start, start + size)
        away = U[some] - classes.centers[:, None]  # (C, m, r)
        out[some] = log_square(away @ white).T
    return out, log_det


@lru_cache(maxsize=8)
def _whitening(cov: bytes, counts: bytes) -> tuple[Array, Array]:
    """What deviations of each class are multiplied by (C, r, r), and log-determinants (C,), of the numbers of both."""
    r = isqrt(len(cov) // 8)
    root = np.linalg.cholesky(np.frombuffer(cov).reshape(r, r))
    wider = np.sqrt(1.0 + 1.0 / (np.frombuffer(counts) + 1.0))  # the centers are not known
    return np.linalg.inv(root).T / wider[:, None, None], np.log(root.diagonal()).sum() + r * np.log(wider)


def log_square(away: Array) -> Array:
    """Log of the squared length of the last axis, which may be too large for a number."""
    with np.errstate(over="ignore"):
        square = np.einsum("...i,...i->...", away, away)
    if square.size and square.min() > 1.0 / HUGE and square.max() < HUGE:  # nearly always
        return np.asarray(np.log(square))
    size = np.abs(away).max(axis=-1)
    size = np.where(size > 0.0, size, 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(2.0 * np.log(size) + np.log(((away / size[..., None]) ** 2).sum(axis=-1)))
