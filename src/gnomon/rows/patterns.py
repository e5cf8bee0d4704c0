"""Rows that observe the same entries share what depends on the mask alone."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._types import Array, IntArray


class MaskView(NamedTuple):
    """The mask of a block times V_mask, a row for each pattern; where few rows share one, each is its own pattern."""

    T: Any  # (u, s)
    first: IntArray  # (u,)    a row of each pattern
    of_row: IntArray  # (m,)

    @property
    def repeated(self) -> bool:
        """Whether there are fewer patterns than rows."""
        return len(self.first) < len(self.of_row)

    def by_row(self, A: Array) -> Array:
        """What is held by pattern (u, ...) for every row (m, ...)."""
        return A[self.of_row] if self.repeated else A

    def sums(self, A: Array, weights: Array) -> Array:
        """Weighted sums of A (m, c) over the rows of each pattern (u, c)."""
        if not self.repeated:
            return np.asarray(A * weights[:, None])
        m = len(self.of_row)
        of_pattern = sparse.csr_array((weights, self.of_row, np.arange(m + 1)), shape=(m, len(self.first)))
        return np.asarray(of_pattern.T @ A)


def group_by(keys: Any) -> MaskView:
    """Group rows by key (m,)."""
    _, first, of_row = np.unique(keys, return_index=True, return_inverse=True)
    if 2 * len(first) > len(keys):
        first = of_row = np.arange(len(keys))
    return MaskView(None, first, of_row.reshape(-1))
