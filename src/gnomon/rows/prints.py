"""A number for every row, the same wherever and with whatever other rows it is read."""

from dataclasses import dataclass
from typing import Any

import array_api_compat as compat
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._types import Array, IntArray
from .contract import Block, Kept, Rows
from .kind import is_foreign, is_sparse
from .namespace import host_double, namespace

Numbers = NDArray[np.uint64]
SMALL, SHIFT = np.uint64(1 << 15), np.uint64(48)
FEW = 8  # columns that leave another device: rows stay there, a few numbers of each do not


@dataclass(frozen=True)
class Print:
    """Entries in single precision, times odd numbers, added as integers that wrap around."""

    columns: IntArray  # of dense rows, at most 64; all entries of sparse ones count
    factors: Numbers  # (p,) odd
    unit: float

    def __call__(self, block: Block) -> Kept:
        X = block.X
        if is_sparse(X):
            X = X.tocsr()
            bits = self._bits(X.data).astype(np.uint64)
            found = sp.csr_matrix((bits, X.indices, X.indptr), shape=X.shape) @ self.factors
        else:
            # sums of up to 64 products of 32 and 15 bits are exact in double precision, in any order
            columns = self.columns[:FEW] if is_foreign(X) else self.columns
            factors = self.factors[columns]
            bits = self._bits(_columns(X, columns)).astype(np.float64)
            halves = bits @ np.stack([factors >> SHIFT, factors % SMALL], axis=1).astype(np.float64)
            found = halves[:, 0].astype(np.uint64) * self.factors[0] + halves[:, 1].astype(np.uint64)
        return Kept(((block.at, (found,)),))

    def _bits(self, values: Array) -> Array:
        with np.errstate(over="ignore"):
            single = np.multiply(values, 1.0 / self.unit, dtype=np.float64).astype(np.float32)
        single += np.float32(0.0)  # of zeros the sign is lost
        return single.view(np.uint32)


def _columns(X: Any, columns: IntArray) -> Array:
    """Some columns, in this process."""
    if not is_foreign(X):
        return np.take(X, columns, axis=1)
    xp = namespace(X)
    return host_double(xp.take(X, xp.asarray(columns.astype(np.int32), device=compat.device(X)), axis=1))


def prints(rows: Rows, columns: IntArray, unit: float) -> Numbers:
    """Numbers (n,) of the rows: the same for the same entries, to single precision, in `columns` of dense rows.

    `unit` is of the size of the entries, which may be too large or small for single precision.
    """
    factors = np.random.default_rng(0).integers(1, 2**63, size=rows.shape[1], dtype=np.uint64) | np.uint64(1)
    found: Numbers = rows.anew().fold(Print(columns, factors, 2.0 ** float(np.round(np.log2(unit))))).of_rows()
    return found
