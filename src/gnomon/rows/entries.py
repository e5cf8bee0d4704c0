"""What is done with the entries of a block, whatever holds them: centered products there and back, and squares."""

import copy
from typing import Any

import numpy as np

from .._types import Array, IntArray
from .kind import is_sparse
from .namespace import Place, take_rows
from .patterns import MaskView, group_by
from .threads import sparse_product

OFFSET_LIMIT = 30.0  # largest squared mean, in variances, that may be taken from products: one digit and a half
SINGLE_LIMIT = 1.0  # the same where products are in single precision
SAFE = 1e-10  # scales down to this, and up to one over it, leave squares in the range of single precision
CODE_BITS = {True: 48, False: 20}  # bits of a mask that one float64, or one float32, holds exactly


def entries(
    X: Any, mean: Array, scale: float, masked: bool, late: bool = False, single: bool = False
) -> "DenseEntries | SparseEntries":  # fmt: skip
    """Entries (x - mean) / scale of a block of dense, sparse or foreign rows, zero where missing.

    With `late` means are taken from products, not from the entries, which saves a copy of the block. With `single`
    products of foreign rows in single precision are in it, and late.
    """
    if is_sparse(X):
        return SparseEntries(X, mean, scale)
    return MaskedEntries(X, mean, scale) if masked else DenseEntries(X, mean, scale, late, single)


def centering_may_wait(mean: Array, variance: float, single: bool = False) -> bool:
    """Whether products may be centered afterwards: no overflow, and means not large beside deviations."""
    low, high, limit = (1e-20, 1e20, SINGLE_LIMIT) if single else (1e-200, 1e200, OFFSET_LIMIT)
    return low < variance < high and float(np.abs(mean).max()) < np.sqrt(limit * variance)


class DenseEntries:
    """Rows of NumPy or another library, multiplied where they are, in float64 if the device has it."""

    def __init__(self, X: Any, mean: Array, scale: float, late: bool = False, single: bool = False) -> None:
        self.place, self.scale = Place(X, single), scale
        waits = single or (late and isinstance(X, np.ndarray) and X.dtype == np.float64)
        self.late = self.place.put(mean) if waits else None
        self.C = self.place.floats(X) - self.place.put(mean) if self.late is None else X

    def _total(self, product: Any) -> Any:
        """A product that sums may be taken of: where the device has no float64, on the host."""
        return product if self.place.double else self.place.host(product)

    def _times(self, V: Any) -> Any:
        out = self.C @ V
        if self.late is not None:
            out -= self.late @ V
        out /= self.scale
        return out

    def _back(self, U: Any) -> Any:
        if self.late is None or self.place.foreign:
            out = self.place.sum_product(self.C, U)
            if self.late is not None:
                out -= self.place.xp.sum(U, axis=0, dtype=out.dtype) * self.late[:, None]
        else:
            out = (U.T @ self.C).T
            for column, total in zip(out.T, U.sum(axis=0), strict=True):  # no second array as large
                column -= total * self.late
        out /= self.scale
        return self._total(out)

    def times(self, V: Array) -> Array:
        """Entries times V (m, r), on the host."""
        return self.place.host(self._times(self.place.put(V)))

    def times_there(self, V: Array) -> Any:
        """The same where they are."""
        return self._times(self.place.put(V))

    def back(self, U: Any) -> Any:
        """Transposed entries times U (p, c), where they are."""
        return self._back(self.place.put(U))

    def gram_product(self, V: Array, weights: Array) -> Any:
        """back(weights * times(V)); no number per row leaves where they are."""
        T = self._times(self.place.put(V))
        if (weights != 1.0).any():
            T *= self.place.put(weights[:, None])
        return self._back(T)

    def second(self, weights: Array) -> Array:
        """Weighted squares and products (p, p)."""
        C = self.scaled()
        if (weights != 1.0).any():
            C = C * self.place.put(np.sqrt(weights)[:, None])
        return self.place.host(C.T @ C)

    def scaled(self) -> Any:
        """The entries themselves (m, p)."""
        C = self.C if self.late is None else self.C - self.late
        return C if self.scale == 1.0 else C / self.scale

    def lengths(self) -> Array:
        """Sum of squares of every row (m,)."""
        if not SAFE <= self.scale <= 1.0 / SAFE:
            return self.place.host(self.place.squares(self.scaled()))
        return np.asarray(self.place.host(self.place.squares(self.C, self.late)) / self.scale**2)

    def of_rows(self, rows: IntArray) -> "DenseEntries":
        """Those of some of the rows."""
        out = copy.copy(self)
        out.C = take_rows(self.C, rows)
        return out


class SparseEntries:
    """Rows of a scipy sparse matrix; the centering is algebra, never a dense copy."""

    def __init__(self, X: Any, mean: Array, scale: float) -> None:
        self.X, self.mean, self.scale = X, mean, scale

    def times(self, V: Array) -> Array:
        return sparse_product(self.X, V, 1.0, self.mean @ V, self.scale)

    def back(self, U: Array) -> Array:
        return sparse_product(self.X.T, U, self.mean, U.sum(axis=0), self.scale)

    def gram_product(self, V: Array, weights: Array) -> Array:
        T = self.times(V)
        T *= weights[:, None]
        return self.back(T)

    def second(self, weights: Array) -> Array:
        X, m = self._scaled(), self.mean / self.scale
        out = np.asarray((X.T @ X.multiply(weights[:, None]).asformat(X.format)).toarray())
        cross = np.outer(X.T @ weights, m)
        out -= cross + cross.T - weights.sum() * np.outer(m, m)
        return np.asarray(out)

    def _scaled(self) -> Any:
        return self.X.astype(np.float64) * (1.0 / self.scale)

    def of_rows(self, rows: IntArray) -> "SparseEntries":
        return SparseEntries(self.X[rows], self.mean, self.scale)

    def lengths(self) -> Array:
        scaled = self._scaled()
        m = np.asarray(self.mean / self.scale)
        own = np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel()
        return np.asarray(np.maximum(own - 2.0 * (scaled @ m) + m @ m, 0.0))


class MaskedEntries(DenseEntries):
    """Rows of NumPy or another library that miss entries."""

    def __init__(self, X: Any, mean: Array, scale: float) -> None:
        super().__init__(X, mean, scale)
        xp = self.place.xp
        self.missing = xp.isnan(self.C)
        self.C = xp.where(self.missing, xp.zeros_like(self.C), self.C)

    def mask(self, rows: Any = None) -> Any:
        """1 where an entry is observed, of all rows or some."""
        missing = self.missing if rows is None else take_rows(self.missing, rows)
        return self.place.floats(self.place.xp.logical_not(missing))

    def seen(self) -> Array:
        """How many entries each row observes (m,)."""
        return self.place.host(self.place.xp.sum(self.mask(), axis=1))

    def patterns(self) -> MaskView:
        """Rows grouped by what they observe: bits of several columns make one whole number that a float holds."""
        p, bits = self.missing.shape[1], CODE_BITS[self.place.double]
        powers = np.zeros((p, -(-p // bits)))
        powers[np.arange(p), np.arange(p) // bits] = 2.0 ** (np.arange(p) % bits)
        codes = np.ascontiguousarray(self.place.host(self.mask() @ self.place.put(powers)))
        return group_by(codes.view(np.dtype((np.void, codes.dtype.itemsize * codes.shape[1])))[:, 0])

    def mask_times(self, V: Array, groups: MaskView, there: bool = False) -> MaskView:
        """The mask of every group times V, on the host or where the entries are."""
        mask = self.mask(groups.first if groups.repeated else None)
        T = mask @ self.place.put(V)
        return groups._replace(T=T if there else self.place.host(T))

    def mask_back(self, U: Array, groups: MaskView) -> Any:
        """The transposed mask of every group times U (p, d)."""
        mask = self.mask(groups.first if groups.repeated else None)
        return self._total(mask.T @ self.place.put(U))
