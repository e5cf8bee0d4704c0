"""What the entries of a table are: missing, infinite, large, observed at all; and filling those that are missing."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from .._types import Array
from .contract import Block, Rows
from .kind import is_sparse
from .namespace import Place, namespace


@dataclass(frozen=True)
class Seen:
    """What some entries are."""

    missing: bool  # one is NaN
    infinite: bool  # one is
    largest: float  # |x| of the others; zero where all their squares add up to a number above zero
    vanishing: bool = False  # all squares are zero, as floats

    def __add__(self, other: "Seen") -> "Seen":
        missing, infinite = self.missing or other.missing, self.infinite or other.infinite
        return Seen(missing, infinite, max(self.largest, other.largest), self.vanishing and other.vanishing)


def look_at(block: Block) -> Seen:
    """What the entries of a block are; one sum of squares where all is well."""
    values = block.X.data if is_sparse(block.X) else block.X
    total = _total(values)
    if isfinite(total) and total > 0.0:
        return Seen(False, False, 0.0)
    if values.shape[0] == 0:  # a sparse block that stores nothing
        return Seen(False, False, 0.0, True)
    xp = namespace(values)
    finite = xp.isfinite(values)
    largest = xp.max(xp.where(finite, xp.abs(values), xp.zeros_like(values)))
    return Seen(bool(xp.any(xp.isnan(values))), bool(xp.any(xp.isinf(values))), float(largest), total == 0.0)


def _total(values: Any) -> float:
    """Sum of the squares of entries, which may be missing, infinite or too large."""
    with np.errstate(over="ignore", invalid="ignore"):
        return Place(values).sum_of_squares(values)


def is_finite(X: Any) -> bool:
    """Whether one sum of squares tells that all entries of an array are finite; if it does not, `look` does."""
    return isfinite(_total(X))


def look(rows: Rows) -> Seen:
    """What the entries of rows are; a read that nobody counts."""
    return rows.anew().fold(look_at)


@dataclass(frozen=True)
class Range:
    """Smallest and largest observed entry of each column (p,), NaN where none is."""

    low: Array
    high: Array

    def __add__(self, other: "Range") -> "Range":
        return Range(np.fmin(self.low, other.low), np.fmax(self.high, other.high))


def column_range(block: Block) -> Range:
    """The range of the columns of a dense block."""
    place, X = Place(block.X), block.X
    missing, far = place.xp.isnan(X), place.xp.full_like(X, np.inf)
    low = place.host(place.xp.min(place.xp.where(missing, far, X), axis=0))
    high = place.host(place.xp.max(place.xp.where(missing, -far, X), axis=0))
    return Range(np.where(np.isinf(low), np.nan, low), np.where(np.isinf(high), np.nan, high))


@dataclass(frozen=True)
class Fill:
    """mean + z components in place of NaN, z the column "filling"."""

    mean: Array
    components: Array

    def __call__(self, block: Block) -> Block:
        place, xp = Place(block.X), namespace(block.X)
        expected = place.put(block.aligned["filling"]) @ place.put(self.components) + place.put(self.mean)
        X = xp.where(xp.isnan(block.X), xp.astype(expected, block.X.dtype, copy=False), block.X)
        return block._replace(X=X, aligned={})


def filled(rows: Rows, mean: Array, Z: Array, components: Array) -> Rows:
    """Dense rows with mean + Z components in place of NaN, where they are and in their type."""
    return rows.with_columns(filling=Z).map(Fill(mean, components))
