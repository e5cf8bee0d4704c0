"""Targets once they are read: columns of one kind each, and which rows they label."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._types import Array, BoolArray, IntArray


class Column(NamedTuple):
    """One target."""

    kind: str  # "classes", "real", "counts", or "none" where no row is labeled
    values: Array  # (n,) class numbers, reals or counts; NaN where unlabeled
    classes: Array | None  # (C,) sorted labels; None for numbers
    name: str  # as errors call it: "y", "column 2 of y" or "column 'age' of y"
    reason: str  # why it is of this kind, in words for the user

    @property
    def labeled(self) -> BoolArray:
        """Which rows have a value (n,)."""
        return ~np.isnan(self.values)

    @property
    def numbers(self) -> IntArray:
        """Class number of every row (n,), -1 where unlabeled."""
        return np.where(self.labeled, np.nan_to_num(self.values), -1).astype(np.intp)

    def given(self, values: Array) -> Any:
        """Values like those of the column as labels with None, or as the numbers that they are."""
        if self.classes is None:
            return values
        labels = np.array([*self.classes.tolist(), None], dtype=object)
        return labels[np.where(np.isnan(values), -1, values).astype(int)]


@dataclass(frozen=True)
class Targets:
    """All targets of the rows of X."""

    columns: tuple[Column, ...]  # none when y was None
    n_samples: int
    vector: bool  # y was one column, so that predictions are vectors

    @property
    def kind(self) -> str:
        """ "none", the kind of all columns, or "mixed"."""
        kinds = {column.kind for column in self.columns} - {"none"}
        return kinds.pop() if len(kinds) == 1 else "mixed" if kinds else "none"

    @cached_property
    def table(self) -> Array:
        """All values (n, q) float64, NaN where not observed."""
        return np.column_stack([np.zeros((self.n_samples, 0)), *(column.values for column in self.columns)])

    @cached_property
    def labeled(self) -> BoolArray:
        """Which rows have at least one value (n,)."""
        found = np.zeros(self.n_samples, dtype=bool)
        for column in self.columns:
            found |= column.labeled
        return found

    @property
    def n_labeled(self) -> int:
        """How many rows have at least one value."""
        return int(np.count_nonzero(self.labeled))

    @property
    def index(self) -> IntArray:
        """Class number of every row (n,), -1 where unlabeled; for one column of classes."""
        return self.columns[0].numbers if self.columns else np.full(self.n_samples, -1)

    @property
    def classes(self) -> Any:
        """Sorted labels of one column, a list with one entry per column of a table; None for numbers."""
        found = [column.classes for column in self.columns]
        return (found[0] if found else None) if self.vector else found

    def given(self, table: Array | None = None) -> Any:
        """A table (n, q), by default that of all values, as `fit` takes y: labels with None, numbers with NaN."""
        values = self.table if table is None else table
        columns = [column.given(values[:, j]) for j, column in enumerate(self.columns)]
        if self.vector:
            return columns[0]
        if self.kind in ("real", "counts"):
            return np.column_stack(columns)
        return np.array([[None if cell != cell else cell for cell in column] for column in columns], dtype=object).T

    @property
    def asked(self) -> str | list[str]:
        """The parameter `target` that reads what `given` returns without a word."""
        kinds = [column.kind.replace("none", "auto") for column in self.columns]
        return kinds[0] if len(set(kinds)) == 1 else kinds

    @property
    def form(self) -> list[tuple[str, Array | None, str]]:
        """Kind, classes and name of every column: what `read_like` needs to read others like them."""
        return [(column.kind, column.classes, column.name) for column in self.columns]

    def rows(self, at: IntArray | BoolArray) -> "Targets":
        """The same columns at some rows."""
        columns = tuple(column._replace(values=column.values[at]) for column in self.columns)
        return replace(self, columns=columns, n_samples=len(columns[0].values) if columns else len(at))
