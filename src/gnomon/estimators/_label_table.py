"""Several labels a row: a table of 0 and 1 with entries that are not known."""

import numpy as np

from ._targets import _check_length, _is_missing, _to_numpy


def read_label_table(name, y, n_samples):
    """Return 0 or 1 for each row and label (n, labels), -1 where unlabeled; each label has rows of both values."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None; without labels PPCA is the model.")
    values = _to_numpy(y)
    _check_length(values, n_samples)
    table = values.reshape(n_samples, -1)
    if table.shape[1] == 0:
        raise ValueError(f"y has shape {values.shape}; {name} needs a column for each label, at least one.")
    if table.dtype.kind in "OUS":
        table = table.astype(object)
        missing = np.array([_is_missing(v) for v in table.ravel()]).reshape(table.shape)
        table[missing] = np.nan  # pd.NA refuses to be compared
    else:
        missing = np.isnan(table)
    zero, one, minus = (table == value for value in (0, 1, -1))
    strange = ~(missing | zero | one | minus)
    if strange.any():
        row, column = np.argwhere(strange)[0]
        raise ValueError(
            f"Unknown label type: y holds {table[row, column]!s} in row {row} of label column {column}; {name} takes 0 "
            "and 1, or False and True, and NaN, None or -1 where a label is not known. One column of classes is for "
            "DPPCA, real targets are for SPPCA."
        )
    if minus.any() and not zero.any():
        raise ValueError(
            "y holds -1 and no 0, which is ambiguous: give 0 where a label is absent, and NaN where it is not known."
        )
    _refuse_single_values(name, zero, one)
    return np.where(one, 1, np.where(zero, 0, -1))


def _refuse_single_values(name, zero, one):
    for column in range(zero.shape[1]):
        n_zero, n_one = int(zero[:, column].sum()), int(one[:, column].sum())
        if n_zero and n_one:
            continue
        found = f"the single value {int(n_one > 0)} in its {n_zero + n_one} labeled rows"
        raise ValueError(
            f"label column {column} of y has {found if n_zero + n_one else 'no labeled row'}; {name} needs rows of "
            "both values. Drop that column or label rows of the other value."
        )
