"""The order of what the data do not tell apart: latents, or components, that every row finds equally plausible."""

from __future__ import annotations

import numpy as np

from ..._types import Array, IntArray


def latent_order(log_pl: Array, explained: Array) -> IntArray:
    """Order (S,) of latents with plausibilities (S, c, n): interchangeable ones by falling explained variance."""
    return _order(log_pl, -explained)


def component_order(log_pl: Array, means: Array) -> IntArray:
    """Order (c,) of components with plausibilities (c, n): interchangeable ones by rising means."""
    return _order(log_pl, means)


def _order(log_pl: Array, keys: Array) -> IntArray:
    order = np.arange(len(log_pl))
    left = list(order)
    while left:
        places = [i for i in left if np.array_equal(log_pl[i], log_pl[left[0]])]
        order[places] = np.array(places)[np.argsort(keys[places], kind="stable")]
        left = [i for i in left if i not in places]
    return order
