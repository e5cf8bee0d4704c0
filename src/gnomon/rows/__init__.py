"""Row sources: where the rows live and how they are read."""

from __future__ import annotations

from typing import Any

from .._types import Array
from .arrays import ArrayRows
from .dense import DenseRows
from .namespace import is_foreign
from .source import NotFinite, RowSource
from .sparse import SparseRows

__all__ = ["ArrayRows", "DenseRows", "NotFinite", "RowSource", "SparseRows", "row_source"]


def row_source(X: Any, weights: Array | None = None) -> RowSource:
    """Wrap validated data in the source that reads it: sparse, of another array library, or NumPy."""
    if hasattr(X, "tocsr"):
        return SparseRows(X, weights)
    return ArrayRows(X, weights) if is_foreign(X) else DenseRows(X, weights)
