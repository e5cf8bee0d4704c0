"""Ridge regression of classes on labeled rows: odds that no unlabeled row has moved, told as a mixture would.

Of class c they are b_c'x + a_c, those of classes N(m_c, s2 I) with m_c = s2 b_c and fitting weights. How each labeled
row is told by the others has a closed form, so that nothing is fitted anew.
"""

from typing import NamedTuple

import numpy as np

from ..._types import Array, IntArray
from ...numerics.normalize import normalized
from .mixture import Params, Within
from .reduction import Reduced, Relabeled

RIDGES = np.array([0.003, 0.01, 0.03, 0.1, 0.3, 1.0])  # in units of the mean squared length of rows
SHARE = 0.1  # of the mean squared length of rows, that the variance about a class is: odds are lost in no rounding
TINY = 1e-300


class Weights(NamedTuple):
    """A regression as weights of the labeled rows."""

    of_rows: Array  # (m, c)
    left_out: Array  # (m, c) what each labeled row is told by the others
    ridge: float  # in the mean


def regress(gram: Array, labels: IntArray, n_classes: int) -> Weights:
    """From inner products (m, m) of labeled rows, one in the mean, and their classes (m,).

    The mean over ridges, weighted by how well rows are told by the others. The intercept has the prior of a slope.
    """
    m = len(labels)
    values, U = np.linalg.eigh(gram + 1.0)
    inverse = 1.0 / (np.maximum(values, 0.0) + RIDGES[:, None])  # (s, m)
    wanted = np.eye(n_classes)[labels] - 1.0 / n_classes
    weights = U @ (inverse[:, :, None] * (U.T @ wanted))  # (s, m, c)
    missed = weights / (inverse @ (U * U).T)[:, :, None]
    evidence = -0.5 * m * np.log(np.maximum(np.einsum("smc,smc->s", missed, missed), TINY))
    shares = normalized(evidence[None])[0][0]
    return Weights(np.tensordot(shares, weights, 1), wanted - np.tensordot(shares, missed, 1), float(shares @ RIDGES))


class Regression:
    """Rows, of which some are labeled, and what regressions on these say of all."""

    def __init__(self, rows: Reduced, relabeled: Relabeled | None, labeled: IntArray) -> None:
        self.rows, self.relabeled, self.labeled = rows, relabeled, labeled
        if relabeled is None:
            gram = rows.T[labeled] @ rows.T[labeled].T
        else:
            gram = relabeled.table.taken(labeled).gram()  # coordinates that labels have made know them
        self.gram = gram / rows.n_features

    def named(self, train: IntArray, n_classes: int) -> IntArray:
        """Classes (n,) of all rows by the labels of some, -1 elsewhere."""
        here = train[self.labeled] >= 0
        known = self.labeled[here]
        found = regress(self.gram[np.ix_(here, here)], train[known], n_classes).of_rows
        rows, slopes = self._slopes(known, found)
        return np.asarray((rows.T @ slopes + found.sum(axis=0)).argmax(axis=1))

    def mixture(self, weights: Array) -> tuple[Reduced, Params]:
        """All rows in coordinates that hold the regression with these weights (m, c), and its parameters there."""
        rows, slopes = self._slopes(self.labeled, weights)
        noise = SHARE * rows.n_features
        logs = weights.sum(axis=0) + 0.5 * noise * np.einsum("rc,rc->c", slopes, slopes)
        no_factors = Within(np.zeros((len(slopes), 0)), np.zeros(0), noise)
        return rows, Params(normalized(logs[None])[0][0], noise * slopes.T, no_factors)

    def _slopes(self, known: IntArray, weights: Array) -> tuple[Reduced, Array]:
        """All rows in coordinates, and the slopes there (r, c)."""
        if self.relabeled is None:
            return self.rows, self.rows.T[known].T @ weights / self.rows.n_features
        placed = np.zeros((len(self.rows.T), weights.shape[1]))
        placed[known] = weights / self.rows.n_features
        return self.relabeled.along(placed)
