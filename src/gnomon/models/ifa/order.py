"""The order of what the data do not tell apart: latents, or components, that every row finds equally plausible."""

from __future__ import annotations

import numpy as np

from ..._types import Array, IntArray


def order_of(log_pl: Array, keys: Array) -> IntArray:
    """Order of latents (S, c, n), or components (c, n): equally plausible ones by rising keys."""
    order = np.arange(len(log_pl))
    left = list(order)
    while left:
        places = [i for i in left if np.array_equal(log_pl[i], log_pl[left[0]])]
        order[places] = np.array(places)[np.argsort(keys[places], kind="stable")]
        left = [i for i in left if i not in places]
    return order
