"""Kernel discriminant analysis, dense and slow, from the definition in feature space."""

import numpy as np
from scipy.linalg import eigh


def discriminant(phi, labels, ridge, dimension):
    """Generalized eigenvectors of between- against shrunk within-class covariance of explicit features phi (n, p).

    Returns the directions (p, c - 1), scaled to within-class variance one, and the variance ratios.
    """
    n, p = phi.shape
    mean = phi.mean(axis=0)
    within, between = np.zeros((p, p)), np.zeros((p, p))
    for c in np.unique(labels):
        rows = phi[labels == c]
        m = rows.mean(axis=0)
        for x in rows:
            within += np.outer(x - m, x - m) / n
        between += len(rows) / n * np.outer(m - mean, m - mean)
    shrunk = (1 - ridge) * within + ridge * np.trace(within) / dimension * np.eye(p)
    values, vectors = eigh(between, shrunk)
    k = len(np.unique(labels)) - 1
    return vectors[:, ::-1][:, :k], values[::-1][:k]


def log_posterior(phi, labels, new, ridge, dimension):
    """Bayes' rule with normal classes of the shrunk covariance in all p dimensions."""
    n, p = phi.shape
    classes = np.unique(labels)
    within = np.zeros((p, p))
    for c in classes:
        rows = phi[labels == c]
        within += (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0)) / n
    precision = np.linalg.inv((1 - ridge) * within + ridge * np.trace(within) / dimension * np.eye(p))
    logs = np.empty((len(new), len(classes)))
    for j, c in enumerate(classes):
        gap = new - phi[labels == c].mean(axis=0)
        logs[:, j] = np.log((labels == c).mean()) - 0.5 * np.einsum("ij,jk,ik->i", gap, precision, gap)
    return logs - np.logaddexp.reduce(logs, axis=1)[:, None]
