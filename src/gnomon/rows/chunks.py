"""A chunk where it lives: whether it is what its collection says, and rows that a solver can ask."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import Array
from .frames import as_table
from .kind import is_sparse


def checked(X: Any, first: int, shape: tuple[int, int]) -> Any:
    """A chunk as an array or a scipy sparse matrix of real numbers.

    Parameters
    ----------
    X : array-like or sparse matrix
        What Dask made.
    first : int
        Number of its first row.
    shape : tuple of int
        Rows and columns that the collection says it has.

    Raises
    ------
    ValueError
        When its shape is another, or its entries are no real numbers that this process can read.
    """
    where = f"the chunk of X that begins at row {first}"
    if tuple(X.shape) != shape:
        raise ValueError(
            f"{where} has shape {tuple(X.shape)}; its collection says {shape}. Chunks must have one width, and the "
            "sizes that are told: pass map_blocks the chunks it makes, or call compute_chunk_sizes()."
        )
    if is_sparse(X):
        X = X if sp.issparse(X) else X.tocsr()  # of the library `sparse`
        _check_real(X.dtype, where)
        return X
    return _as_floats(X, where)


def table_of(part: Any, names: tuple[Any, ...]) -> Any:
    """A partition of a frame as a table, whose columns must be those of the frame, in its order."""
    found = tuple(part.columns)
    if found != names:
        raise ValueError(
            f"a partition of X has columns {list(found)[:10]}; the frame says {list(names)[:10]}. Give all partitions "
            "the same columns in the same order."
        )
    try:
        return as_table(part)
    except (TypeError, ValueError) as error:
        raise ValueError(f"a partition of X holds values that are no numbers: {error}; encode or drop them.") from None


def _as_floats(X: Any, where: str) -> Array:
    kind = f"{type(X).__module__}.{type(X).__qualname__}"
    try:
        found = np.asarray(X)
        found = found.astype(np.float64) if found.dtype == object else found
    except TypeError as error:  # an array of another device, or objects
        raise ValueError(
            f"{where} is a {kind} that cannot be read as numbers ({error}); make all chunks arrays of NumPy, or of "
            "scipy where they are sparse."
        ) from None
    except ValueError as error:
        raise ValueError(f"{where} holds values that are no numbers: {error}; encode or drop them.") from None
    _check_real(found.dtype, where)
    # what came over a wire begins at any byte: products of it would copy it each time, and round in another order
    return np.require(found, found.dtype if found.dtype in (np.float32, np.float64) else np.float64, "A")


def _check_real(dtype: Any, where: str) -> None:
    if dtype.kind not in "fiubO":
        raise ValueError(f"{where} holds {dtype}; real numbers are wanted.")
