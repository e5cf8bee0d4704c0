"""Maximum likelihood inside a basis as a landscape: slopes by EM's identity, and a metric near the inverse Hessian.

Without outputs the Hessian is known where the likelihood is largest. In principal axes of x, with a loading's latent
dimension explaining variance u in all, a loading of an axis of variance v outside their span has curvature
(1 - v / u) N / noise; inside, only the covariance W W' is felt. What outputs add outside is a matrix of their number
for each axis. EM, whose curvature is N / noise alike everywhere, crawls where v is near u.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..._types import Array
from ...numerics.linear_gaussian import Params
from ...solvers.em import Packing
from ...solvers.quasi_newton import Place
from .curvature import newton_step
from .sites_em import FIRST_STEP, X_FLOOR, Sums, Vector

if TYPE_CHECKING:
    from .in_basis import BasisEM

LEAST_GAP = 0.02  # of 1 - v / u
LEAST_SHARE = 1e-2  # of what a dimension explains, of its noise; and of a dimension's gain, of the largest one
ROUNDING = 1e-14
AS_THEY_ARE = Packing()  # slopes and steps, beside parameters as `Vector` packs them


class Curved:
    """The likelihood of a basis, of the parameters as one vector."""

    def __init__(self, em: BasisEM) -> None:
        self.em, self.packing = em, Vector(em.rules)

    def place(self, params: Params, sums: Sums) -> Place:
        """What is known at parameters."""
        k, W, noise = params.W_x.shape[1], params.W_x, params.x_noise_var
        em, xz, zz = self.em, sums.xz1[:, : params.W_x.shape[1]], sums.zz1[0, : params.W_x.shape[1], :]
        fitted = W @ zz[:, :k]
        left = em.energy - 2.0 * float(np.vdot(W, xz)) + float(np.vdot(fitted, W))
        of_x = 0.5 * (left / noise - em.n_entries)
        of_y, _ = em.rules.of_log_noise(params.y_noise_var, sums.noise)
        parts = Params(
            (xz - fitted) / noise,
            np.zeros(len(W)),
            max(of_x, 0.0) if noise <= X_FLOOR else of_x,
            sums.gradient[:, :k],
            sums.gradient[:, k],
            of_y,
        )
        rounding = ROUNDING * (em.energy / noise + em.n_entries)
        return Place(self.packing.pack(params), sums.objective, rounding, AS_THEY_ARE.pack(parts), (params, sums))

    def at(self, vector: Array, near: Place) -> Place:
        """The place at a vector."""
        params = self.packing.unpack(vector, near.held[0])
        return self.place(params, self.em.e_step(params, near.held[1]))

    def residual(self, place: Place) -> float:
        """That of EM."""
        params, sums = place.held
        return self.em.residual(sums, params, self.em.of_x(sums, params).params)

    def longest(self, place: Place, step: Array) -> float:
        """Noise variances change by a factor of e at most, and W_y as much as one Newton step may."""
        params = place.held[0]
        parts: Params = AS_THEY_ARE.unpack(step, params)
        W_y = float(np.linalg.norm(params.W_y)) + FIRST_STEP * np.sqrt(max(len(params.W_y), 1))
        noise = max(abs(parts.x_noise_var), float(np.abs(parts.y_noise_var).max(initial=0.0)))
        return float(min(1.0, W_y / max(float(np.linalg.norm(parts.W_y)), 1e-300), 1.0 / max(noise, 1e-300)))

    def metric(self, place: Place) -> Callable[[Array], Array]:
        """See `Metric`."""
        return Metric(self.em, *place.held)


class Metric:
    """The inverse of minus the Hessian, about: loadings outside their span, inside it, and all else.

    Inside, moves of W carry W_y along, so that what x says of the outputs stays.
    """

    def __init__(self, em: BasisEM, params: Params, sums: Sums) -> None:
        self.params, view, W, noise = params, em.view, params.W_x, params.x_noise_var
        self.em, self.curvature = em, em.newton(sums, params)._replace(terms=())
        explained, self.R = np.linalg.eigh(W.T @ W)
        explained = np.maximum(explained, 1e-12 * max(float(explained[-1]), noise))
        self.root, self.u, self.Q = np.sqrt(explained), explained + noise, view.axes
        self.span = self.Q.T @ (W @ self.R) / self.root
        self.V = params.W_y @ self.R
        self.unit = noise / view.weight
        self._set_outside(np.maximum(view.values / view.weight, 0.0), sums.held[3])
        together = explained[:, None] + explained
        self.inside = np.outer(self.u, self.u) / np.maximum(together, LEAST_SHARE * noise) / together / view.weight
        gain = self.root / self.u
        self.per_gain = gain / (gain**2 + (LEAST_SHARE * float(gain.max())) ** 2)
        rest = view.n_features - len(self.u) + float(((noise / self.u) ** 2).sum())
        self.of_x_noise = 2.0 / (view.weight * max(rest, 1e-300))
        self.of_y_noise = em.rules.of_log_noise(params.y_noise_var, sums.noise)[1]

    def _set_outside(self, variances: Array, curvature: Array) -> None:
        """For every axis the gaps of all dimensions, and what outputs of this curvature (h, h) add."""
        self.gaps = np.maximum(np.abs(1.0 - variances[:, None] / self.u), LEAST_GAP)
        of_z = self.V / self.u
        values, vectors = np.linalg.eigh(of_z.T @ curvature @ of_z)
        rank = min(self.V.shape)
        self.F = np.sqrt(np.maximum(values[-rank:], 0.0))[:, None] * vectors[:, -rank:].T
        scale = self.unit * variances[:, None, None]
        self.inner = scale * np.linalg.inv(np.eye(rank) + scale * ((self.F / self.gaps[:, None, :]) @ self.F.T))

    def __call__(self, slope: Array) -> Array:
        """The step of a slope."""
        parts, k = AS_THEY_ARE.unpack(slope, self.params), len(self.u)
        of_W = self.Q.T @ parts.W_x @ self.R
        of_span = self.span.T @ of_W
        outside = (of_W - self.span @ of_span) / self.gaps
        less = np.matmul(self.inner, (outside @ self.F.T)[:, :, None])[:, :, 0] @ self.F
        outside = self.unit * (outside - less / self.gaps)
        outside -= self.span @ (self.span.T @ outside)
        of_span = (of_span + self._back(self.V.T @ (parts.W_y @ self.R))) * self.root
        B = (of_span + of_span.T) * self.inside * self.root
        right, held = np.column_stack([parts.W_y, parts.m_y]), self.em.free_b == 0.0
        labels = newton_step(self.curvature, right, self.em.penalty, held, self.em.label_weight)
        step = Params(
            self.Q @ (outside + self.span @ B) @ self.R.T,
            np.zeros(len(of_W)),
            parts.x_noise_var * self.of_x_noise,
            labels[:, :k] + self.V @ self._along(B) @ self.R.T,
            labels[:, k],
            parts.y_noise_var * self.of_y_noise,
        )
        return AS_THEY_ARE.pack(step)

    def _along(self, B: Array) -> Array:
        """The map (k, k) that W_y goes through where W moves by B inside its span."""
        of_WW = self.root[:, None] * B
        moved = (B.T - (of_WW + of_WW.T) * (self.root / self.u)) / self.u[:, None]
        return np.asarray(-moved * self.per_gain)

    def _back(self, M: Array) -> Array:
        """The adjoint of `_along`."""
        M = -M * self.per_gain / self.u[:, None]
        of_WW = M * (self.root / self.u)
        return np.asarray(M.T - self.root[:, None] * (of_WW + of_WW.T))
