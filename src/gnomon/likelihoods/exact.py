"""Rows whose evidence is known: real outputs only, or one label of two classes."""

from __future__ import annotations

import numpy as np

from .._types import Array
from ..numerics.moments import output_sets
from .gaussian import LOG_2PI
from .layout import Layout
from .sites import ACCURACY, Near, SiteFit


class GaussianSites:
    """Real outputs: conditioning a normal distribution, rows that observe the same outputs together."""

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
        n, h = mean.shape
        out = SiteFit(np.zeros(n), np.zeros((n, h)), np.zeros((n, h, h)))
        sets, of_row = output_sets(~np.isnan(Y))
        for g, observed in enumerate(sets):
            seen, rows = np.flatnonzero(observed), np.flatnonzero(of_row == g)
            if len(seen) == 0:
                continue
            left = Y[np.ix_(rows, seen)] - mean[np.ix_(rows, seen)]
            total = cov[np.ix_(seen, seen)] if cov.ndim == 2 else cov[np.ix_(rows, seen, seen)]
            total = total + np.diag(noise[seen])
            precision = np.linalg.inv(total)
            slope = np.matmul(left[:, None, :], precision)[:, 0]
            logs = np.einsum("ij,ij->i", slope, left) + np.linalg.slogdet(total)[1] + len(seen) * LOG_2PI
            out.log_z[rows] = -0.5 * logs
            out.slope[np.ix_(rows, seen)] = slope
            out.curvature[np.ix_(rows, seen, seen)] = precision
        return out


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
