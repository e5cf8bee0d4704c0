"""Where the rows live: the one contract between the data and every model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._types import Array, IntArray

LARGEST = 1e153  # squares of larger numbers, and sums of them, overflow
Step = Callable[[Array, IntArray], tuple[Array, Any]]


class GroupMoments(NamedTuple):
    """Weighted sums over one group of rows, x centred by the overall mean and in standard units."""

    x: Array  # (p,)
    xx: Array  # (p, p)
    xy: Array  # (p, q)


class NotFinite(ValueError):
    """A sum over the rows is not finite: an entry is missing, infinite, or too large to be squared."""

    def __init__(self) -> None:
        super().__init__("X holds entries that are missing, infinite or too large to be squared.")


class RowSource(ABC):
    """Rows of a table that can be read, centred and multiplied, but never copied as a whole.

    A source is read by `first_pass` (means and X'Y, once), then by `sweep` as often as a solver asks. Everything after
    the first pass is in *standard units*: rows are centred by `mean` and divided by the one number `scale`,
    the root mean squared deviation per entry as soon as `energy` is known, so that data of any magnitude behave alike.

    Attributes
    ----------
    shape : (n, p)
    weights : (n,) or None      how many rows each row counts for
    count : float               sum of the weights
    mean : (p,)                 weighted mean, in the units of X
    scale : float               units of X per standard unit
    n_passes : float            full reads of the data so far; reading some of the rows counts for their share
    own_threads : bool          the products run on threads of ours, which those of BLAS would slow down
    """

    own_threads = False

    def __init__(self, shape: tuple[int, int], weights: Array | None = None) -> None:
        self.shape = shape
        self.weights = weights
        self.count = float(shape[0] if weights is None else weights.sum())
        self.mean: Array = np.zeros(shape[1])
        self.scale = 1.0
        self.n_passes = 0.0
        self._energy: float | None = None

    @abstractmethod
    def _sums(self, U: Array) -> tuple[Array, float]:
        """Return X'U (p, r) of the raw rows, weights not applied, and max |x|; reads the data once."""

    @abstractmethod
    def _sweep(self, V: Array | None, step: Step, rows: IntArray | None) -> tuple[Array, Any]:
        """Do the work of `sweep`, with T in standard units and the product (a fresh array) still in units of X."""

    @abstractmethod
    def _raw_energy(self) -> float:
        """Return the weighted sum of squared deviations in units of `scale`; reads the data once."""

    @abstractmethod
    def _raw_second_moment(self, rows: IntArray | None) -> Array:
        """Return the weighted sum of (x - mean)(x - mean)' in units of `scale`."""

    @abstractmethod
    def _raw_gram(self) -> Array:
        """Return the (n, n) inner products of centred rows in units of `scale`, weights not applied."""

    def first_pass(self, Y: Array) -> Array:
        """Read the rows once: set `mean` and a provisional `scale`, return the weighted Xc'Y (p, q) in standard units.

        Rows without a value in Y carry zeros there.
        """
        n = self.shape[0]
        w = np.ones(n) if self.weights is None else self.weights
        U = np.column_stack([w, w[:, None] * Y])
        with np.errstate(over="ignore", invalid="ignore"):
            sums, largest = self._sums(U)
        if not (np.isfinite(sums[:, 0]).all() and largest <= LARGEST):
            raise NotFinite
        self.n_passes += 1
        self.mean = sums[:, 0] / self.count
        self.scale = largest if largest > 0 else 1.0
        self._energy = None
        return np.asarray((sums[:, 1:] - np.outer(self.mean, U[:, 1:].sum(axis=0))) / self.scale)

    @property
    def n_entries(self) -> float:
        """Weighted number of entries, all of which are observed."""
        return self.count * self.shape[1]

    @property
    def energy(self) -> float:
        """Weighted sum of squared deviations in standard units; the first use may cost a pass."""
        if self._energy is None:
            self._energy = self._raw_energy()
            self.n_passes += 1
        return self._energy

    def set_energy(self, energy: float) -> None:
        """Take the energy, in standard units, from whoever has just computed it as a by-product."""
        self._energy = energy

    def standardise(self) -> float:
        """Make the mean squared deviation per entry one; return what X'Y in the old units must be multiplied by."""
        energy = self.energy
        factor = float(np.sqrt(energy / (self.count * self.shape[1])))
        if factor == 0.0:
            return 1.0
        self.scale *= factor
        self._energy = self.count * self.shape[1]
        return 1.0 / factor

    def sweep(self, V: Array | None, step: Step, rows: IntArray | None = None) -> tuple[Array, Any]:
        """Read the rows once and return (X' diag(weights) U, the sum of stats), centred and in standard units.

        Parameters
        ----------
        V : (p, r) or None      what the rows are multiplied by; None skips the product
        step : callable         step(T, index) -> (U, stats), with T = X V for the rows in `index`, one block at a time
        rows : (m,) or None     read these rows only
        """
        m = self.shape[0] if rows is None else len(rows)
        self.n_passes += m / self.shape[0]
        out, stats = self._sweep(V, step, rows)
        out /= self.scale
        return out, stats

    def gram_product(self, V: Array) -> Array:
        """X' diag(weights) X V (p, r): the sweep whose step is the identity."""
        return self.sweep(V, lambda T, index: (T, None))[0]

    def second_moment(self, rows: IntArray | None = None) -> Array:
        """X' diag(weights) X (p, p) of all rows or some; one pass."""
        self.n_passes += (self.shape[0] if rows is None else len(rows)) / self.shape[0]
        return self._raw_second_moment(rows)

    def group_moments(self, groups: list[IntArray], Y: Array) -> list[GroupMoments]:
        """First and second moments of groups of rows that together are all rows; sets `mean` and `scale`.

        The rows of the first group, which should be the largest, are what remains of the total. Two passes, or one
        where a source can do with less. Rows without a value in Y carry zeros there. Memory: p^2 per group.
        """
        n, q = self.shape[0], Y.shape[1]
        masks = np.zeros((n, len(groups)))
        for g, rows in enumerate(groups):
            masks[rows, g] = 1.0
        blocks = [Y * masks[:, [g]] for g in range(len(groups))]
        products = self.first_pass(np.hstack([*blocks, masks[:, 1:]]))
        seconds = [self.second_moment(rows) for rows in groups[1:]]
        total = self.second_moment(None)
        self.set_energy(float(np.trace(total)))
        factor = self.standardise()
        products *= factor
        sums = products[:, len(groups) * q :]
        firsts = [-sums.sum(axis=1), *sums.T]
        seconds = [total - sum(seconds) if seconds else total, *seconds]
        xy = [products[:, g * q : (g + 1) * q] for g in range(len(groups))]
        return [GroupMoments(x, xx * factor**2, c) for x, xx, c in zip(firsts, seconds, xy, strict=True)]

    def gram(self) -> Array:
        """X X' (n, n), weights not applied; one pass."""
        self.n_passes += 1
        return self._raw_gram()

    def _apply_weights(self, U: Array, rows: IntArray) -> Array:
        return U if self.weights is None else U * self.weights[rows, None]


def add_stats(total: Any, stats: Any) -> Any:
    """Add two stats: None, numbers, arrays or tuples of them."""
    if total is None or stats is None:
        return stats if total is None else total
    if isinstance(total, tuple):
        return (
            type(total)(*map(add_stats, total, stats))
            if hasattr(total, "_fields")
            else tuple(add_stats(a, b) for a, b in zip(total, stats, strict=True))
        )
    return total + stats
