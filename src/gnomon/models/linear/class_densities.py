"""Classes of Gaussian codes by Bayes' rule: a density of each class where the latent variables foretell the codes.

Points are the posterior means of z in the r directions u that codes depend on. What the model says of all rows is
their covariance, and of a row that misses entries how far its point is from that of the complete row.
"""

import numpy as np

from ..._types import Array, IntArray
from ...likelihoods import class_densities as densities
from ...likelihoods.class_densities import ClassDensities, log_square, student
from ...numerics import linear_gaussian as lg

SMALL = 1e-9  # of the largest: a loading of codes that is none
UNTOLD = 1e-15  # of the variance of a latent variable: x tells nothing of it, but for rounding


def learn(params: lg.Params, Z: Array, index: IntArray, weights: Array, n_classes: int) -> ClassDensities:
    """Of posterior means Z (n, k) of labeled rows, their classes (n,) and weights (n,)."""
    axes = _axes(params.W_y)
    total = _total(params, axes)
    told, turn = np.linalg.eigh(total)
    if (told <= UNTOLD).any():
        axes = axes @ turn[:, told > UNTOLD]
        total = _total(params, axes)
    return densities.learn(axes, total, Z, index, weights, n_classes)


def log_joint(params: lg.Params, classes: ClassDensities, mean: Array, cov: Array) -> Array:
    """Log-density of u of every row and class plus log-share of the class, (n, C) up to a constant of the row.

    Of posterior means (n, k) and covariances, (k, k) of complete rows or (n, k, k) of rows that miss entries.
    """
    if cov.ndim == 2 or not classes.axes.shape[1]:
        return densities.log_joint(classes, mean)
    return student(classes, *_of_seen(params, classes, mean @ classes.axes, cov))


def _of_seen(params: lg.Params, classes: ClassDensities, U: Array, cov: Array) -> tuple[Array, Array]:
    """Logs of squared distances of rows that miss entries, and log-determinants, (n, C) each."""
    axes, out, log_det = classes.axes, np.empty((len(U), len(classes.counts))), np.empty((len(U), len(classes.counts)))
    pull, noise = _seen(_total(params, axes), axes.T @ (_eye(cov) - cov) @ axes)
    for c, count in enumerate(classes.counts):
        spread = pull @ (classes.cov * (1.0 + 1.0 / (count + 1.0))) @ np.swapaxes(pull, -1, -2) + noise
        root = np.linalg.cholesky(spread)
        out[:, c] = log_square(np.linalg.solve(root, (U - pull @ classes.centers[c])[:, :, None])[:, :, 0])
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
