"""Rows in frozen units: centered by a mean and divided by one scale, never copied."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpstrf, dtrtri

from .._types import Array, IntArray
from .contract import Block, Columns, Kept, PureStep, Rows, Step, Swept, View
from .entries import DenseEntries, MaskedEntries, SparseEntries, centering_may_wait, entries
from .namespace import Place
from .patterns import MaskView, group_by
from .summary import Summary
from .threads import one_thread

SPAN = 1e-13  # of the largest eigenvalue and per row: smaller ones are rounding


@dataclass(frozen=True)
class InUnits:
    """A task on the entries of a block, centered and scaled."""

    mean: Array
    scale: float
    masked: bool
    in_single: bool

    def entries(self, block: Block) -> DenseEntries | SparseEntries:
        """The entries of a block in these units."""
        late = centering_may_wait(self.mean, self.scale**2)
        return entries(block.X, self.mean, self.scale, self.masked, late, self.in_single)


@dataclass(frozen=True)
class Sweep(InUnits):
    """X V in, X'U out; with `aligned` also the columns that the step returns."""

    V: Array | None
    step: PureStep
    V_mask: Array | None
    split: str | None
    aligned: bool

    def __call__(self, block: Block) -> Any:
        here = self.entries(block)
        there = getattr(self.step, "there", False) and isinstance(here, DenseEntries) and here.place.stays
        mask = self._mask(here, block, there) if isinstance(here, MaskedEntries) else None
        T: Any = np.empty((len(block.at), 0))
        if self.V is not None:
            T = here.times_there(self.V) if there and isinstance(here, DenseEntries) else here.times(self.V)
        view = View(T, mask, block.at, block.weights, block.aligned)
        found = self.step(view)
        del view, T  # X V is as large as a block of a basis
        product, mask_product = np.zeros((len(self.mean), 0)) if found.U is None else here.back(found.U), None
        if found.U_mask is not None:
            assert isinstance(here, MaskedEntries)
            assert mask is not None
            mask_product = here.mask_back(found.U_mask, mask)
        swept = Swept(product, found.sums, found.keep, mask_product, None)
        return (swept, found.aligned or {}) if self.aligned else swept

    def _mask(self, here: MaskedEntries, block: Block, there: bool) -> MaskView:
        V_mask = np.empty((len(self.mean), 0)) if self.V_mask is None else self.V_mask
        if there:  # a device does the same for every row in less time than patterns are gathered in
            each = np.arange(len(block.at))
            return here.mask_times(V_mask, MaskView(None, each, each), there)
        keys = block.aligned["pattern"]
        if self.split is not None:
            labels = np.asarray(block.aligned[self.split])
            keys = keys * (int(labels.max(initial=0)) + 1) + labels
        return here.mask_times(V_mask, group_by(keys))


@dataclass(frozen=True)
class GramProduct(InUnits):
    """X' diag(weights) X V."""

    V: Array

    def __call__(self, block: Block) -> Any:
        return self.entries(block).gram_product(self.V, block.weights)


@dataclass(frozen=True)
class ProductsAndLengths(InUnits):
    """X V, and squared lengths."""

    V: Array

    def __call__(self, block: Block) -> tuple[None, Columns]:
        here = self.entries(block)
        return None, {"product": here.times(self.V), "length": here.lengths()}


@dataclass(frozen=True)
class Measure(InUnits):
    """Squared lengths; of masked rows also how many entries each observes, and which rows observe the same."""

    def __call__(self, block: Block) -> tuple[None, Columns]:
        here = self.entries(block)
        found: dict[str, Any] = {"length": here.lengths()}
        if isinstance(here, MaskedEntries):
            groups = here.patterns()
            # named by a row of it, so that equal names always are equal masks
            found |= {"seen": here.seen(), "pattern": block.at[groups.first][groups.of_row]}
        return None, found


@dataclass(frozen=True)
class Project(InUnits):
    """Coordinates in place of entries, with the squared length that they leave out."""

    B: Array

    def __call__(self, block: Block) -> Block:
        here = self.entries(block)
        T = here.times(self.B)
        outside = np.maximum(here.lengths() - np.einsum("ij,ij->i", T, T), 0.0)
        return block._replace(X=T, aligned={**block.aligned, "outside": outside})


def keep_times(view: View) -> Step:
    """The step that keeps T."""
    return Step(keep=Kept.of(view, view.T))


@dataclass(frozen=True)
class TimesAndBack:
    """The step that returns T, and keeps it of the rows that a column marks."""

    marked: str
    there: ClassVar[bool] = True

    def __call__(self, view: View) -> Step:
        keep, w = Kept.some(view, view.aligned[self.marked], view.T), view.weights
        return Step(Place(view.T).put(w[:, None]) * view.T if (w != 1.0).any() else view.T, keep=keep)


@dataclass(frozen=True)
class Back:
    """The step that brings a column, weighted."""

    column: str

    def __call__(self, view: View) -> Step:
        return Step(view.weights[:, None] * view.aligned[self.column])


class Coordinates(NamedTuple):
    """Rows in an orthonormal basis of the space they span, and what leads back to the features."""

    T: Array  # (n, r), standard units
    xx: Array  # T' diag(weights) T: (r, r), or (r,) of principal ones, falling
    back: Array  # (n, r)   the basis is X' diag(weights) back
    rows: "ScaledRows"

    def expand(self, C: Array) -> Array:
        """Coordinates (r, m) as features (p, m); one read."""
        return self.rows.back(self.back @ C)

    def reader(self) -> "ScaledRows":
        """The coordinates as rows of their own, in the same units."""
        rows = self.rows.rows.coordinate_rows(self.T)
        return ScaledRows(rows, np.zeros(self.T.shape[1]), 1.0)


@dataclass(frozen=True)
class ScaledRows:
    """Rows with a mean and a scale that are given. Products are in these units, and weighted."""

    rows: Rows
    mean: Array
    scale: float

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows.shape

    @property
    def weights(self) -> Array | None:
        """How much each row weighs; None is one each."""
        return self.rows.weights

    @property
    def reads(self) -> float:
        """Full reads of the data so far."""
        return self.rows.reads

    @property
    def _units(self) -> tuple[Array, float, bool, bool]:
        rows = self.rows
        single = rows.in_single and not rows.masked and centering_may_wait(self.mean, self.scale**2, True)
        return self.mean, self.scale, rows.masked, single

    def _over(self, rows: Rows) -> Any:
        return replace(self, rows=rows)

    def taken(self, rows: IntArray) -> "ScaledRows":
        """Some rows in the same units, read once and held; all of them, in order and in this process, are no copy."""
        n = self.shape[0]
        self.rows.counter.total += len(rows) / n
        every = len(rows) == n and not self.rows.elsewhere and bool((rows == np.arange(n)).all())
        return ScaledRows(self.rows.anew() if every else self.rows.take(rows), self.mean, self.scale)

    def with_columns(self, **columns: Any) -> Any:
        """The same rows with more columns (n, ...) aligned."""
        return self._over(self.rows.with_columns(**columns))

    def sweep(
        self, V: Array | None, step: PureStep, *, V_mask: Array | None = None, split: str | None = None,
        rows: IntArray | None = None, columns: Columns | None = None, aligned: bool = False,
    ) -> Swept:  # fmt: skip
        """One read: X V in, X'U out.

        Parameters
        ----------
        V : (p, r) or None          what the rows are multiplied by; None skips the product
        step : PureStep
        V_mask : (p, s)             what the mask is multiplied by, for rows that miss entries
        split : str                 an aligned column of small whole numbers that patterns must agree in too
        rows : (m,) or None         these rows only
        columns : mapping           further aligned columns for this sweep: (m, ...) where `rows` are given
        aligned : bool              whether the step returns columns for the next sweep; all rows are read then
        """
        if rows is not None and len(rows) == 0:
            return Swept(np.zeros((self.shape[1], 0)), None, None, None, self)
        task = Sweep(*self._units, V, step, V_mask, split, aligned)
        if aligned:
            assert rows is None
            swept, with_columns = self.rows.fold_columns(task, columns)
            there = self._over(with_columns)
        else:
            swept, there = self.rows.fold(task, rows, columns), self
        product, sums, kept, mask_product, _ = swept
        return Swept(product, sums, kept, mask_product, there)

    def times(self, V: Array, rows: IntArray | None = None) -> Array:
        """X V (m, r) of all rows or some, in this process."""
        if rows is not None and len(rows) == 0:
            return np.zeros((0, V.shape[1]))
        return np.asarray(self.sweep(V, keep_times, rows=rows).kept.of_rows(rows))

    def back(self, U: Array, rows: IntArray | None = None) -> Array:
        """X' diag(weights) U (p, c) of all rows or some; U (m, c)."""
        if rows is not None and len(rows) == 0:
            return np.zeros((self.shape[1], U.shape[1]))
        return self.sweep(None, Back("back"), rows=rows, columns={"back": U}).product

    def gram_product(self, V: Array) -> Array:
        """X' diag(weights) X V (p, r); missing entries count as their mean."""
        return np.asarray(self.rows.fold(GramProduct(*self._units, V)))

    def products(self, V: Array, marked: str) -> tuple[Array, Kept]:
        """X' diag(weights) X V (p, r), and X V of the rows that an aligned column of booleans marks; one read."""
        found = self.sweep(V, TimesAndBack(marked))
        return found.product, found.kept

    def project(self, B: Array) -> Rows:
        """Coordinates in B (p, r), with the column "outside": squared length outside orthonormal B."""
        return self.rows.map(Project(*self._units, B))

    def products_and_lengths(self, V: Array) -> tuple[Array, Array]:
        """X V (n, r) and the sum of squares of every row (n,), weights not applied; one read."""
        found = self.rows.fold_columns(ProductsAndLengths(*self._units, V))[1]
        products, lengths = found.gather("product", "length")
        return products, lengths

    def measured(self) -> Any:
        """The same with columns "length" (squares of observed entries) and, of masked rows, "seen" and "pattern"."""
        return self._over(self.rows.fold_columns(Measure(*self._units))[1])

    def lengths(self) -> Array:
        """Sum of squares of the observed entries of every row (n,); one read."""
        return np.asarray(self.measured().rows.gather("length"))

    def gram(self) -> Array:
        """X X' (n, n), weights not applied; one read."""
        return self.rows.inner_products(self.mean, self.scale)

    def coordinates(self, *, principal: bool = True) -> Coordinates:
        """Coordinates from the n x n inner products, the way for few rows; one read, and one for each `expand`.

        Those that are not principal come by elimination, in a fraction of the time.
        """
        n = self.shape[0]
        root = np.ones(n) if self.weights is None else np.sqrt(self.weights)
        gram = self.gram() * np.outer(root, root)
        if principal:
            values, U = np.linalg.eigh(gram)  # NumPy's, whose threads are those of the product
            kept = (values > SPAN * n * max(values[-1], 0.0))[::-1]
            values, U = values[::-1][kept], U[:, ::-1][:, kept]
            return Coordinates(U * np.sqrt(values) / root[:, None], values, U / (root[:, None] * np.sqrt(values)), self)
        least = SPAN * n * max(float(gram.diagonal().max()), 0.0)
        with one_thread():  # SciPy's threads fight those that the product left spinning
            factor, order, rank, _ = dpstrf(gram, tol=least, lower=1)
            inverse = dtrtri(factor[:rank, :rank], lower=1)[0]
        L, back = np.empty((n, rank)), np.zeros((n, rank))
        L[order - 1] = np.tril(factor[:, :rank])
        back[order[:rank] - 1] = np.tril(inverse).T
        return Coordinates(L / root[:, None], L.T @ L, back / root[:, None], self)


@dataclass(frozen=True)
class StandardRows(ScaledRows):
    """Rows in the units of their own summary: mean squared deviation per observed entry one.

    It cannot exist before the first read, so there is no order to get wrong.
    """

    summary: Summary

    @property
    def weight(self) -> float:
        """Total weight of the rows."""
        return self.summary.weight

    @property
    def n_entries(self) -> float:
        """Weighted number of observed entries."""
        return float(self.summary.counts.sum())

    @property
    def observed_weight(self) -> Array:
        """Weight of the rows that observe each column (p,)."""
        return self.summary.counts

    @property
    def energy(self) -> float:
        """Weighted sum of squared deviations of the observed entries, in standard units."""
        return self.n_entries if self.summary.squares.any() else 0.0
