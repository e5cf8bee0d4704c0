"""Rows of a dense array with missing entries (NaN), read block by block together with what is observed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._types import Array, IntArray
from . import namespace
from .namespace import Place, is_foreign, row_slices, take_rows
from .products import missing_rows
from .source import add_stats

DEVICE_ENTRIES = 1 << 21  # entries read at once from another device; numbers per row and pair of dimensions follow
CODE_BITS = {True: 48, False: 20}  # bits of a mask that one float64, or one float32, holds exactly


class Patterns(NamedTuple):
    """Which rows of a block observe the same entries; where few do, each row counts as a pattern of its own."""

    first: IntArray  # (u,)    a row of each pattern
    of_row: IntArray  # (m,)

    @property
    def repeated(self) -> bool:
        """Whether there are fewer patterns than rows."""
        return len(self.first) < len(self.of_row)

    def by_row(self, A: Array) -> Array:
        """What is held by pattern (u, ...) for every row (m, ...)."""
        return A[self.of_row] if self.repeated else A

    def sums(self, A: Array, weights: Array) -> Array:
        """Weighted sums of A (m, c) over the rows of each pattern (u, c)."""
        if not self.repeated:
            return np.asarray(A * weights[:, None])
        m = len(self.of_row)
        spread = sparse.csr_array((weights, self.of_row, np.arange(m + 1)), shape=(m, len(self.first)))
        return np.asarray(spread.T @ A)

    def split(self, labels: IntArray) -> Patterns:
        """Patterns whose rows agree in their label (m,) too."""
        if not self.repeated:
            return self
        return _patterns(self.of_row * (int(labels.max()) + 1) + labels)


def _patterns(keys: Any) -> Patterns:
    """Group rows by key (m,)."""
    _, first, of_row = np.unique(keys, return_index=True, return_inverse=True)
    if 2 * len(first) > len(keys):
        first = of_row = np.arange(len(keys))
    return Patterns(first, of_row.reshape(-1))


class MaskedBlock(NamedTuple):
    """Some rows: products of their entries, by row, and of their masks, by pattern; all on the host in float64."""

    T: Array  # (m, r)   X V, missing entries zero
    TM: Array  # (u, s)   M V_mask
    rows: IntArray  # (m,)
    patterns: Patterns
    weights: Array  # (m,)

    def sums(self, A: Array) -> Array:
        """Weighted sums of A (m, c) over the rows of each pattern (u, c)."""
        return self.patterns.sums(A, self.weights)


MaskedStep = Callable[[MaskedBlock], tuple[Array, Array, Any]]


class MaskedRows:
    """A (n, p) array, of NumPy or any array API library, in which NaN means missing; never copied, moved or changed.

    Rows are centred by the mean of the observed entries of each column and divided by one number, so that the mean
    squared deviation of the observed entries is one; missing entries become zero, and the mask tells them apart. Rows
    of a block that miss the same entries share one row of the mask.

    Blocks are multiplied where X is, in float64 if the device has it. What a step of `sweep` gets and returns, numbers
    per row and direction or pair of directions, comes to the host and goes back, and the mask comes once, packed.
    Memory beyond X: two blocks, entries and mask, of about 4 MiB each on a host and 16 MiB on another device.

    Attributes
    ----------
    shape, weights, count, mean, scale, n_passes : as in `RowSource`
    n_entries : float       weighted number of observed entries
    observed_weight : (p,)  weight of the rows that observe each column
    energy : float          weighted sum of squared deviations of the observed entries, in standard units
    patterns : list of Patterns, one for each block
    """

    def __init__(self, X: Any, weights: Array | None = None) -> None:
        self.X, self._place = X, Place(X)
        self.shape = (X.shape[0], X.shape[1])
        self.weights = np.ones(X.shape[0]) if weights is None else weights
        self.count = float(self.weights.sum())
        self.n_passes = 0.0
        self.patterns: list[Patterns] = []
        place, sums, seen, largest = self._place, np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0.0
        for block, missing, index in self._blocks(np.zeros(X.shape[1]), 1.0):
            w, mask = place.put(self.weights[index]), _mask(place, missing)
            sums += place.host(w @ block)
            seen += place.host(w @ mask)
            largest = max(largest, float(place.xp.max(place.xp.abs(block))))
            self.patterns.append(_patterns(_keys(place, missing, mask)))
        self.observed_weight, self.n_entries = seen, float(seen.sum())
        self.mean: Array = sums / np.maximum(seen, 1e-300)
        self.scale = largest or 1.0
        energy = 0.0
        for block, _, index in self._blocks(self.mean, self.scale):
            energy += float(self.weights[index] @ place.host(place.squares(block)))
        factor = float(np.sqrt(energy / self.n_entries)) or 1.0
        self.scale *= factor
        self.energy = energy / factor**2

    def _blocks(self, mean: Array, scale: float) -> Iterator[tuple[Any, Any, IntArray]]:
        self.n_passes += 1
        n, p = self.shape
        size = max(16, (namespace.BLOCK_ENTRIES if self._place.on_host else DEVICE_ENTRIES) // max(1, p))
        for start in range(0, n, size):
            stop = min(start + size, n)
            yield *_read(self._place, self.X[start:stop, :], mean, scale), np.arange(start, stop)

    def split_patterns(self, labels: IntArray) -> list[Patterns]:
        """For each block, patterns whose rows agree in their label (n,) too."""
        ends = np.cumsum([len(patterns.of_row) for patterns in self.patterns])[:-1]
        return [patterns.split(part) for patterns, part in zip(self.patterns, np.split(labels, ends), strict=True)]

    def sweep(
        self, V: Array, V_mask: Array, step: MaskedStep, patterns: list[Patterns] | None = None
    ) -> tuple[Array, Array, Any]:
        """Read the rows once and return (X' diag(weights) U, M' U_mask, the sum of stats).

        Parameters
        ----------
        V : (p, r)          what the centred rows, zero where missing, are multiplied by
        V_mask : (p, s)     what the mask M is multiplied by
        step : callable     step(block) -> (U by row, U_mask by pattern with weights applied, stats)
        patterns : list     from `split_patterns`; None takes those of the mask alone
        """
        place, out, out_mask, total = self._place, None, None, None
        V_put, V_mask_put = place.put(V), place.put(V_mask)
        patterns = self.patterns if patterns is None else patterns
        for (block, missing, index), of in zip(self._blocks(self.mean, self.scale), patterns, strict=True):
            mask, w = _mask(place, take_rows(missing, of.first) if of.repeated else missing), self.weights[index]
            T, TM = place.host(block @ V_put), place.host(mask @ V_mask_put)
            U, U_mask, stats = step(MaskedBlock(T, TM, index, of, w))
            out = place.add(out, block.T @ place.put(w[:, None] * U))
            out_mask = place.add(out_mask, mask.T @ place.put(U_mask))
            total = add_stats(total, stats)
        return place.host(out), place.host(out_mask), total

    def gram_product(self, V: Array) -> Array:
        """X' diag(weights) X V with missing entries at their mean: a start, not a statistic of the model."""
        none = np.zeros((self.shape[1], 0))
        return self.sweep(V, none, lambda block: (block.T, block.TM, None))[0]


class MaskedProducts(NamedTuple):
    """Products of some rows and of their masks, on the host in float64."""

    T: Array  # (m, r)
    TM: Array  # (u, s)
    patterns: Patterns
    energy: Array  # (m,)       sum of squares of the observed entries
    n_observed: Array  # (m,)


def masked_products(
    X: Any, rows: IntArray, mean: Array, scale: float, V: Array, V_mask: Array, labels: IntArray | None = None
) -> MaskedProducts:
    """Multiply rows of X (n, p), (x - mean) / scale and zero where NaN, by V, and their masks by V_mask.

    `labels` (m,) keep patterns apart. X may be of any array API library; it is multiplied where it is.
    """
    place = Place(X)
    block, missing = _read(place, take_rows(X, rows), mean, scale)
    mask = _mask(place, missing)
    patterns = _patterns(_keys(place, missing, mask))
    patterns = patterns if labels is None else patterns.split(labels)
    n_observed = place.host(place.xp.sum(mask, axis=1))
    if patterns.repeated:
        mask = take_rows(mask, patterns.first)
    T, TM = place.host(block @ place.put(V)), place.host(mask @ place.put(V_mask))
    return MaskedProducts(T, TM, patterns, place.host(place.squares(block)), n_observed)


def incomplete_rows(X: Any) -> IntArray:
    """Indices of the rows with a NaN, of any dense X; none in a sparse one."""
    if not is_foreign(X):
        return missing_rows(X)
    place = Place(X)
    if bool(place.xp.isfinite(place.xp.sum(X))):
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(place.host(place.xp.any(place.xp.isnan(X), axis=1)))


def column_range(X: Any) -> tuple[Array, Array]:
    """Smallest and largest observed entry of each column (p,), NaN where none is; on the host."""
    if not is_foreign(X):
        return np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    place, lowest, highest = Place(X), np.full(X.shape[1], np.nan), np.full(X.shape[1], np.nan)
    for rows in row_slices(X):
        block = X[rows, :]
        missing, far = place.xp.isnan(block), place.xp.full_like(block, np.inf)
        low = place.host(place.xp.min(place.xp.where(missing, far, block), axis=0))
        high = place.host(place.xp.max(place.xp.where(missing, -far, block), axis=0))
        lowest = np.fmin(lowest, np.where(np.isinf(low), np.nan, low))
        highest = np.fmax(highest, np.where(np.isinf(high), np.nan, high))
    return lowest, highest


def filled(X: Any, mean: Array, Z: Array, components: Array) -> Any:
    """A copy of a foreign X with mean + Z components in place of NaN; where X is and in its type."""
    place, parts = Place(X), []
    components_put, mean_put = place.put(components), place.put(mean)
    for rows in row_slices(X):
        expected = place.xp.astype(place.put(Z[rows]) @ components_put + mean_put, X.dtype, copy=False)
        parts.append(place.xp.where(place.xp.isnan(X[rows, :]), expected, X[rows, :]))
    return place.xp.concat(parts, axis=0)


def _read(place: Place, X: Any, mean: Array, scale: float) -> tuple[Any, Any]:
    """Rows, centred, scaled and zero where missing, and where they are missing."""
    xp = place.xp
    if not place.foreign:
        block = (X - mean) / scale
        missing = np.isnan(block)
        block[missing] = 0.0
        return block, missing
    block = (place.floats(X) - place.put(mean)) / scale
    missing = xp.isnan(block)
    return xp.where(missing, xp.zeros_like(block), block), missing


def _mask(place: Place, missing: Any) -> Any:
    return place.floats(place.xp.logical_not(missing))


def _keys(place: Place, missing: Any, mask: Any) -> Any:
    """One key (m,) for each row, the same where the same entries are missing: the mask, packed, as one byte string."""
    if not place.foreign:
        codes: Any = np.packbits(missing, axis=1)
    else:  # the bits of several columns make one whole number that a float holds
        p, bits = missing.shape[1], CODE_BITS[place.double]
        powers = np.zeros((p, -(-p // bits)))
        powers[np.arange(p), np.arange(p) // bits] = 2.0 ** (np.arange(p) % bits)
        codes = place.host(mask @ place.put(powers))
    codes = np.ascontiguousarray(codes)
    return codes.view(np.dtype((np.void, codes.dtype.itemsize * codes.shape[1])))[:, 0]
