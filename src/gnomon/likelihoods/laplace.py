"""The Laplace evidence of the outputs of rows, with the derivatives that maximizing it takes."""

import numpy as np

from .._types import Array
from .gaussian_rows import GaussianRows
from .layout import Layout
from .sites import ACCURACY, Near, SiteFit

MODES = 1e-10  # accuracy of modes: their error enters the evidence as it is, times the spread of predictors


class LaplaceEvidence:
    """What `GaussianRows` finds around the mode, with slope and curvature of the approximate evidence itself.

    The mode moves with the prior, and with it the volume -log|I + K cov| / 2 around it, K the curvature of the outputs
    there: where t_c is the sum of dK_ab / da_c over the posterior covariance, the slope gains
    u = -(I + K cov)^-1 t / 2 and the curvature u u'. Then d log_z / d mean is the slope and d log_z / d cov half of its
    square less the curvature, to rounding.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout, self.around_mode = layout, GaussianRows(layout, variational=False)

    def __call__(
        self, Y: Array, mean: Array, cov: Array, noise: Array, near: Near = None, accuracy: float = ACCURACY
    ) -> SiteFit:
        """As in `Sites`; modes are always found to full accuracy: the evidence is not stationary there."""
        fit = self.around_mode(Y, mean, cov, noise, near, min(accuracy, MODES))
        C = fit.by_row
        mode, left = mean + np.matmul(cov, fit.slope[:, :, None])[:, :, 0], cov - np.matmul(np.matmul(cov, C), cov)
        turns = np.zeros_like(mean)
        for j, (family, at) in enumerate(self.layout.parts):
            seen = np.flatnonzero(~np.isnan(Y[:, j]))
            turns[seen, at] = family.curvature_slope(Y[seen, j], mode[seen, at], left[seen, at, at])
        gained = 0.5 * (np.matmul(C, np.matmul(cov, turns[:, :, None]))[:, :, 0] - turns)
        return fit._replace(slope=fit.slope + gained, curvature=C + gained[:, :, None] * gained[:, None, :])
