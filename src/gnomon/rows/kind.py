"""What X is: the one place that asks."""

from typing import Any

import array_api_compat as compat
import numpy as np


def is_sparse(X: Any) -> bool:
    """Whether X is a scipy sparse matrix or array."""
    return hasattr(X, "tocsr")


def is_foreign(X: Any) -> bool:
    """Whether X is an array of another library than NumPy (PyTorch, CuPy, JAX, array-api-strict), on any device.

    Sparse matrices, frames and Dask arrays are not: they have ways of their own.
    """
    if isinstance(X, np.ndarray) or not compat.is_array_api_obj(X):
        return False
    return not (compat.is_numpy_array(X) or compat.is_dask_array(X) or compat.is_pydata_sparse_array(X))


def is_dask(X: Any) -> bool:
    """Whether X is an array, a frame or a column of Dask, which is not imported for it."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def rows_at(X: Any, rows: Any) -> Any:
    """Some rows of an array, a sparse matrix, a frame or a list."""
    if isinstance(X, list):
        return np.asarray(X)[rows]
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
