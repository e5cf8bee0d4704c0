"""Refusing a latent space as large as the data: no noise would be left to estimate."""

import numpy as np

from .._types import Array
from ..numerics.linalg import orthonormal_columns
from ..rows.spare import NOTHING
from ..rows.standard import StandardRows

SEEN = 0.9  # of the energy of a direction, at least, in a basis that holds nearly all


def check_rank(xx: Array, energy: float, k: int) -> None:
    """Raise ValueError when k reaches the rank of rows, xx (r, r) their second moment in a basis of their own."""
    if energy - float(np.trace(xx)) <= NOTHING * energy:
        _check_below(int((np.linalg.eigvalsh(xx) > SEEN * NOTHING * energy).sum()) if energy > 0 else 0, k)


def check_rank_of_rows(rows: StandardRows, k: int, generator: np.random.Generator) -> None:
    """The same by two passes over the rows, for solvers that keep no basis."""
    block = rows.gram_product(generator.standard_normal((rows.shape[1], k + 1)))
    B = orthonormal_columns(block)
    inside = float(np.sum(B * rows.gram_product(B)))
    if rows.energy - inside <= NOTHING * rows.energy:
        _check_below(B.shape[1], k)


def _check_below(rank: int, k: int) -> None:
    if k >= rank:
        way = f"Ask for at most {rank - 1}."
        if rank <= 1:
            way = "All that varies in X goes one way; if that is a column of large numbers, bring all to one scale."
        raise ValueError(
            f"n_components={k} must be less than the rank of X, {rank}: with as many latent dimensions as the data "
            f"have, no noise is left to estimate. {way}"
        )
