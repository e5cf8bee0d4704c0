"""In how many rows a feature occurs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import Array
from .contract import Block
from .kind import is_sparse


@dataclass(frozen=True)
class Presence:
    """Count the rows of each group in which a feature is not zero: (n_groups, p), by the column "group"."""

    n_groups: int

    def __call__(self, block: Block) -> Array:
        """Counts of a block; rows of a negative group count nowhere."""
        group = block.aligned["group"]
        member = (group[:, None] == np.arange(self.n_groups)).astype(np.float64)
        counts = member.T @ (block.X != 0)
        return np.asarray(counts.toarray() if is_sparse(counts) else counts, dtype=np.float64)
