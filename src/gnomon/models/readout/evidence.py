"""One Gaussian process with a flat mean, of unknown scale, over a grid of noise levels: everything in closed form.

y = m + f + e with f ~ N(0, s K), e ~ N(0, s r I); m is flat, log s is flat, and the noise ratio r is one of `RATIOS`
with the same probability. One eigendecomposition of K serves all of them.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from ..._types import Array
from ...numerics.normalize import normalized
from .kernels import Kernel, Seen

RATIOS = np.logspace(-10, 1, 23)
MOST_LANDMARKS = 500  # labeled rows up to which a curved kernel is that of all of them
TINY = 1e-300
RANK = 1e-14  # of the largest eigenvalue


class Factor(NamedTuple):
    """K = V diag(values) V', and how to reach V from new rows."""

    V: Array  # (n, r) orthonormal columns
    values: Array  # (r,)
    landmarks: Array | None  # (m, k) coordinates of rows that a curved kernel is taken with
    to_basis: Array  # (m, r), or (k, r) of a linear kernel: kernel values with the labeled rows, times V

    @classmethod
    def of(cls, kernel: Kernel, seen: Seen) -> "Factor":
        rows = kernel.coordinates(seen)
        if kernel.linear:
            U, sizes, Wt = scipy.linalg.svd(rows, full_matrices=False)
            return cls(U, sizes**2, None, Wt.T * sizes)
        some = np.linspace(0, len(rows) - 1, min(len(rows), MOST_LANDMARKS)).round().astype(np.intp)
        landmarks = rows[some]
        values, Q = scipy.linalg.eigh(kernel.of_pairs(landmarks, landmarks))
        if len(some) == len(rows):
            return cls(Q, np.maximum(values, 0.0), landmarks, Q)
        kept = values > RANK * values[-1]
        whiten = Q[:, kept] / np.sqrt(values[kept])
        U, sizes, Wt = scipy.linalg.svd(kernel.of_pairs(rows, landmarks) @ whiten, full_matrices=False)
        return cls(U, sizes**2, landmarks, whiten @ (Wt.T * sizes))

    def reach(self, kernel: Kernel, seen: Seen) -> Array:
        """Kernel values of rows with the labeled ones, times V (n, r)."""
        rows = kernel.coordinates(seen)
        return (rows if self.landmarks is None else kernel.of_pairs(rows, self.landmarks)) @ self.to_basis


class Readout(NamedTuple):
    """What predictions need, by noise ratio (s), and what the labeled rows say of it."""

    kernel: Kernel
    factor: Factor
    inverse: Array  # (s, r) of values plus ratio
    mean: Array  # (s,) of y
    pull: Array  # (s, r) of a new row's reach on its prediction
    ones: Array  # (r,) V'1
    of_mean: Array  # (s,) 1'(K + r I)^-1 1
    scale: Array  # (s,) variance of the process
    shares: Array  # (s,) probability of each ratio
    evidence: float
    left_out: Array  # (n,) predicted from the others
    left_out_var: Array  # (n,)


def read_out(kernel: Kernel, factor: Factor, y: Array) -> Readout:
    """The closed form from targets y (n,), three of them at least."""
    V, n, ratios = factor.V, len(y), RATIOS[:, None]
    more = V.shape[1] < n  # a complement of V in which K is zero
    inverse = 1.0 / (factor.values + ratios)
    a, ones = V.T @ y, V.sum(axis=0)
    of_mean = inverse @ ones**2 + more * (n - ones @ ones) / RATIOS
    mean = (inverse @ (a * ones) + more * (y.sum() - a @ ones) / RATIOS) / of_mean
    rest = a - mean[:, None] * ones  # of y minus the mean, in V
    pull = rest * inverse
    squares = np.einsum("sr,sr->s", rest, pull)
    logs, y_rest, one_rest = np.log(inverse).sum(axis=1), pull @ V.T, (inverse * ones) @ V.T
    diagonal = inverse @ (V * V).T
    if more:
        centered = y - mean[:, None]
        squares += np.maximum(np.einsum("sn,sn->s", centered, centered) - np.einsum("sr,sr->s", rest, rest), 0) / RATIOS
        logs -= (n - V.shape[1]) * np.log(RATIOS)
        y_rest += (centered - rest @ V.T) / ratios
        one_rest += (1.0 - V @ ones) / ratios
        diagonal += (1.0 - np.einsum("ij,ij->i", V, V)) / ratios
    squares = np.maximum(squares, TINY)
    diagonal -= one_rest**2 / of_mean[:, None]
    evidence = 0.5 * (logs - np.log(of_mean) - (n - 1) * np.log(squares))
    shares, total = normalized(evidence[None])
    left_out = y - y_rest / diagonal
    var = np.maximum(squares[:, None] - y_rest**2 / diagonal, TINY) / ((n - 2) * diagonal)
    m, v = mixed(shares[0], left_out, var)
    found = float(total[0]) - np.log(len(RATIOS))
    return Readout(kernel, factor, inverse, mean, pull, ones, of_mean, squares / (n - 1), shares[0], found, m, v)


def predicted_mean(one: Readout, seen: Seen) -> Array:
    """Mean (n,) of new rows."""
    return one.shares @ one.mean + one.factor.reach(one.kernel, seen) @ (one.shares @ one.pull)


def predicted(one: Readout, seen: Seen) -> tuple[Array, Array]:
    """Mean and variance (n,) of new rows, noise included."""
    reach = one.factor.reach(one.kernel, seen)
    means = one.mean[:, None] + one.pull @ reach.T
    toward = (1.0 - (one.inverse * one.ones) @ reach.T) ** 2 / one.of_mean[:, None]
    var = one.kernel.of_rows(seen) + RATIOS[:, None] - one.inverse @ (reach * reach).T + toward
    return mixed(one.shares, means, one.scale[:, None] * np.maximum(var, 0.0))


def mixed(shares: Array, means: Array, variances: Array) -> tuple[Array, Array]:
    """Mean and variance (n,) of a mixture whose parts (s, n) have these shares (s,)."""
    mean = shares @ means
    return mean, shares @ (variances + (means - mean) ** 2)
