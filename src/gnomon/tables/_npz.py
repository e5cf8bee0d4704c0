"""npz files: X, the four arrays of a CSR matrix or what scipy's `save_npz` wrote, and arrays of one entry per row."""

from typing import Any

import numpy as np
from scipy import sparse

from gnomon.rows.kind import is_sparse
from gnomon.tables._table import (
    Table,
    TableError,
    Wanted,
    cell_name,
    check_features,
    choose_features,
    in_range,
    usable,
    without_role,
)
from gnomon.targets.forms import objects

CSR_PARTS = ("data", "indices", "indptr", "shape")
SAVED_PARTS = (*CSR_PARTS, "row", "col", "coords", "offsets", "format", "_is_array")  # of scipy's save_npz


def read_npz(path: str, wanted: Wanted) -> Table:
    """Read a .npz file; nothing in it is unpickled."""
    arrays, own = _with_x(arrays_of(path))
    saved = "X" not in arrays and "format" in arrays
    X, said = (_saved(path), "") if saved else _matrix(path, arrays)
    said = ", ".join(filter(None, [f"with {own[0]!r} as X" if own[0] not in ("X", *CSR_PARTS) else "", said]))
    n, p = X.shape
    if not n or not p:
        raise TableError(f"{path}: X is empty, with shape {X.shape}.")
    columns = [f"x{j}" for j in range(p)]
    if "feature_names" in arrays:
        if arrays["feature_names"].shape != (p,):
            shape = arrays["feature_names"].shape
            raise TableError(f"{path}: feature_names has shape {shape}; a name for each of {p} columns was wanted.")
        columns = [str(name) for name in arrays["feature_names"]]
    beside = {
        name: array for name, array in arrays.items() if name not in own and array.ndim in (1, 2) and len(array) == n
    }
    wanted = wanted.settled(list(beside))
    unused = [name for name in beside if name not in (*wanted.targets, wanted.id, *wanted.drop, *wanted.categorical)]
    wanted = wanted._replace(ignore=[*wanted.ignore, *unused])
    features = choose_features(path, [*columns, *beside], wanted)
    targets: dict[str, np.ndarray] = {}
    for name in wanted.targets:
        targets |= _target_columns(path, name, beside, arrays)
    if wanted.id is not None and (wanted.id not in beside or beside[wanted.id].ndim != 1):
        raise TableError(f"{path}: {wanted.id!r} must be a 1-D array with one entry per row to be the --id.")
    ids = None if wanted.id is None else objects(beside[wanted.id].tolist())
    odd = next((name for name in wanted.categorical if name not in beside or beside[name].ndim != 1), None)
    if odd is not None:
        raise TableError(f"{path}: {odd!r} must be a 1-D array with one entry per row to be --categorical.")
    answers = {name: _given(beside[name]) for name in wanted.categorical}
    order = [name for name in beside if beside[name].ndim == 1] + columns
    rest = {name: _given(beside[name]) for name in without_role(order, columns, wanted)}
    X = chosen(path, X, columns, features)
    return Table(path, X, features, targets, ids, wanted.id, assumed=said, answers=answers, rest=rest, order=order)


def read_npy(path: str, wanted: Wanted) -> Table:
    """Read a .npy file: a matrix alone, whose columns are x0, x1, ..."""
    if wanted.targets:
        raise TableError(
            f"{path}: a .npy file holds no labels, so there is no {wanted.targets[0]!r} for --target; give them in a "
            "text file, a label a line, with --labels FILE."
        )
    try:
        X, said = _matrix(path, {"X": np.load(path, allow_pickle=False)})
    except (OSError, EOFError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        raise TableError(f"{path} is not an array that can be read ({_reason(error)}).") from None
    if not all(X.shape):
        raise TableError(f"{path}: X is empty, with shape {X.shape}.")
    columns = [f"x{j}" for j in range(X.shape[1])]
    wanted = wanted.settled([])
    features = choose_features(path, columns, wanted)
    if wanted.id is not None:
        raise TableError(f"{path}: {wanted.id!r} is a column of the matrix, which holds no names of rows.")
    return Table(path, chosen(path, X, columns, features), features, {}, assumed=said)


def parts_of(arrays: dict[str, np.ndarray]) -> tuple[str, ...]:
    """The arrays of a file that make its matrix."""
    return _with_x(arrays)[1]


def _with_x(arrays: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """The arrays and which of them make the matrix: X, the parts of one, or the only one of numbers with two axes."""
    if "X" in arrays or "format" in arrays or all(name in arrays for name in CSR_PARTS):
        return arrays, ("X", *(SAVED_PARTS if "format" in arrays else CSR_PARTS))
    tables = [name for name, array in arrays.items() if array.ndim > 1 and array.dtype.kind in "fiub"]
    if len(tables) != 1:
        return arrays, ("X", *CSR_PARTS)
    return {**arrays, "X": arrays[tables[0]]}, (tables[0], "X")


def arrays_of(path: str) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except MemoryError:
        raise
    except Exception as error:  # of zip, of its decompressors, of the headers of the arrays
        raise TableError(f"{path} is not an npz file of plain arrays ({_reason(error)}).") from None
    strange = [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]
    if strange:
        raise TableError(f"{path} is not an npz file of plain arrays ({strange[0]!r} is no array).")
    return arrays


def _reason(error: Exception) -> str:
    reason = " ".join(str(error).split())
    if reason.startswith("Object arrays"):
        return "Python objects, which are not unpickled: save text as np.array(values, dtype=str)"
    return "it is none of those that NumPy writes" if "pickle" in reason else reason


def _saved(path: str) -> Any:
    """The matrix that scipy's `save_npz` wrote in any of its forms, as rows."""
    try:
        found = sparse.load_npz(path)
        if hasattr(found, "check_format"):
            found.check_format(full_check=True)  # ahead of compiled code that trusts the indices
        X = sparse.csr_matrix(found)
    except MemoryError:
        raise
    except Exception as error:  # of zip, of arrays that are not there, of arrays that make no matrix
        reason = " ".join(str(error).split())
        raise TableError(f"{path} is not a matrix as scipy's save_npz writes it ({reason}).") from None
    return of_numbers(path, X)


def of_numbers(path: str, X: Any) -> Any:
    """A matrix of floats, if it holds real numbers."""
    if X.dtype.kind not in "fiub":
        raise TableError(f"{path}: the matrix is of type {X.dtype}; real numbers were wanted.")
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def _matrix(path: str, arrays: dict[str, np.ndarray]) -> tuple[Any, str]:
    """The matrix, and what is to be said of how it was read; images are rows, pixel after pixel."""
    said = ""
    if "X" in arrays:
        X = arrays["X"]
        if X.ndim < 2 or X.dtype.kind not in "fiub":
            raise TableError(f"{path}: X has shape {X.shape} and type {X.dtype}; 2-D numbers were wanted.")
        if X.ndim > 2:
            size = "x".join(map(str, X.shape[1:]))
            said = f"with each {size} as one row" + (f" (--shape {size} draws it)" if X.ndim == 3 else "")
            X = X.reshape(len(X), -1) if X.size else np.empty((len(X), 0))
    elif all(name in arrays for name in CSR_PARTS):
        try:
            parts = (arrays["data"], arrays["indices"].astype(np.int64), arrays["indptr"].astype(np.int64))
            X = sparse.csr_matrix(parts, shape=tuple(int(size) for size in arrays["shape"]))
            X.check_format(full_check=True)
        except (ValueError, TypeError) as error:
            reason = " ".join(str(error).split())
            raise TableError(f"{path}: data, indices, indptr and shape do not make a CSR matrix ({reason}).") from None
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    else:
        raise TableError(
            f"{path} holds neither X nor data, indices, indptr and shape; its arrays are {', '.join(arrays)}."
        )
    return of_numbers(path, X), said


def _target_columns(
    path: str, name: str, beside: dict[str, np.ndarray], arrays: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    if name not in beside:
        raise TableError(f"{path}: {name!r} is a column of X; a --target must be an array of its own.")
    array = beside[name]
    if array.ndim == 1:
        return {name: _given(array)}
    names = [f"{name}{j}" for j in range(array.shape[1])]
    if "target_names" in arrays and arrays["target_names"].shape == (array.shape[1],):
        names = [str(target) for target in arrays["target_names"]]
    return {column: _given(array[:, j]) for j, column in enumerate(names)}


def _given(values: np.ndarray) -> np.ndarray:
    return objects([None if value == "" or value != value else value for value in values.tolist()])


def chosen(path: str, X: Any, columns: list[str], features: list[str]) -> Any:
    """The columns of a matrix that are features, in their order, if they can be computed with."""
    places = {name: j for j, name in enumerate(columns)}
    order = [places[name] for name in features]
    X = X if order == list(range(len(columns))) else X[:, order]
    _check_usable(path, X, features)
    return X


def _check_usable(path: str, X: Any, names: list[str]) -> None:
    """Refuse a matrix that holds what cannot be computed with."""
    held = X.data if is_sparse(X) else X
    bad = np.flatnonzero(~(in_range(held) if is_sparse(X) else usable(held)))
    if not bad.size:
        return
    value = float(held.ravel()[bad[0]])
    if not is_sparse(X):
        i, j = divmod(int(bad[0]), X.shape[1])
    else:
        i, j = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1, int(X.indices[bad[0]])
    if np.isnan(value):
        raise TableError(
            f"{cell_name(path, i, None, names[j])}: NaN is stored in a sparse table, where an entry that is not stored "
            "is a zero; give missing entries in a dense X."
        )
    check_features(path, {names[j]: (i, value)})
