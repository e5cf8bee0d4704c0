"""What is done with the entries of a block, whatever holds them: centered products there and back, and squares."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .._types import Array
from .kind import is_foreign, is_sparse
from .namespace import Place, take_rows
from .patterns import MaskView, group_by
from .threads import sparse_product

CODE_BITS = {True: 48, False: 20}  # bits of a mask that one float64, or one float32, holds exactly


class Entries(Protocol):
    """Entries (x - mean) / scale of some rows, zero where missing."""

    def times(self, V: Array) -> Array:
        """Entries times V (m, r), on the host."""

    def back(self, U: Array) -> Any:
        """Transposed entries times U (p, c), where they are."""

    def gram_product(self, V: Array, weights: Array) -> Any:
        """back(weights * times(V)); no number per row leaves where they are."""

    def lengths(self) -> Array:
        """Sum of squares of every row (m,)."""


def entries(X: Any, mean: Array, scale: float, masked: bool) -> Entries:
    """The entries of a block of dense, sparse or foreign rows."""
    if is_sparse(X):
        return SparseEntries(X, mean, scale)
    if masked:
        return MaskedEntries(X, mean, scale)
    return ForeignEntries(X, mean, scale) if is_foreign(X) else DenseEntries(X, mean, scale)


class DenseEntries:
    """Rows of a NumPy array."""

    def __init__(self, X: Array, mean: Array, scale: float) -> None:
        self.C, self.scale = X - mean, scale

    def times(self, V: Array) -> Array:
        T = self.C @ V
        T /= self.scale
        return np.asarray(T)

    def back(self, U: Array) -> Array:
        out = self.C.T @ U
        out /= self.scale
        return np.asarray(out)

    def gram_product(self, V: Array, weights: Array) -> Array:
        return self.back(self.times(V) * weights[:, None])

    def lengths(self) -> Array:
        scaled = self.C / self.scale
        return np.asarray(np.einsum("ij,ij->i", scaled, scaled))


class SparseEntries:
    """Rows of a scipy sparse matrix; the centering is algebra, never a dense copy."""

    def __init__(self, X: Any, mean: Array, scale: float) -> None:
        self.X, self.mean, self.scale = X, mean, scale

    def times(self, V: Array) -> Array:
        T = sparse_product(self.X, V)
        T -= self.mean @ V
        T /= self.scale
        return T

    def back(self, U: Array) -> Array:
        out = sparse_product(self.X.T, U)
        for column, total in zip(out.T, U.sum(axis=0), strict=True):  # in place: as large as a block of a basis
            column -= self.mean * total
        out /= self.scale
        return out

    def gram_product(self, V: Array, weights: Array) -> Array:
        T = self.times(V)
        T *= weights[:, None]
        return self.back(T)

    def lengths(self) -> Array:
        scaled = self.X.astype(np.float64) * (1.0 / self.scale)
        m = np.asarray(self.mean / self.scale)
        own = np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel()
        return np.asarray(np.maximum(own - 2.0 * (scaled @ m) + m @ m, 0.0))


class ForeignEntries:
    """Rows of an array of another library, multiplied where they are, in float64 if the device has it."""

    def __init__(self, X: Any, mean: Array, scale: float) -> None:
        self.place = Place(X)
        self.C = (self.place.floats(X) - self.place.put(mean)) / scale

    def _total(self, product: Any) -> Any:
        """A product that sums may be taken of: where the device has no float64, on the host."""
        return product if self.place.double else self.place.host(product)

    def times(self, V: Array) -> Array:
        return self.place.host(self.C @ self.place.put(V))

    def back(self, U: Array) -> Any:
        return self._total(self.C.T @ self.place.put(U))

    def gram_product(self, V: Array, weights: Array) -> Any:
        T = self.C @ self.place.put(V)
        return self._total(self.C.T @ (T * self.place.put(weights[:, None])))

    def lengths(self) -> Array:
        return self.place.host(self.place.squares(self.C))


class MaskedEntries(ForeignEntries):
    """Rows of NumPy or another library that miss entries."""

    def __init__(self, X: Any, mean: Array, scale: float) -> None:
        self.place = place = Place(X)
        if place.foreign:
            C = (place.floats(X) - place.put(mean)) / scale
            self.missing = place.xp.isnan(C)
            self.C = place.xp.where(self.missing, place.xp.zeros_like(C), C)
        else:
            self.C = (X - mean) / scale
            self.missing = np.isnan(self.C)
            self.C[self.missing] = 0.0

    def mask(self, rows: Any = None) -> Any:
        """1 where an entry is observed, of all rows or some."""
        missing = self.missing if rows is None else take_rows(self.missing, rows)
        return self.place.floats(self.place.xp.logical_not(missing))

    def seen(self) -> Array:
        """How many entries each row observes (m,)."""
        return self.place.host(self.place.xp.sum(self.mask(), axis=1))

    def patterns(self) -> MaskView:
        """Rows grouped by what they observe: the mask, packed, as one byte string a row."""
        if not self.place.foreign:
            codes: Any = np.packbits(self.missing, axis=1)
        else:  # the bits of several columns make one whole number that a float holds
            p, bits = self.missing.shape[1], CODE_BITS[self.place.double]
            powers = np.zeros((p, -(-p // bits)))
            powers[np.arange(p), np.arange(p) // bits] = 2.0 ** (np.arange(p) % bits)
            codes = self.place.host(self.mask() @ self.place.put(powers))
        codes = np.ascontiguousarray(codes)
        return group_by(codes.view(np.dtype((np.void, codes.dtype.itemsize * codes.shape[1])))[:, 0])

    def mask_times(self, V: Array, groups: MaskView) -> MaskView:
        """The mask of every group times V."""
        mask = self.mask(groups.first if groups.repeated else None)
        return groups._replace(T=self.place.host(mask @ self.place.put(V)))

    def mask_back(self, U: Array, groups: MaskView) -> Any:
        """The transposed mask of every group times U (p, d)."""
        mask = self.mask(groups.first if groups.repeated else None)
        return self._total(mask.T @ self.place.put(U))
