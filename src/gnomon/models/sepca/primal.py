"""The convex problem over F: what FISTA asks of it."""

from typing import NamedTuple

import numpy as np

from ..._types import Array
from .data import Data, best_bias, softmax
from .fista import Point, Slope
from .k_support import proximal_map, small_gram, squared_dual_norm


class _Sums(NamedTuple):
    """Log-likelihood at scores, at the best bias, and what its gradient needs."""

    value: float  # log-likelihood less penalty / 2 |b|^2
    T_x: Array  # (n, m)
    T_y: Array  # (l, q)
    log_sums: float
    b: Array  # (q,)


class Multinomial:
    """The convex problem in the form that `fista` wants; a point is F (times root weights) and the scores F_x base'.

    The bias is maximized out: its curvature grows with the number of rows, that of F does not, so a common step for
    both would be many times too short for F.
    """

    def __init__(self, data: Data) -> None:
        self.data = data
        self.b = np.zeros(data.Y.shape[1])  # the last one found, where the next search starts

    def start(self) -> Point:
        """Zero."""
        n, r, q = len(self.data.rows), self.data.rows.shape[1], self.data.Y.shape[1]
        return np.zeros((n, r + q)), np.zeros((n, len(self.data.base)))

    def first_step(self) -> float:
        """1 / curvature at zero: the covariance of the base, 1 / q for y."""
        base, v = self.data.base, self.data.base_weights
        v = np.ones(len(base)) if v is None else v
        centered = np.sqrt(v / v.sum())[:, None] * (base - v @ base / v.sum())
        largest = squared_dual_norm(small_gram(centered), 1) if centered.size else 0.0
        return 1.0 / float(max(largest, 1.0 / max(self.data.Y.shape[1], 1), 1e-6))

    def smooth(self, point: Point) -> float:
        """Log-likelihood at the best bias, less its penalty."""
        F, scores = point
        return self._sums(F, scores).value

    def slope(self, point: Point) -> Slope:
        """The same, its gradient, and the bound from above at its softmax."""
        (F, scores), data = point, self.data
        sums = self._sums(F, scores)
        R, entropy = residual(data, F, sums)
        total = (data.root * R[:, data.rows.shape[1] :]).sum(axis=0)
        upper = entropy + 0.5 / data.penalty * (squared_dual_norm(small_gram(R), data.k) + float(total @ total))
        return Slope(sums.value, (R,), upper)

    def proximal(self, point: Point, gradient: Point, step: float) -> tuple[Point, float]:
        """Proximal point of penalty / 2 ||F||^2, and that penalty."""
        penalty = self.data.penalty
        F, size = proximal_map(point[0] + step * gradient[0], self.data.k, step * penalty)
        return (F, self.data.scores(F)), 0.5 * penalty * size

    def _sums(self, F: Array, scores: Array) -> _Sums:
        """Log-likelihood and T."""
        data, r, w = self.data, self.data.rows.shape[1], self.data.labeled_weights
        y_scores = (F[:, r:] / data.root)[data.labeled]
        self.b = best_bias(y_scores, data.Y, data.penalty, w, self.b)
        y_scores = y_scores + self.b
        x_sum, T_x = data.x_softmax(scores)
        y_sum, T_y = softmax(y_scores, w)
        found = float(np.vdot(F[:, :r], data.root * data.rows)) + float(np.vdot(w * data.Y, y_scores))
        value = found - x_sum - y_sum - 0.5 * data.penalty * float(self.b @ self.b)
        return _Sums(value, T_x, T_y, x_sum + y_sum, self.b)


def residual(data: Data, F: Array, sums: _Sums) -> tuple[Array, float]:
    """R at the softmax of F, times the roots of the weights, and sum T log T there."""
    r, root = data.rows.shape[1], data.root
    fitted = sums.T_x @ data.base
    R = np.zeros_like(F)
    np.subtract(data.rows, fitted, out=R[:, :r])
    R[data.labeled, r:] = data.Y - sums.T_y
    y_scores = (F[:, r:] / root)[data.labeled] + sums.b
    y_part = float(np.vdot(y_scores, data.labeled_weights * sums.T_y))  # sum T log T = sum T scores - log sums
    return root * R, float(np.vdot(F[:, :r], root * fitted)) + y_part - sums.log_sums
