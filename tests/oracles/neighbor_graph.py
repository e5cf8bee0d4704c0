"""Features of a neighbor graph from the definition: all distances, a dense graph, all eigenvectors."""

import numpy as np
import scipy.linalg


def graph_features(X, n_neighbors, n_components, damping):
    """Features of distinct rows X before centering, and the eigenvalues, by falling eigenvalue."""
    n = len(X)
    distances = np.sqrt(((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
    W = np.zeros((n, n))
    for i in range(n):
        others = [j for j in range(n) if j != i]
        last = sorted(distances[i, others])[n_neighbors - 1]
        nearer = [j for j in others if distances[i, j] < last * (1 - 1e-8)]
        tied = [j for j in others if abs(distances[i, j] - last) <= last * 1e-8]
        for j in nearer + tied:
            share = 1.0 if j in nearer else (n_neighbors - len(nearer)) / len(tied)
            W[i, j] += 0.5 * share
            W[j, i] += 0.5 * share
    D = np.diag(W.sum(axis=1))
    values, vectors = scipy.linalg.eigh(W, D)  # W f = value D f, with f' D f = 1
    order = np.argsort(-values)[1 : n_components + 1]  # the constant goes
    return vectors[:, order] * np.sqrt(D.sum()) / (1 + damping - values[order]), values[order]


def extension(X, features, values, x, n_neighbors):
    """Features of a new row x: the mean over its nearest rows, divided by the eigenvalues."""
    nearest = np.argsort(np.linalg.norm(X - x, axis=1), kind="stable")[:n_neighbors]
    return np.mean([features[j] for j in nearest], axis=0) / values
