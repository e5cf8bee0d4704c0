"""Rows whose evidence is known: real outputs only, or one label of two classes."""

from __future__ import annotations

import numpy as np

from .._types import Array
from ..numerics.moments import output_sets
from .gaussian import LOG_2PI
from .layout import Layout
from .sites import ACCURACY, Near, SiteFit


class GaussianSites:
    """Real outputs: conditioning a normal distribution, all rows at once."""

    def __call__(
        self,
        Y: Array,
        mean: Array,
        cov: Array,
        noise: Array,
        near: Near = None,
        accuracy: float = ACCURACY,
    ) -> SiteFit:
        """As in `Sites`."""
        observed = ~np.isnan(Y)
        sets, of_row = output_sets(observed) if cov.ndim == 2 else (observed, np.arange(len(Y)))
        both = sets[:, :, None] & sets[:, None, :]
        total = np.where(both, cov, 0.0)
        total += np.where(sets, noise, 1.0)[:, :, None] * np.eye(len(noise))  # what is not observed stands apart
        precision = np.where(both, np.linalg.inv(total), 0.0)[of_row]
        left = np.where(observed, Y - mean, 0.0)
        slope = np.matmul(left[:, None, :], precision)[:, 0]
        log_det = np.linalg.slogdet(total)[1][of_row]
        logs = (slope * left).sum(axis=1) + log_det + LOG_2PI * observed.sum(axis=1)
        return SiteFit(-0.5 * logs, slope, precision)


class OneOutput:
    """One output whose evidence is an integral in one dimension."""

    def __init__(self, layout: Layout) -> None:
        (self.family,) = layout.families

    def __call__(
        self,
        Y: Array,
        mean: Array,
        cov: Array,
        noise: Array,
        near: Near = None,
        accuracy: float = ACCURACY,
    ) -> SiteFit:
        """As in `Sites`."""
        n = len(mean)
        seen = np.flatnonzero(~np.isnan(Y[:, 0]))
        out = SiteFit(np.zeros(n), np.zeros((n, 1)), np.zeros((n, 1, 1)))
        var = cov[0, 0] if cov.ndim == 2 else cov[seen, 0, 0]
        found = self.family.evidence(Y[seen, 0], mean[seen, 0], var, float(noise[0]))
        out.log_z[seen], out.slope[seen, 0], out.curvature[seen, 0, 0] = found
        return out
