"""Row sources: where the rows live and how they are read."""

from __future__ import annotations

from typing import Any

from .._types import Array
from .dense import DenseRows
from .masked import MaskedRows
from .source import RowSource
from .sparse import SparseRows

__all__ = ["DenseRows", "MaskedRows", "RowSource", "SparseRows", "row_source"]


def row_source(X: Any, weights: Array | None = None) -> RowSource:
    """Wrap validated data in the source that reads it: scipy sparse in `SparseRows`, all else in `DenseRows`."""
    if hasattr(X, "tocsr"):
        return SparseRows(X, weights)
    return DenseRows(X, weights)
