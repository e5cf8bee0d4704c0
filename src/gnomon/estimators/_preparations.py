"""Preparations of a table: what stands before the models that `GuidedProjection` averages, and its coordinates.

A preparation is kept as plain arrays, so that a model file can hold it, and brings new rows to the same coordinates.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.signal import savgol_filter

from ..graphs.neighbors import distinct_rows, unit_rows
from ..models.dppca import principal_rows
from ..numerics.folds import ranks
from ..rows import read
from ..rows.kind import is_sparse
from ..rows.summary import power_of_two
from .neighbor_features import NeighborFeatures

PLAIN = ("rows", "standardized columns")  # preparations that are linear in X
MOST = 300  # principal coordinates of a preparation
PER_PREPARATION = 150  # of each in the union of all
UNION = 100  # of the union
FEWEST = 20  # rows of an average class from which neighbors are looked at
PAIRS, ENOUGH_POINTS = 20_000**2, 10_000  # distances from rows to points of a graph; so many points are always taken
EPS, NOTHING = float(np.finfo(np.float64).eps), 1e-12  # of the largest deviation of differences: they are rounding
LEVEL = 1e-6  # relative: deviations, or lengths, that differ by less are the same
SKEWED, LARGE = 10.0, 30.0  # deviations of columns, and entries beside the median one, from which logarithms are tried

ALIKE = 0.9  # mean correlation of columns that are next to each other, from which they are channels of a spectrum
FEWEST_CHANNELS, DEGREE = 25, 2  # columns from which, and degree of the polynomials of derivatives
SPECTRA = tuple(
    (name, {"normal": normal, "derivative": derivative, "window": window}, standard)
    for name, normal, derivative, window, standard in (
        ("derivative", False, 1, 15, False),
        ("second derivative", False, 2, 21, False),
        ("normal rows, standardized", True, 0, 0, True),
        ("derivative, standardized", False, 1, 15, True),
        ("second derivative, standardized", False, 2, 21, True),
        ("derivative of normal rows, standardized", True, 1, 15, True),
    )
)  # standardized: in units of the deviation of each channel


class Preparation(NamedTuple):
    """How rows are prepared, and the principal coordinates of what comes out."""

    name: str
    parts: dict[str, Any]  # of the preparation
    mean: Any  # (p,)
    scale: float
    basis: Any  # (p, r)


class Coordinates(NamedTuple):
    """Rows in the principal coordinates of a preparation, in its units."""

    T: Any  # (n, r)
    outside: Any  # (n,) squared length outside
    n_features: int


def fit_preparations(X, n_classes):
    """Yield the preparations of a table X (n, p), dense or sparse, each with its rows as `Reduced`; X is first."""
    base = _fitted(PLAIN[0], {}, X)
    yield base
    for name, parts in _others(X):
        found = _fitted(name, parts, _prepared(parts, X))
        base = found if "std" in parts else base
        yield found
    if FEWEST * n_classes <= X.shape[0]:
        some = _some(base[1])
        graph, features = _neighbors("euclidean", base[1].T, some)
        yield _fitted("neighbors", {"preparation": tuple(base[0]), "graph": graph}, features)
        if len(distinct_rows(unit_rows(X if some is None else X[some]))[0]) > 1:
            graph, features = _neighbors("cosine", X, some)
            yield _fitted("neighbors, cosine", {"graph": graph}, features)


def _some(reduced):
    """Rows that are points of a graph, taken by what they hold; None where all are."""
    n = len(reduced.T)
    n_points = max(PAIRS // n, ENOUGH_POINTS)
    if n <= n_points:
        return None
    lengths = np.einsum("ij,ij->i", reduced.T, reduced.T)
    order = np.argsort(ranks(lengths, reduced.T[:, 0] ** 2, unit=float(lengths.max())), kind="stable")
    return np.sort(order[np.random.default_rng(0).choice(n, n_points, replace=False)])


def _neighbors(metric, table, some):
    """Features of the graph of some rows of a table, of all with None, and their values at all."""
    graph = NeighborFeatures(metric=metric, algorithm="exact")
    if some is None:
        return graph, graph.fit_transform(table)
    return graph, graph.fit(table[some]).transform(table)


def fit_preparations_of_numbers(X):
    """The same for numbers: the rows, standardized columns, and derivatives along rows that look like spectra."""
    yield _fitted(PLAIN[0], {}, X)
    for name, parts, standard in ((PLAIN[1], {}, True), *(SPECTRA if _channels(X) else ())):
        found = _in_deviations(parts, X) if standard else parts
        yield _fitted(name, found, _prepared(found, X))


def with_rows(preparations):
    """The preparations in which rows differ; X must be the first of them."""
    first, *others = _checked(preparations)
    return [first, *(preparation for preparation in others if preparation[1].T.shape[1])]


def _checked(preparations):
    for i, preparation in enumerate(preparations):
        if i == 0 and preparation[1].T.shape[1] == 0:
            raise ValueError("X is constant: all rows are equal; there is nothing to fit.")
        yield preparation


def in_columns(preparation, directions):
    """Components (K, p) and mean (p,) of directions in the coordinates of one of `PLAIN`, in the columns of X."""
    components, mean, parts = preparation.basis @ directions / preparation.scale, preparation.mean, preparation.parts
    if "std" not in parts:
        return components.T, mean
    n_columns = parts["n_columns"]
    whole, middle = np.zeros((n_columns, directions.shape[1])), np.zeros(n_columns)
    whole[parts["columns"]] = components / parts["std"][:, None]
    middle[parts["columns"]] = mean * parts["std"] + (0.0 if parts["mean"] is None else parts["mean"])
    return whole.T, middle


def _channels(X):
    """Whether columns that are next to each other are alike, as channels of a spectrum are."""
    if is_sparse(X) or X.shape[1] < FEWEST_CHANNELS:
        return False
    mean, std = _moments(X)
    Z = (X - mean) / np.where(std > 0, std, 1.0)
    return np.einsum("ij,ij->", Z[:, 1:], Z[:, :-1]) >= ALIKE * len(X) * (X.shape[1] - 1)


def _fitted(name, parts, table):
    """A preparation, and the rows that it was fitted to in its coordinates."""
    reduced = principal_rows(read(table), MOST)
    standard, basis = reduced.standard, reduced.expand(np.eye(reduced.T.shape[1]))
    return Preparation(name, parts, standard.mean, standard.scale, basis), reduced


def bring(preparation, X):
    """Rows X in the coordinates of a preparation."""
    rows = (
        read(_prepared(preparation.parts, X)).in_units(preparation.mean, preparation.scale).project(preparation.basis)
    )
    return Coordinates(rows.gather(), rows.gather("outside"), len(preparation.mean))


def _others(X):
    """Names and parts of the other preparations without neighbors; those that change nothing are left out."""
    sparse, (Z, _) = is_sparse(X), _of_size_one(X)
    squares = np.asarray(Z.multiply(Z).sum(axis=1)).ravel() if sparse else np.einsum("ij,ij->i", Z, Z)
    mean, std = _moments(X)
    columns = _standardized(sparse, mean, std, _rounding(X, mean))
    kept, found = columns["columns"], []
    if np.ptp(std[kept]) > LEVEL * std[kept].mean():
        found.append((PLAIN[1], columns))
    if not sparse:
        middle = float(np.median(np.abs(X[X != 0]))) if (X != 0).any() else 0.0
        low, high = np.quantile(std[kept], (0.05, 0.95))
        if middle > 0 and high > SKEWED * low and np.abs(X).max() > LARGE * middle:
            found.append(("logarithms", {"middle": middle}))
    lengths = np.sqrt(squares)
    if lengths.std() > LEVEL * lengths.mean():
        found.append(("unit rows", {"unit": True}))
    return found


def _rounding(X, mean):
    """Deviations (p,) of columns of X that vary by rounding alone, whatever the units of others."""
    return X.shape[0] * EPS * np.abs(mean)


def _standardized(sparse, mean, std, least):
    kept = np.flatnonzero(std > least)
    return {"columns": kept, "std": std[kept], "mean": None if sparse else mean[kept], "n_columns": len(std)}


def _in_deviations(parts, X):
    """The same preparation, its columns in units of their deviations; dense ones are held to the range of X and one."""
    table = _prepared(parts, X)
    mean, std = _moments(table)
    least = np.full(len(std), NOTHING * std.max(initial=0.0)) if parts else _rounding(X, mean)
    columns = _standardized(is_sparse(X), mean, std, least)
    if not is_sparse(X):
        Z = _prepared(columns, table)
        columns |= {"low": Z.min(axis=0) - 1.0, "high": Z.max(axis=0) + 1.0}
    return parts | columns


def _moments(X):
    """Mean and deviation (p,) of columns."""
    X, unit = _of_size_one(X)
    if not is_sparse(X):
        return X.mean(axis=0) * unit, X.std(axis=0) * unit
    mean = np.asarray(X.mean(axis=0)).ravel()
    std = np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0.0))
    return mean * unit, std * unit


def _of_size_one(X):
    """X, divided by a power of two where squares might overflow or vanish, and that power."""
    unit = power_of_two(float(np.abs(X.data if is_sparse(X) else X).max(initial=0.0)))
    return (X, 1.0) if unit == 1.0 else (X * (1.0 / unit), unit)


def _prepared(parts, X):
    """Rows as a preparation takes them."""
    if "graph" in parts:
        if "preparation" in parts:
            X = bring(Preparation(*parts["preparation"]), X).T
        return np.asarray(parts["graph"].transform(X), dtype=np.float64)
    if "derivative" in parts:
        X = _derivative(X, parts["normal"], parts["derivative"], parts["window"])
    if "std" in parts:
        X, mean = X[:, parts["columns"]], parts["mean"]
        if mean is None:
            return X.multiply(1.0 / parts["std"]).tocsr()
        X = (X - mean) / parts["std"]
        return np.clip(X, parts["low"], parts["high"]) if "low" in parts else X
    if "middle" in parts:
        return np.arcsinh(X / parts["middle"])
    return unit_rows(X) if "unit" in parts else X


def _derivative(X, normal, derivative, window):
    """Rows minus their mean over their deviation, where `normal`, and derivatives along them."""
    if normal:
        std = X.std(axis=1, keepdims=True)
        X = (X - X.mean(axis=1, keepdims=True)) / np.where(std > 0, std, 1.0)
    return savgol_filter(X, window, DEGREE, deriv=derivative, axis=1) if derivative else X


# -- the union of all preparations -----------------------------------------------------------------------------------


def lengths_of(reduced):
    """Root mean squared length of the principal coordinates of each preparation."""
    return [float(np.sqrt((one.T**2).sum() / len(one.T))) or 1.0 for one in reduced]


def side_by_side(coordinates, lengths):
    """Leading coordinates of every preparation, each of length one in the mean (n, sum of r)."""
    return np.hstack([one.T[:, :PER_PREPARATION] / length for one, length in zip(coordinates, lengths, strict=True)])
