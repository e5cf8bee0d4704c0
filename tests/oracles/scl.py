"""Structural correspondence learning from its definition: one ridge regression per pivot, one SVD."""

import numpy as np


def pivot_predictors(X, pivots, ridge):
    """Weights (p, m) that minimize mean (x_c - w'x - b)^2 + ridge |w|^2 with w_c = 0, each pivot by itself."""
    Xc = X - X.mean(axis=0)
    n, p = X.shape
    weights = np.zeros((p, len(pivots)))
    for m, c in enumerate(pivots):
        others = [j for j in range(p) if j != c]
        A = np.vstack([Xc[:, others] / np.sqrt(n), np.sqrt(ridge) * np.eye(p - 1)])
        b = np.concatenate([Xc[:, c] / np.sqrt(n), np.zeros(p - 1)])
        weights[others, m] = np.linalg.lstsq(A, b, rcond=None)[0]
    return weights


def occurs(X):
    return X != 0


def mutual_information(X, y):
    """Of the label and the occurrence of each feature, in nats."""
    out = np.zeros(X.shape[1])
    for j, column in enumerate(occurs(X).T):
        for label in set(y):
            for state in (True, False):
                joint = np.mean((y == label) & (column == state))
                if joint > 0:
                    out[j] += joint * np.log(joint / np.mean(y == label) / np.mean(column == state))
    return out
