"""Patterns of real outputs by their second moments in all features, of which those in a basis are products.

Of every pattern but the most frequent one the moments X'X of its rows are held, and their products with the basis: no
row is read again. Those of the most frequent pattern are what the others leave of all rows.
"""

from typing import Any

import numpy as np

from ..._types import Array, BoolArray
from ...numerics.linear_gaussian import FromX, Params
from ...rows.summary import Group
from ...rows.threads import tall_product
from .basis import Basis, HeldProducts, Space, over_groups
from .evidence import Coded, LabeledPatterns


class ByMoments:
    """What the likelihood of real outputs needs of a basis, from sums over the rows of each pattern.

    `observed` (g, q) are the outputs of each pattern, the most frequent one first, as are the groups.
    """

    def __init__(
        self, space: Space, groups: tuple[Group, ...], observed: BoolArray, coded: Coded, capacity: int
    ) -> None:
        self.observed, self.coded, (self.majority, *others) = observed, coded, groups
        p, q = self.majority.xy.shape
        xx, xy = over_groups(groups)
        assert xx is not None
        moments = np.empty((len(others), p, p))
        self.weights, self.x, self.y = np.empty(len(others)), np.empty((len(others), p)), np.empty((len(others), q))
        self.xy, self.yy = np.empty((len(others), p, q)), np.empty((len(others), q, q))
        for g, group in enumerate(others):
            self.weights[g], self.x[g], self.y[g], self.xy[g], self.yy[g], moments[g] = group
        self.basis = Basis(HeldProducts(space, xx, xy, moments.reshape(-1, p)), capacity)

    def _products(self) -> Array:
        """X'X times the basis for each pattern but the first (g - 1, p, r)."""
        g, p = self.x.shape
        return self.basis.T.reshape(g, p, self.basis.size)

    def labels(self) -> LabeledPatterns:
        """Real outputs of the rows seen through the basis."""
        basis, (_, q), r = self.basis, self.y.shape, self.basis.size
        t, y = slice(1, 1 + r), slice(1 + r, None)
        moments = np.empty((len(self.observed), 1 + r + q, 1 + r + q))
        first, others = moments[0], moments[1:]
        others[:, 0, 0], others[:, 0, t], others[:, 0, y] = self.weights, self.x @ basis.vectors, self.y
        others[:, t, y], others[:, y, y] = basis.vectors.T @ self.xy, self.yy
        np.matmul(basis.vectors.T, self._products(), out=others[:, t, t])
        first[:] = -others.sum(axis=0)  # centered rows sum to zero
        first[0, 0], first[0, y], first[y, y] = self.majority.weight, self.majority.y, self.majority.yy
        first[t, t] += basis.xx
        first[t, y] = basis.vectors.T @ self.majority.xy
        moments[:, 1:, 0], moments[:, y, t] = moments[:, 0, 1:], moments[:, t, y].swapaxes(1, 2)
        return LabeledPatterns(self.observed, moments, None)

    def cross(self, params: Params, x: FromX, held: Any) -> Array:
        """X'Z (d, k), the sum of x E[z]' in the full space; `held` is what `LabeledPatterns` left."""
        _, precision, VS, _ = held
        K = np.zeros((len(self.observed), *VS.shape))
        K[self.observed.any(axis=1)] = precision @ VS
        G = x.gain.T @ params.W_y.T  # (r, q)
        back = G @ K[0]  # of the majority, what its outputs take off what x says
        cross = self.basis.cross(x.gain - back.T, np.empty((0, len(x.gain))))
        cross += (self.majority.xy - np.outer(self.majority.x, params.m_y)) @ K[0]
        (g, p), (q, k) = self.x.shape, VS.shape
        left = self.xy - self.x[:, :, None] * params.m_y
        left -= tall_product(self.basis.T, G).reshape(g, p, q)
        cross += left.transpose(1, 0, 2).reshape(p, g * q) @ K[1:].reshape(g * q, k)
        cross += self._products().sum(axis=0) @ back
        return cross
