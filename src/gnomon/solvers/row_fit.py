"""What the labels of rows say of their predictors: the one result of every way of inference."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from .._types import Array


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

    def __call__(self, mean: Array, cov: Array, noise: Array) -> RowFit:
        """Condition N(mean (n, h), cov (h, h) or (n, h, h)); `noise` (q,) is read for Gaussian outputs."""
