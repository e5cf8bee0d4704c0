"""How far noise of the entries moves projections by a map that is linear in preparations of the rows, not in the rows.

What noise does to a prepared row has no formula, neighbors least: rows of the fit get noise once more, and it is seen
how far that moves them. The map is made of prepared rows of the fit, as a linear one is of rows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtri

from .._types import Array
from ..numerics.linalg import symmetrize
from ..rows import read
from ..rows.kind import is_sparse
from ..rows.products import in_form
from ._noise_of_map import Noise, _principal, add_squares, drawn, noise_of_rows

DRAWS = 400  # rows that get noise: a variance is then known to 7 %
LEVEL = 0.95  # at which regions by chi-squared are about exact
ENTRIES = 4_000_000  # of them at most, but for
FEWEST = 100


class PreparedNoise(NamedTuple):
    """What noise does to projections that are T @ D with coordinates T (n, r) of prepared rows."""

    cov: Array  # (k, k)   of a new row
    pull: Array  # (r, k)   times the coordinates of a row of the fit


def noise_of_preparations(noise: Noise, X: Any, brought: Callable[[Any], Array], T: Array, D: Array) -> PreparedNoise:
    """From rows X of the fit, how rows are brought to coordinates, theirs T (n, r), and the map D (r, k)."""
    n = int(np.clip(ENTRIES // X.shape[1], FEWEST, DRAWS))
    order = np.argsort(T @ D[:, 0], kind="stable")  # whatever that of the rows is
    rng, some = np.random.default_rng(0), X[order[np.arange(n) * len(T) // n]]
    dense = some.toarray() if is_sparse(some) else some
    noisy = in_form(dense + noise.draw(n, rng), sparse=is_sparse(X))
    away = brought(noisy) - brought(some)
    moves = away @ D
    own = noise_of_rows(read(T))  # of many columns more than what lies along rows of the fit
    total = max(float((away**2).sum()) / n, 0.0 if own is None else own.total)
    found = _principal(read(T))
    pull = found.times(D, drawn(found.squares, total))
    cov = symmetrize(moves.T @ moves) / n
    squares = np.einsum("ni,ij,nj->n", moves, np.linalg.pinv(cov), moves, optimize=True)
    wider = np.quantile(squares, LEVEL) / chdtri(D.shape[1], 1.0 - LEVEL)  # rows are moved unequally far
    return PreparedNoise(max(float(wider), 1.0) * cov, pull)


def moved_prepared(noise: PreparedNoise, n: int, of_fit: Array, T: Array | None) -> Array:
    """Covariances (n, k, k), of which those of rows of the fit have coordinates T (m, r)."""
    covs = np.broadcast_to(noise.cov, (n, *noise.cov.shape)).copy()
    if T is not None:
        add_squares(covs, of_fit, T @ noise.pull)
    return covs
