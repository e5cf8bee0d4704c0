"""Class labels for models that know nothing else."""

import numpy as np

from ._targets import _to_numpy, read_targets


def read_classes(y, n_samples, unlabeled, name):
    """Interpret y for a model of classes alone: (`Targets` of kind "classes", at least two classes).

    Whole numbers held as floats, as pandas makes of integers with gaps, are classes too. `name` is that of the model.
    """
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None; give class labels.")
    targets = read_targets(_whole_numbers(_to_numpy(y)), n_samples, unlabeled)
    if targets.kind != "classes":
        raise ValueError(
            f"y holds real numbers; {name} is for classes. Give labels as int or str, unlabelled rows -1 or None."
        )
    if len(targets.classes) < 2:
        raise ValueError(
            f"y holds the classes {targets.classes.tolist()} among its labelled rows; {name} needs at least two to "
            "separate."
        )
    return targets


def _whole_numbers(values):
    """Floats of a vector as integers, None where NaN, if all are whole."""
    if values.dtype.kind != "f" or values.ndim != 1:
        return values
    missing = np.isnan(values)
    known = values[~missing]
    if not (np.abs(known) < 2**53).all() or (known != np.round(known)).any():
        return values
    labels = np.full(len(values), None, dtype=object)
    labels[~missing] = known.astype(np.int64)
    return labels
