"""What y means when outputs may be of several kinds: classes, labels, counts and real numbers, column by column."""

import warnings

import narwhals as nw
import numpy as np

from ..likelihoods.layout import Layout
from ._targets import (
    WAY_OUT,
    _check_length,
    _is_missing,
    _labels,
    _narrow,
    _series_to_numpy,
    _to_numpy,
    numbered,
    numbered_like,
)

LIKELIHOODS = ("gaussian", "bernoulli", "categorical", "poisson")


class OutputReader:
    """How the columns of y were read in `fit`, and the coding of others like them.

    Attributes
    ----------
    likelihoods : list of str       one per output
    classes : list                  sorted labels of each output, None for numbers
    vector : bool                   y was one column
    values : (n, q) float64         class numbers, counts or reals; NaN where not observed
    """

    def __init__(self, likelihoods, classes, vector, unlabeled, values=None):
        self.likelihoods, self.classes, self.vector, self.unlabeled = likelihoods, classes, vector, unlabeled
        self.values = values

    @property
    def usable(self):
        """Which outputs can guide the projection: those with two classes or more, or numbers."""
        return [j for j, c in enumerate(self.classes) if c is None or len(c) > 1]

    def layout(self, link):
        """The outputs as the model sees them; two classes are one Bernoulli output."""
        kinds, sizes = [], []
        for j in self.usable:
            c = 0 if self.classes[j] is None else len(self.classes[j])
            kinds.append(link if c == 2 else self.likelihoods[j])
            sizes.append(c)
        return Layout(tuple(kinds), tuple(sizes))

    def code(self, y, n_samples):
        """New targets as in `fit` (n, q), NaN where not observed; a class that was not in fit is an error."""
        columns = _columns(y, n_samples)
        if len(columns) != len(self.likelihoods):
            raise ValueError(f"y has {len(columns)} columns, but the model was fitted with {len(self.likelihoods)}.")
        out = np.empty((n_samples, len(columns)))
        for j, (column, kind, classes) in enumerate(zip(columns, self.likelihoods, self.classes, strict=True)):
            name = "y" if self.vector else f"column {j} of y"
            out[:, j] = _numbers(column, kind, name) if classes is None else self._class_numbers(column, classes, name)
        return out

    def _class_numbers(self, column, classes, name):
        if column.dtype.kind == "f":
            labels, missing = column.astype(object), np.isnan(column)
        else:
            labels, missing = _labels(column, self.unlabeled, classes)
        out = np.full(len(labels), np.nan)
        out[~missing] = numbered_like(labels[~missing], classes, name)
        return out


def read_outputs(y, n_samples, likelihoods=None, unlabeled="auto"):
    """Interpret y for `fit`; see `gnomon.CPPCA` for the rules.

    Returns
    -------
    OutputReader with values (n_samples, q); no outputs for y=None
    """
    if y is None:
        return OutputReader([], [], True, unlabeled, np.zeros((n_samples, 0)))
    columns = _columns(y, n_samples)
    wanted = [likelihoods] if isinstance(likelihoods, str) else likelihoods
    if wanted is None:
        wanted = [None] * len(columns)
    elif len(wanted) != len(columns):
        raise ValueError(
            f"likelihoods has {len(wanted)} entries, y has {len(columns)} columns; one for each is wanted."
        )
    vector = len(columns) == 1
    found, classes, values = [], [], np.empty((n_samples, len(columns)))
    for j, (column, kind) in enumerate(zip(columns, wanted, strict=True)):
        name = "y" if vector else f"column {j} of y"
        kind = _infer(column, vector, unlabeled, name) if kind is None else kind
        if kind in ("bernoulli", "categorical"):
            values[:, j], labels = _read_classes(column, kind, unlabeled, name)
        else:
            values[:, j], labels = _numbers(column, kind, name), None
        found.append(kind)
        classes.append(labels)
        _check_varies(values[:, j], kind, labels, vector, name)
    return OutputReader(found, classes, vector, unlabeled, values)


def _columns(y, n_samples):
    """The columns of y, each a vector."""
    native = nw.from_native(y, pass_through=True, allow_series=True)
    if isinstance(native, nw.DataFrame):
        columns = [_series_to_numpy(native[name]) for name in native.columns]
        if columns:
            _check_length(columns[0], n_samples)
        return columns
    values = _to_numpy(y)
    _check_length(values, n_samples)
    if values.ndim == 1:
        return [values]
    columns = [values[:, j] for j in range(values.shape[1])]
    return [_narrow(column) if column.dtype.kind == "O" else column for column in columns]


def _infer(column, vector, unlabeled, name):
    """Labels are classes; among numbers, a column of zeros and ones is a label; other numbers are real.

    Integers are classes in a vector and numbers in a table, as everywhere in the library.
    """
    if column.dtype.kind in "biu" and vector:
        return "categorical"
    if column.dtype.kind in "OUSb":
        return "categorical"
    if column.dtype.kind in "iu" and (column == -1).any() and isinstance(unlabeled, str) and unlabeled == "auto":
        raise ValueError(
            f"{name} is a column of integers that holds -1, which is ambiguous: give it as floats with NaN where an "
            "output is missing, or say what it is by likelihoods=."
        )
    numbers = _without_mark(column, unlabeled)
    known = numbers[~np.isnan(numbers)]
    return "bernoulli" if len(known) and np.isin(known, (0.0, 1.0)).all() else "gaussian"


def _without_mark(column, unlabeled):
    numbers = column.astype(np.float64)
    if unlabeled is not None and not isinstance(unlabeled, str):
        numbers = np.where(numbers == float(unlabeled), np.nan, numbers)
    return numbers


def _read_classes(column, kind, unlabeled, name):
    """Class numbers (NaN where unlabelled) and the sorted labels."""
    if column.dtype.kind == "f":
        numbers = _without_mark(column, unlabeled)
        missing = np.isnan(numbers)
        labels, known = numbers, numbers[~missing]
    else:
        labels, missing = _labels(column, unlabeled, None)
        known = labels[~missing]
        if known.dtype.kind == "O":
            kinds = {"number" if isinstance(v, (int, float, np.number, bool)) else type(v).__name__ for v in known}
            if len(kinds) > 1:
                some = ", ".join(sorted(kinds))
                raise TypeError(f"{name} mixes labels of several types ({some}); make them all of one.")
    classes, index = numbered(known)
    if kind == "bernoulli" and len(classes) > 2:
        raise ValueError(f"{name} has {len(classes)} classes, but its likelihood is 'bernoulli'; use 'categorical'.")
    out = np.full(len(column), np.nan)
    out[~missing] = index
    return out, classes


def _numbers(column, kind, name):
    """A column of reals or counts, NaN where missing."""
    if column.dtype.kind in "OUS":
        try:
            column = np.array([np.nan if _is_missing(v) else float(v) for v in column])
        except (TypeError, ValueError):
            raise TypeError(
                f"{name} holds labels, but its likelihood is {kind!r}; give numbers, or use 'categorical'."
            ) from None
    numbers = column.astype(np.float64)
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise ValueError(f"{name} is infinite in row {infinite[0]}; use NaN for a value that is not known.")
    if kind == "poisson":
        wrong = np.flatnonzero((numbers < 0) | (numbers != np.floor(numbers)) & ~np.isnan(numbers))
        if len(wrong):
            raise ValueError(
                f"{name} is {numbers[wrong[0]]} in row {wrong[0]}, but its likelihood is 'poisson'; counts are wanted "
                "(NaN where missing)."
            )
    return numbers


def _check_varies(values, kind, classes, vector, name):
    known = values[~np.isnan(values)]
    if vector and (len(known) == 0 or classes is not None):
        return  # a warning follows, see `warn_of_labels`
    if len(known) == 0:
        raise ValueError(f"{name} is never observed; drop it.")
    if (known == known[0]).all():
        value = float(known[0]) if classes is None else classes.tolist()[int(known[0])]
        raise ValueError(
            f"{name} has the single value {value!r} in its {len(known)} observed rows; it cannot guide a projection. "
            "Drop it or label rows with other values."
        )


def warn_of_labels(reader, n_labelled):
    """Warn when y says nothing: no row is labelled, or there is one class only."""
    if not reader.likelihoods:
        return
    if n_labelled == 0:
        warnings.warn(
            f"y marks every row as unlabelled ({WAY_OUT}); the unsupervised model is fitted.", UserWarning, stacklevel=3
        )
    elif reader.vector and reader.classes[0] is not None and len(reader.classes[0]) == 1:
        warnings.warn(
            f"y holds the single class {reader.classes[0].tolist()[0]!r}; it cannot guide the projection, "
            "and predict returns it for every row.",
            UserWarning,
            stacklevel=3,
        )
