"""The contract between a table of rows, wherever it lives, and everything that computes with it.

A task goes to the rows and comes back as a sum: nothing that a solver wrote runs where it could change something of
the solver's, so rows may live in another process, on another machine or on a device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from .._types import Array, IntArray
from .namespace import holding, rows_home
from .patterns import MaskView

if TYPE_CHECKING:
    from .standard import ScaledRows, StandardRows
    from .summary import Summary

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
Columns = Mapping[str, Any]  # name -> (n, ...) array aligned with the rows


class Block(NamedTuple):
    """Some rows where they live: raw entries, and every number that belongs to a row, cut alike."""

    X: Any  # (m, p) dense, sparse or on a device; NaN where missing
    at: IntArray  # (m,)    row numbers
    weights: Array  # (m,)
    aligned: Columns  # labels, squared lengths, sites, patterns


class Task(Protocol[A_co]):
    """A function, or a frozen dataclass of small arrays: it pickles, and changes nothing where it runs."""

    def __call__(self, block: Block) -> A_co:
        """The answer for a block; answers are added."""


class NotFinite(ValueError):
    """A sum over the rows is not finite: an entry is missing, infinite, or too large to be squared."""

    def __init__(self) -> None:
        super().__init__("X holds entries that are missing, infinite or too large to be squared.")

    def __reduce__(self) -> Any:  # it may come from another process
        return NotFinite, ()


@dataclass
class Reads:
    """Full reads of a table so far, counted together for all views of it."""

    total: float = 0.0


class Rows(ABC):
    """A table of rows; a storage writes `fold`, `fold_columns`, `map`, `gather`, `take` and `with_columns`.

    Attributes
    ----------
    shape : (n, p)
    dtype                       NumPy's type of what is computed from the rows: float32 or float64
    weights : (n,) or None      how much each row weighs; None is one each
    masked : bool               whether entries are missing (NaN)
    sparse : bool               whether X would be large if it were dense
    own_threads : bool          products run on threads of ours, which those of BLAS would slow down
    elsewhere : bool            rows live outside this process, where numbers that belong to all of them stay too
    in_single : bool            rows on another device, whose products may be in the single precision that they are in
    """

    shape: tuple[int, int]
    dtype: Any
    weights: Array | None
    masked: bool = False
    sparse: bool = False
    own_threads: bool = False
    elsewhere: bool = False
    in_single: bool = False
    counter: Reads

    @abstractmethod
    def fold(self, task: Task[A], rows: IntArray | None = None, columns: Columns | None = None) -> A:
        """Sum of task(block) over blocks, each computed where its block lives.

        Parameters
        ----------
        task : Task             answers add with `+`, tuples entry by entry, None is nothing
        rows : (m,) or None     these rows only
        columns : mapping       further aligned columns, for this task alone: (m, ...) where `rows` are given
        """

    @abstractmethod
    def fold_columns(self, task: Task[tuple[A, Columns]], columns: Columns | None = None) -> tuple[A, Rows]:
        """The sum of the first answers, and the same rows with the second ones aligned; one read of all rows."""

    @abstractmethod
    def map(self, task: Task[Block]) -> Rows:
        """Every block replaced where it lives: projections, kernels to landmarks."""

    @abstractmethod
    def gather(self, *columns: str) -> Any:
        """One column, a tuple of several, or with no name the rows themselves, in this process."""

    @abstractmethod
    def take(self, rows: IntArray) -> Rows:
        """Some rows alone, with their weights and columns."""

    @abstractmethod
    def with_columns(self, **columns: Any) -> Rows:
        """The same rows with more columns (n, ...) aligned."""

    @abstractmethod
    def inner_products(self, mean: Array, scale: float) -> Array:
        """(n, n) inner products of (x - mean) / scale, for few rows; one read."""

    @abstractmethod
    def coordinate_rows(self, T: Array) -> Rows:
        """Coordinates (n, r) that are at hand as rows of the same weights."""

    def copied(self) -> Self:
        """The same rows, whose reads are counted together: what `copy.copy` gives, in a third of the time."""
        out = object.__new__(type(self))
        vars(out).update(vars(self))
        return out

    def anew(self, *, weights: Array | None = None, masked: bool | None = None) -> Self:
        """The same rows, whose reads are counted anew, with other weights and `masked` where these are given."""
        out = self.copied()
        out.counter = Reads()
        out.weights = self.weights if weights is None else weights
        out.masked = self.masked if masked is None else masked
        return out

    def there(self, A: Array) -> Any:
        """Numbers about the rows where the rows are, which is here unless they say otherwise."""
        return A

    def like(self, A: Array) -> Any:
        """The same in the type of the rows, if it can hold them."""
        return A.astype(holding(self.dtype, A))

    def project(self, mean: Array, V: Array) -> Any:
        """(X - mean) V (n, r), NaN where an entry is; in the type of the rows, and where they are."""
        return self.like(self.in_units(mean, 1.0).times(V))

    @property
    def reads(self) -> float:
        """Full reads of the data so far; reading some of the rows counts by their share."""
        return self.counter.total

    @property
    def weight(self) -> float:
        """Total weight of the rows."""
        return float(self.shape[0] if self.weights is None else self.weights.sum())

    def summarize(
        self, Y: Any = None, group: Any = None, n_groups: int = 1, *, second: bool = False, rough: bool = False
    ) -> Summary:
        """Means and squares; of complete rows by group sums and products with Y (n, q), with `second` X'X; one read.

        Parameters
        ----------
        Y : (n, q)              zero where not observed
        group : (n,) or None    0 ... n_groups - 1 of every row; rows of negative ones are in the total alone
        rough : bool            second moments of large tables in float32 may be exact to that precision alone

        Raises
        ------
        NotFinite
            For complete rows, when an entry is missing, infinite or too large to be squared.
        """
        from .summary import Summarize

        task = Summarize(self.masked, n_groups if (Y is not None or second) and not self.masked else 0, second)
        columns = {} if Y is None else {"summary_y": Y}
        if group is not None:
            columns["summary_group"] = group
        return self.fold(task, columns=columns).checked()

    def standard(self, summary: Summary) -> StandardRows:
        """The rows centered and scaled, implicitly; masked rows are read once for their patterns of missing entries."""
        from .standard import StandardRows

        found = StandardRows(self, summary.mean, summary.scale, summary)
        return found.measured() if self.masked else found

    def in_units(self, mean: Array, scale: float) -> ScaledRows:
        """The rows in units that are given, for predictions; masked rows are read once, as in `standard`."""
        from .standard import ScaledRows

        found = ScaledRows(self, mean, scale)
        return found.measured() if self.masked else found


class View(NamedTuple):
    """What a step sees of a block; it never sees X."""

    T: Any  # (m, r)  X V, centered, in standard units, missing entries zero
    mask: MaskView | None  # None: every entry is observed
    at: IntArray  # (m,)
    weights: Array  # (m,)
    aligned: Columns


@dataclass(frozen=True)
class Kept:
    """Numbers of some rows that come home; `+` concatenates."""

    parts: tuple[tuple[IntArray, tuple[Array, ...]], ...]  # (row numbers, columns)

    @classmethod
    def of(cls, view: View, *columns: Any) -> Kept:
        """Columns (m, ...) of the rows of a view."""
        return cls(((view.at, columns),))

    @classmethod
    def some(cls, view: View, which: Any, *columns: Any) -> Kept:
        """Columns (m, ...) of the rows of a view that `which` picks."""
        return cls(((view.at[which], tuple(rows_home(column, which) for column in columns)),))

    def __add__(self, other: Kept) -> Kept:
        return Kept(self.parts + other.parts)

    def of_rows(self, rows: IntArray | None = None) -> Any:
        """The column, or the tuple of columns, in the order of `rows`, or of rising row numbers."""
        at = np.concatenate([part for part, _ in self.parts])
        columns = zip(*(values for _, values in self.parts), strict=True)
        found = tuple(np.concatenate(parts) if len(parts) > 1 else parts[0] for parts in columns)
        order = _order(at, rows)
        if order is not None:
            found = tuple(column[order] for column in found)
        return found[0] if len(found) == 1 else found


def _order(at: IntArray, rows: IntArray | None) -> IntArray | None:
    """Places of `rows` in `at`; None when they are there already."""
    if rows is None:
        return None if (at[1:] > at[:-1]).all() else np.argsort(at, kind="stable")
    if np.array_equal(at, rows):
        return None
    by_number = np.argsort(at, kind="stable")
    return np.asarray(by_number[np.searchsorted(at, rows, sorter=by_number)])


class Step(NamedTuple):
    """What a step returns, already times view.weights: the rows weight nothing."""

    U: Any = None  # (m, c), for X'U
    sums: Any = None
    keep: Kept | None = None
    U_mask: Any = None  # (u, d), by pattern
    aligned: Columns | None = None  # columns for the next sweep, left where the rows live


class PureStep(Protocol):
    """A task on views: the same answer whenever and wherever it runs; nothing outside it changes.

    One with `there` set to true takes T, and the mask's, where the rows are, and may return U there.
    """

    def __call__(self, view: View) -> Step:
        """The answer for a view."""


class Swept(NamedTuple):
    """What a sweep brings home."""

    product: Array  # (p, c)  X'U; no columns where the step returns no U
    sums: Any
    kept: Any  # Kept, or None
    mask_product: Array | None  # (p, d)  M'U_mask
    rows: Any  # the same rows, in the same units, with Step.aligned beside them; the old ones stay valid


def add(total: Any, answer: Any, *, into: bool = False) -> Any:
    """Add two answers: None, whatever has a `+`, or tuples of them. With `into`, arrays of `total` may be reused."""
    if total is None or answer is None:
        return answer if total is None else total
    if isinstance(total, tuple):
        parts = [add(a, b, into=into) for a, b in zip(total, answer, strict=True)]
        return type(total)(*parts) if hasattr(total, "_fields") else tuple(parts)
    if isinstance(total, dict):
        return {name: add(total[name], answer[name], into=into) for name in total}
    if into and isinstance(total, np.ndarray) and total.ndim and total.shape == np.shape(answer):
        return np.add(total, answer, out=total) if total.dtype == np.float64 else total + answer
    return total + answer
