"""Intervals of numbers that count how well loadings, intercept and residual variance of an output are known.

The t-interval of a weighted regression of y on a = (1, z), z the posterior mean given x of labeled rows, about what the
model foretells of y; every row in units of the variance v that the model gives it. So a row that misses entries has an
interval of its own, and complete rows have that of the textbook. Where columns are many beside rows, labels have
turned the projection towards themselves, and their residuals are too small, which a share for each label gives back.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from ..._types import Array
from ...numerics.linalg import batch_inverse

NORMAL = 1.959964  # deviations of a 95 % interval
PROBABILITY = 0.975
FEWEST = 1.0  # degrees of freedom with which a residual variance is taken from residuals
COLLINEAR = 1e-10  # of the mean information: what nothing tells of a direction
NEARLY_ALL = 1.0 - 1e-3  # the largest share that is divided by
AT_ONCE = 1 << 21  # numbers
TINY = 1e-300


class Known(NamedTuple):
    """How well outputs are known."""

    inverse: Array  # (q, k + 1, k + 1) of the information on loadings and intercept
    scale: Array  # (q,) of variances
    freedom: Array  # (q,) degrees of freedom


class Labels(NamedTuple):
    """Rows with a label."""

    Z: Array  # (n, k) posterior means given x, in the guided directions
    Y: Array  # (n, q) NaN where not observed
    mean: Array  # (n, q) as the model foretells
    var: Array  # (n, q)
    share: Array  # (n, q) of a departure of y that the projection has taken over, see `taken_over`
    weights: Array  # (n,)


def variances(cov: Array, W: Array, noise: Array) -> Array:
    """Variance given x, (1, q) or (n, q), of outputs of loadings W (q, k) and of noise (q,)."""
    covs = cov[None] if cov.ndim == 2 else cov
    return np.asarray(((W @ covs) * W).sum(axis=2) + noise)


def taken_over(cov: Array, W: Array, var: Array, pull: Array) -> Array:
    """What share (n, q) of a departure of y from what x foretells has gone into what x foretells, to first order.

    A label moves the posterior mean of its row by C w / v of its departure; loadings of x follow, each row by `pull`
    (n,), its share in all rows times the columns that are noise, and with them what its own x says: C pull of that,
    which feeds itself. So the share is w'(I - pull C)^-1 (pull C) C w / v.
    """
    values, vectors = np.linalg.eigh(cov[None] if cov.ndim == 2 else cov)
    fed = np.minimum(pull[:, None] * values, NEARLY_ALL)
    along = np.swapaxes(W @ vectors, 1, 2) ** 2  # (1 or n, k, q)
    return np.asarray(np.matmul((values * fed / (1.0 - fed))[:, None, :], along)[:, 0] / var)


def learn(labels: Labels) -> Known:
    """What labeled rows tell; every output from the rows that observe it."""
    Z, Y, mean, var, share, weights = labels
    seen = ~np.isnan(Y)
    w = np.where(seen, weights[:, None], 0.0)
    n = w.sum(axis=0)
    unit = (w * var).sum(axis=0) / np.maximum(n, TINY)
    away = np.where(seen, (Y - mean) / np.sqrt(var), 0.0)
    apart = away / (1.0 - np.minimum(share, NEARLY_ALL))
    total = _total(Y / np.sqrt(unit), seen, w)
    left, left_apart = ((w * residual**2).sum(axis=0) for residual in (away, apart))
    return _known(n, left, left_apart, total, _summed(Z, w * unit / var), unit)


def learn_from_moments(moments: Array, W: Array, intercept: Array, var: Array, share: Array) -> Known:
    """The same of complete rows, by sums (q, k + 2, k + 2) of products of (1, z, y) over the rows that observe y.

    The model foretells `intercept` (q,) + z W' with variance `var` (q,), and `share` (q,) is the same of all rows.
    """
    n = moments[:, 0, 0]
    of_residual = np.column_stack([-intercept, -W, np.ones(len(W))])[:, None]
    left = np.maximum((of_residual @ moments @ np.swapaxes(of_residual, 1, 2))[:, 0, 0], 0.0) / var
    about_mean = moments[:, -1, -1] - moments[:, 0, -1] ** 2 / np.maximum(n, TINY)
    total = np.maximum(about_mean, 0.0) / var / np.maximum(n - 1.0, 1.0)
    left_apart = left / (1.0 - np.minimum(share, NEARLY_ALL)) ** 2
    return _known(n, left, left_apart, total, moments[:, :-1, :-1].copy(), var)


def _known(n: Array, left: Array, left_apart: Array, total: Array, information: Array, unit: Array) -> Known:
    """From weighted numbers of rows, sums of squares left, variances about the mean, and information, in `unit`s."""
    freedom = n - information.shape[1]
    enough = freedom >= FEWEST
    per = np.where(enough, freedom, 1.0)
    scale = np.where(enough, np.minimum(left_apart / per, np.maximum(left / per, total)), total)
    diagonal = np.einsum("qaa->qa", information)  # a view
    least = COLLINEAR * diagonal.mean(axis=1)
    diagonal[:, 1:] += np.where(enough, least, np.maximum(1.0 / np.maximum(total, 1.0), least))[:, None]
    inverse = batch_inverse(information)[0] * unit[:, None, None]
    return Known(inverse, scale, np.where(enough, freedom, np.maximum(n - 1.0, 1.0)))


def deviations(known: Known, Z: Array, var: Array) -> Array:
    """Deviations (n, q) with which the mean plus or minus 1.96 of them is the 95 % interval."""
    far = np.maximum(np.abs(Z).max(axis=1, initial=1.0), 1.0)[:, None]  # squares of which may be infinite
    flat = known.inverse.reshape(len(known.inverse), -1).T
    leverage = np.concatenate([part @ flat for part in _products(Z / far, 1.0 / far)])
    with np.errstate(over="ignore"):
        variance = known.scale * (var + np.maximum(leverage, 0.0) * far**2)
    return np.asarray(np.sqrt(variance) * stdtrit(known.freedom, PROBABILITY) / NORMAL)


def _total(Y: Array, seen: Array, w: Array) -> Array:
    """Variance (q,) of outputs about their mean."""
    n = w.sum(axis=0)
    center = (w * np.where(seen, Y, 0.0)).sum(axis=0) / np.maximum(n, TINY)
    away = np.where(seen, Y - center, 0.0)
    return np.asarray((w * away**2).sum(axis=0) / np.maximum(n - 1.0, 1.0))


def _products(Z: Array, one: Array) -> list[Array]:
    """All products of two of (one, z), some rows at a time."""
    A = np.column_stack([one, Z])
    size = max(1, AT_ONCE // A.shape[1] ** 2)
    parts = (A[start : start + size] for start in range(0, max(len(A), 1), size))
    return [(part[:, :, None] * part[:, None, :]).reshape(len(part), -1) for part in parts]


def _summed(Z: Array, w: Array) -> Array:
    """Sums (q, k + 1, k + 1) of the products of (1, z), with weights (n, q)."""
    A, found = np.column_stack([np.ones(len(Z)), Z]), list[Array]()
    for j in range(w.shape[1]):
        same = j > 0 and np.array_equal(w[:, j], w[:, j - 1])
        found.append(found[-1] if same else A.T @ (w[:, j, None] * A))
    return np.array(found).reshape(-1, A.shape[1], A.shape[1])
