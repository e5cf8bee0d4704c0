"""Kernels of principal coordinates: linear or squared-exponential, in directions weighted by their variance."""

from typing import NamedTuple

import numpy as np

from ..._types import Array, IntArray

ROUNDING = 1e-9  # of a squared length: what is left outside the directions is no more than rounding


class Seen(NamedTuple):
    """Rows in the principal coordinates of a table, of which they may be new rows."""

    T: Array  # (n, r)
    outside: Array  # (n,) squared length outside the directions
    variances: Array  # (r,) of the table along the directions, falling
    n_rows: int  # of the table

    def take(self, rows: IntArray | slice) -> "Seen":
        return self._replace(T=self.T[rows], outside=self.outside[rows])


class Kernel(NamedTuple):
    """How alike two rows are expected to be in y, one in the mean for a row and itself.

    The prior variance of the slope along a direction is its variance to the `power`, relative to its variance; or the
    same along `leading` directions and zero along others. With a finite `length` it is squared-exponential.
    """

    preparation: int  # number of the table
    power: float
    length: float
    leading: int = 0

    @property
    def linear(self) -> bool:
        return bool(np.isinf(self.length))

    def scales(self, variances: Array) -> Array:
        """What coordinates are multiplied with, so that their mean squared lengths sum to one."""
        shares, of = self._shares(variances), variances[: self.leading or None]
        return np.asarray(np.sqrt(shares / (shares.sum() * of)))

    def _shares(self, variances: Array) -> Array:
        return np.ones(self.leading) if self.leading else np.power(variances / variances[0], self.power)

    def coordinates(self, seen: Seen) -> Array:
        """Rows (n, k) whose inner products, or distances, the kernel is of."""
        scales = self.scales(seen.variances)
        found: Array = seen.T[:, : len(scales)] * scales
        return found

    def of_pairs(self, left: Array, right: Array) -> Array:
        """(n, m) from coordinates (n, k) and (m, k)."""
        products: Array = left @ right.T
        if self.linear:
            return products
        squares = np.einsum("ij,ij->i", left, left)[:, None] + np.einsum("ij,ij->i", right, right)
        near = np.exp(-np.maximum(squares - 2.0 * products, 0.0) / (2.0 * self.length**2))
        return np.asarray(near * self.length**2)

    def of_rows(self, seen: Seen) -> Array:
        """(n,) of each row and itself; what lies outside the directions counts as one more of them."""
        coordinates = self.coordinates(seen)
        if not self.linear:
            return np.full(len(coordinates), self.length**2)
        within: Array = np.einsum("ij,ij->i", coordinates, coordinates)
        if self.leading:
            return within
        squares = np.einsum("ij,ij->i", seen.T, seen.T)
        outside = np.where(seen.outside > ROUNDING * (squares + seen.outside), seen.outside, 0.0)
        variance = np.maximum(seen.variances[-1], outside / seen.n_rows)
        share = (variance / seen.variances[0]) ** self.power / self._shares(seen.variances).sum()
        return np.asarray(within + outside / variance * share)
