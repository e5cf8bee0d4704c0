"""Partly labeled tables that the tests of selection share."""

import numpy as np


def few_labels(y, per_class, seed=0):
    """`per_class` random labels of each class, -1 elsewhere."""
    rng = np.random.default_rng(seed)
    seen = np.concatenate([rng.choice(np.flatnonzero(y == c), per_class, replace=False) for c in np.unique(y)])
    out = np.full(len(y), -1)
    out[seen] = y[seen]
    return out


def blobs(n_per_class=20, n_classes=3, p=5, distance=4.0, seed=0):
    """Rows of round classes, one in each direction."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), n_per_class)
    return rng.normal(size=(len(y), p)) + distance * np.eye(p)[y], y
