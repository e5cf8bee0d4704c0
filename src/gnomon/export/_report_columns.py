"""The part of a report that says why a row is where it is: the columns that add most to its place."""

import warnings

import numpy as np

from gnomon.export._report_nearest import nearest_linear
from gnomon.plotting._columns import column_means, names_of, own_columns, table_of
from gnomon.plotting._contributions import FEW, STEPS, along
from gnomon.rows.kind import is_sparse

N_TOP = 3  # columns of a row, for each component
MOST_TOLD = 240_000  # columns of all rows: 10,000 rows in eight components, at 10 bytes each
MOST_ASKED = 1 << 16  # of 16, numbers in the rows that a model is asked where its projection is not linear
WIDEST = 8192  # columns of dense rows, of which as many rows as columns are asked
MOST_WORK = 1 << 26  # contributions of dense rows, all of which are looked at
BLOCK = 1 << 20  # numbers that are worked on at once
SAME = 1e-4  # share of the largest coordinate that two ways to it may differ by


def top_columns(said, X, feature_names, Z, drawn):
    """Return what scatter.js is given of columns; None where it is unknown or too much.

    A column adds what the row gains by it on the way from the means of the columns, of sparse rows from zeros, as
    `ContributionDisplay` has it. This is measured, by asking the model; where that would take long, it is what the
    nearest linear map has it gain, and "nearly" is true. `Z` (n, k) are the rows in the components that are
    shown, `drawn` those in the picture.
    """
    k = Z.shape[1]
    if N_TOP * k * len(drawn) > MOST_TOLD or said.parameters.get("kernel") == "precomputed":  # its columns are rows
        return None
    X = own_columns(X, said)
    table, names = table_of(X), names_of(X, said, feature_names)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")  # they are in its order
        largest, told = _teller(said, table, Z, len(drawn)), np.ones(k, dtype=bool)
        nearly = largest is None
        if nearly:
            largest, told = _near(table, Z)
        if not told.any():
            return None
        parts = [largest(table[some]) for some in _blocks(drawn, table.shape[1])]
    columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))  # (n, m, k) each
    used, codes = np.unique(columns, return_inverse=True)
    codes = codes.reshape(values.shape)
    of = [_record(codes[..., c], values[..., c]) if told[c] else None for c in range(k)]
    return {"names": [names[j] for j in used], "of": of, "nearly": nearly}


def _teller(said, table, Z, n):
    """Return the function from rows to their largest columns and what these add; None where the model tells none."""
    p, k = table.shape[1], Z.shape[1]
    middle = _middle(table)

    def ask(rows):
        return np.asarray(said.project(rows).mean, dtype=float)[:, :k]

    complete = np.flatnonzero(np.isfinite(np.asarray(table.sum(axis=1)).ravel()))
    if not len(complete):
        return None
    some, start = complete[np.linspace(0, len(complete) - 1, 20).astype(int)], ask(middle[None])
    allowed = SAME * np.abs(Z - start).max()
    small = is_sparse(table) or (p <= WIDEST and n * p * k <= MOST_WORK)
    if small and np.abs(ask(_halfway(table[some], middle)) - (start + Z[some]) / 2.0).max() <= allowed:
        slopes = _slopes(ask, table, middle, start)
        shift = table[some] @ slopes - middle @ slopes
        if np.abs(start + shift - Z[some]).max() <= allowed:
            if is_sparse(table):
                return lambda rows: _of_words(rows.tocsr(), slopes)
            return lambda rows: _largest(np.where(np.isfinite(rows), rows - middle, 0.0)[:, :, None] * slopes)
    if (
        not is_sparse(table)
        and p <= FEW
        and n * p * p <= MOST_ASKED
        and np.abs(ask(table[some]) - Z[some]).max() <= allowed
    ):
        return lambda rows: _largest(_on_the_way(ask, rows, middle))
    return None


def _near(table, Z):
    """The same by the linear map that is nearest to the projection, and the components (k,) that it comes near."""
    parts, slopes, near = nearest_linear(table, Z, _middle(table))
    if is_sparse(table):
        return lambda rows: _of_words(parts(rows), slopes), near
    return lambda rows: _largest(parts(rows)[:, :, None] * slopes), near


def _middle(table):
    return np.zeros(table.shape[1]) if is_sparse(table) else column_means(table)


def _halfway(rows, middle):
    """Rows that a linear projection puts halfway between them and the middle."""
    return rows * 0.5 if is_sparse(rows) else (rows + middle) / 2.0


def _slopes(ask, table, middle, start):
    """Change (p, k) of a linear projection by a unit of each column; zero of a constant column."""
    p = len(middle)
    if is_sparse(table):
        units = type(table.tocsr())((np.ones(p), np.arange(p), np.arange(p + 1)), shape=(p, p))
        return ask(units) - start
    spread = np.nanstd(table, axis=0)
    slopes, varies = np.zeros((p, start.shape[1])), np.flatnonzero(spread > 0)
    for some in _blocks(varies, p):
        rows = np.repeat(middle[None], len(some), axis=0)
        rows[np.arange(len(some)), some] += spread[some]
        slopes[some] = (ask(rows) - start) / spread[some, None]
    return slopes


def _on_the_way(ask, rows, middle):
    """What each column adds (b, p, k) on the way from the middle."""
    start = np.where(np.isnan(rows), np.nan, middle)
    return along(ask, rows, start, np.arange(len(middle)), STEPS, BLOCK)


def _of_words(rows, slopes):
    """The same as `_largest` of sparse rows, of which only what is there is looked at; nothing fills up short rows."""
    n, k = rows.shape[0], slopes.shape[1]
    columns, values = np.zeros((n, N_TOP, k), dtype=int), np.zeros((n, N_TOP, k))
    number = np.repeat(np.arange(n), np.diff(rows.indptr))
    place = rows.indptr[:-1, None] + np.arange(N_TOP)
    there = place < rows.indptr[1:, None]
    for c in range(k):
        added = rows.data * slopes[rows.indices, c]
        order = np.lexsort((-np.abs(added), number))[place[there]]
        columns[there, c], values[there, c] = rows.indices[order], added[order]
    return columns, values


def _largest(added):
    """Columns (b, most, k) that add most of what all (b, p, k) add, largest first, and what they add."""
    most = min(N_TOP, added.shape[1])
    top = np.argpartition(-np.abs(added), most - 1, axis=1)[:, :most]
    values = np.take_along_axis(added, top, axis=1)
    order = np.argsort(-np.abs(values), axis=1, kind="stable")
    return np.take_along_axis(top, order, axis=1), np.take_along_axis(values, order, axis=1)


def _record(columns, values):
    """Of one component: `most` columns a row, their numbers, and what they add with two digits, row after row."""
    added = [float(f"{value:.1e}") for value in values.ravel().tolist()]
    return {"most": values.shape[1], "columns": columns.ravel().tolist(), "added": added}


def _blocks(rows, p):
    size = max(1, BLOCK // p)
    return [rows[start : start + size] for start in range(0, len(rows), size)]
