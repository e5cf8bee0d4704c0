"""Which rows of an experiment are labeled: random ones of each class, or of each label; and the error of the others.

As `gnomon.datasets.make_partial`, of other random rows for the same seed: kept summaries are of these.
"""

import numpy as np

from gnomon.selection.baselines import nearest_labels


def draw_labeled(y, n_per_class, seed):
    """Return a boolean mask with `n_per_class` random rows of each class, all rows of a smaller one but one."""
    rng = np.random.default_rng(seed)
    counts = [(rows, min(n_per_class, max(len(rows) - 1, 1))) for rows in _classes(y)]
    return _mask(len(y), [rng.choice(rows, count, replace=False) for rows, count in counts])


def draw_positive(Y, n_positive, seed):
    """Return a boolean mask with `n_positive` random positive rows of each label, a column of zeros and ones."""
    rng = np.random.default_rng(seed)
    positive = [np.flatnonzero(column == 1) for column in np.asarray(Y).T]
    return _mask(len(Y), [rng.choice(rows, min(n_positive, len(rows)), replace=False) for rows in positive])


def one_nn_error(Z, y, labeled):
    """Share of the unlabeled rows whose nearest labeled row is of another class."""
    return float(np.mean(nearest_labels(Z[labeled], y[labeled], Z[~labeled]) != y[~labeled]))


def one_of_c(y):
    """One column of zeros and ones for each class."""
    return (y[:, None] == np.unique(y)).astype(float)


def _classes(y):
    return [np.flatnonzero(y == label) for label in np.unique(y)]


def _mask(n, drawn):
    labeled = np.zeros(n, dtype=bool)
    labeled[np.concatenate(drawn)] = True
    return labeled
