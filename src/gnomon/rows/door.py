"""Tables of any storage as rows."""

from typing import Any

from .._types import Array
from . import local
from .contract import Rows
from .dask import read_dask
from .kind import is_dask
from .masked import look


def read(X: Any, weights: Array | None = None, *, masked: bool | None = False) -> Rows:
    """Rows of validated data, dense, sparse, of another array library or of Dask; rows stay what they are.

    `masked` says whether entries are missing; None looks.
    """
    if not is_dask(X):
        return local.read(X, weights, masked=masked)
    rows = read_dask(X, weights)
    return rows.anew(masked=look(rows).missing if masked is None else masked)
