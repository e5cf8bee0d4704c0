"""How far scores may be from those of the rows that are meant: intervals of 95 %, and what a difference amounts to."""

from typing import NamedTuple

import numpy as np
from scipy.stats import beta, t

LEVEL = 0.95
TAIL = 0.5 * (1.0 - LEVEL)
LEARNED = 3.0  # found on the sets of `gnomon reproduce breadth-intervals`


class Interval(NamedTuple):
    """A value and the ends of its interval, NaN where they cannot be told."""

    value: float
    low: float
    high: float


def of_error(losses, weights, overlap=0.0, n_meant=np.inf):
    """The share of wrong rows among `n_meant` that are meant, and its interval.

    Losses (n,) are the share of splits in which a row was wrong; a row of weight w counts as n w rows, of which
    1 / sum of squared weights are worth as much together as rows of one weight. Rows that are meant vary by themselves,
    so that of n scored and m meant 1 / (1/n + 1/m) count.

    The high end is that of a flat prior. The low end is the exact one of fewer rows, n / (1 + `LEARNED` overlap), since
    splits learn from fewer labels than there are: `overlap` is the number of rows held out over that learned from.
    None wrong leaves the low end at zero, none right the high end at one.
    """
    share, n = float(weights @ losses), 1.0 / (float(weights @ weights) + 1.0 / n_meant)
    wrong, right, fewer = n * share, n * (1.0 - share), 1.0 + LEARNED * overlap
    low = beta.ppf(TAIL, wrong / fewer, 1.0 + right / fewer) if wrong > 0.0 else 0.0
    high = beta.ppf(1.0 - TAIL, 1.0 + wrong, 1.0 + right) if right > 0.0 else 1.0
    return Interval(share, min(float(low), share), max(float(high), share))


def standard_error(values, overlap=0.0):
    """That of the mean of values of several splits or draws.

    `overlap` is the number of held-out rows over that of those learned from, where the same rows are split anew:
    the variance of the mean is then the values' times 1 / J + overlap (Nadeau and Bengio 2003). Draws have none.
    """
    return np.sqrt((1.0 / len(values) + overlap) * np.var(values, ddof=1))


def of_mean(values, overlap=0.0):
    """The mean of values of several splits or draws, and its interval by Student's t; see `standard_error`."""
    mean, n = float(np.mean(values)), len(values)
    if n < 2:
        return Interval(mean, np.nan, np.nan)
    half = float(t.ppf(1.0 - TAIL, n - 1) * standard_error(values, overlap))
    return Interval(mean, mean - half, mean + half)
