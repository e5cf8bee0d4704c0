"""How rare a number is beyond a sample: counted, or by a Pareto tail where few are as large."""

from typing import NamedTuple

import numpy as np

from .._types import Array

BEYOND = 0.1  # share of the sample behind whose least number the tail begins,
LEAST = 5  # and numbers in it at least
SMALLEST_TAIL = 1e-3  # of a mean log of numbers over that where the tail begins


class Tail(NamedTuple):
    """Positive numbers (m,), rising; where their tail begins, and the mean log of those beyond over that."""

    values: Array
    start: float
    spread: float

    @property
    def _share(self) -> float:
        n = len(self.values)
        return BEYOND if n >= LEAST / BEYOND else LEAST / n

    def beyond(self, values: Array) -> Array:
        """The share of new numbers that are at least as large."""
        n = len(self.values)
        n_as_far = n - np.searchsorted(self.values, values)
        with np.errstate(divide="ignore"):
            far = self._share * np.exp(-np.log(np.maximum(values, self.start) / self.start) / self.spread)
        counted = (n_as_far + 1.0) / (n + 1.0)
        return np.where(values > self.start, np.minimum(far, counted), counted)

    def limit(self, share: float) -> float:
        """The number that so many new ones are beyond: counted where `LEAST` are at hand, else by the tail."""
        n = len(self.values)
        n_beyond = int(share * (n + 1.0) * (1.0 + 1e-12)) - 1
        if n_beyond >= LEAST:
            return float(self.values[n - n_beyond - 1])
        return float(self.start * max(self._share / share, 1.0) ** self.spread)


def n_tail(n: int) -> int:
    """How many of n numbers are in their tail."""
    return max(LEAST, int(BEYOND * n))


def of_sorted(values: Array, least_spread: float = SMALLEST_TAIL) -> Tail:
    """The tail of rising numbers, of which more than those in it are positive."""
    m = n_tail(len(values))
    start = float(values[-m - 1])
    return Tail(values, start, max(float(np.log(values[-m:] / start).mean()), least_spread))
