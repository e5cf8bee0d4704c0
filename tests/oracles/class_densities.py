"""Probabilities of classes from positions of labeled rows, typed from the definition."""

import numpy as np
from scipy.stats import multivariate_t


def positions(W, mean, noise, X):
    """Posterior means of z of complete rows, and their covariance over all rows under the model."""
    A = np.eye(W.shape[1]) + W.T @ W / noise
    return np.linalg.solve(A, W.T @ (X - mean).T / noise).T, np.eye(W.shape[1]) - np.linalg.inv(A)


def probabilities(Z, spread, V, Z_labeled, index, n_classes):
    """Of positions Z (n, k) with loadings V (C - 1, k) of codes; `spread` (k, k) is that of positions over all rows."""
    left, size, _ = np.linalg.svd(V.T)
    axes = left[:, : (size > 1e-9 * size.max()).sum()]
    U, known, r = Z @ axes, Z_labeled @ axes, axes.shape[1]
    counts = [(index == c).sum() for c in range(n_classes)]
    centers = [known[index == c].sum(axis=0) / (counts[c] + 1) for c in range(n_classes)]
    away = known - np.array(centers)[index]
    freedom = r + 2 + len(index) - n_classes
    S = (sum(np.outer(a, a) for a in away) + (r + 2) * axes.T @ spread @ axes) / freedom
    joint = [
        (counts[c] + 1) * multivariate_t(centers[c], (1 + 1 / (counts[c] + 1)) * S, freedom).pdf(U)
        for c in range(n_classes)
    ]
    return np.column_stack(joint) / np.sum(joint, axis=0)[:, None]
