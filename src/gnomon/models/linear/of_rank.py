"""Loadings of outputs of a bounded rank, several at once: the nearest ones, and directions that leave the rank."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import Array
from ...numerics.linalg import rank_of

STIFF = 1e3  # times the largest curvature of V, in directions that would leave its rank
NONE = 1e-10  # of the largest singular value: smaller ones are rounding


def of_rank(V: Array, rank: int) -> Array:
    """The nearest matrices of a rank to V (s, q, k)."""
    U, sizes, P = np.linalg.svd(V, full_matrices=False)
    return np.asarray((U[:, :, :rank] * sizes[:, None, :rank]) @ P[:, :rank])


class Normal(NamedTuple):
    """Directions normal to the matrices (q, k) of a rank: whose columns and rows both are none of theirs."""

    U: Array  # (s, q, q - rank)
    P: Array  # (s, k - rank, k)

    @classmethod
    def of(cls, V: Array, rank: int) -> Normal:
        """Those of matrices V (s, q, k) of this rank; none, which are zeros, of one of less: more of it may come."""
        U, sizes, P = np.linalg.svd(V)
        full = sizes[:, rank - 1] > np.maximum(NONE * sizes[:, 0], 1e-300)
        return cls(U[:, :, rank:] * full[:, None, None], P[:, rank:])

    @classmethod
    def beside(cls, V: Array, n_guided: int) -> Normal:
        """Those of one V (q, k) that is zero on the later dimensions, where a part of its columns may go."""
        U, sizes, _ = np.linalg.svd(V[:, :n_guided])
        return cls(U[None, :, rank_of(sizes, NONE, 1e-300) :], np.eye(V.shape[1])[None, n_guided:])

    def left_out(self, G: Array) -> Array:
        """What is tangent of directions G (s, q, k)."""
        return np.asarray(G - self.U @ (self.U.swapaxes(1, 2) @ G @ self.P.swapaxes(1, 2)) @ self.P)

    def projection(self) -> Array:
        """The projection on them (s, q m, q m) of matrices (q, m) whose last column is free, m = k + 1."""
        UU, PP = self.U @ self.U.swapaxes(1, 2), self._widened.swapaxes(1, 2) @ self._widened
        (s, q, _), m = UU.shape, PP.shape[1]
        return np.asarray((UU[:, :, None, :, None] * PP[:, None, :, None, :]).reshape(s, q * m, q * m))

    def held(self, A: Array, B: Array) -> tuple[Array, Array]:
        """Left and right factor of what a step S = A R B, of slopes R (s, q, k + 1), has to lose to be tangent."""
        U, P, turned, back = self.U, self._widened, self.U.swapaxes(1, 2), self._widened.swapaxes(1, 2)
        none = (U == 0.0).all(axis=(1, 2), keepdims=True)
        inner = turned @ A @ U + none * np.eye(U.shape[2])
        return A @ U @ np.linalg.inv(inner) @ turned, back @ np.linalg.inv(P @ B @ back) @ P @ B

    @property
    def _widened(self) -> Array:
        return np.concatenate([self.P, np.zeros((*self.P.shape[:2], 1))], axis=2)


def turn_of(V: Array, n_guided: int) -> Array:
    """The smallest turn R (k, k) after which V R, of V (q, k), is as near as can be to zero on the later dimensions."""
    k = V.shape[1]
    _, sizes, P = np.linalg.svd(V)
    unit, held = np.eye(k), P[: min(rank_of(sizes, NONE, 1e-300), n_guided)].T
    rest = unit[:, :n_guided] - held @ held[:n_guided].T
    more = np.linalg.svd(rest, full_matrices=False)[0][:, : n_guided - held.shape[1]]
    span = held @ held.T + more @ more.T
    return np.hstack([_orthonormal(span[:, :n_guided]), _orthonormal((unit - span)[:, n_guided:])])


def _orthonormal(A: Array) -> Array:
    """The nearest orthonormal columns."""
    U, _, P = np.linalg.svd(A, full_matrices=False)
    return np.asarray(U @ P)
