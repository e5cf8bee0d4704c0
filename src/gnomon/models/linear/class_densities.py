"""Classes of Gaussian codes by Bayes' rule: a density of each class where the latent variables foretell the codes.

The posterior mean of z, in the r directions u that codes depend on, has in every class a Gaussian of one covariance.
Its parameters are not known but from labeled rows, so densities are Student's. The covariance is learned beside what
the model says of all rows, the centers beside one row at the mean of all, and shares beside one row of each class.
"""

from typing import NamedTuple

import numpy as np

from ..._types import Array, IntArray
from ...numerics import linear_gaussian as lg

SMALL = 1e-9  # of the largest: a loading of codes that is none
CHUNK = 1 << 18  # numbers held at once for the distances of rows from the centers


class ClassDensities(NamedTuple):
    """What labeled rows say of the classes in the directions u = axes' z."""

    axes: Array  # (k, r), orthonormal
    centers: Array  # (C, r)
    cov: Array  # (r, r)
    counts: Array  # (C,) labeled rows, as weighted

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the densities."""
        n_classes, r = self.centers.shape
        return float(r + 2.0 + max(self.counts.sum() - n_classes, 0.0))


def learn(params: lg.Params, Z: Array, index: IntArray, weights: Array, n_classes: int) -> ClassDensities:
    """Of posterior means Z (n, k) of labeled rows, their classes (n,) and weights (n,)."""
    axes = _axes(params.W_y)
    one_of = np.eye(n_classes)[index] * weights[:, None]
    counts, U = one_of.sum(axis=0), Z @ axes
    centers = one_of.T @ U / (counts + 1.0)[:, None]
    R = U - centers[index]
    r = axes.shape[1]
    found = ClassDensities(axes, centers, np.zeros((r, r)), counts)
    scatter = (R * weights[:, None]).T @ R + (r + 2.0) * _total(params, axes)
    return found._replace(cov=scatter / found.freedom)


def log_joint(params: lg.Params, classes: ClassDensities, mean: Array, cov: Array) -> Array:
    """Log-density of u of every row and class plus log-share of the class, (n, C) up to a constant of the row.

    Of posterior means (n, k) and covariances, (k, k) of complete rows or (n, k, k) of rows that miss entries.
    """
    axes, freedom = classes.axes, classes.freedom
    r, shares = axes.shape[1], np.log(classes.counts + 1.0)
    if not r:
        return np.tile(shares, (len(mean), 1))
    away, log_det = _whitened(classes, mean @ axes) if cov.ndim == 2 else _of_seen(params, classes, mean @ axes, cov)
    far = np.logaddexp(0.0, away - np.log(freedom))
    return np.asarray(shares - log_det - 0.5 * (freedom + r) * far)


def _whitened(classes: ClassDensities, U: Array) -> tuple[Array, Array]:
    """Log of squared distances (n, C) of complete rows from the centers, and log-determinants (C,) of the roots."""
    n_classes, r = classes.centers.shape
    root = np.linalg.cholesky(classes.cov)
    wider = np.sqrt(1.0 + 1.0 / (classes.counts + 1.0))  # the centers are not known
    white, out = np.linalg.inv(root).T / wider[:, None, None], np.empty((len(U), n_classes))
    size = max(1, CHUNK // (n_classes * r))
    for start in range(0, len(U), size):
        some = slice(start, start + size)
        away = U[some] - classes.centers[:, None]  # (C, m, r)
        out[some] = _log_square(away @ white).T
    return out, np.log(root.diagonal()).sum() + r * np.log(wider)


def _of_seen(params: lg.Params, classes: ClassDensities, U: Array, cov: Array) -> tuple[Array, Array]:
    """The same of rows that miss entries, whose roots (n, C) differ."""
    axes, out, log_det = classes.axes, np.empty((len(U), len(classes.counts))), np.empty((len(U), len(classes.counts)))
    pull, noise = _seen(_total(params, axes), axes.T @ (_eye(cov) - cov) @ axes)
    for c, count in enumerate(classes.counts):
        spread = pull @ (classes.cov * (1.0 + 1.0 / (count + 1.0))) @ np.swapaxes(pull, -1, -2) + noise
        root = np.linalg.cholesky(spread)
        out[:, c] = _log_square(np.linalg.solve(root, (U - pull @ classes.centers[c])[:, :, None])[:, :, 0])
        log_det[:, c] = np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1)
    return out, log_det


def _axes(W_y: Array) -> Array:
    _, sizes, rows = np.linalg.svd(W_y, full_matrices=False)
    return np.asarray(rows[sizes > SMALL * sizes.max(initial=0.0)].T)


def _eye(cov: Array) -> Array:
    return np.eye(cov.shape[-1])


def _total(params: lg.Params, axes: Array) -> Array:
    """Covariance (r, r) over complete rows of what is expected of u."""
    cov = lg.given_x(params).cov
    return np.asarray(axes.T @ (_eye(cov) - cov) @ axes)


def _seen(total: Array, seen: Array) -> tuple[Array, Array]:
    """How what is expected of u follows from what complete rows would tell: slope and covariance, (n, r, r) each.

    `seen` (n, r, r) is its covariance over rows that miss the same entries.
    """
    slope = np.swapaxes(np.linalg.solve(total, seen), -1, -2)
    noise = seen - slope @ seen
    r = len(total)
    return slope, 0.5 * (noise + np.swapaxes(noise, -1, -2)) + 1e-9 * np.trace(total) / r * np.eye(r)


def _log_square(away: Array) -> Array:
    """Log of the squared length of the last axis, which may be too large for a number."""
    size = np.abs(away).max(axis=-1)
    size = np.where(size > 0.0, size, 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(2.0 * np.log(size) + np.log(((away / size[..., None]) ** 2).sum(axis=-1)))
