"""Smooth functions on a neighbor graph: its leading eigenvectors, and their values at new points.

With W the symmetric weights, d the degrees and S = D^-1/2 W D^-1/2, the columns are eigenvectors of the random walk
D^-1 W (eigenvectors of S over the root of the degrees), each scaled by 1 / (1 + damping - eigenvalue): a resolvent
kernel, in which smooth directions count most.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from .._types import Array
from ..graphs.graph import graph_parts, scaled_graph, weighted_rows
from ..graphs.neighbors import Neighbors

SMOOTH = 0.1  # smallest eigenvalue used: the value at a new point is divided by it
DENSE = 400  # points up to which all eigenvectors are computed


class GraphFeatures(NamedTuple):
    """Features of the points of a graph."""

    features: Array  # (m, k)
    eigenvalues: Array  # (k,) of the normalized adjacency, falling; the constant eigenvector is left out
    n_parts: int  # connected components


def graph_features(W: Any, n_components: int, damping: float) -> GraphFeatures:
    """Leading eigenvectors of a neighbor graph, scaled by 1 / (1 + damping - eigenvalue).

    Their mean under the degrees is zero, and before the scaling their mean square under the degrees is one. The
    eigenvalue 1 has one eigenvector more for each further connected part; these are taken from the parts themselves,
    largest first, because an iteration can miss copies of an eigenvalue. Eigenvalues below 0.1 are left out (one is
    always kept).

    Parameters
    ----------
    W : (m, m)          symmetric weights, zero diagonal, no empty row
    n_components : int  most columns wanted
    damping : float     above 0

    Returns
    -------
    GraphFeatures

    Laws (each is a test): D^-1 W f = f * eigenvalue for every column f; a permutation of the points permutes the rows.
    """
    degrees = np.asarray(W.sum(axis=1)).ravel()
    root = np.sqrt(degrees)
    S = scaled_graph(W, 1.0 / root)
    parts, known = _part_vectors(W, root, n_components + 1)
    between = known[:, 1:]
    values, vectors = _leading(S, known, min(n_components - between.shape[1], len(root) - parts))
    values = np.concatenate([np.ones(between.shape[1]), values])
    vectors = np.hstack([between, vectors])
    kept = values >= SMOOTH
    kept[0] = True
    values, vectors = values[kept], vectors[:, kept]
    features = vectors / root[:, None] * np.sqrt(degrees.sum())
    top = np.abs(features) >= (1 - 1e-9) * np.abs(features).max(axis=0)
    features *= np.sign(features[top.argmax(axis=0), np.arange(len(values))])
    return GraphFeatures(features / (1.0 + damping - values), values, parts)


def _part_vectors(W: Any, root: Array, most: int) -> tuple[int, Array]:
    """The number of connected parts, and orthonormal eigenvectors of eigenvalue 1 (m, at most `most`).

    The first is the constant one; column j > 0 sets part j (by falling degree) against all larger ones.
    """
    parts, member = graph_parts(W)
    weight = np.bincount(member, weights=root**2)
    order = np.argsort(-weight, kind="stable")
    columns = [root / np.linalg.norm(root)]
    held = weight[order].cumsum()
    for j in range(1, min(parts, most)):
        part, larger = member == order[j], np.isin(member, order[:j])
        ours, theirs = weight[order[j]], held[j - 1]
        columns.append(root * (part / ours - larger / theirs) / np.sqrt(1.0 / ours + 1.0 / theirs))
    return parts, np.column_stack(columns)


def _leading(S: Any, known: Array, k: int) -> tuple[Array, Array]:
    """The k largest eigenvalues of S, falling, and their vectors, outside the span of its eigenvectors `known`."""
    m = S.shape[0]
    if k <= 0:
        return np.zeros(0), np.zeros((m, 0))
    if m <= DENSE or k > m // 3:
        # known vectors go to the far end of the spectrum, which lies in [-1, 1]
        values, vectors = np.linalg.eigh(S.toarray() - 3.0 * known @ known.T)
        return values[::-1][:k], vectors[:, ::-1][:, :k]

    def product(v: Array) -> Array:
        return np.asarray(S @ v - 3.0 * (known @ (known.T @ v)))

    start = np.random.default_rng(0).standard_normal(m)
    start -= known @ (known.T @ start)
    try:
        values, vectors = eigsh(LinearOperator((m, m), matvec=product, dtype=np.float64), k=k, which="LA", v0=start)
    except ArpackNoConvergence as error:
        raise RuntimeError(
            f"the {k} leading eigenvectors of a graph of {m} points were not found in {10 * m} steps; "
            "ask for fewer n_components or for more n_neighbors."
        ) from error
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]


def extend(found: Neighbors, features: Array, eigenvalues: Array) -> Array:
    """Values (n, k) at rows from those of their nearest points: the Nystrom extension.

    An eigenvector f of the random walk is the mean of f over the neighbors, divided by its eigenvalue; this gives f
    a value anywhere. A row that is one of the points takes that point's value.

    Parameters
    ----------
    found : Neighbors    nearest points of each row (n, j)
    features : (m, k)
    eigenvalues : (k,)
    """
    same = found.squared == 0.0
    weight = np.where(same.any(axis=1)[:, None], same, found.share)
    weight /= weight.sum(axis=1, keepdims=True)
    mean = weighted_rows(found.indices, weight, features)
    return np.asarray(np.where(same.any(axis=1)[:, None], mean, mean / np.maximum(eigenvalues, SMOOTH)))
