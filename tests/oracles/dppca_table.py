"""One projection for several models of two classes of the same rows, from dense p x p matrices."""

import numpy as np

from . import dppca


def between(models):
    """Sum over labels of pi0 pi1 (m1 - m0)(m1 - m0)'."""
    total = 0.0
    for one in models:
        gap = one.means[1] - one.means[0]
        total = total + one.prior[0] * one.prior[1] * np.outer(gap, gap)
    return total


def within(models):
    """Mean over labels of the covariance within classes."""
    return sum(dppca.covariance(one) for one in models) / len(models)


def projection(models, n_components, tol=1e-10):
    """Directions (p, k) with D' S D = I: of B against S, then of S alone, each orthogonal to those before it under S.

    The second kind are the eigenvectors of S by falling eigenvalue, in whitened coordinates and without their part
    along the directions before them.
    """
    B, S = between(models), within(models)
    values, vectors = np.linalg.eigh(S)
    root = vectors @ np.diag(1 / np.sqrt(values)) @ vectors.T
    sizes, U = np.linalg.eigh(root @ B @ root)
    found = [U[:, i] for i in np.argsort(-sizes)[: min(n_components, len(models))] if sizes[i] > tol * sizes.max()]
    for i in np.argsort(-values):
        if len(found) == n_components:
            break
        rest = vectors[:, i] - sum(u * (u @ vectors[:, i]) for u in found)
        if np.linalg.norm(rest) > 1e-8:
            found.append(rest / np.linalg.norm(rest))
    return root @ np.column_stack(found)


def log_joints(models, X):
    """Log p(x, value) for each label (n, labels, 2)."""
    return np.stack([dppca.log_joint(one, X) for one in models], axis=1)


def random_rows(rng, n=160, p=8, n_labels=3, n_shared=3, noise=0.7):
    """Rows that shift by a direction for each of their labels and share a few factors; the labels (n, n_labels)."""
    Y = (rng.random((n, n_labels)) < rng.uniform(0.3, 0.6, n_labels)).astype(int)
    shifts = 2.0 * rng.normal(size=(n_labels, p))
    factors = rng.normal(size=(n_shared, p))
    return Y @ shifts + rng.normal(size=(n, n_shared)) @ factors + noise * rng.normal(size=(n, p)), Y
