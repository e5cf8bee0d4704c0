"""Points that may be among the nearest of rows, found in single precision: half of the bytes, twice as fast."""

from typing import NamedTuple

import numpy as np

from .._types import Array, IntArray

ROUNDING = 2.0**-22  # of a squared distance in single precision, for the root of the columns: seven deviations
BESIDE = 8.0  # roundings that do not grow with the columns


class Screen(NamedTuple):
    """Dense points in single precision, around their mean and in units of their largest entry."""

    across: Array  # (p + 1, m)   minus two times the points, and their squared lengths
    origin: Array  # (p,)
    unit: float
    longest: float  # squared length of a point


def screen_of(points: Array) -> Screen | None:
    """The screen of points (m, p); None where their squares have no digits."""
    origin = points.mean(axis=0)
    apart = points - origin
    unit = float(np.abs(apart).max(initial=0.0))
    if not 0.0 < unit < np.inf:
        return None
    apart /= unit
    lengths = np.einsum("ij,ij->i", apart, apart)
    across = np.empty((points.shape[1] + 1, len(points)), dtype=np.float32)
    across[:-1] = -2.0 * apart.T
    across[-1] = lengths
    return Screen(across, origin, unit, float(lengths.max()))


def few_points(screen: Screen, rows: Array, width: int) -> tuple[IntArray, Array]:
    """So many points (n, width) of each row (n, p) and a squared distance (n,) that no other point falls short of.

    It is minus infinity where single precision cannot tell.
    """
    n, p = rows.shape
    apart = rows - screen.origin
    apart /= screen.unit
    own = np.einsum("ij,ij->i", apart, apart)
    single = np.ones((n, p + 1), dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        single[:, :-1] = apart
        scores = single @ screen.across  # squared distances, less `own`
    first_beyond = np.partition(scores, width, axis=1)[:, width]
    near = scores < first_beyond[:, None]
    told = np.count_nonzero(near, axis=1) == width  # fewer where several are as far as it
    found = np.zeros((n, width), dtype=np.intp)
    found[told] = np.flatnonzero(near[told]).reshape(-1, width) % near.shape[1]
    bound = first_beyond + own - ROUNDING * (np.sqrt(p) + BESIDE) * (own + screen.longest)
    return found, np.where(told, bound * screen.unit**2, -np.inf)
