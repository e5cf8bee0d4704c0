"""The labeled rows of fits, and what is the same in every fit to them."""

from functools import cached_property

import numpy as np

from ..._types import Array, IntArray
from ...numerics.linalg import rank_of
from .away import Away
from .mixture import Within
from .reduction import Reduced, at_hand

FLOOR = 1e-6  # smallest noise variance, relative to the mean variance of x (one, in standard units)
NOTHING = 1e-10  # of the largest singular value
START_SHRINKAGE = 1e-3  # of the ridge LDA that the first responsibilities come from


class Labeled:
    """Coordinates and classes of labeled rows, their inner products and ridge LDA."""

    def __init__(self, rows: Reduced | Away, index: IntArray, n_classes: int) -> None:
        self.known = np.flatnonzero(index >= 0)
        here = at_hand(rows, self.known)
        self.L, self.labels, self.p = here.T, index[self.known], rows.n_features
        self.one_hot = np.eye(n_classes)[self.labels]
        self.counts = self.one_hot.sum(axis=0)
        self.outside = float(here.outside.sum())

    @cached_property
    def gram(self) -> Array:
        """Inner products of the coordinates (r, r)."""
        return self.L.T @ self.L

    @cached_property
    def means(self) -> Array:
        """Class means (c, r)."""
        return np.asarray((self.one_hot.T @ self.L) / self.counts[:, None])

    @cached_property
    def few(self) -> bool:
        """Whether directions within classes follow from the rows themselves, so few they are."""
        return bool(2 * len(self.L) <= self.L.shape[1])

    @cached_property
    def _deviations(self) -> tuple[Array, Array]:
        """Singular values of the deviations from the class means, and their directions."""
        U, sizes, _ = np.linalg.svd((self.L - self.means[self.labels]).T, full_matrices=False)
        kept = rank_of(sizes, NOTHING, NOTHING)
        return sizes[:kept], U[:, :kept]

    @cached_property
    def axes(self) -> tuple[Array, Array]:
        """Eigenvalues of the scatter within classes, falling, and their directions; where rows are few no others."""
        if self.few:
            sizes, U = self._deviations
            return sizes**2, U
        roots = self.means * np.sqrt(self.counts)[:, None]
        values, U = np.linalg.eigh(self.gram - roots.T @ roots)
        return values[::-1], U[:, ::-1]

    @cached_property
    def lda(self) -> tuple[Array, Within, float]:
        """Class means (c, r), the covariance by ridge LDA, and the mean variance within classes."""
        n, means = len(self.L), self.means
        sizes, U = self._deviations
        deviations = self.L - means[self.labels]
        variance = float((deviations**2).sum() + self.outside) / n / self.p
        noise = max(START_SHRINKAGE * (variance if variance > FLOOR else 1.0), FLOOR)
        return means, Within(U, (1.0 - START_SHRINKAGE) * sizes**2 / n + noise, noise), variance
