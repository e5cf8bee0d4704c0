"""Smooth functions on a neighbor graph: its leading eigenvectors, and their values at new points; no density of x.

With W the symmetric weights, d the degrees and S = D^-1/2 W D^-1/2, the columns are eigenvectors of the random walk
D^-1 W (eigenvectors of S over the root of the degrees), each scaled by 1 / (1 + damping - eigenvalue): a resolvent
kernel, in which smooth directions count most.
"""

import importlib.util
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from .._types import Array, IntArray
from .._warn import warn
from ..graphs.graph import graph_parts, neighbor_graph, scaled_graph, weighted_rows
from ..graphs.neighbors import Neighbors, distinct_rows, nearest, unit_rows
from ..numerics.folds import ranks
from ..rows.contract import Rows
from ..rows.kind import is_sparse
from ..rows.products import in_form

SMOOTH = 0.1  # smallest eigenvalue used: the value at a new point is divided by it
DENSE = 400  # points up to which all eigenvectors are computed
MOST_EXACT = 20_000  # rows up to which "auto" compares all pairs


class Options(NamedTuple):
    """How to fit; see `gnomon.NeighborFeatures` for the meaning."""

    n_neighbors: int = 15
    n_components: int = 60
    damping: float = 0.02
    metric: str = "euclidean"
    algorithm: str = "auto"


class Map(NamedTuple):
    """What new rows are held against."""

    origin: Array | None  # (p,) what rows were moved by; None for sparse ones and for cosines
    unit: float  # and divided by, so that squares keep their digits at any scale of X
    points: Any  # (m, p) the distinct rows of the fit, as the metric wants them
    features: Array  # (m, k)
    eigenvalues: Array  # (k,)
    mean: Array  # (k,) of the features over the rows
    n_neighbors: int
    metric: str


class Fitted(NamedTuple):
    """The map, and what it came from."""

    map: Map
    of_rows: Array  # (n, k) centered features of the rows of the fit
    n_parts: int
    algorithm: str


class GraphFeatures(NamedTuple):
    """Features of the points of a graph."""

    features: Array  # (m, k)
    eigenvalues: Array  # (k,) of the normalized adjacency, falling; the constant eigenvector is left out
    n_parts: int  # connected components


def fit(rows: Rows, options: Options) -> Fitted:
    """Build the graph of the distinct rows and compute its features."""
    X = rows.gather()
    origin, unit = None, 1.0
    if options.metric != "cosine":
        origin = None if rows.sparse else X.mean(axis=0, dtype=np.float64)
        unit = float(np.abs(X.data if rows.sparse else X - origin).max(initial=0.0)) or 1.0
    given, X = X, _prepared(X, origin, unit, options.metric)
    first, place = distinct_rows(X)
    if len(first) < 2:
        raise ValueError(
            f"all {len(place)} rows of X are the same under metric={options.metric!r}; a graph needs two that differ."
        )
    points, k = X[first], min(options.n_neighbors, max(1, len(first) // 2))
    algorithm = _choose(options.algorithm, len(first))
    found = (nearest if algorithm == "exact" else _approximate)(points, points, k + 1)
    graph = graph_features(neighbor_graph(found), options.n_components, options.damping, _by_content(given[first]))
    features = extend(found, graph.features, graph.eigenvalues)[place]
    mean = features.mean(axis=0)
    new = Map(origin, unit, points, graph.features, graph.eigenvalues, mean, k, options.metric)
    return Fitted(new, features - mean, graph.n_parts, algorithm)


def posterior(new: Map, rows: Rows) -> tuple[Array, None]:
    """Features (n, k) of rows; they have no covariance."""
    X = in_form(rows.gather(), sparse=is_sparse(new.points))  # new rows may be of the other form than those of the fit
    found = nearest(_prepared(X, new.origin, new.unit, new.metric), new.points, new.n_neighbors)
    return extend(found, new.features, new.eigenvalues) - new.mean, None


def _prepared(X: Any, origin: Array | None, unit: float, metric: str) -> Any:
    """Rows in float64 as the metric wants them: of length one, or moved and scaled as those of the fit were."""
    X = X.astype(np.float64)
    if metric == "cosine":
        return unit_rows(X)
    return X * (1.0 / unit) if origin is None else (X - origin) / unit


def _choose(algorithm: str, n_points: int) -> str:
    if algorithm != "auto":
        return algorithm
    if n_points <= MOST_EXACT:
        return "exact"
    if importlib.util.find_spec("pynndescent") is None:
        warn(
            f"{n_points} rows are compared pair by pair, which takes long, because pynndescent is not installed: "
            "pip install 'gnomon[neighbors]', or pass algorithm='exact' to say that this is meant."
        )
        return "exact"
    return "approximate"


def _approximate(_: Any, points: Any, k: int) -> Neighbors:
    """Approximate neighbors of all points among themselves, themselves included, from pynndescent."""
    try:
        from pynndescent import NNDescent
    except ImportError as error:
        raise ImportError(
            "algorithm='approximate' needs pynndescent: pip install 'gnomon[neighbors]', or use algorithm='exact'."
        ) from error
    indices, distances = NNDescent(points, metric="euclidean", n_neighbors=k, random_state=0).neighbor_graph
    indices, squared = np.array(indices, dtype=np.intp), np.asarray(distances, dtype=np.float64) ** 2
    itself = indices == np.arange(len(indices))[:, None]
    squared = np.where(itself, 0.0, np.maximum(squared, np.finfo(float).tiny))  # in single precision, not quite 0
    lost = np.flatnonzero((indices < 0).any(axis=1) | ~itself.any(axis=1))
    if len(lost):
        exact = nearest(points[lost], points, k)
        indices[lost], squared[lost] = exact.indices[:, :k], exact.squared[:, :k]
    return Neighbors(indices, squared, np.ones(squared.shape))


def _by_content(points: Any) -> IntArray:
    """Points in an order of their own, that neither the order of rows nor that of columns moves."""
    points = points.astype(np.float64) / (float(abs(points).max()) or 1.0)
    squared = points.multiply(points) if is_sparse(points) else points**2
    sums, lengths = (np.asarray(table.sum(axis=1)).ravel() for table in (points, squared))
    return np.argsort(ranks(sums, lengths, unit=float(lengths.max())), kind="stable")


def graph_features(W: Any, n_components: int, damping: float, order: IntArray | None = None) -> GraphFeatures:
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
    order : (m,)        points, of which the first with the largest entry is positive; None: as they are

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
    order = np.arange(len(features)) if order is None else order
    features *= np.sign(features[order[top[order].argmax(axis=0)], np.arange(len(values))])
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
