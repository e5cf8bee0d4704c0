"""Curvature of what outputs say in the label parameters (V, b), and Newton's step over it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from ..._types import Array, BoolArray
from ...likelihoods.quadrature import chunks
from ...likelihoods.sites import SiteFit
from ...numerics.linalg import kronecker_sum, positive_part
from ...numerics.moments import sums_by_group
from .of_rank import STIFF, Normal

MOST_UNKNOWNS = 200  # label parameters up to which a Newton step is solved by factorizing
MOST_SUMMED = 600  # the same where rows are read once, so that nothing but sums is left of them
IN_CACHE = 1 << 10  # rows whose matrices are handled at once
STEP_ACCURACY = 0.01  # relative, of a step found by conjugate gradients
MOST_PRODUCTS = 200


Term = Callable[[Array], Array]


class Curvature(NamedTuple):
    """What a Newton step of the label parameters divides by."""

    H: Array  # (h m, h m) in (V, b), or (h, h) of the predictors where that is too large
    z1z1: Array  # (m, m)   second moments of latent dimensions and one
    terms: tuple[Term, ...] = ()  # of its product with a step (h, m), where it is too large

    def plus(self, other: "Curvature") -> "Curvature":
        """Of the rows of both."""
        return Curvature(self.H + other.H, self.z1z1 + other.z1z1, self.terms + other.terms)

    def times(self, step: Array) -> Array:
        """Its product with a step (h, m)."""
        if self.terms:
            return np.asarray(sum(term(step) for term in self.terms))
        return np.asarray((self.H @ step.ravel()).reshape(step.shape))

    def with_covariance(self, second: Array, cov: Array, weight: float) -> "Curvature":
        """With the curvature in V that outputs feel through the covariance of their predictors.

        The gradient there is second V cov, `second` (h, h) being slopes less curvature and `cov` that of z given x.
        Without it V is flat where few labeled rows leave it free, and steps are far too long.
        """
        return self._with(positive_part(-second), cov, weight)

    def with_turning(self, total: Array, VS: Array, weight: float) -> "Curvature":
        """With the curvature in V of what outputs say through that covariance, V cov V', as it turns with V.

        Of real outputs P dQ P V cov, for a change dQ = dV cov V' + V cov dV', is at most 2 P dV (VS' P VS). `total`
        (h, h) is the sum of curvatures P, and VS (h, k) is V cov. Without it steps are too long where V is large.
        """
        return self._with(total, 2.0 / weight * VS.T @ total @ VS, weight)

    def _with(self, C: Array, cov: Array, weight: float) -> "Curvature":
        """With C (h, h) times a covariance of z."""
        g = len(self.z1z1) - 1
        of_z = np.zeros_like(self.z1z1)
        of_z[:g, :g] = cov[:g, :g]
        if len(self.H) > len(C):
            return self._replace(H=self.H + np.kron(C, of_z))
        share = float(np.trace(C)) / max(float(np.trace(self.H)), 1e-300)
        more: tuple[Term, ...] = (OfGroups(C[None], of_z[None]),) if self.terms else ()
        return Curvature(self.H, self.z1z1 + share * weight * of_z, self.terms + more)


@dataclass(frozen=True)
class OfGroups:
    """The sum of C step M over groups: curvatures C (g, h, h) and moments M (g, m, m)."""

    C: Array
    M: Array

    def __call__(self, step: Array) -> Array:
        return np.asarray(np.matmul(np.matmul(self.C, step), self.M).sum(axis=0))


@dataclass(frozen=True)
class OfRows:
    """The same over rows of weight w and moments w z1 z1', of the curvatures of their sites."""

    fit: SiteFit
    z1: Array  # (n, m)
    weights: Array

    def __call__(self, step: Array) -> Array:
        slopes = self.fit.curvature_times(self.z1 @ step.T)
        return np.asarray((self.weights[:, None] * slopes).T @ self.z1)


def curvature_of_rows(
    fit: SiteFit, z1: Array, weights: Array, total: Array, most: int = MOST_UNKNOWNS
) -> Curvature:  # fmt: skip
    """Of rows with such sites, moments z1 z1' and a sum of curvatures `total` (h, h)."""
    n, m = z1.shape
    if len(total) * m > most:
        z1z1 = (z1 * weights[:, None]).T @ z1
        return Curvature(total, z1z1, (OfRows(fit, z1, weights),))
    if _few_pairs(len(total), m):
        parts = [_by_pairs(fit.part(rows), z1[rows], weights[rows]) for rows in chunks(n, 1, IN_CACHE)]
        return reduce(Curvature.plus, parts)
    if fit.of_row is not None:
        outer = sums_by_group(_outer(z1, weights).reshape(n, m * m), fit.of_row, len(fit.distinct)).reshape(-1, m, m)
        return Curvature(kronecker_sum(fit.distinct, outer), outer.sum(axis=0))
    parts = []
    for rows in chunks(n, 1, IN_CACHE):
        outer = _outer(z1[rows], weights[rows])
        parts.append(Curvature(kronecker_sum(fit.part(rows), outer), outer.sum(axis=0)))
    return reduce(Curvature.plus, parts)


def _few_pairs(h: int, m: int) -> bool:
    """Whether a product for each pair of outputs is less than moments row by row."""
    return h * (h + 1) // 2 < m


def _by_pairs(C: Array, z1: Array, weights: Array) -> Curvature:
    """Of rows with curvatures C (n, h, h), pair of outputs by pair."""
    h, m = C.shape[1], z1.shape[1]
    a, b = np.triu_indices(h)
    scaled = z1.T * weights
    products = (C[:, a, b].T[:, None] * scaled) @ z1  # (pairs, m, m)
    H = np.empty((h, m, h, m))
    H[a, :, b] = H[b, :, a] = products
    return Curvature(H.reshape(h * m, h * m), scaled @ z1)


def _outer(z1: Array, weights: Array) -> Array:
    """Weighted moments (n, m, m) of rows."""
    return np.asarray(z1[:, :, None] * z1[:, None, :] * weights[:, None, None])


def curvature_of_groups(C: Array, M: Array) -> Curvature:
    """Of groups of rows with one curvature (g, h, h) each and moments (g, m, m)."""
    if C.shape[1] * M.shape[1] > MOST_UNKNOWNS:
        weights = M[:, -1, -1]
        return Curvature(np.tensordot(weights, C, axes=1), M.sum(axis=0), (OfGroups(C, M),))
    return Curvature(kronecker_sum(C, M), M.sum(axis=0))


def newton_step(
    curvature: Curvature, gradient: Array, penalty: Array, held: BoolArray, weight: float, normal: Normal | None = None
) -> Array:
    """The step (h, m) of (V, b) over the curvature and the penalty (h,) on rows of V; none of b where it is `held`.

    Nor of V in directions that are `normal`.
    """
    h, m = gradient.shape
    H, z1z1, terms = curvature
    if len(H) == h * m:
        return _factorized(H, gradient, penalty, held, weight, normal)
    by_output = np.asarray(np.linalg.inv(H + np.diag(penalty + 1e-9 * weight)))
    by_input = np.asarray(np.linalg.inv(z1z1 / weight + 1e-9 * np.eye(m)))
    lost = None if normal is None else normal.held(by_output[None], by_input[None])

    def nearly(R: Array) -> Array:
        """As if curvatures and predictors varied independently."""
        found = by_output @ R.reshape(h, m) @ by_input
        if lost is not None:
            found -= lost[0][0] @ found @ lost[1][0]
        found[held, -1] = 0.0
        return np.asarray(found.ravel())

    if not terms:
        return nearly(gradient).reshape(h, m)
    added = np.full((h, m), 1e-9 * weight)
    added[:, :-1] += penalty[:, None]
    free = np.ones((h, m))
    free[held, -1] = 0.0

    def product(step: Array) -> Array:
        step = step.reshape(h, m)
        found = free * (added * step + curvature.times(step))
        if normal is not None:
            found[:, :-1] = normal.left_out(found[None, :, :-1])[0]
        return np.asarray(found.ravel())

    size = (h * m, h * m)
    A, M = LinearOperator(size, product, dtype=float), LinearOperator(size, nearly, dtype=float)
    found, _ = cg(A, (free * gradient).ravel(), rtol=STEP_ACCURACY, maxiter=MOST_PRODUCTS, M=M)
    return np.asarray(found.reshape(h, m))


def _factorized(
    H: Array, gradient: Array, penalty: Array, held: BoolArray, weight: float, normal: Normal | None
) -> Array:
    h, m = gradient.shape
    diagonal = H.diagonal().reshape(h, m)
    largest = float(diagonal.max()) + 1e-12 * weight
    smallest = 1e-9 * largest
    added = np.full((h, m), smallest)
    added[:, :-1] += penalty[:, None]
    added[held, -1] = np.inf  # no step
    free = np.isfinite(added.ravel())
    H = H[np.ix_(free, free)] if held.any() else H.copy()
    if normal is not None:
        H += STIFF * largest * normal.projection()[0][np.ix_(free, free)]
    H.flat[:: len(H) + 1] += added.ravel()[free]
    found = np.zeros((h, m))
    found.flat[free] = np.linalg.solve(H, gradient.ravel()[free])
    return found
