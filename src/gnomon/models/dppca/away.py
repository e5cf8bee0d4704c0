"""Rows in an orthonormal basis that stay where the rows live: sums over all of them come home, and some rows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._types import Array, IntArray
from ...rows.contract import Kept, Step, View
from ...rows.standard import ScaledRows, StandardRows


class Total(NamedTuple):
    """Sums over rows."""

    gram: Array  # (r, r) inner products of the coordinates
    sums: Array  # (r,) of the coordinates
    beyond: float  # squared length outside the basis


def total(view: View) -> Step:
    """The sum of the rows, and of what lies outside the basis."""
    return Step(np.ones((len(view.at), 1)), float(view.aligned["outside"].sum()))


def keep(view: View) -> Step:
    """Products of rows, and what lies outside the basis."""
    return Step(keep=Kept.of(view, view.T, view.aligned["outside"]))


def keep_with_length(view: View) -> Step:
    """Products of rows, and squared lengths of whole rows."""
    return Step(keep=Kept.of(view, view.T, view.aligned["length"] + view.aligned["outside"]))


def nothing_outside(view: View) -> Step:
    """The basis holds all rows."""
    return Step(aligned={"outside": np.zeros(len(view.at))})


@dataclass(frozen=True, eq=False)
class Away:
    """Rows that live elsewhere, in an orthonormal basis, and what lies outside it: see `reduction.Reduced`."""

    table: ScaledRows  # coordinates (n, r), beside them "outside" and "length"
    n_features: int
    expand: Callable[[Array], Array]
    exact: bool
    standard: StandardRows
    columns: None = None
    of_labels: int = 0

    @classmethod
    def of(cls, standard: StandardRows, basis: Array, exact: bool, of_labels: int = 0) -> "Away":
        """Rows in a basis (p, r), which holds them all where it is exact; one read."""
        table = ScaledRows(standard.project(basis), np.zeros(basis.shape[1]), 1.0).measured()
        if exact:
            table = table.sweep(None, nothing_outside, aligned=True).rows
        return cls(table, len(basis), basis.__matmul__, exact, standard, of_labels=of_labels)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and coordinates."""
        return self.table.shape

    @cached_property
    def total(self) -> Total:
        """Sums over all rows."""
        sums, beyond, *_ = self.table.sweep(None, total)
        return Total(self.table.gram_product(np.eye(self.shape[1])), sums[:, 0], beyond)

    def lengths_and_products(self, direction: Array, rows: IntArray) -> tuple[Array, Array]:
        """Squared lengths of whole rows, and their coordinates times a direction (m,), of some; no row comes home."""
        products, lengths = self.table.sweep(direction[:, None], keep_with_length).kept.of_rows()
        return lengths[rows], products[rows, 0]

    def kept(self, rows: IntArray | None) -> tuple[Array, Array]:
        """Coordinates and what lies outside of some rows, or of all, in this process."""
        T, outside = self.table.sweep(np.eye(self.shape[1]), keep, rows=rows).kept.of_rows(rows)
        return T, outside
