"""What y means: classes or real outputs, what marks a row as unlabelled, and the coding of both."""

from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np

from ..rows.kind import is_sparse
from ..rows.products import row_counts
from ..targets.code import code_classes, dependent_span

WAY_OUT = "mark unlabelled rows by -1 (integers), None or NaN"


class Targets:
    """Targets as the model sees them.

    Attributes
    ----------
    kind : {"none", "classes", "real"}
    coded : (n, q) float64      NaN where not observed; contrasts for classes, coordinates on `basis` for dependent
                                outputs
    classes : (C,) or None      sorted labels
    index : (n,) or None        class number, -1 where unlabelled
    basis : (q_given, q) or None   orthonormal span of linearly dependent real outputs
    one_column : bool           real outputs were given as a vector
    """

    def __init__(
        self,
        kind: Any,
        coded: Any,
        *,
        classes: Any = None,
        index: Any = None,
        basis: Any = None,
        origin: Any = None,
        one_column: Any = False,
    ) -> None:
        self.kind, self.coded, self.classes, self.index = kind, coded, classes, index
        self.basis, self.origin, self.one_column = basis, origin, one_column

    @cached_property
    def labelled(self) -> Any:
        """Which rows have at least one observed target (n,)."""
        return self.index >= 0 if self.kind == "classes" else row_counts(~np.isnan(self.coded)) > 0


def read_targets(y, n_samples, unlabeled="auto", rows=None):
    """Interpret y for `fit`.

    Parameters
    ----------
    y : None, vector or table with n_samples rows
    unlabeled : "auto", None or a label
        "auto" takes -1 among integers as unlabelled; None takes no label as such a mark; any other value is the mark.
        None, NaN and pd.NA always mean unlabelled.
    rows : (m,) or None
        Rows to read, the others do not count; None reads all.

    Returns
    -------
    Targets
    """
    if y is None:
        return Targets("none", np.zeros((n_samples if rows is None else len(rows), 0)))
    values = _to_numpy(y)
    _check_length(values, n_samples)
    values = values if rows is None else values[rows]
    if values.dtype.kind == "f" or values.ndim == 2:
        return _real_targets(_real_table(values, unlabeled), values.ndim == 1)
    return _class_targets(values, unlabeled)


def code_like(y, n_samples, kind, classes, basis, origin, n_given, unlabeled="auto"):
    """Code new targets as those of `fit` were coded: (n, q) float64, NaN where not observed."""
    values = _to_numpy(y)
    _check_length(values, n_samples)
    if kind == "none":
        raise ValueError("y was given, but the model was fitted without targets; pass y=None or fit with y.")
    if kind == "classes":
        labels, missing = _labels(values, unlabeled, classes)
        index = np.full(n_samples, -1)
        index[~missing] = numbered_like(labels[~missing], classes)
        return code_classes(index, len(classes))
    table = _real_table(values, unlabeled)
    if table.shape[1] != n_given:
        raise ValueError(f"y has {table.shape[1]} columns, but the model was fitted with {n_given}.")
    return table if basis is None else _on_span(table, basis, origin)


def _on_span(table, basis, origin):
    seen = ~np.isnan(table)
    partly = np.flatnonzero(seen.any(axis=1) & ~seen.all(axis=1))
    if len(partly):
        raise ValueError(
            f"y misses some outputs of row {partly[0]}, but the outputs in fit were linearly dependent; "
            "give all of them or none."
        )
    deviation = table - origin
    coded = deviation @ basis
    away = np.abs(deviation - coded @ basis.T)
    scale = np.abs(origin).max() + np.nanmax(np.abs(deviation), initial=0.0)
    off = np.flatnonzero(np.nan_to_num(away).max(axis=1, initial=0.0) > 1e-6 * scale)
    if len(off):
        raise ValueError(
            f"row {off[0]} of y breaks a linear relation that the outputs in fit obey exactly; it has no density."
        )
    return coded


def _real_targets(table, one_column):
    infinite = np.isinf(table)
    if infinite.any():
        row, column = np.argwhere(infinite)[0]
        raise ValueError(f"y is infinite in row {row}, column {column}; use NaN for a value that is not known.")
    found = Targets("real", table, one_column=one_column)
    if found.labelled.any():
        rows = table[found.labelled]
        observed = ~np.isnan(rows)
        never = np.flatnonzero(~observed.any(axis=0))
        if len(never):
            raise ValueError(f"output {never[0]} of y is never observed; drop that column or give at least two values.")
        for j in range(rows.shape[1]):
            seen = rows[observed[:, j], j]
            if (seen == seen[0]).all():
                raise ValueError(
                    f"output {j} of y has the single value {seen[0]} in its {len(seen)} observed rows; it cannot "
                    "guide a projection. Drop that column or label rows with other values."
                )
    else:
        return Targets("real", np.zeros((len(table), 0)), one_column=one_column)
    basis = dependent_span(rows)
    if basis is None:
        return found
    origin = rows[observed.all(axis=1)].mean(axis=0)
    return Targets("real", (table - origin) @ basis, basis=basis, origin=origin)


def _class_targets(values, unlabeled):
    labels, missing = _labels(values, unlabeled, None)
    known = labels[~missing]
    if known.dtype.kind == "O":
        kinds = {"number" if isinstance(v, (int, np.integer, bool, np.bool_)) else type(v).__name__ for v in known}
        if len(kinds) > 1:
            some = ", ".join(sorted(kinds))
            raise TypeError(f"y mixes labels of several types ({some}); make them all str or all int.")
    index = np.full(len(labels), -1)
    classes, index[~missing] = numbered(known)
    return Targets("classes", code_classes(index, len(classes)), classes=classes, index=index)


def numbered(known):
    """Return the sorted classes of labels (m,), and the number of each label's class (m,)."""
    if known.dtype.kind in "biu":
        classes, index = np.unique(known, return_inverse=True)
        return np.array(classes.tolist()), index
    classes = np.array(sorted(set(known.tolist()))) if len(known) else np.array([])
    position = {label: i for i, label in enumerate(classes.tolist())}
    return classes, np.array([position[label] for label in known.tolist()], dtype=np.intp)


def numbered_like(known, classes, name="y", way_out=""):
    """Return the number of each label's class (m,) as in `fit`; raise for a class that `fit` did not see."""
    position = {label: i for i, label in enumerate(classes.tolist())}
    labels = known.tolist()
    unknown = sorted({str(label) for label in set(labels) if label not in position})
    if unknown:
        some = ", ".join(unknown[:5])
        raise ValueError(f"{name} holds classes that were not in fit: {some}. Known: {list(position)[:10]}.{way_out}")
    return np.array([position[label] for label in labels], dtype=np.intp)


def _labels(values, unlabeled, classes):
    """Return labels, integers and bools as they are and others as objects, and which are missing."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"class labels must be one column; y has shape {values.shape}.")
    if values.dtype.kind in "biu":
        return values, _missing_numbers(values, unlabeled, classes)
    labels = values.astype(object)
    missing = np.array([_is_missing(v) for v in labels], dtype=bool)
    labels = np.array([v.item() if isinstance(v, np.generic) else v for v in labels] + [None], dtype=object)[:-1]
    if isinstance(unlabeled, str) and unlabeled == "auto":
        integers = {v for v in labels[~missing] if isinstance(v, int) and not isinstance(v, bool)}
        _refuse_ambiguous(integers, classes)
        missing |= np.array([isinstance(v, int) and not isinstance(v, bool) and v == -1 for v in labels], dtype=bool)
    elif unlabeled is not None:
        missing |= np.array([type(v) is type(unlabeled) and v == unlabeled for v in labels], dtype=bool)
    return labels, missing


def _missing_numbers(values, unlabeled, classes):
    """Which of an array of integers or bools are marked as unlabelled."""
    none = np.zeros(len(values), dtype=bool)
    if isinstance(unlabeled, str) and unlabeled == "auto":
        if values.dtype.kind == "b":
            return none
        _refuse_ambiguous(set(np.unique(values).tolist()), classes)
        return values == -1
    return values == unlabeled if type(unlabeled) is (bool if values.dtype.kind == "b" else int) else none


def _refuse_ambiguous(integers, classes):
    if integers == {-1, 1} and (classes is None or -1 in classes.tolist()):
        raise ValueError(
            "y holds the integers -1 and 1 only, which is ambiguous: pass unlabeled=None if -1 is a class, "
            "or unlabeled=-1 if it marks unlabelled rows."
        )


def _real_table(values, unlabeled):
    table = values.reshape(len(values), -1)
    if table.dtype.kind in "OUS":
        try:
            table = np.array([[np.nan if _is_missing(v) else float(v) for v in row] for row in table])
        except (TypeError, ValueError):
            raise TypeError(
                "a y of several columns must be numeric (real outputs, NaN where missing); "
                "class labels must be one column."
            ) from None
    integers = table.dtype.kind in "iu" and table.shape[1] > 1
    if integers and (table == -1).any() and isinstance(unlabeled, str) and unlabeled == "auto":
        raise ValueError(
            "the integer table y holds -1, which is ambiguous: give it as floats, with NaN where an output is missing, "
            "or pass unlabeled=-1 or unlabeled=None."
        )
    out = table.astype(np.float64, copy=False)
    if unlabeled is not None and not isinstance(unlabeled, str):
        out = np.where(out == float(unlabeled), np.nan, out)
    return out


def _to_numpy(y):
    """Turn a vector or table of any supported kind into a NumPy array; missing entries of labels become None."""
    native = y if isinstance(y, np.ndarray) else nw.from_native(y, pass_through=True, allow_series=True)
    if isinstance(native, nw.Series):
        return _series_to_numpy(native)
    if isinstance(native, nw.DataFrame):
        columns = [_series_to_numpy(column) for column in native.iter_columns()]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)
    if is_sparse(y):
        raise TypeError("y is a sparse matrix; give a dense array (for multi-label indicators, y.toarray() as floats).")
    values = np.asarray(y)
    if values.dtype.kind == "O" and values.ndim == 1:
        return _narrow(values)
    if values.dtype.kind not in "biufOUS":
        raise TypeError(f"y has dtype {values.dtype}; class labels or real numbers are wanted.")
    if values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    if values.ndim not in (1, 2):
        raise ValueError(f"y has shape {values.shape}; a vector or a table with one row per sample is wanted.")
    return values


def _series_to_numpy(series):
    if series.dtype.is_float():
        return series.to_numpy().astype(np.float64)
    missing = series.is_null().to_numpy()
    if not missing.any() and (series.dtype.is_integer() or series.dtype == nw.Boolean):
        return series.to_numpy()
    values = np.array([*series.to_list(), None], dtype=object)[:-1]
    values[missing] = None
    return _narrow(values)


def _narrow(values):
    """An object vector of numbers of which some are fractions is a real target; anything else stays labels."""
    known = [v for v in values if not _is_missing(v)]
    if known and all(isinstance(v, (float, np.floating)) for v in known):
        return np.array([float(v) if isinstance(v, (float, np.floating)) else np.nan for v in values])
    return values


def _is_missing(value):
    """None, NaN or pd.NA, which refuses to be compared."""
    return value is None or type(value).__name__ == "NAType" or value != value


def _check_length(values, n_samples):
    if len(values) != n_samples:
        raise ValueError(
            f"y has {len(values)} rows, X has {n_samples}; they must agree (mark unlabelled rows: {WAY_OUT})."
        )
