"""The order of latents, or components, that every row finds equally plausible, and draws of components."""

from collections.abc import Sequence

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


def sort_components(log_pl: Array, mixtures: Sequence[Array], *, tied: bool = False) -> None:
    """Put the components of each class variable in order, in place: log-weights, means and variances, by the means."""
    means = mixtures[1]
    for s, plausible in enumerate(log_pl):
        order, latents = order_of(plausible, means[s]), slice(None) if tied else slice(s, s + 1)
        for table in mixtures:
            table[latents] = table[latents][:, order]


def draw_components(log_weights: Array, n: int, generator: np.random.Generator) -> IntArray:
    """Components (n, b) that n rows come from."""
    c = log_weights.shape[1]
    return np.column_stack([generator.choice(c, size=n, p=np.exp(logs)) for logs in log_weights])
