"""Columns of y as they are given, whatever holds them: NumPy, pandas, polars, lists, arrays of other libraries."""

from numbers import Real
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from .._types import Array, BoolArray
from ..rows.kind import is_sparse
from ..rows.namespace import to_host

WAY_OUT = "mark unlabeled rows by -1 (classes), None or NaN"


class Raw(NamedTuple):
    """One column as given."""

    form: str  # of its known cells: "text", "bool", "categorical", "int", "float", or "none" where there are none
    values: Any  # (n,) numbers, or objects with None where missing
    missing: BoolArray  # (n,) None, NaN, pd.NA, NaT, or the mark of the caller
    name: str  # as errors call it


def columns_of(y: Any, n_samples: int, mark: Any) -> tuple[list[Raw], bool]:
    """The columns of y, and whether y is one column; `mark` is a label that means unlabeled, or None."""
    cells, vector = _cells(y, n_samples)
    for name, values, _ in cells:
        if len(values) != n_samples:
            raise ValueError(f"{name} has {len(values)} rows, X has {n_samples}; they must agree ({WAY_OUT}).")
    return [_raw(name, values, categorical, mark) for name, values, categorical in cells], vector


def _cells(y: Any, n_samples: int) -> tuple[list[tuple[str, Array, bool]], bool]:
    """Name, cells and whether they are categories, of every column; and whether y is one column."""
    if is_sparse(y):
        raise TypeError("y is a sparse matrix; give a dense array (for multi-label indicators, y.toarray()).")
    names = [str(name) for name in getattr(y, "columns", ())]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"y has several columns named {repeated[0]!r}; give each its own name.")
    native = y if isinstance(y, np.ndarray) else nw.from_native(y, pass_through=True, allow_series=True)
    if isinstance(native, nw.Series):
        return [("y", *_series(native))], True
    if isinstance(native, nw.DataFrame):
        vector = len(native.columns) == 1
        cells = [
            ("y" if vector else f"column {name!r} of y", *_series(native.get_column(name))) for name in native.columns
        ]
        return _some(cells, (n_samples, 0)), vector
    if _is_list_of_columns(y, n_samples):
        cells = [(f"column {j} of y", *_cells(column, n_samples)[0][0][1:]) for j, column in enumerate(y)]
        return cells, len(cells) == 1
    return _array_cells(_array(y), hasattr(y, "categories") and hasattr(y, "codes"))


def _array(y: Any) -> Array:
    if isinstance(y, np.ma.MaskedArray):
        values = y.data.astype(object)
        values[np.ma.getmaskarray(y)] = None
        return np.asarray(values)
    try:
        values = np.asarray(to_host(y))
    except ValueError:  # rows of several lengths
        wanted = "a vector or a table with one row per sample"
        raise ValueError(f"y holds rows of several lengths; {wanted} is wanted.") from None
    if values.dtype.kind not in "biufOUS":
        raise TypeError(f"y has dtype {values.dtype}; class labels or real numbers are wanted.")
    if values.dtype.kind in "US" and isinstance(y, list | tuple):  # text would swallow numbers beside it, and None
        return np.array(y, dtype=object)
    return np.asarray(values)


def _array_cells(values: Array, categorical: bool) -> tuple[list[tuple[str, Array, bool]], bool]:
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 1:
        return [("y", values, categorical)], True
    if values.ndim != 2:
        raise ValueError(f"y has shape {values.shape}; a vector or a table with one row per sample is wanted.")
    columns = np.asfortranarray(values).T  # each in one piece
    return _some([(f"column {j} of y", one, categorical) for j, one in enumerate(columns)], values.shape), False


def _some(cells: list[tuple[str, Array, bool]], shape: tuple[int, ...]) -> list[tuple[str, Array, bool]]:
    if not cells:
        raise ValueError(f"y has shape {shape}; at least one column is wanted.")
    return cells


def _is_list_of_columns(y: Any, n_samples: int) -> bool:
    """Whether y is a list of vectors, one per target, and cannot be a list of rows."""
    if not isinstance(y, list | tuple) or not y or len(y) == n_samples:
        return False
    return all(hasattr(column, "__array__") and np.ndim(column) == 1 and len(column) == n_samples for column in y)


def _series(series: Any) -> tuple[Array, bool]:
    """Cells of a column of a frame, None where missing, and whether they are categories."""
    categorical = isinstance(series.dtype, nw.Categorical | nw.Enum)
    if series.dtype.is_float():
        return series.to_numpy().astype(np.float64), categorical
    missing = series.is_null().to_numpy()
    if not missing.any() and (series.dtype.is_integer() or series.dtype == nw.Boolean):
        return series.to_numpy(), categorical
    values = objects(series.to_list())
    values[missing] = None
    return values, categorical


def is_missing(value: Any) -> bool:
    """None, NaN, NaT or pd.NA, which refuses to be compared."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _raw(name: str, values: Array, categorical: bool, mark: Any) -> Raw:
    kind = values.dtype.kind
    if kind in "biuf" and not categorical:
        missing = np.isnan(values) if kind == "f" else np.zeros(len(values), dtype=bool)
        if isinstance(mark, Real) and isinstance(mark, bool | np.bool_) == (kind == "b"):
            missing = missing | (values == mark)
        form = {"b": "bool", "f": "float"}.get(kind, "int")
        return Raw("none" if missing.all() else form, values, missing, name)
    cells = [value.item() if isinstance(value, np.generic) else value for value in values.tolist()]
    cells = [None if is_missing(cell) or _is_mark(cell, mark) else cell for cell in cells]
    missing = np.array([cell is None for cell in cells], dtype=bool)
    form, held = _form({type(cell) for cell in cells if cell is not None}, name), objects(cells)
    if form == "float" or (form == "int" and not missing.any()):
        numbers = np.array([np.nan if cell is None else cell for cell in cells])
        held = numbers if numbers.dtype.kind in "if" else held  # integers may be huge
    return Raw("categorical" if categorical and form != "none" else form, held, missing, name)


def _is_mark(cell: Any, mark: Any) -> bool:
    if mark is None:
        return False
    if isinstance(mark, Real):
        return isinstance(cell, Real) and isinstance(cell, bool) == isinstance(mark, bool | np.bool_) and cell == mark
    return type(cell) is type(mark) and bool(cell == mark)


def _form(types: set[type], name: str) -> str:
    """What cells of these types are."""
    if not types:
        return "none"
    if types == {bool}:
        return "bool"
    if all(issubclass(kind, Real) for kind in types):
        return "int" if all(issubclass(kind, int) for kind in types) else "float"
    if types in ({str}, {bytes}):
        return "text"
    if len(types) == 1 or not types <= {str, bytes, bool, int, float}:
        strange = sorted(kind.__name__ for kind in types - {str, bytes, bool, int, float}) or ["object"]
        raise TypeError(
            f"Unknown label type: {name} holds values of type {strange[0]}; class labels (text, whole numbers, bool) "
            "or real numbers are wanted."
        )
    some = ", ".join(sorted({"number" if issubclass(kind, Real) else kind.__name__ for kind in types}))
    raise TypeError(f"{name} mixes labels of several types ({some}); make them all text or all numbers.")


def objects(cells: list[Any]) -> Any:
    """Cells as an array of objects, whatever they are."""
    return np.array([*cells, None], dtype=object)[:-1]
