"""Arrays of other libraries than NumPy: which ones they are, and the few moves between them and the host."""

from typing import Any

import array_api_compat as compat
import numpy as np

from .._types import Array, IntArray
from .kind import is_dask, is_foreign

PIECE = 1 << 15  # entries that stay in the caches while they are centered and squared
BLOCK_ENTRIES = 1 << 19  # entries read at once; a device other than the host takes DEVICE_BLOCKS times as many
DEVICE_BLOCKS = 32
SINGLE_ENTRIES = 1 << 20  # tables of fewer are multiplied in double precision whatever they are
RUN = 4096  # rows over which products in single precision are summed in it


def namespace(X: Any) -> Any:
    """The functions of the library that X belongs to."""
    return compat.array_namespace(X)


def as_floats(X: Any) -> Any:
    """A foreign X without gradients, as float32 or float64: other real types become the widest float, where X is."""
    xp = namespace(X)
    if not xp.isdtype(X.dtype, ("bool", "real floating", "integral")):
        raise TypeError(f"X has dtype {X.dtype}; real numbers are wanted.")
    if compat.is_torch_array(X):
        X = X.detach()
    return X if X.dtype in (xp.float32, xp.float64) else xp.astype(X, widest(X))


def widest(X: Any) -> Any:
    """The type in which sums over X are taken: float64, or float32 where the device of X has no float64 (Apple MPS)."""
    xp = namespace(X)
    known = xp.__array_namespace_info__().dtypes(device=compat.device(X), kind="real floating")
    return known.get("float64", xp.float32)


def to_host(A: Any) -> Any:
    """A as a NumPy array if it is foreign or lazy, else as it is; for small results and targets, never for the rows."""
    if is_dask(A):
        return A.compute()
    if not is_foreign(A):
        return A
    if compat.is_torch_array(A):
        return A.detach().cpu().numpy()
    if compat.is_cupy_array(A):
        return A.get()
    xp = namespace(A)
    if compat.is_array_api_strict_namespace(xp):
        return np.asarray(compat.to_device(A, xp.Device("CPU_DEVICE")))
    return np.asarray(A)


def host_double(A: Any) -> Array:
    """A foreign A as float64 NumPy."""
    return np.asarray(to_host(A), dtype=np.float64)


def from_host(A: Any, X: Any, dtype: Any = None) -> Any:
    """The NumPy array A in the namespace of a foreign X and on its device, in X's type if that is a float's."""
    xp = namespace(X)
    if dtype is None:
        dtype = X.dtype if xp.isdtype(X.dtype, "real floating") else widest(X)
    single = dtype == xp.float32  # narrowed here: a device without float64 cannot take it in
    values = np.array(A, dtype=np.float32 if single else np.float64)
    return xp.astype(xp.asarray(values, device=compat.device(X)), dtype, copy=False)


def asarray_like(A: Any, X: Any) -> Any:
    """The NumPy array A as it is, or, when X is foreign, where X is and in X's type."""
    return from_host(A, X) if is_foreign(X) else A


def as_numbers(Z: Any) -> Any:
    """Numbers as an array: of NumPy, or floats of another library where they are."""
    return as_floats(Z) if is_foreign(Z) else np.asarray(Z)


def like(A: Any, X: Any) -> Any:
    """The NumPy array A in the type of X, and where X is."""
    return from_host(A, X) if is_foreign(X) else A.astype(holding(X.dtype, A))


def holding(dtype: Any, *arrays: Array) -> Any:
    """The type of floats, or float64 where it cannot hold the numbers."""
    if dtype == np.float64:
        return dtype
    largest = max(float(np.abs(A).max(initial=0.0, where=np.isfinite(A))) for A in arrays)
    return np.float64 if largest > float(np.finfo(dtype).max) else dtype


class Place:
    """Where a table X lives, NumPy or foreign, and the moves of small arrays between there and the host.

    Products are in float64 if the device has it, or in float32 with `single`; sums of them always in the widest.
    """

    def __init__(self, X: Any, single: bool = False) -> None:
        self.X, self.foreign = X, is_foreign(X)
        self.xp: Any = namespace(X) if self.foreign else np
        self.widest: Any = widest(X) if self.foreign else np.float64
        self.dtype: Any = self.xp.float32 if single else self.widest
        self.double = not self.foreign or self.widest == self.xp.float64
        self.on_host = not self.foreign or "cpu" in str(compat.device(X)).lower()

    @property
    def stays(self) -> bool:
        """Whether numbers about each row are best left there: elsewhere than NumPy's, in float64."""
        return self.foreign and self.double

    def put(self, A: Any) -> Any:
        """A of NumPy where X is, in the type of products; what is there already stays as it is."""
        return from_host(A, self.X, self.dtype) if self.foreign and not is_foreign(A) else A

    def floats(self, A: Any) -> Any:
        """An array that is where X is in the type of `put`."""
        return self.xp.astype(A, self.dtype, copy=False) if self.foreign else A.astype(np.float64, copy=False)

    def host(self, A: Any) -> Array:
        """A as float64 NumPy that may be written to."""
        return np.array(host_double(A)) if is_foreign(A) else A

    def add(self, total: Any, product: Any) -> Any:
        """Add to a total, None at first: where X is, or on the host in float64 where the device has none."""
        if not self.double:
            product = host_double(product)
        if total is None:
            return product
        return np.add(total, product, out=total) if isinstance(total, np.ndarray) else total + product

    def sum_product(self, A: Any, B: Any) -> Any:
        """A'B over rows; products in float32 are summed over RUN rows at once, and beyond them in the widest type."""
        if self.dtype == self.widest:
            return A.T @ B
        xp, whole = self.xp, A.shape[0] - A.shape[0] % RUN
        out = xp.astype(A[whole:, :].T @ B[whole:, :], self.widest)
        if whole:
            runs = [xp.reshape(C[:whole, :], (-1, RUN, C.shape[1])) for C in (A, B)]
            out = out + xp.sum(xp.matmul(xp.permute_dims(runs[0], (0, 2, 1)), runs[1]), axis=0, dtype=self.widest)
        return out

    def sum_of_squares(self, values: Any) -> float:
        """Sum of all squares, without a copy of NumPy's arrays."""
        if self.foreign:
            return float(self.xp.sum(values * values))
        return float(np.einsum(values, range(values.ndim), values, range(values.ndim), []))

    def squares(self, block: Any, center: Any = None) -> Any:
        """Sum of squares of every row about a center, in NumPy without a centered copy of the block."""
        if self.foreign:
            block = block if center is None else block - center
            return self.xp.sum(block * block, axis=1)
        if center is None:
            return np.einsum("ij,ij->i", block, block)
        size = max(1, PIECE // max(1, block.shape[1]))
        found = np.empty(len(block), dtype=block.dtype)
        for start in range(0, len(block), size):
            piece = block[start : start + size] - center
            np.einsum("ij,ij->i", piece, piece, out=found[start : start + size])
        return found


def take_rows(X: Any, rows: IntArray) -> Any:
    """Some rows of a dense, sparse or foreign X, a copy."""
    if isinstance(X, np.ndarray):
        return X.take(rows, axis=0)
    if not is_foreign(X):
        return X[rows]
    xp = namespace(X)
    index = xp.asarray(rows.astype(np.int32), device=compat.device(X))  # not every device has 64-bit integers
    return xp.take(X, index, axis=0)


def rows_home(A: Any, which: Any) -> Any:
    """The rows of A, which may be elsewhere, that a mask (n,) or row numbers pick, on the host."""
    if not is_foreign(A):
        return A[which]
    rows = np.flatnonzero(which) if which.dtype == bool else which
    return host_double(take_rows(A, rows))


def replaced(A: Any, rows: IntArray, new: Any) -> Any:
    """A of another library with other values in some of its rows, a copy."""
    index = np.arange(A.shape[0])
    index[rows] = A.shape[0] + np.arange(len(rows))
    return take_rows(namespace(A).concat([A, new]), index) if len(rows) else A


def columns_at(A: Any, index: IntArray) -> Any:
    """Columns of A (n, m), of NumPy or another library, in the order of an index."""
    if not is_foreign(A):
        return A[:, index]
    xp = namespace(A)
    return xp.take(A, xp.asarray(index.astype(np.int32), device=compat.device(A)), axis=1)


def block_rows(X: Any) -> int:
    """How many rows of a foreign X to read at once: small blocks stay in the caches of a host."""
    entries = BLOCK_ENTRIES if Place(X).on_host else BLOCK_ENTRIES * DEVICE_BLOCKS
    return int(max(16, entries // max(1, X.shape[1])))


def in_single(X: Any) -> bool:
    """Whether a table, of NumPy or another library, is in single precision and so large that products in it pay."""
    single = namespace(X).float32 if is_foreign(X) else np.float32
    return bool(X.dtype == single) and X.shape[0] * X.shape[1] >= SINGLE_ENTRIES


def all_finite(A: Any) -> bool:
    """Whether no entry of A, foreign or not, is NaN or infinite."""
    xp = namespace(A) if is_foreign(A) else np
    return bool(xp.all(xp.isfinite(A)))
