"""Frames of any library: their names, their numbers, and the cell that is no number."""

from collections.abc import Iterator
from typing import Any

import narwhals as nw
import numpy as np


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """X as a frame of narwhals, None where it is none; raises where two columns have one name."""
    if not hasattr(X, "columns"):
        return None
    check_names(X)
    found = nw.from_native(X, pass_through=True, eager_only=True)
    return found if isinstance(found, nw.DataFrame) else None


def as_table(X: Any) -> Any:
    """A frame or a masked array as numbers, NaN where they say nothing; anything else as it is.

    They are float64, or float32 where every column is; a frame of sparse columns is a sparse matrix.
    """
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(X.dtype if X.dtype.kind == "f" else np.float64), np.nan)
    frame = as_frame(X)
    if frame is None:
        return X
    if hasattr(X, "sparse"):  # pandas has it where all columns are
        return X.sparse.to_coo().tocsr()
    types = set(frame.schema.values())
    dtype = np.float32 if types == {nw.Float32()} else np.float64
    if all(kind.is_numeric() or kind == nw.Boolean() for kind in types):
        found = frame.to_numpy()
        if found.dtype == object:  # as pandas gives columns of Arrow with missing entries
            return X.to_numpy(dtype=dtype, na_value=np.nan)
        return np.asarray(found, dtype=dtype)
    return np.array([_numbers(frame[name]) for name in frame.columns]).T


def framed(table: Any, X: Any) -> Any:
    """Numbers (m, p) as a frame of the library and with the column names of X; as they are where X is no frame."""
    frame = as_frame(X)
    if frame is None:
        return table
    library = nw.get_native_namespace(frame)
    if frame.implementation.is_pandas_like():
        return library.DataFrame(table, columns=X.columns)
    return nw.from_numpy(table, frame.columns, backend=frame.implementation).to_native()


def _numbers(column: nw.Series[Any]) -> list[float]:
    """The cells of a column; text and objects may be numbers."""
    missing = column.is_null().to_numpy()
    return [np.nan if gone else float(cell) for gone, cell in zip(missing, column.to_list(), strict=True)]


def check_names(X: Any) -> None:
    """Raise when two columns of a frame have one name, and when its values are not computed yet."""
    if nw.dependencies.is_polars_lazyframe(X):
        raise TypeError("X is a LazyFrame, whose values are not computed yet; pass what its collect() gives.")
    names = [str(name) for name in _names(X) or ()]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(
            f"X has several columns named {', '.join(map(repr, twice[:5]))}; rename or drop them, so that every column "
            "has a name of its own."
        )


def _names(X: Any) -> list[Any] | None:
    """Names of the columns of a frame; what pyarrow calls columns are the cells."""
    if hasattr(X, "column_names") and not hasattr(X, "iloc"):
        return list(X.column_names)
    return list(X.columns) if hasattr(X, "columns") else None


def name_column(X: Any, error: Exception) -> Exception:
    """Return `error`, or one that names the column and the value of X where that is what is not a number."""
    found = next(_values_without_number(X), None)
    if found is None:
        return error
    column, row, value = found
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(
        f"column {column!r} of X holds {value!r} in row {row}, which is not a number; encode the column as numbers or "
        "leave it out."
    )


def _values_without_number(X: Any) -> Iterator[tuple[Any, int, Any]]:
    """Yield (column, row, value) for text and dates in a frame or in an array of objects or text."""
    names = _names(X)
    if names is None and (not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "OUS"):
        return
    for j, name in enumerate(range(X.shape[1]) if names is None else names):
        cells = np.asarray(X[:, j] if names is None else X[name])
        if cells.dtype.kind in "Mm":
            yield name, 0, cells[0]
        for i, value in enumerate(cells.tolist() if cells.dtype.kind in "OUS" else ()):
            if isinstance(value, (str, bytes)) and not is_number(value):
                yield name, i, value


def is_number(cell: Any) -> bool:
    """Whether a cell is a number, or text that is one."""
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True
