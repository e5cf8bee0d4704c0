"""Columns put side by side, sparse when the first ones are."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import Array


def side_by_side(X: Any, Z: Array) -> Any:
    """[X, Z] (n, p + k) of the kind and type of X: NumPy, or scipy sparse in csr form."""
    if hasattr(X, "tocsr"):
        columns = (sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix)(Z)
        return sp.hstack([X, columns], format="csr").astype(X.dtype, copy=False)
    return np.hstack([X, np.asarray(Z, dtype=X.dtype)])
