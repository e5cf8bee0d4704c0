"""What the labels of rows say of their predictors: the one result of every way of inference."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from .._types import Array

ACCURACY = 1e-8  # of the slopes; the evidence is stationary, so that its error is the square


class RowFit(NamedTuple):
    """Log-evidence of the labels of every row (a bound or an approximation where stated), slope and curvature.

    With predictors a ~ N(mean, cov) given x, their posterior has mean ``mean + cov slope`` and covariance
    ``cov - cov curvature cov``.
    """

    log_z: Array  # (n,)
    slope: Array  # (n, h)
    curvature: Array  # (n, h, h)


class Conditioner(Protocol):
    """Labels of some rows; conditions their predictors on them."""

    def __call__(self, mean: Array, cov: Array, noise: Array, accuracy: float = ACCURACY) -> RowFit:
        """Condition N(mean (n, h), cov (h, h) or (n, h, h)); `noise` (q,) is read for Gaussian outputs.

        Where posteriors are iterated for, `accuracy` is that of the slopes.
        """


def secant(step: Array, before: Array, after: Array) -> Array:
    """The step at which the last move would have led to none, were the map linear along it; a tenth to one."""
    size = np.einsum("na,na->n", before, before)
    left = np.einsum("na,na->n", before, after)
    return np.asarray(np.clip(step * size / np.maximum(size - left, 1e-3 * size + 1e-300), 0.1, 1.0))
