"""Refusing a latent space as large as the data: no noise would be left to estimate."""

from __future__ import annotations

import numpy as np

from ..numerics.linalg import orthonormal_columns, top_eigh
from ..numerics.moments import Moments, second_moment
from ..rows.standard import StandardRows

NOTHING = 1e-12  # of the energy


def refuse_full_rank(moments: Moments, k: int) -> None:
    """Raise ValueError when k reaches the rank of the rows; a start block wider than k then spans them all."""
    second = second_moment(moments)
    total = moments.outside_energy + float(np.trace(second))
    if moments.outside_energy <= NOTHING * total:
        rank = int((top_eigh(second, moments.size)[0] > NOTHING * total).sum()) if total > 0 else 0
        _refuse(rank, k)


def refuse_full_rank_of_rows(rows: StandardRows, k: int, generator: np.random.Generator) -> None:
    """The same by two passes over the rows, for solvers that keep no basis."""
    block = rows.gram_product(generator.standard_normal((rows.shape[1], k + 1)))
    B = orthonormal_columns(block)
    inside = float(np.sum(B * rows.gram_product(B)))
    if rows.energy - inside <= NOTHING * rows.energy:
        _refuse(B.shape[1], k)


def _refuse(rank: int, k: int) -> None:
    if k >= rank:
        raise ValueError(
            f"n_components={k} must be less than the rank of X, {rank}: with as many latent dimensions as the data "
            f"have, no noise is left to estimate. Ask for at most {max(rank - 1, 0)}."
        )
