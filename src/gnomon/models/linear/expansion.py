"""What rows say of their predictors to second order: a climb of it costs as much as one of moments, whatever the rows.

At some parameters slopes and curvatures of all rows are known. Beside these the means of predictors are linear in x,
so that sums over rows need no more than second moments of x.
"""

from typing import Any

import numpy as np

from ..._types import Array
from ...numerics.linear_gaussian import FromX, Params
from .curvature import Curvature
from .evidence import Evidence

TRUST = 4.0  # root mean square by which predictors may differ from where their evidence was expanded


class Expansion:
    """The evidence to second order about some parameters, by moments of the rows, with the interface of their sums.

    Means of predictors are B t + b. Along what z was expected to be, the curvature in B is that of the rows; across it,
    as if all rows had one. In the covariance of predictors the evidence is linear.
    """

    def __init__(self, at: Params, x: FromX, found: Evidence, curvature: Curvature, xx: Array) -> None:
        """Of sums `found` at the parameters; xx (r, r) is the mean of t t'."""
        self.found, self.curvature, self.xx = found, curvature, xx
        self.weight = float(curvature.z1z1[-1, -1])  # of the rows
        self.B, self.b, self.cov = at.W_y @ x.gain, at.m_y, at.W_y @ x.cov @ at.W_y.T
        self.second = found.slopes - found.curvature
        self.gain = x.gain
        back = xx @ self.gain.T
        self.back = back @ np.linalg.pinv(self.gain @ back, hermitian=True)

    def sums(self, params: Params, x: FromX, near: Any, accuracy: float) -> tuple[Evidence, Any]:
        """As in `LabeledRows`, nothing held; outside of where it is trusted the evidence is none."""
        found, V = self.found, params.W_y
        change, b = V @ x.gain - self.B, params.m_y - self.b
        along = change @ self.back
        across = change - along @ self.gain
        step = np.column_stack([along, b])
        bend, far = self.curvature.times(step), found.curvature @ across @ self.xx
        value = np.vdot(found.slope_x, change) + found.slope @ b - 0.5 * (np.vdot(bend, step) + np.vdot(far, across))
        value += 0.5 * np.vdot(self.second, V @ x.cov @ V.T - self.cov)
        if np.vdot(change @ self.xx, change) + b @ b > TRUST**2:
            value = -np.inf
        slope_x = found.slope_x - bend[:, :-1] @ self.back.T - far
        log_z, slope = found.log_z + float(value), found.slope - bend[:, -1]
        return found._replace(log_z=log_z, gap=0.0, slope=slope, slope_x=slope_x), None

    def newton(self, x: FromX, held: Any) -> Curvature:
        """Curvature in (V, b), as if z were still expected where it was."""
        return self.curvature
