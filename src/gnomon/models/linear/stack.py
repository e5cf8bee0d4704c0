"""The likelihood of real outputs in a basis, its slopes and statistics at several parameters at once.

Coordinates of x are its principal axes and those of z the eigenvectors of W'W, in which what x says of z is diagonal.
All that belongs to one of s parameters has it as its first axis; g are patterns of observed outputs.
"""

from typing import NamedTuple

import numpy as np

from ..._types import Array
from ...likelihoods.exact import precisions
from ...numerics.linear_gaussian import LOG_2PI
from .basis import View
from .evidence import LabeledPatterns
from .scattered import ScatteredRows


class Models(NamedTuple):
    """Parameters of s models."""

    W: Array  # (s, r, k)
    noise: Array  # (s,)   of x
    V: Array  # (s, q, k)
    b: Array  # (s, q)
    y_noise: Array  # (s, q)


class Found(NamedTuple):
    """What is known at s models; of z in the axes R."""

    objective: Array  # (s,)   nats
    R: Array  # (s, k, k)
    explained: Array  # (s, k)   eigenvalues of W'W
    W: Array  # (s, r, k)   W R
    V: Array  # (s, q, k)   V R
    xz: Array  # (s, r, k)   sum of x E[z]'
    zz: Array  # (s, k, k)   sum of E[z z']
    left: Array  # (s, r, k)   xz - W zz, the noise of x times the slope in W
    energy: Array  # (s,)   expected squares that the loadings leave
    slope_V: Array  # (s, q, k)
    slope_b: Array  # (s, q)
    slope_x: Array  # (s, q, r)   sum of slopes times x'
    second: Array  # (s, q, q)   slopes less curvatures in the predictors
    precision: Array  # (s, q, q)   curvatures
    noise_sums: Array  # (s, 3, q)
    precisions: Array  # (s, g + h, q, q)   of each pattern, those of rows kept one by one last
    of_z: Array  # (s, g, r + q + 1, k)   of x, the outputs and 1 with what x says of z, the first two about their means


class _Said(NamedTuple):
    """What outputs say of their predictors, as in `Found`."""

    log_z: Array
    slope_z: Array  # (s, q, k)   sum of slopes times E[z | x]'
    slope_b: Array
    slope_x: Array
    x_shift: Array  # (s, r, k)   sum of x times what the outputs add to E[z]'
    second: Array
    precision: Array
    noise_sums: Array
    precisions: Array
    of_z: Array


def dots(A: Array, B: Array) -> Array:
    """Inner products (s,) of arrays that have s as their first axis."""
    return np.asarray((A.reshape(len(A), 1, -1) @ B.reshape(len(B), -1, 1))[:, 0, 0])


def diagonals(A: Array) -> Array:
    """Diagonals (..., k) of A (..., k, k), which may be written."""
    return A.reshape(*A.shape[:-2], A.shape[-1] ** 2)[..., :: A.shape[-1] + 1]


class Stack:
    """Rows and outputs of a basis, as statistics at any parameters need them."""

    def __init__(self, view: View, labels: LabeledPatterns) -> None:
        self.view, self.labels, self.axes = view, labels, view.axes
        self.values, Q = np.maximum(view.values, 0.0), view.axes
        g, q = labels.observed.shape
        self.observed, self.weights, self.y, self.yy = labels.observed, labels.weights, labels.y, labels.yy
        self.t, self.yt = labels.t @ Q, labels.yt @ Q
        tt = Q.T @ labels.tt @ Q
        self.size = (g, q, len(Q))
        # as one product with what x says of z
        self.joint = np.concatenate([tt, self.yt, self.t[:, None, :]], axis=1).reshape(g * (len(Q) + q + 1), len(Q))
        self.rare = None if labels.rare is None else ScatteredRows(labels.rare, Q)
        self.set_weights = self.weights
        if self.rare is not None:
            self.observed = np.concatenate([self.observed, self.rare.observed])
            self.set_weights = np.concatenate([self.weights, self.rare.set_weights])
        self.counts = self.set_weights @ self.observed
        self.constant = LOG_2PI * float(self.counts.sum())

    def __call__(self, at: Models) -> Found:
        """What is known at some models."""
        view, noise = self.view, at.noise[:, None]
        explained, R = np.linalg.eigh(at.W.swapaxes(1, 2) @ at.W)
        explained = np.maximum(explained, 0.0)
        u, W, V = explained + noise, at.W @ R, at.V @ R
        gain, cov = W / u[:, None, :], noise / u
        xz = self.values[:, None] * gain
        zz = gain.swapaxes(1, 2) @ xz
        # stationary in the gain, so that its rounding error enters squared
        of_x = 2.0 * dots(xz, W) - dots(diagonals(zz), u)
        rest = view.n_features - u.shape[1]
        logs = view.n_features * LOG_2PI + np.log(u).sum(axis=1) + rest * np.log(at.noise)
        objective = -0.5 * (view.weight * logs + (view.energy - of_x) / at.noise)
        said = self._outputs(at, gain, cov, V)
        VC = V * cov[:, None, :]
        cross = VC.swapaxes(1, 2) @ said.slope_z
        DV = said.second @ VC
        zz += cross + cross.swapaxes(1, 2) + VC.swapaxes(1, 2) @ DV
        diagonals(zz)[:] += view.weight * cov
        xz += said.x_shift
        fitted = W @ zz
        energy = view.energy - dots(W, 2.0 * xz - fitted)
        return Found(
            objective + said.log_z, R, explained, W, V, xz, zz, xz - fitted, energy, said.slope_z + DV, said.slope_b,
            said.slope_x, said.second, said.precision, said.noise_sums, said.precisions, said.of_z,
        )  # fmt: skip

    def _outputs(self, at: Models, gain: Array, cov: Array, V: Array) -> _Said:
        """Slopes are the precision times what x leaves of the outputs."""
        (g, q, r), s, w = self.size, len(V), self.weights
        VC, back = V * cov[:, None, :], V.swapaxes(1, 2)
        every, log_det = precisions((VC @ back)[:, None], at.y_noise[:, None], self.observed)
        P, observed = every[:, :g], self.observed[:g]
        of_z = (self.joint @ gain).reshape(s, g, r + q + 1, gain.shape[2])
        near = observed * (self.y - at.b[:, None])
        wm = w[:, None] * (near - observed * (of_z[:, :, -1] @ back))
        # left of the outputs, times themselves, x and 1
        left = np.empty((s, g, q, q + r + 1))
        of_y, of_x = left[..., :q], left[..., q:-1]
        np.subtract(self.yt, V[:, None] @ of_z[:, :, :r].swapaxes(2, 3), out=of_x)
        of_x += wm[..., None] * self.t[:, None, :]
        own = self.yy - of_z[:, :, r:-1] @ back[:, None] - V[:, None] @ (of_x @ gain[:, None]).swapaxes(2, 3)
        own += near[..., None] * wm[:, :, None, :]
        np.matmul(own, P, out=of_y)
        left[..., -1] = wm
        # the precisions side by side, so that one product sums over patterns
        slopes = P.swapaxes(1, 2).reshape(s, q, g * q) @ left.reshape(s, g * q, q + r + 1)
        products = dots(P, own)
        if self.rare is not None:
            more = self.rare.sums(gain, V, at.b, every[:, g:])
            products += more.products
            slopes += np.concatenate([more.slopes, more.slope_x, more.slope[:, :, None]], axis=2)
        slope_x = slopes[..., q:-1]
        precision = (self.set_weights @ every.reshape(s, -1, q * q)).reshape(s, q, q)
        second = slopes[..., :q] - precision
        sums = np.empty((s, 3, q))
        sums[:, 0], sums[:, 1], sums[:, 2] = diagonals(second), self.set_weights @ diagonals(every) ** 2, self.counts
        return _Said(
            -0.5 * (products + log_det @ self.set_weights + self.constant),
            slope_x @ gain, slopes[..., -1], slope_x, slope_x.swapaxes(1, 2) @ VC, second, precision, sums, every, of_z,
        )  # fmt: skip

    def moments(self, at: Models, found: Found) -> Array:
        """Those (s, g + h, k + 1, k + 1) of (z, 1) that go with each pattern in the curvature of (V, b)."""
        (g, _, r), w, (s, _, _, k) = self.size, self.weights[:, None], found.of_z.shape
        u, z = found.explained + at.noise[:, None], found.of_z[:, :, -1]
        VC = (found.V * (at.noise[:, None] / u)[:, None, :])[:, None]
        moments = np.empty((s, found.precisions.shape[1], k + 1, k + 1))
        own, gain = moments[:, :g], found.W / u[:, None, :]
        if self.rare is not None:
            moments[:, g:] = self.rare.moments(gain)
        own[:, :, :-1, -1] = own[:, :, -1, :-1] = w * z
        own[:, :, -1, -1] = self.weights
        zz = gain.swapaxes(1, 2)[:, None] @ found.of_z[:, :, :r]
        own[:, :, :-1, :-1] = zz + own[:, :, :-1, -1:] * z[:, :, None, :]
        # outputs feel their loadings through the covariance of predictors as well
        through = VC.swapaxes(2, 3) @ (2.0 * self.set_weights[:, None, None] * found.precisions) @ VC
        moments[:, :, :-1, :-1] += through
        return moments
