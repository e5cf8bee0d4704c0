"""The best Gaussian posterior of rows whose outputs are classes, in coordinates of the latent space.

A row brings logits l = H a with a ~ N(mean, cov) from its features, all rows with one covariance H cov H' = G G', and a
class of each output, or of some. The bound is that of `softmax_terms`; all that a row holds of its labels is a few
weights of classes. Those of all outputs stand side by side, zero where an output is missing.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from .._types import Array, IntArray
from ..numerics.linalg import batch_inverse, symmetrize
from ..numerics.normalize import normalized
from .categorical import covariances
from .gaussian_rows import GaussianRows
from .layout import Layout
from .quadrature import chunks
from .sites import ACCURACY, MAX_ITER, Near, SiteFit, ascend

IN_CACHE = 1 << 15  # numbers of the matrices that are handled at once
NOTHING = 1e-14  # of the largest variance


class _Point(NamedTuple):
    """Posterior N(u, P) of the d coordinates of each row, P = (I + G' D_s G)^-1 with D_s = diag(s) - s s' by output."""

    u: Array  # (n, d)
    shares: Array  # (n, C)   s, weights of classes
    tilt: Array  # (n, C)   t of the bound, weights of classes
    P: Array  # (n, d, d)
    weights: Array  # (n, C)   of the sum in the bound; s and t are equal to it at the maximum
    slope: Array  # (n, d)   of the bound in u
    value: Array  # (n,)   the bound
    move: Array  # (n, m)   what is zero at the maximum: slope, and how far weights are from those of the bound


class Curvatures(NamedTuple):
    """H'(D - D G P G'D)H of rows, D = diag(w) - w w' by output; with weights of zero it is zero."""

    weights: Array  # (n, C)
    P: Array  # (n, d, d)
    H: Array  # (C, h)
    G: Array  # (C, d)
    outputs: tuple[slice, ...]  # classes of each

    def by_row(self) -> Array:
        """All of them (n, h, h)."""
        across, own = self._covariances(self.G), self._covariances(self.H)
        return np.asarray(own - np.matmul(np.matmul(across, self.P), np.swapaxes(across, 1, 2)))

    def part(self, rows: IntArray | slice) -> "Curvatures":
        """Those of some rows."""
        return self._replace(weights=self.weights[rows], P=self.P[rows])

    def total(self, weights: Array) -> Array:
        """Their sum (h, h) by weight."""
        parts = [self.part(rows)._total(weights[rows]) for rows in chunks(len(weights), self.P.shape[1] ** 2, IN_CACHE)]
        return np.asarray(np.add.reduce(parts))

    def _total(self, weights: Array) -> Array:
        across, own = self._covariances(self.G), (self.H.T * (weights @ self.weights)) @ self.H
        for at in self.outputs:
            mean = self.weights[:, at] @ self.H[at]
            own -= (mean.T * weights) @ mean
        solved = np.matmul(across, self.P) * weights[:, None, None]
        return np.asarray(own - np.tensordot(solved, across, axes=([0, 2], [0, 2])))

    def times(self, A: Array) -> Array:
        """Those of the rows times A (n, h)."""
        return np.asarray(self._in_logits(A) @ self.H)

    def near_at(self, change: Array) -> tuple[Array]:
        """Weights where means differ by `change` (n, h), to first order; as they were where one would be below zero."""
        moved = self.weights + self._in_logits(change)
        return (np.where(moved.min(axis=1, keepdims=True) >= 0.0, moved, self.weights),)

    def _in_logits(self, A: Array) -> Array:
        w = self.weights.T
        first = _times_D(w, self.H @ A.T, self.outputs)
        solved = np.matmul(self.P, (first.T @ self.G)[:, :, None])[:, :, 0]
        first -= _times_D(w, self.G @ solved.T, self.outputs)
        return first.T

    def _covariances(self, B: Array) -> Array:
        """H'D B of rows (n, h, b)."""
        return np.asarray(sum(covariances(self.weights[:, at], self.H[at], B[at]) for at in self.outputs))


class SoftmaxRows:
    """Variational posteriors for outputs of C classes in all; what `GaussianRows` finds, at the cost of d x d matrices.

    d is the rank of the predictors' covariance, at most the number of latent dimensions. A step moves u by Newton's
    method, and s and t to the weights of the bound that are expected there; a row whose bound would fall takes a
    shorter one. Rows with a covariance each, where entries of x are missing, are left to `GaussianRows`.
    """

    def __init__(self, layout: Layout, max_iter: int = MAX_ITER) -> None:
        ends = np.cumsum(layout.n_classes).tolist()
        self.outputs = tuple(slice(end - size, end) for end, size in zip(ends, layout.n_classes, strict=True))
        self.H = block_diag(*(family.contrasts for family in layout.families))
        self.max_iter = max_iter
        self.by_row = GaussianRows(layout, variational=True, max_iter=max_iter)

    def __call__(
        self, Y: Array, mean: Array, cov: Array, noise: Array, near: Near = None, accuracy: float = ACCURACY
    ) -> SiteFit:
        """As in `Sites`."""
        if cov.ndim == 3:
            return self.by_row(Y, mean, cov, noise, near, accuracy)
        n, h = mean.shape
        seen = np.flatnonzero(~np.isnan(Y).all(axis=1))
        one_of_c = np.hstack(
            [np.arange(at.stop - at.start) == y[:, None] for at, y in zip(self.outputs, Y[seen].T, strict=True)]
        ).astype(float)
        values, vectors = np.linalg.eigh(symmetrize(cov))
        kept = values > NOTHING * max(float(values[-1]), 0.0)
        kept[-1] = True
        G = self.H @ (vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0.0)))  # (C, d)
        weights = None if near is None else near[0][seen]
        logits, (C, d) = mean[seen] @ self.H.T, G.shape
        log_z, slope, gaps, ends, P = np.zeros(n), np.zeros((n, h)), np.zeros(n), np.zeros((n, C)), np.zeros((n, d, d))
        for some in chunks(len(seen), d * d, IN_CACHE):
            begun, at = None if weights is None else weights[some], seen[some]
            point, gaps[at] = self._solve(logits[some], one_of_c[some], G, begun, accuracy)
            log_z[at], slope[at] = point.value, (one_of_c[some] - point.weights) @ self.H
            ends[at], P[at] = point.weights, point.P
        return SiteFit(log_z, slope, Curvatures(ends, P, self.H, G, self.outputs), (ends,), gaps)

    def _solve(
        self, logits: Array, one_of_c: Array, G: Array, weights: Array | None, accuracy: float
    ) -> tuple[_Point, Array]:
        u = np.zeros((len(logits), G.shape[1])) if weights is None else (one_of_c - weights) @ G
        if weights is None:
            weights = np.hstack(
                [
                    np.full(one_of_c[:, at].shape, 1.0 / (at.stop - at.start))
                    * one_of_c[:, at].any(axis=1, keepdims=True)
                    for at in self.outputs
                ]
            )
        products = (G[:, :, None] * G[:, None, :]).reshape(len(G), -1)

        def at(old: _Point, rows: IntArray, step: Array) -> _Point:
            return _at(old, logits[rows], one_of_c[rows], G, products, self.outputs, step)

        start = _at(
            _Point(u, weights.copy(), weights.copy(), *[np.empty(0)] * 5),
            logits,
            one_of_c,
            G,
            products,
            self.outputs,
            None,
        )
        return ascend(start, at, accuracy, self.max_iter)


def _at(
    old: _Point,
    logits: Array,
    one_of_c: Array,
    G: Array,
    products: Array,
    outputs: tuple[slice, ...],
    step: Array | None,
) -> _Point:
    """The point to which a step leads (`old` itself with None). In memory rows are the last axis, which is fastest."""
    d, n = G.shape[1], len(logits)
    u, shares, tilt = old.u.T, old.shares.T, old.tilt.T
    if step is not None:
        move = _times(old.P.transpose(1, 2, 0), old.slope.T)
        expected = tilt + _tilt_step(old, move, G, outputs)
        inside = expected.min(axis=0) >= 0.0  # shares of less than nothing have no covariance
        u = u + step * move
        shares = shares + step * (np.where(inside, expected, old.weights.T) - shares)
        tilt = tilt + step * (expected - tilt)
    M = (products.T @ shares).reshape(d, d, n)
    for at in outputs:
        center = G[at].T @ shares[at]
        M -= center[:, None] * center
    M[np.arange(d), np.arange(d)] += 1.0
    by_row, log_det = batch_inverse(M.transpose(2, 0, 1))
    P = by_row.transpose(1, 2, 0)
    logs = logits.T + G @ u
    far = np.einsum("aan->n", P) + (u**2).sum(axis=0) - d + log_det
    value = (one_of_c.T * logs).sum(axis=0) - 0.5 * far
    logs += 0.5 * (products @ P.reshape(d * d, n))
    weights = np.empty(logs.shape)
    for at in outputs:
        middle = G[at].T @ tilt[at]
        moved = _times(P, middle)
        shift, log_sum = normalized(logs[at] - G[at] @ moved, axis=0)
        observed = one_of_c.T[at].sum(axis=0)
        weights[at] = observed * shift
        value -= observed * log_sum + 0.5 * (middle * moved).sum(axis=0)
    slope = G.T @ (one_of_c.T - weights) - u
    move = np.concatenate([slope, weights - shares, weights - tilt])
    return _Point(u.T, shares.T, tilt.T, by_row, weights.T, slope.T, value, move.T)


def _tilt_step(point: _Point, move: Array, G: Array, outputs: tuple[slice, ...]) -> Array:
    """Near (I + D G P G')^-1 (w + D G du - t) of each output: the bound is convex in t, and weights w turn against t.

    They turn with the `move` du (d, n) of u. By Woodbury's identity with (P^-1 + G'D G)^-1, of one output
    (2 P^-1 - I)^-1, near (P + P^2) / 2.
    """
    w, P = point.weights.T, point.P.transpose(1, 2, 0)
    left = w - point.tilt.T + _times_D(w, G @ move, outputs)
    back = np.empty(left.shape)
    for at in outputs:
        first = _times(P, G[at].T @ left[at])
        back[at] = 0.5 * (G[at] @ (first + _times(P, first)))
    return np.asarray(left - _times_D(w, back, outputs))


def _times_D(w: Array, logits: Array, outputs: tuple[slice, ...]) -> Array:
    """D times logits (C, n), by output."""
    out = w * logits
    for at in outputs:
        out[at] -= w[at] * out[at].sum(axis=0)
    return np.asarray(out)


def _times(matrices: Array, vectors: Array) -> Array:
    """Products (d, n) of matrices (d, d, n) and vectors (d, n)."""
    return np.asarray(np.einsum("abn,bn->an", matrices, vectors))
