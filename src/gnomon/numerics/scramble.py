"""Random numbers of rows that depend on their lengths alone: neither axes nor the order of rows matter."""

import numpy as np

from .._types import Array, IntArray

FREQUENCIES = (1e3, 1e4)  # phases of rows differ at random where their mean squares differ by a hundredth


def random_signs(mean_squares: Array, generator: np.random.Generator) -> Array:
    """Numbers (n,) between -1 and 1 of rows of some mean squares, near one in all; they change little when these do."""
    return np.asarray(np.cos(generator.uniform(*FREQUENCIES) * mean_squares + generator.uniform(0.0, 2.0 * np.pi)))


def random_uniforms(mean_squares: Array, generator: np.random.Generator) -> Array:
    """Numbers (n,) that are uniform between 0 and 1 over many rows."""
    return np.asarray(np.arccos(random_signs(mean_squares, generator)) / np.pi)


def random_row(chances: Array, mean_squares: Array, generator: np.random.Generator) -> int:
    """One row, drawn with a probability in proportion to its chance: the first of a race with exponential times."""
    times = -np.log(np.maximum(random_uniforms(mean_squares, generator), np.finfo(float).tiny))
    with np.errstate(divide="ignore", invalid="ignore"):
        return int(np.where(chances > 0, times / chances, np.inf).argmin())


def random_rows(n_rows: int, mean_squares: Array, generator: np.random.Generator) -> IntArray:
    """Different rows, in rising order."""
    return np.sort(np.argsort(random_uniforms(mean_squares, generator), kind="stable")[:n_rows])
