"""The one place that asks what X is."""

from __future__ import annotations

from typing import Any

from .._types import Array
from .contract import Rows
from .kind import is_sparse
from .local import LocalRows, SparseRows
from .masked import incomplete_rows


def read(X: Any, weights: Array | None = None, *, masked: bool | None = False) -> Rows:
    """Rows of validated data, dense, sparse or of another array library; rows stay what they are.

    `masked` says whether entries are missing; None looks.
    """
    if isinstance(X, Rows):
        return X
    if is_sparse(X):
        return SparseRows(X, weights)
    if masked is None:
        masked = len(incomplete_rows(X)) > 0
    return LocalRows(X, weights, masked=masked)
