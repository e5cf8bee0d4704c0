"""Products of new rows with a few vectors, in the precision of the rows, and the rows in which a feature occurs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._types import Array, BoolArray, IntArray
from .contract import Block
from .kind import is_sparse
from .namespace import Place, asarray_like, block_rows, like, namespace

FEW = 0.05  # of the entries of a mask: with less true, these are looked up


def row_counts(mask: BoolArray) -> IntArray:
    """How many entries of each row (n, q) are true (n,); many times faster than a sum along short rows."""
    if np.count_nonzero(mask) < FEW * mask.size:
        return np.bincount(_rows_of_few(mask), minlength=len(mask)).astype(np.int32)
    return np.asarray(np.einsum("ij->i", mask, dtype=np.int32))


def rows_with_some(mask: BoolArray) -> IntArray:
    """Rows of a mask (n, q) of which some entry is true."""
    if np.count_nonzero(mask) < FEW * mask.size:
        rows: IntArray = np.unique(_rows_of_few(mask))
        return rows
    return np.flatnonzero(np.einsum("ij->i", mask))


def _rows_of_few(mask: BoolArray) -> IntArray:
    """The row of every true entry, in no order."""
    n, q = mask.shape
    return np.asarray(np.flatnonzero(mask.T) % n if mask.flags.f_contiguous else np.flatnonzero(mask) // q)


def project(X: Any, mean: Array, V: Array) -> Any:
    """(X - mean) V (n, r) without a centered copy of X: float32 rows give float32, all others float64.

    The result of a foreign X is foreign too.
    """
    if is_sparse(X):
        return np.asarray(X @ V - mean @ V).astype(X.dtype)  # the difference of two large products, in double
    place, xp, parts = Place(X), namespace(X), []
    if X.dtype != xp.float32:
        return X @ asarray_like(V, X) - asarray_like(mean @ V, X)
    n, size = X.shape[0], block_rows(X)
    for start in range(0, n, size):  # in single precision a large mean must go before the product
        rows = slice(start, min(start + size, n))  # beyond the end of X the standard promises nothing
        block = place.floats(X[rows, :]) - place.put(mean)
        parts.append(xp.astype(block, X.dtype, copy=False) @ like(V, X))
    return xp.concat(parts, axis=0)


@dataclass(frozen=True)
class Append:
    """The column "more" (n, k) times a factor put beside the entries."""

    factor: float

    def __call__(self, block: Block) -> Block:
        return block._replace(X=side_by_side(block.X, self.factor * block.aligned["more"]), aligned={})


def in_form(X: Any, *, sparse: bool) -> Any:
    """NumPy's or scipy's X as a csr matrix or as a dense array; as it is where it is of that kind."""
    if is_sparse(X) == sparse:
        return X
    return sp.csr_matrix(X) if sparse else X.toarray()


def side_by_side(X: Any, Z: Array) -> Any:
    """[X, Z] (n, p + k) of the kind and type of X: NumPy, or scipy sparse in csr form."""
    if is_sparse(X):
        columns = (sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix)(Z)
        return sp.hstack([X, columns], format="csr").astype(X.dtype, copy=False)
    return np.hstack([X, np.asarray(Z, dtype=X.dtype)])


@dataclass(frozen=True)
class Presence:
    """Count the rows of each group in which a feature is not zero: (n_groups, p), by the column "group"."""

    n_groups: int

    def __call__(self, block: Block) -> Array:
        """Counts of a block; rows of a negative group count nowhere."""
        group = block.aligned["group"]
        member = (group[:, None] == np.arange(self.n_groups)).astype(np.float64)
        counts = member.T @ (block.X != 0)
        return np.asarray(counts.toarray() if is_sparse(counts) else counts, dtype=np.float64)
