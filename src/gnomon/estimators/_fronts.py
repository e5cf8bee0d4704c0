"""Fronts of a table: what stands before the models that `GuidedProjection` averages, and principal coordinates of it.

A front is kept as plain arrays, so that a model file can hold it, and brings new rows to the same coordinates.
"""

from typing import Any, NamedTuple

import numpy as np

from ..graphs.neighbors import unit_rows
from ..models.dppca import principal_rows
from ..rows import read
from ..rows.kind import is_sparse
from .neighbor_features import NeighborFeatures

MOST = 300  # principal coordinates of a front
PER_FRONT = 150  # of each in the union of all
UNION = 100  # of the union
FEWEST = 20  # rows of an average class from which neighbors are looked at
MOST_NEIGHBORS = 20_000  # rows; beyond, neighbors of all pairs take long
LEVEL = 1e-6  # relative: deviations, or lengths, that differ by less are the same
SKEWED, LARGE = 10.0, 30.0  # deviations of columns, and entries beside the median one, from which logarithms are tried


class Front(NamedTuple):
    """How rows are prepared, and the principal coordinates of what comes out."""

    name: str
    parts: dict[str, Any]  # of the preparation
    mean: Any  # (p,)
    scale: float
    basis: Any  # (p, r)


class Coordinates(NamedTuple):
    """Rows in the principal coordinates of a front, in its units."""

    T: Any  # (n, r)
    outside: Any  # (n,) squared length outside
    n_features: int


def fit_fronts(X, n_classes):
    """Yield the fronts of a table X (n, p), dense or sparse, with its rows in each, as (Front, Reduced); X is first."""
    base = _fitted("rows", {}, X)
    yield base
    for name, parts in _preparations(X):
        found = _fitted(name, parts, _prepared(parts, X))
        base = found if "std" in parts else base
        yield found
    if FEWEST * n_classes <= X.shape[0] <= MOST_NEIGHBORS:
        graph = NeighborFeatures()
        features = graph.fit_transform(base[1].T)
        yield _fitted("neighbors", {"front": tuple(base[0]), "graph": graph}, features)
        graph = NeighborFeatures(metric="cosine")
        features = graph.fit_transform(X)
        yield _fitted("neighbors, cosine", {"graph": graph}, features)


def _fitted(name, parts, table):
    """A front, and the rows that it was fitted to in its coordinates."""
    reduced = principal_rows(read(table), MOST)
    standard, basis = reduced.standard, reduced.expand(np.eye(reduced.T.shape[1]))
    return Front(name, parts, standard.mean, standard.scale, basis), reduced


def bring(front, X):
    """Rows X in the coordinates of a front."""
    rows = read(_prepared(front.parts, X)).in_units(front.mean, front.scale).project(front.basis)
    return Coordinates(rows.gather(), rows.gather("outside"), len(front.mean))


def _preparations(X):
    """Names and parts of the other fronts without neighbors; those that change nothing are left out."""
    sparse = is_sparse(X)
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sparse else np.einsum("ij,ij->i", X, X)
    mean, std = _moments(X)
    kept = np.flatnonzero(std > 1e-12 * std.max(initial=0.0))
    found = []
    if np.ptp(std[kept]) > LEVEL * std[kept].mean():
        found.append(
            ("standardized columns", {"columns": kept, "std": std[kept], "mean": None if sparse else mean[kept]})
        )
    if not sparse:
        middle = float(np.median(np.abs(X[X != 0]))) if (X != 0).any() else 0.0
        low, high = np.quantile(std[kept], (0.05, 0.95))
        if middle > 0 and high > SKEWED * low and np.abs(X).max() > LARGE * middle:
            found.append(("logarithms", {"middle": middle}))
    lengths = np.sqrt(squares)
    if lengths.std() > LEVEL * lengths.mean():
        found.append(("unit rows", {"unit": True}))
    return found


def _moments(X):
    if not is_sparse(X):
        return X.mean(axis=0), X.std(axis=0)
    mean = np.asarray(X.mean(axis=0)).ravel()
    return mean, np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0.0))


def _prepared(parts, X):
    """Rows as a front takes them."""
    if "graph" in parts:
        if "front" in parts:
            X = bring(Front(*parts["front"]), X).T
        return np.asarray(parts["graph"].transform(X), dtype=np.float64)
    if "std" in parts:
        X, mean = X[:, parts["columns"]], parts["mean"]
        return X.multiply(1.0 / parts["std"]).tocsr() if mean is None else (X - mean) / parts["std"]
    if "middle" in parts:
        return np.arcsinh(X / parts["middle"])
    return unit_rows(X) if "unit" in parts else X


# -- the union of all fronts -----------------------------------------------------------------------------------------


def lengths_of(reduced):
    """Root mean squared length of the principal coordinates of each front."""
    return [float(np.sqrt((one.T**2).sum() / len(one.T))) or 1.0 for one in reduced]


def side_by_side(coordinates, lengths):
    """Leading coordinates of every front, each of length one in the mean (n, sum of r)."""
    return np.hstack([one.T[:, :PER_FRONT] / length for one, length in zip(coordinates, lengths, strict=True)])
