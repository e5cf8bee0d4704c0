"""Which rows of an experiment are labeled, by `gnomon.datasets.make_partial`; and the error of the others."""

import numpy as np

from gnomon.datasets import make_partial
from gnomon.selection.baselines import nearest_labels


def draw_labeled(y, n_per_class, seed):
    """Return a boolean mask with `n_per_class` random rows of each class, all rows of a smaller one but one."""
    codes = np.unique(y, return_inverse=True)[1]
    wanted = {c: min(n_per_class, max(count - 1, 1)) for c, count in enumerate(np.bincount(codes).tolist())}
    return make_partial(codes, n_per_class=wanted, random_state=seed) >= 0


def draw_positive(Y, n_positive, seed):
    """Return a boolean mask with `n_positive` random positive rows of each label, a column of zeros and ones."""
    seen = make_partial(np.asarray(Y).astype(np.int64), n_per_class=n_positive, random_state=seed)
    return (seen >= 0).any(axis=1)


def one_nn_error(Z, y, labeled):
    """Share of the unlabeled rows whose nearest labeled row is of another class."""
    return float(np.mean(nearest_labels(Z[labeled], y[labeled], Z[~labeled]) != y[~labeled]))


def one_of_c(y):
    """One column of zeros and ones for each class."""
    return (y[:, None] == np.unique(y)).astype(float)
