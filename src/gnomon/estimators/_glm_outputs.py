"""What y means for a chosen exponential family: a table of outputs, which of them are observed, and the way back."""

import numpy as np

from ..rows.namespace import to_host
from ._classes import _whole_numbers
from ._targets import _check_length, _real_table, _to_numpy, read_targets
from ._validation import check_size

WANTED = {"bernoulli": "0 or 1", "poisson": "counts of at least 0"}


class GlmOutputs:
    """Outputs as the model sees them.

    Attributes
    ----------
    kind : {"none", "classes", "real"}     for the warnings that all models share
    family : str or None                   as used
    values : (n, q) float64                zero where not observed
    observed : (n, q) or (n, 1) float64    1 where observed, else 0
    classes : (C,) or None                 sorted labels
    shift, scale : (q,)                    of Gaussian outputs, which are standardised
    one_column : bool                      y was a vector
    """

    def __init__(self, kind, family, values, observed, *, classes=None, one_column=False):
        self.kind, self.family, self.values, self.observed = kind, family, values, observed
        self.classes, self.one_column = classes, one_column
        self.shift, self.scale = np.zeros(values.shape[1]), np.ones(values.shape[1])

    @property
    def labelled(self):
        """Which rows have at least one observed output (n,)."""
        return self.observed.any(axis=1)


def read_glm_outputs(y, n_samples, family, unlabeled):
    """Interpret y for `fit`; `family` is that of `gnomon.SDRGLM.y_family`."""
    if y is None:
        return GlmOutputs("none", None, np.zeros((n_samples, 0)), np.zeros((n_samples, 0)))
    values = _to_numpy(to_host(y))
    _check_length(values, n_samples)
    if family == "auto":
        family = "gaussian" if values.dtype.kind == "f" or values.ndim == 2 else "multinomial"
    if family == "multinomial" or (family == "bernoulli" and values.ndim == 1):
        return _classes(values, n_samples, family, unlabeled)
    return _numbers(values, family, unlabeled)


def _classes(values, n_samples, family, unlabeled):
    targets = read_targets(_whole_numbers(values), n_samples, unlabeled)
    if targets.kind != "classes":
        raise ValueError(
            f"y_family={family!r} wants class labels in one column; y holds real numbers. Give labels as int or str, "
            "or take y_family='gaussian'."
        )
    index, labelled, n_classes = targets.index, targets.labelled, len(targets.classes)
    if family == "multinomial" or n_classes < 2:
        table = np.zeros((n_samples, n_classes))
        table[labelled, index[labelled]] = 1.0
        out = GlmOutputs("classes", "multinomial", table, labelled[:, None].astype(np.float64), classes=targets.classes)
    elif n_classes == 2:
        column = np.where(index == 1, 1.0, 0.0)[:, None]
        out = GlmOutputs("classes", family, column, labelled[:, None].astype(np.float64), classes=targets.classes)
    else:
        raise ValueError(
            f"y_family='bernoulli' wants two classes, or a table of 0 and 1; y holds {n_classes} classes. Take "
            "y_family='multinomial'."
        )
    out.one_column = True
    return out


def _numbers(values, family, unlabeled):
    marked = values.dtype.kind in "iu" and values.ndim == 1 and isinstance(unlabeled, str) and unlabeled == "auto"
    try:
        table = _real_table(values, unlabeled)
    except (TypeError, ValueError) as error:
        raise type(error)(f"y_family={family!r} wants numbers: {error}") from None
    if marked:
        table = np.where(table == -1, np.nan, table)
    if np.isinf(table).any():
        row, column = np.argwhere(np.isinf(table))[0]
        raise ValueError(f"y is infinite in row {row}, column {column}; use NaN for a value that is not known.")
    check_size("y", table)
    observed = ~np.isnan(table)
    out = GlmOutputs(
        "real", family, np.where(observed, table, 0.0), observed.astype(np.float64), one_column=values.ndim == 1
    )
    if not observed.any():
        out.values, out.observed = np.zeros((len(table), 0)), np.zeros((len(table), 0))
        out.shift, out.scale = np.zeros(0), np.ones(0)
        return out
    _check_columns(table, observed, family)
    if family == "gaussian":
        _standardise(out, table)
    return out


def _check_columns(table, observed, family):
    never = np.flatnonzero(~observed.any(axis=0))
    if len(never):
        raise ValueError(f"output {never[0]} of y is never observed; drop that column or give at least two values.")
    bad = observed & (((table != 0) & (table != 1)) if family == "bernoulli" else (table < 0))
    if family in WANTED and bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"y holds {table[row, column]:g} in row {row}, column {column}; y_family={family!r} wants "
            f"{WANTED[family]} (NaN where not known)."
        )


def _standardise(out, table):
    lowest, highest = np.nanmin(table, axis=0), np.nanmax(table, axis=0)
    constant = np.flatnonzero(lowest == highest)
    if len(constant):
        raise ValueError(
            f"output {constant[0]} of y has the single value {lowest[constant[0]]:g}; it cannot guide a projection. "
            "Drop that column or label rows with other values."
        )
    size = np.abs(table - np.nanmean(table, axis=0))
    largest = np.nanmax(size, axis=0)  # squares stay within the range of floats
    out.shift = np.nanmean(table, axis=0)
    out.scale = largest * np.sqrt(np.nanmean((size / largest) ** 2, axis=0))
    out.values = np.nan_to_num((table - out.shift) / out.scale) * out.observed
