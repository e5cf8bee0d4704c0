"""Rows in an orthonormal basis: exact where a side of the table is short, else the leading directions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, IntArray
from ...numerics.folds import ranks
from ...numerics.groups import group_means
from ...numerics.linalg import orthonormal_columns, parting_none, rank_of, symmetrize, top_eigh
from ...rows.contract import Rows
from ...rows.standard import ScaledRows, StandardRows
from ...rows.threads import one_thread
from .away import Away


class Limits(NamedTuple):
    """How large a table may be before only its leading directions are kept."""

    exact_side: int = 1500  # up to this many rows or columns the basis spans all rows: one eigenproblem of a second
    entries: int = 1 << 25  # numbers in T at most, 256 MiB, as long as n_leading directions fit
    n_leading: int = 120  # directions kept of a large table: three times the most factors
    n_spare: int = 20  # further ones that are iterated and dropped
    reads: int = 3  # rounds of the iteration; directions of text are found to a few percent, which EM does not feel
    eigenproblem: float = 3.0  # time of one of size m, in that of m^3 operations of products


LIMITS = Limits()
CONSTANT = "X is constant: all rows are equal; there is nothing to fit."
RANK = 1e-10  # of the largest eigenvalue: smaller ones are no direction of few rows
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Reduced:
    """Rows in an orthonormal basis, centered, in standard units, and what lies outside it."""

    T: Array  # (n, r)
    outside: Array  # (n,) squared length outside the basis, zero where the basis is exact
    n_features: int
    expand: Callable[[Array], Array]  # coordinates (r, m) -> features (p, m)
    exact: bool
    standard: StandardRows
    columns: IntArray | None = None  # those that these coordinates are of another basis
    of_labels: int = 0  # how many coordinates, the last ones, labels have made

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and coordinates."""
        return self.T.shape[0], self.T.shape[1]

    @cached_property
    def gram(self) -> Array:
        """Inner products of the coordinates (r, r)."""
        return self.T.T @ self.T

    @cached_property
    def spans(self) -> dict[int, Any]:
        """What fits of all rows alike have found of their leading directions, by the number."""
        return {}

    def take(self, rows: IntArray) -> "Reduced":
        """Some rows alone."""
        return replace(self, T=self.T[rows], outside=self.outside[rows])

    def means(self, place: IntArray) -> "Reduced":
        """The mean row of each group 0, 1, ..., of which `place` (n,) is that of a row."""
        return replace(self, T=group_means(self.T, place), outside=group_means(self.outside, place))

    def lengths_and_products(self, direction: Array, rows: IntArray) -> tuple[Array, Array]:
        """Squared lengths of whole rows, and their coordinates times a direction (m,), of some."""
        T = self.T[rows]
        return np.einsum("ij,ij->i", T, T) + self.outside[rows], T @ direction


def at_hand(rows: Reduced | Away, some: IntArray | None = None) -> Reduced:
    """Some rows, or all, in this process."""
    if isinstance(rows, Reduced):
        return rows if some is None else rows.take(some)
    T, outside = rows.kept(some)
    return Reduced(T, outside, rows.n_features, rows.expand, rows.exact, rows.standard, of_labels=rows.of_labels)


def reduce_rows(rows: Rows, extra: Array, limits: Limits = LIMITS) -> Reduced | Away:
    """Reduce rows to coordinates; a basis of leading directions holds X'extra as well, of one-of-C columns (n, m).

    Coordinates of rows that live elsewhere stay there, but for those of few rows.
    """
    n, p = rows.shape
    if n <= p and n <= limits.exact_side:
        standard = _varying(rows.standard(rows.summarize()))
        found = standard.coordinates()
        return Reduced(found.T, np.zeros(n), p, found.expand, True, standard)
    summary = rows.summarize(extra, second=p <= limits.exact_side)
    (sums,) = summary.standard_groups()
    standard = _varying(rows.standard(summary))
    if sums.xx is not None:
        values, B = top_eigh(sums.xx, p)
        rank = rank_of(values, 1e-13 * p)
        B = B[:, : min(rank, max(limits.n_leading, limits.entries // n))]
        exact, of_labels = B.shape[1] == rank, 0
    else:
        B, of_labels = _leading_directions(standard, sums.xy, summary.squares, limits)
        exact = False
    if rows.elsewhere:
        return Away.of(standard, B, exact, of_labels)
    if exact:
        return Reduced(standard.times(B), np.zeros(n), p, B.__matmul__, True, standard)
    projected = standard.project(B)
    T, outside = projected.gather(), projected.gather("outside")
    return Reduced(T, outside, p, B.__matmul__, False, standard, of_labels=of_labels)


@dataclass(frozen=True, eq=False)
class Relabeled:
    """Some rows of a large table in coordinates of which other labels have made the last ones.

    Rows whose labels have made a coordinate lie off the others of their class along it, and a model that is fitted
    there without their labels still knows them.
    """

    rows: Reduced  # by all labels
    table: ScaledRows  # the same rows, whole
    leading: Array  # (p, r) directions that no label has made

    @classmethod
    def of(cls, rows: Reduced | Away, some: IntArray, kept: Reduced) -> "Relabeled":
        """Of all rows those that are `kept`."""
        leading = np.eye(kept.shape[1])[:, : kept.shape[1] - kept.of_labels]
        return cls(kept, rows.standard.taken(some), rows.expand(leading))

    def by(self, one_of_c: Array) -> Reduced:
        """The rows, where labels of some of them are one-of-C columns (n, c)."""
        T, r = self.rows.T, self.leading.shape[1]
        B = orthonormal_columns(self.table.back(one_of_c), self.leading)
        return self._in(np.hstack([self.leading, B]), np.hstack([T[:, :r], self.table.times(B)]), B.shape[1])

    def along(self, weights: Array) -> tuple[Reduced, Array]:
        """The rows in a basis of the sums of rows with weights (n, c), and these sums there (r, c)."""
        sums = self.table.back(weights)
        B = orthonormal_columns(sums)
        return self._in(B, self.table.times(B), B.shape[1]), B.T @ sums

    def _in(self, B: Array, T: Array, of_labels: int) -> Reduced:
        length = np.einsum("ij,ij->i", self.rows.T, self.rows.T) + self.rows.outside
        outside = np.maximum(length - np.einsum("ij,ij->i", T, T), 0.0)
        return replace(self.rows, T=T, outside=outside, expand=B.__matmul__, columns=None, of_labels=of_labels)


def _varying(standard: StandardRows) -> StandardRows:
    if not standard.energy:
        raise ValueError(CONSTANT)
    return standard


def principal_rows(rows: Rows, most: int, limits: Limits = LIMITS) -> Reduced:
    """Rows in their leading principal directions by falling variance, at most so many."""
    n, p = rows.shape
    exact = min(n, p) <= limits.exact_side or _is_cheaper(rows, most, limits)
    few = exact and n <= p
    summary = rows.summarize(second=exact and not few)
    standard = rows.standard(summary)
    if few:
        values, U = top_eigh(standard.gram(), most)
        kept = (values > RANK * max(float(values.max(initial=0.0)), TINY)) & (standard.energy > 0.0)
        B = standard.back(U[:, kept] / np.sqrt(values[kept]))
    elif exact:
        second = summary.standard_groups()[0].xx
        assert second is not None
        values, B = top_eigh(second, most)
        B = B[:, values > RANK * max(float(values.max(initial=0.0)), TINY)]
    else:
        none = np.zeros((p, 0))
        B, _ = _leading_directions(standard, none, summary.squares, limits._replace(n_leading=most))
        T = standard.times(B)
        B = B @ top_eigh(T.T @ T, B.shape[1])[1]
    found = standard.project(B)
    return Reduced(found.gather(), found.gather("outside"), p, B.__matmul__, B.shape[1] < most, standard)


def _is_cheaper(rows: Rows, most: int, limits: Limits) -> bool:
    """Whether products of all pairs on the short side, and their eigenproblem, take no longer than the iteration."""
    short, long = sorted(rows.shape)
    return not rows.sparse and short + limits.eigenproblem * short**2 / long <= 4 * limits.reads * (
        most + limits.n_spare
    )


def leading(rows: Reduced, most: int) -> Reduced:
    """The coordinates of largest energy, and those of the same; what is left out counts as outside the basis."""
    if rows.T.shape[1] <= most:
        return rows if rows.columns is None else replace(rows, columns=None)
    energy = np.einsum("ij,ij->j", rows.T, rows.T)
    order = np.argsort(-energy)
    most = parting_none(energy[order], most)
    kept, left = np.sort(order[:most]), order[most:]
    lost = np.einsum("ij,ij->i", rows.T[:, left], rows.T[:, left])
    return replace(rows, T=np.ascontiguousarray(rows.T[:, kept]), outside=rows.outside + lost, columns=kept)


def _leading_directions(rows: StandardRows, sums: Array, squares: Array, limits: Limits) -> tuple[Array, int]:
    """Leading principal directions by subspace iteration, then those of the sums of rows, and how many these are.

    The first block is random numbers by what the columns hold, `squares` (p,) first, so that neither a seed nor the
    order of rows or columns moves the directions, which are not iterated until they converge.
    """
    with one_thread(when=rows.rows.own_threads):
        size = squares / max(float(squares.max(initial=0.0)), TINY)
        of_column = ranks(size, rows.gram_product(size[:, None])[:, 0])
        random = np.random.default_rng(0).standard_normal((len(size), limits.n_leading + limits.n_spare))
        Q = orthonormal_columns(random[of_column])
        for _ in range(limits.reads - 1):
            Q = orthonormal_columns(rows.gram_product(Q))
        product = rows.gram_product(Q)
        vectors = top_eigh(symmetrize(Q.T @ product), min(limits.n_leading, Q.shape[1]))[1]
        leading = orthonormal_columns(product @ vectors)
        of_sums = orthonormal_columns(sums, leading)
        return np.hstack([leading, of_sums]), of_sums.shape[1]
