"""Which rows a fitted model saw labelled, read from its public attributes."""

from numbers import Real
from types import SimpleNamespace

import numpy as np


def target_kind(estimator):
    """Return what guided the fit: "none", "classes", "real", or several targets; "none" if every row was unlabelled.

    "latents" are class variables of latents, as those of `IFA`, "labels" columns of zeros and ones, "mixed" outputs of
    several kinds or counts; `target_variables` reads them one by one.

    Models that take classes only need no `target_kind_`: their `classes_` tell.

    Examples
    --------
    >>> target_kind(SimpleNamespace(target_kind_="classes", n_labeled_=0))
    'none'
    """
    kind = getattr(estimator, "target_kind_", "classes" if hasattr(estimator, "classes_") else "none")
    return kind if np.any(getattr(estimator, "n_labeled_", True)) else "none"


def n_labelled(estimator):
    """Return how many rows a model saw labelled; of several labels, with the one that most rows have.

    Examples
    --------
    >>> n_labelled(SimpleNamespace(n_labeled_=np.array([3, 5])))
    5
    """
    return int(np.max(getattr(estimator, "n_labeled_", 0)))


def class_codes(estimator, y):
    """Return the index into `estimator.classes_` of each row's class, -1 where the row is unlabelled.

    Whatever is not one of the fitted classes counts as unlabelled.

    Parameters
    ----------
    estimator : fitted model with `classes_`
    y : array-like of shape (n,)

    Examples
    --------
    >>> class_codes(SimpleNamespace(classes_=np.array(["cat", "dog"])), ["dog", None, "cat"]).tolist()
    [1, -1, 0]
    """
    place = {label: code for code, label in enumerate(np.asarray(estimator.classes_).tolist())}
    values = np.asarray(y, dtype=object).ravel().tolist()
    return np.array([place.get(value, -1) for value in values], dtype=int)


def unseen_classes(estimator, y):
    """Return a mask of the rows whose class is known but is none of the fitted classes.

    Examples
    --------
    >>> unseen_classes(SimpleNamespace(classes_=np.array(["cat", "dog"])), ["emu", None, "cat"]).tolist()
    [True, False, False]
    """
    values = np.asarray(y, dtype=object).ravel().tolist()
    known = np.array([not _is_missing(value) for value in values], dtype=bool)
    return known & (class_codes(estimator, y) < 0)


def real_targets(y):
    """Return real targets as floats of shape (n, q), NaN where missing.

    Examples
    --------
    >>> real_targets([1.0, None]).tolist()
    [[1.0], [nan]]
    """
    values = np.asarray(y)
    if values.dtype == object:  # None and pd.NA are no numbers
        flat = [float(v) if isinstance(v, Real) else np.nan for v in values.ravel().tolist()]
        values = np.array(flat).reshape(values.shape)
    return values.astype(float).reshape(len(values), -1)


def labelled_rows(estimator, y, n_samples):
    """Return a mask of the rows with a class, or with at least one output, as the fitted model reads them.

    Examples
    --------
    >>> labelled_rows(SimpleNamespace(target_kind_="real"), [0.5, np.nan], 2).tolist()
    [True, False]
    """
    if y is None or target_kind(estimator) == "none":
        return np.zeros(n_samples, dtype=bool)
    if target_kind(estimator) == "classes":
        return class_codes(estimator, y) >= 0
    if target_kind(estimator) in ("latents", "labels"):
        known = np.nan_to_num(real_targets(y), nan=-1.0) >= 0
        return known.any(axis=1)
    if target_kind(estimator) == "mixed":
        values = np.asarray(y, dtype=object).reshape(n_samples, -1)
        return (np.equal(values, values) & np.not_equal(values, None)).astype(bool).any(axis=1)  # NaN is not itself
    return np.isfinite(real_targets(y)).any(axis=1)


def plain_targets(y):
    """Read targets that no model was fitted to: floats are real, anything else is classes, -1 is unlabelled.

    Examples
    --------
    >>> plain_targets(["b", None, "a"]).classes_.tolist()
    ['a', 'b']
    """
    values = np.asarray(y)
    if values.dtype.kind == "f" or values.ndim == 2:
        return SimpleNamespace(target_kind_="real")
    known = {value for value in values.astype(object).tolist() if not _is_missing(value)}
    return SimpleNamespace(target_kind_="classes", classes_=np.array(sorted(known), dtype=object))


def _is_missing(value):
    if value is None or type(value).__name__ == "NAType":
        return True
    return isinstance(value, Real) and (value != value or value == -1)
