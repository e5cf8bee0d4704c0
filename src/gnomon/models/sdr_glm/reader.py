"""A fit to rows of X, and what is read off new ones: their scores, targets, and missing entries.

Scores are parameters with a penalty: they have no distribution, so that x has no density.
"""

from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, IntArray, Result
from ..._warn import warn
from ...rows.contract import Rows
from ...rows.masked import column_range
from .factors import FAMILIES, Loadings, Params, View, project
from .model import Options, make_view, regress, solve

NEAR = 1e-6  # of a projection: a longer last step is said


class Outputs(NamedTuple):
    """Targets as a table of one family."""

    family: str | None  # None where nothing is labeled
    values: Array  # (n, q) zero where not observed
    observed: Array  # (n, q) or (n, 1) 1 where observed, else 0
    labeled: IntArray  # rows with a target


class Reader(NamedTuple):
    """What new rows are read by, x in units of the fit; the last two are None without labels."""

    x_family: str
    shift: Array  # (p,) of Gaussian x
    scale: float
    x: Loadings
    ridge: float
    y_family: str | None
    y: Loadings | None  # of the regression of targets on projected scores


class Fitted(NamedTuple):
    """Scores and loadings of the fit, and the reader of new rows."""

    params: Params
    reader: Reader


def fit(
    rows: Rows, x_family: str, outputs: Outputs, options: Options, ridge: float | None, generator: np.random.Generator
) -> Result[Fitted]:
    """Minimize J, and regress the targets on scores of the rows projected with a ridge; None: that of the fit.

    Without labels x alone is reduced and its weight is one. "residual" of the stats is the largest of all steps.
    """
    guided = len(outputs.labeled) > 0 and outputs.values.shape[1] > 0
    options = options if guided else options._replace(alpha=1.0)
    ridge = options.penalty / options.alpha if ridge is None else ridge
    shift, scale = units(rows, x_family)
    table = (outputs.values, outputs.observed) if guided else (np.zeros((rows.shape[0], 0)),) * 2
    x = make_view(x_family, *_table(rows, x_family, shift, scale), options.alpha)
    y = make_view(outputs.family or "gaussian", *table, 1.0)
    result = solve((x, y), options, generator)
    reader = Reader(x_family, shift, scale, result.value.x, ridge, outputs.family, None)
    U, left = project(x._replace(strength=1.0), reader.x, ridge)
    residual = max(float(result.stats["residual"]), left)
    if guided:
        part, left = regress(y.rows(outputs.labeled), U[outputs.labeled])
        residual, reader = max(residual, left), reader._replace(y=part)
    return Result(Fitted(result.value, reader), result.status, result.path, {**result.stats, "residual": residual})


def posterior(reader: Reader, rows: Rows) -> tuple[Array, None]:
    """Scores (n, k) of rows; they have no covariance."""
    values, weight = _table(rows, reader.x_family, reader.shift, reader.scale)
    if reader.x_family == "multinomial":
        weight = np.asarray(values.sum(axis=1)).reshape(-1, 1)
    x = reader.x._replace(b=reader.x.b + reader.shift / reader.scale) if rows.sparse else reader.x
    view = View(FAMILIES[reader.x_family], values, weight, 1.0, x.b)
    U, left = project(view, x, reader.ridge)
    if left > NEAR:
        warn(f"the projection of some rows is off by {left:.1e} of its size: rescale X.")
    return U, None


def predict(reader: Reader, rows: Rows) -> tuple[Array, Array]:
    """Scores (n, k) of rows, and means (n, q) of their targets: probabilities of classes or ones, rates, or numbers."""
    assert reader.y is not None
    U, _ = posterior(reader, rows)
    return U, FAMILIES[str(reader.y_family)].mean(U @ reader.y.V + reader.y.b)


def units(rows: Rows, family: str) -> tuple[Array, float]:
    """What is subtracted from x and what it is divided by, for Gaussian x; sparse rows are not moved."""
    if rows.sparse:
        X = rows.gather()
        low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    else:
        found = rows.fold(column_range)
        low, high = found.low, found.high
    if np.isnan(high).any():
        raise ValueError(f"column {np.flatnonzero(np.isnan(high))[0]} of X is never observed; drop it.")
    if (high == low).all():
        raise ValueError("X is constant: every column has one value; there is nothing to reduce.")
    if family != "gaussian":
        return np.zeros(len(low)), 1.0
    summary = rows.summarize()
    return (np.zeros(len(low)) if rows.sparse else summary.mean), summary.scale


def _table(rows: Rows, family: str, shift: Array, scale: float) -> tuple[Any, Array | None]:
    """Rows in these units, zero where not observed, and 1 where they are observed, else 0; None: all are.

    Sparse rows are not moved: the intercepts of who reads them are.
    """
    X = rows.gather()
    if rows.sparse:
        return X.astype(np.float64) * (1.0 / scale), None
    missing = np.isnan(X)
    values = (X - shift) / scale if family == "gaussian" else X.astype(np.float64)
    return (np.where(missing, 0.0, values), 1.0 - missing) if missing.any() else (values, None)
