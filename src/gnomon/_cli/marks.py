"""Numbers such as -999 among those of features: the user is asked what they mean, at the fit and of new rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon._cli.commands import InputError
from gnomon.rows.kind import is_sparse
from gnomon.tables import Table, as_option, listing, numbers_for_nothing
from gnomon.tables._marks import MARKS, SeenNumbers

OTHERS, OF_THE_FIT = "all other numbers", "all numbers of the fit"


def ask_of_marks(table: Table, keep: Sequence[str], spans: Sequence[Sequence[float]] | None = None) -> None:
    """Refuse numbers such as -999 that lie far from all others of their columns, or from the spans of the fit."""
    if is_sparse(table.X):
        return
    ends = None if spans is None else np.array(spans).T  # (2, p), of new rows, of which there may be but one
    found = {}
    for j in np.flatnonzero(np.isin(table.X, MARKS).any(axis=0)):
        values = table.X[:, j]
        if ends is not None:
            values = np.array([*ends[:, j], *values[np.isin(values, MARKS)]])
        found[int(j)] = numbers_for_nothing(values)
    refuse_marks(table, found, keep, OTHERS if spans is None else OF_THE_FIT)


def refuse_marks(
    table: Table, marked: Mapping[int, Mapping[float, int]], keep: Sequence[str], others: str = OTHERS
) -> None:
    """Refuse columns, by number, with numbers that lie far from all others, unless they are kept."""
    found = {table.feature_names[j]: marks for j, marks in marked.items() if marks}
    found = {name: marks for name, marks in found.items() if name not in keep}
    if found:
        marks = list(dict.fromkeys(f"{mark:g}" for marks in found.values() for mark in marks))
        each = "it means an empty cell, or keep it" if len(marks) == 1 else "they mean empty cells, or keep them"
        raise InputError(
            f"{table.path}: {' and '.join(marks)} in {listing(found)} {'lies' if len(marks) == 1 else 'lie'} far from "
            f"{others}; add {as_option('--missing', *marks)} if {each} with {as_option('--keep', *found)}."
        )


def spans_of(X: Any) -> list[list[float]] | None:
    """The least and the largest number of each column, by which marks in new rows are told; None of a sparse table."""
    if is_sparse(X):
        return None
    seen = SeenNumbers(X.shape[1])
    seen.add(X)
    return seen.spans()
