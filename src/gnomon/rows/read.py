"""The one place that asks what X is."""

from __future__ import annotations

from typing import Any

from .._types import Array
from .contract import Rows
from .local import LocalRows, SparseRows


def read(X: Any, weights: Array | None = None, *, masked: bool = False) -> Rows:
    """Rows of validated data, dense, sparse or of another array library; rows stay what they are."""
    if isinstance(X, Rows):
        return X
    return SparseRows(X, weights) if hasattr(X, "tocsr") else LocalRows(X, weights, masked=masked)
