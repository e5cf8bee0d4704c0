"""Closed forms: PPCA by a full eigendecomposition, theorem 2 at given noise variances, contrasts of classes."""

import numpy as np

from .gaussian import Model


def ppca(X, k, weights=None):
    """Maximum likelihood of probabilistic PCA (Tipping and Bishop 1999)."""
    n, p = X.shape
    w = np.ones(n) if weights is None else weights
    mean = w @ X / w.sum()
    S = (X - mean).T @ np.diag(w) @ (X - mean) / w.sum()
    values, vectors = np.linalg.eigh(S)
    values, vectors = values[::-1], vectors[:, ::-1]
    noise = values[k:].mean()
    W = vectors[:, :k] * np.sqrt(values[:k] - noise)
    return Model(W, mean, noise, np.zeros((0, k)), np.zeros(0), np.zeros(0))


def theorem_2(X, Y, k, s2_x, s2_y):
    """Loadings of fully labeled supervised PPCA at given noise variances, which are not estimated."""
    V = np.hstack([(X - X.mean(axis=0)) / np.sqrt(s2_x), (Y - Y.mean(axis=0)) / np.sqrt(s2_y)])
    values, vectors = np.linalg.eigh(V.T @ V / len(V))
    values, vectors = values[::-1][:k], vectors[:, ::-1][:, :k]
    W = vectors * np.sqrt(np.maximum(values - 1.0, 0.0))
    p = X.shape[1]
    return Model(
        np.sqrt(s2_x) * W[:p], X.mean(axis=0), s2_x, np.sqrt(s2_y) * W[p:], Y.mean(axis=0), np.full(Y.shape[1], s2_y)
    )


def contrasts(n_classes):
    """Column j compares class j + 1 with the mean of those before it; orthonormal."""
    codes = np.zeros((n_classes, n_classes - 1))
    for j in range(n_classes - 1):
        codes[: j + 1, j] = 1.0
        codes[j + 1, j] = -(j + 1.0)
        codes[:, j] /= np.sqrt((j + 1.0) * (j + 2.0))
    return codes


def code(labels, classes):
    """Contrast codes of labels; NaN rows where the label is -1."""
    codes = contrasts(len(classes))
    position = {c: i for i, c in enumerate(classes)}
    return np.array([np.full(len(classes) - 1, np.nan) if v == -1 else codes[position[v]] for v in labels])
