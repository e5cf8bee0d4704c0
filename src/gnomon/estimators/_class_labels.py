"""Class numbers of rows, in fit and afterwards, for DPPCA."""

import numpy as np

from ._classes import _whole_numbers
from ._targets import _labels, _to_numpy, numbered_like, read_targets


def number_classes(name, y, n_samples, unlabeled):
    """Return the sorted classes (C,), at least one, and the class number of each row, -1 where unlabeled."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None; without labels PPCA is the model.")
    targets = read_targets(_one_column(name, y), n_samples, unlabeled)
    if not len(targets.classes):
        raise ValueError(f"y marks every row as unlabeled; {name} needs a labeled row of each class, or fit PPCA.")
    return targets.classes, targets.index


def number_like(name, y, n_samples, classes, unlabeled):
    """Return the class number of each row as in fit, -1 where unlabeled; raise for a class that fit did not see."""
    values = _one_column(name, y)
    if len(values) != n_samples:
        raise ValueError(f"y has {len(values)} rows, X has {n_samples}; they must agree.")
    labels, missing = _labels(values, unlabeled, classes)
    index = np.full(n_samples, -1)
    index[~missing] = numbered_like(labels[~missing], classes, way_out=" Mark such rows as unlabeled.")
    return index


def _one_column(name, y):
    values = _to_numpy(y)
    if values.ndim != 1:
        raise ValueError(
            f"class labels must be one column for {name}; y has shape {values.shape}. Several labels of 0 and 1 a row "
            "are for MultiLabelDPPCA."
        )
    values = _whole_numbers(values)
    if values.dtype.kind == "f":
        raise ValueError(
            f"Unknown label type: y holds fractions or infinity; {name} takes class labels (integers, text, bool). "
            "For real targets use SPPCA."
        )
    return values
