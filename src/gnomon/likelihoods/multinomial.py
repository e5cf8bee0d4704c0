"""Counts of several classes that share out the total of a row: softmax of one logit per class."""

import numpy as np

from .._types import Array
from ..numerics.normalize import normalized
from .family import SMOOTHING


class Multinomial:
    """As in `Exponential`: the columns of a row are the counts of one variable; the bound is Boehning's, 1/2.

    `variance` is the diagonal of the curvature, which in full is diag(mean) - mean mean'.
    """

    name = "multinomial"
    constant: float | None = 0.5
    majorized = True

    def partition(self, theta: Array) -> Array:
        """As in `Exponential`, (n, 1)."""
        return normalized(theta)[1][:, None]

    def mean(self, theta: Array) -> Array:
        """As in `Exponential`, of one trial."""
        return normalized(theta)[0]

    variance = mean

    def bound(self, theta: Array) -> Array:
        return np.full_like(theta, 0.5)

    def link(self, total: Array, weight: Array) -> Array:
        """As in `Exponential`; logits with mean zero."""
        logits = np.log(total + SMOOTHING)
        return np.asarray(logits - logits.mean())

    def complaint(self, values: Array) -> str | None:
        return None if (values >= 0).all() else "counts of at least 0"
