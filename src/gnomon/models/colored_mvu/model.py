"""Colored maximum variance unfolding (Song et al. 2007): a kernel that follows the labels and keeps short distances.

With H the centering matrix, L the kernel of the labels and d_ij the distances along the edges of a neighbor graph, the
kernel K maximizes

    tr(H K H L) / unit - penalty mean over edges of ((K_ii + K_jj - 2 K_ij - d_ij^2) / d^2)^2,     d^2 the mean d_ij^2

over positive semi-definite K = Q Y Q', Q the smoothest eigenvectors of the graph Laplacian but the constant one. `unit`
is tr(H L H) tr(G) / n with G the centered inner products of the rows, so that the penalty has no units. The graph holds
a spanning tree: were it in parts, these could move apart for ever.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from ..._types import Array, BoolArray, IntArray, Result
from ...graphs.spanning_tree import connected_edges, laplacian
from ...numerics.linalg import sign_of_columns
from ...rows.contract import Rows
from .sdp import Optimum, minimize_quadratic, triangle

RIDGES = np.logspace(-10, 2, 49)  # tried for the map to new rows


SAME = 1e-9  # of the largest: eigenvalues that differ by less are the same


class Options(NamedTuple):
    """How to fit; see `gnomon.ColoredMVU` for the meaning."""

    n_neighbors: int
    n_basis: int
    penalty: float
    tol: float = 1e-8
    max_iter: int = 200
    n_components: int = 1  # eigenvectors that are kept at least


class Fitted(NamedTuple):
    """The embedding in all directions of the basis, and what it rests on."""

    Z: Array  # (n, m) orthogonal columns, falling lengths, in `unit`; Z Z' = K
    edges: IntArray  # (e, 2)
    squared: Array  # (e,)    squared distances along the edges, in `unit` squared
    optimum: Optimum
    mean_squared: float  # of all pairs of rows, in `unit` squared
    unit: float  # in units of X


class Map(NamedTuple):
    """How new rows are embedded, known by their kernel values with those of the fit."""

    origin: Array  # (n,)
    weights: Array  # (n, k)


def class_kernel(index: IntArray) -> Array:
    """Label kernel (n, n): 1 for two rows of one class, and for a row with itself; unlabeled rows (-1) share none."""
    same = (index[:, None] == index) & (index >= 0)[:, None]
    return np.asarray(same | np.eye(len(index), dtype=bool), dtype=np.float64)


def real_kernel(Y: Array, labeled: BoolArray) -> Array:
    """Label kernel (n, n) of real outputs, each in units of its standard deviation: a Gaussian kernel.

    exp(-|y_i - y_j|^2 / (2 q)) with q outputs; rows that are not labeled are like themselves alone.
    """
    out = np.eye(len(Y))
    rows = np.flatnonzero(labeled)
    scaled = (Y[rows] - Y[rows].mean(axis=0)) / Y[rows].std(axis=0)
    lengths = (scaled**2).sum(axis=1)
    squared = np.maximum(lengths[:, None] + lengths - 2 * scaled @ scaled.T, 0.0)
    out[np.ix_(rows, rows)] = np.exp(-squared / (2 * Y.shape[1]))
    return out


def smooth_basis(edges: IntArray, n: int, m: int, least: int = 1) -> Array:
    """The m eigenvectors (n, m) of the Laplacian of a connected graph with the smallest eigenvalues above zero.

    Fewer, but `least`, where the last ones have the eigenvalue of others beyond them: which ones would be rounding.
    """
    values, vectors = eigh(laplacian(edges, n), subset_by_index=[1, min(m + 1, n - 1)])
    apart = np.flatnonzero(np.diff(values[: m + 1]) > SAME * values[-1]) + 1  # numbers that cut no tie
    if len(values) > m and m not in apart:
        m = int(max(apart[apart >= least], default=m))
    vectors = vectors[:, :m]
    Q = vectors - vectors.mean(axis=0)
    return np.asarray(Q / np.linalg.norm(Q, axis=0))


def quadratic(Q: Array, edges: IntArray, squared: Array, L: Array, unit: float, penalty: float) -> tuple[Array, Array]:
    """P and q with minus the objective = y'Py / 2 + q'y + penalty mean (d_ij^2 / d^2)^2 at the triangle y of Y."""
    steps = Q[edges[:, 0]] - Q[edges[:, 1]]  # (e, m)
    scale = float(squared.mean())
    B = triangle(steps[:, :, None] * steps[:, None, :]) / scale  # (e, t)
    weight = 2.0 * penalty / len(edges)
    linear = -triangle(Q.T @ L @ Q) / unit - weight * B.T @ (squared / scale)
    return weight * B.T @ B, np.asarray(linear)


def squared_distances(rows: Rows) -> tuple[Array, float]:
    """Squared distances (n, n) of rows divided by their size, and that size, so that squares keep their digits."""
    X = rows.gather().astype(np.float64)
    X = X if rows.sparse else X - X.mean(axis=0)
    size = float(abs(X).max()) or 1.0
    X = X * (1.0 / size)
    inner = X @ X.T
    inner = inner.toarray() if rows.sparse else inner
    lengths = inner.diagonal().copy()
    squared = np.maximum(lengths[:, None] + lengths - 2.0 * inner, 0.0)
    squared[squared <= 1e-13 * (lengths[:, None] + lengths)] = 0.0  # the same row, but for rounding
    if not squared.any():
        raise ValueError(f"all {len(squared)} rows of X are the same; an embedding needs two that differ.")
    return np.asarray((squared + squared.T) / 2.0), size


def fit(rows: Rows, L: Array, options: Options) -> Result[Fitted]:
    """Fit to rows, of which two differ, and the kernel of their labels.

    Parameters
    ----------
    L : (n, n)          positive semi-definite, not the same for all rows

    Returns
    -------
    Result(Fitted, status, path, stats with "n_iter" and "residual")
    """
    squared, size = squared_distances(rows)
    n = len(squared)
    edges = connected_edges(squared, options.n_neighbors)
    along = squared[edges[:, 0], edges[:, 1]]
    total = float(squared.sum()) / (2.0 * n)  # tr of the centered inner products
    unit = total * float(np.trace(L) - L.mean() * n) / n
    m = min(options.n_basis, n - 1)
    Q = smooth_basis(edges, n, m, options.n_components)
    m = Q.shape[1]
    shrink = total / n  # the solver works at the size of one
    P, q = quadratic(Q, edges, along / shrink, L, unit / shrink, options.penalty)
    result = minimize_quadratic(P, q, m, tol=options.tol, max_iter=options.max_iter)
    values, turn = np.linalg.eigh(result.value.Y)
    Z = Q @ (turn[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0) * shrink))
    fitted = Fitted(Z * sign_of_columns(Z), edges, along, result.value, float(squared.mean()), size)
    return Result(fitted, result.status, result.path, result.stats)


def posterior(new: Map, rows: Rows) -> tuple[Array, None]:
    """Embedding (l, k) of rows of kernel values; it has no covariance."""
    return rows.in_units(new.origin, 1.0).times(new.weights), None
