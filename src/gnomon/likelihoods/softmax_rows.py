"""The best Gaussian posterior of rows with one class label each, in coordinates of the latent space.

A row brings logits l = H a with a ~ N(mean, cov) from its features, all rows with one covariance H cov H' = G G', and a
class. The bound is that of `softmax_terms`; all that a row holds of its label is a few weights of classes.
"""

from typing import NamedTuple

import numpy as np

from .._types import Array, IntArray
from ..numerics.linalg import symmetrize
from ..numerics.normalize import normalized
from .categorical import covariances
from .gaussian_rows import GaussianRows
from .layout import Layout
from .sites import ACCURACY, MAX_ITER, Near, SiteFit, ascend

NOTHING = 1e-14  # of the largest variance


class _Point(NamedTuple):
    """Posterior N(u, P) of the d coordinates of each row, P = (I + G' D_s G)^-1 with D_s = diag(s) - s s'."""

    u: Array  # (n, d)
    shares: Array  # (n, C)   s, weights of classes
    tilt: Array  # (n, C)   t of the bound, weights of classes
    P: Array  # (n, d, d)
    weights: Array  # (n, C)   of the sum in the bound; s and t are equal to it at the maximum
    slope: Array  # (n, d)   of the bound in u
    value: Array  # (n,)   the bound
    move: Array  # (n, m)   what is zero at the maximum: slope, and how far weights are from those of the bound


class Curvatures(NamedTuple):
    """H'(D - D G P G'D)H of rows, D = diag(w) - w w'; with weights of zero it is zero."""

    weights: Array  # (n, C)
    P: Array  # (n, d, d)
    H: Array  # (C, h)
    G: Array  # (C, d)

    def by_row(self) -> Array:
        """All of them (n, h, h)."""
        across, own = covariances(self.weights, self.H, self.G), covariances(self.weights, self.H, self.H)
        return np.asarray(own - np.matmul(np.matmul(across, self.P), np.swapaxes(across, 1, 2)))

    def total(self, weights: Array) -> Array:
        """Their sum (h, h) by weight."""
        across, mean = covariances(self.weights, self.H, self.G), self.weights @ self.H
        own = (self.H.T * (weights @ self.weights)) @ self.H - (mean.T * weights) @ mean
        solved = np.matmul(across, self.P) * weights[:, None, None]
        return np.asarray(own - np.tensordot(solved, across, axes=([0, 2], [0, 2])))

    def times(self, A: Array) -> Array:
        """Those of the rows times A (n, h)."""
        first = self._times_D(A @ self.H.T)
        first -= self._times_D(_times(self.P, first @ self.G) @ self.G.T)
        return np.asarray(first @ self.H)

    def _times_D(self, logits: Array) -> Array:
        out = self.weights * logits
        out -= self.weights * out.sum(axis=1, keepdims=True)
        return np.asarray(out)


class SoftmaxRows:
    """Variational posteriors for one output of C classes; what `GaussianRows` finds, at the cost of d x d matrices.

    d is the rank of the predictors' covariance, at most the number of latent dimensions. A step moves u by Newton's
    method, s to the weights of the bound and t by an approximate Newton step; a row whose bound would fall takes a
    shorter one. Rows with a covariance each, where entries of x are missing, are left to `GaussianRows`.
    """

    def __init__(self, layout: Layout, max_iter: int = MAX_ITER) -> None:
        self.H = layout.families[0].contrasts
        self.max_iter = max_iter
        self.by_row = GaussianRows(layout, variational=True, max_iter=max_iter)

    def __call__(
        self, Y: Array, mean: Array, cov: Array, noise: Array, near: Near = None, accuracy: float = ACCURACY
    ) -> SiteFit:
        """As in `Sites`."""
        if cov.ndim == 3:
            return self.by_row(Y, mean, cov, noise, near, accuracy)
        n, h = mean.shape
        seen = np.flatnonzero(~np.isnan(Y[:, 0]))
        one_of_c = np.eye(len(self.H))[Y[seen, 0].astype(np.intp)]
        values, vectors = np.linalg.eigh(symmetrize(cov))
        kept = values > NOTHING * max(float(values[-1]), 0.0)
        kept[-1] = True
        G = self.H @ (vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0.0)))  # (C, d)
        weights = None if near is None else near[0][seen]
        point, gap = self._solve(mean[seen] @ self.H.T, one_of_c, G, weights, accuracy)
        ends = np.zeros((n, len(self.H)))
        ends[seen] = point.weights
        log_z, slope, ends, gaps = np.zeros(n), np.zeros((n, h)), np.zeros((n, len(self.H))), np.zeros(n)
        P = np.zeros((n, G.shape[1], G.shape[1]))
        log_z[seen], slope[seen], gaps[seen] = point.value, (one_of_c - point.weights) @ self.H, gap
        ends[seen], P[seen] = point.weights, point.P
        return SiteFit(log_z, slope, Curvatures(ends, P, self.H, G), (ends,), gaps)

    def _solve(
        self, logits: Array, one_of_c: Array, G: Array, weights: Array | None, accuracy: float
    ) -> tuple[_Point, Array]:
        u = np.zeros((len(logits), G.shape[1])) if weights is None else (one_of_c - weights) @ G
        if weights is None:
            weights = np.full(logits.shape, 1.0 / logits.shape[1])
        products = (G[:, :, None] * G[:, None, :]).reshape(len(G), -1)

        def at(old: _Point, rows: IntArray, step: Array) -> _Point:
            return _at(old, logits[rows], one_of_c[rows], G, products, step[:, None])

        start = _Point(u, weights.copy(), weights.copy(), *[np.empty(0)] * 5)
        return ascend(_at(start, logits, one_of_c, G, products, None), at, accuracy, self.max_iter)


def _at(old: _Point, logits: Array, one_of_c: Array, G: Array, products: Array, step: Array | None) -> _Point:
    """The point to which a step leads (`old` itself with None)."""
    d = G.shape[1]
    u, shares, tilt = old.u, old.shares, old.tilt
    if step is not None:
        shares = shares + step * (old.weights - shares)
        tilt = tilt + step * _tilt_step(old, G)
    center = shares @ G
    M = (shares @ products).reshape(-1, d, d) - center[:, :, None] * center[:, None, :] + np.eye(d)
    P = np.asarray(np.linalg.inv(M), dtype=np.float64)
    if step is not None:
        u = u + step * _times(P, old.slope)
    logs = logits + u @ G.T
    own = (one_of_c * logs).sum(axis=1)
    middle = tilt @ G
    moved = _times(P, middle)
    logs += 0.5 * (P.reshape(len(P), d * d) @ products.T) - moved @ G.T
    weights, log_sum = normalized(logs)
    log_det = 2.0 * np.log(np.linalg.cholesky(M).reshape(len(M), d * d)[:, :: d + 1]).sum(axis=1)
    far = P.reshape(len(P), d * d)[:, :: d + 1].sum(axis=1) + (u**2).sum(axis=1) - d + log_det
    value = own - log_sum - 0.5 * ((middle * moved).sum(axis=1) + far)
    slope = (one_of_c - weights) @ G - u
    move = np.hstack([slope, weights - shares, weights - tilt])
    return _Point(u, shares, tilt, P, weights, slope, value, move)


def _tilt_step(point: _Point, G: Array) -> Array:
    """Near (I + D_w G P G')^-1 (w - t): the bound is convex in t, and its weights w turn against t.

    By Woodbury's identity with (P^-1 + G'D_w G)^-1 = (2 P^-1 - I)^-1, near (P + P^2) / 2.
    """
    left, w = point.weights - point.tilt, point.weights
    first = _times(point.P, left @ G)
    back = 0.5 * (first + _times(point.P, first)) @ G.T
    return np.asarray(left - w * (back - (w * back).sum(axis=1, keepdims=True)))


def _times(matrices: Array, vectors: Array) -> Array:
    return np.asarray(np.matmul(matrices, vectors[:, :, None])[:, :, 0])
