"""Which rows belong together, as replicates of a sample, cells of a donor or visits of a patient do."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._types import IntArray
from ..rows.namespace import to_host
from .forms import is_missing, objects


def read_groups(groups: Any, n_samples: int) -> IntArray | None:
    """Numbers (n,) of groups, or None where every row is one of its own, as a row without a group is."""
    if groups is None:
        return None
    held = to_host(groups)
    if isinstance(held, str | bytes) or not isinstance(held, Iterable):
        raise TypeError(f"groups={held!r} is no list of groups; give one entry for each row of X.")
    given = objects(list(held))
    if any(np.ndim(one) for one in given):
        raise ValueError(
            "groups holds entries of several values; one column with an entry for each row of X is wanted."
        )
    if len(given) != n_samples:
        raise ValueError(f"groups has {len(given)} entries and X {n_samples} rows; give one for each row.")
    found = [("", i) if is_missing(one) else (str(one),) for i, one in enumerate(given)]
    numbers = {one: i for i, one in enumerate(dict.fromkeys(found))}
    return None if len(numbers) == n_samples else np.array([numbers[one] for one in found])


def groups_among(groups: IntArray | None, rows: IntArray) -> IntArray | None:
    """Numbers (m,) of the groups of some rows, 0, 1, ... as they come first; None where every row is one of its own."""
    if groups is None:
        return None
    first, place = np.unique(groups[rows], return_index=True, return_inverse=True)[1:]
    return None if len(first) == len(rows) else np.argsort(np.argsort(first))[place]
