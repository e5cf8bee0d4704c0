"""The one place that asks what X is."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import Array
from .contract import Rows
from .frames import numbers
from .kind import is_sparse
from .local import LocalRows, SparseRows
from .masked import look


def read(X: Any, weights: Array | None = None, *, masked: bool | None = False) -> Rows:
    """Rows of validated data, dense, sparse or of another array library; rows stay what they are.

    `masked` says whether entries are missing; None looks.
    """
    if isinstance(X, Rows):
        return X
    if is_sparse(X):
        return SparseRows(X, weights)
    rows = LocalRows(X, weights)
    return rows.anew(masked=look(rows).missing if masked is None else masked)


def as_table(X: Any) -> Any:
    """The numbers of a frame or a masked array, NaN where they say nothing; anything else as it is."""
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(X.dtype if X.dtype.kind == "f" else np.float64), np.nan)
    found = numbers(X)
    return X if found is None else found
