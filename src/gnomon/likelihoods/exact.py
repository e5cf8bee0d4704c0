"""Rows whose evidence is known: real outputs only, or one label of two classes."""

import math

import numpy as np

from .._types import Array, BoolArray
from ..numerics.linalg import batch_inverse, inverse_logdet, symmetrize
from ..numerics.linear_gaussian import LOG_2PI, apply_by_row
from ..numerics.moments import output_sets
from .layout import Layout
from .sites import ACCURACY, Near, SiteFit


def precisions(cov: Array, noise: Array, observed: BoolArray) -> tuple[Array, Array]:
    """Precisions (g, q, q) of the outputs that each of g sets observes, zero elsewhere, and log-determinants (g,).

    `cov` (q, q) or (g, q, q) is that of their predictors; further axes of `cov` and `noise` come before these.
    """
    if len(observed) == 1 and observed.all():
        if cov.ndim > 2:
            total = cov + noise[..., None] * np.eye(noise.shape[-1])
            return np.asarray(np.linalg.inv(total), dtype=float), np.asarray(np.linalg.slogdet(total)[1], dtype=float)
        precision, log_det = inverse_logdet(symmetrize(cov) + np.diag(noise))
        return precision[None], np.array([log_det])
    both = observed[:, :, None] & observed[:, None, :]
    total = both * cov
    entries = total.reshape(*total.shape[:-2], total.shape[-1] ** 2)
    entries[..., :: total.shape[-1] + 1] += np.where(observed, noise, 1.0)  # what is not observed stands apart
    flat = total.reshape(math.prod(total.shape[:-2]), *total.shape[-2:])
    try:
        inverse, logs = batch_inverse(flat)
    except np.linalg.LinAlgError:  # rounding has made one indefinite: with pivoting
        inverse, logs = np.asarray(np.linalg.inv(flat), dtype=float), np.asarray(np.linalg.slogdet(flat)[1])
    return both * inverse.reshape(total.shape), logs.reshape(total.shape[:-2])


class GaussianSites:
    """Real outputs: conditioning a normal distribution, all rows at once."""

    def __call__(
        self, Y: Array, mean: Array, cov: Array, noise: Array, near: Near = None, accuracy: float = ACCURACY
    ) -> SiteFit:
        """As in `Sites`."""
        observed = ~np.isnan(Y)
        sets, of_row = output_sets(observed) if cov.ndim == 2 else (observed, np.arange(len(Y)))
        precision, log_det = precisions(cov, noise, sets)
        left = np.where(observed, Y - mean, 0.0)
        slope = apply_by_row(precision, of_row, left)
        logs = (slope * left).sum(axis=1) + log_det[of_row] + LOG_2PI * observed.sum(axis=1)
        return SiteFit(-0.5 * logs, slope, precision, of_row=of_row if cov.ndim == 2 else None)


class OneOutput:
    """One output whose evidence is an integral in one dimension."""

    def __init__(self, layout: Layout) -> None:
        (self.family,) = layout.families

    def __call__(
        self, Y: Array, mean: Array, cov: Array, noise: Array, near: Near = None, accuracy: float = ACCURACY
    ) -> SiteFit:
        """As in `Sites`."""
        n = len(mean)
        seen = np.flatnonzero(~np.isnan(Y[:, 0]))
        log_z, slope, curvature = np.zeros(n), np.zeros((n, 1)), np.zeros((n, 1, 1))
        var = cov[0, 0] if cov.ndim == 2 else cov[seen, 0, 0]
        found = self.family.evidence(Y[seen, 0], mean[seen, 0], var, float(noise[0]))
        log_z[seen], slope[seen, 0], curvature[seen, 0, 0] = found
        return SiteFit(log_z, slope, curvature)
