"""The part of a report that is looked into: the rows as data for scatter.js, which says how they are written."""

import json

import numpy as np

from gnomon.export import _report_page as html
from gnomon.export._report_columns import top_columns
from gnomon.export._report_regions import regions_of

SOURCE = "scatter-rows"  # the id of the data in the page
MAX_ROWS = 100_000  # drawn at 30 frames a second; more would be too many for a page too
MAX_COMPONENTS = 8
MAX_TARGETS, OF_LARGE = 8, 4  # of tables, and of those with so many rows that their columns take megabytes
LARGE = 10_000
DIGITS = 4


def explorer(said, X, y, row_ids, names, feature_names=None):
    """Return the picture that a script fills, and the data for it."""
    data = scatter_data(said, X, y, row_ids, names, feature_names)
    # No text of the data may end the element that holds it.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    left = ""
    if len(said.targets) > most_targets(X):
        left = html.tag("p", f"The first {most_targets(X)} of {len(said.targets)} targets are in the picture.")
    return (
        f'<div class="scatter" data-source="{SOURCE}" hidden></div>\n'
        f'<script type="application/json" id="{SOURCE}">{text}</script>{left}'
    )


def scatter_data(said, X, y, row_ids, names, feature_names=None):
    """Return what scatter.js is given, of all rows or of as many as it draws."""
    Z, cov = (None if part is None else np.asarray(part, dtype=float) for part in said.project(X))
    labeled = said.labeled(y, len(Z))
    columns = [_numbers(f"component {j + 1}", Z[:, j]) for j in range(min(Z.shape[1], MAX_COMPONENTS))]
    n_axes = len(columns)
    columns += _targets(said, X, y, names, n_axes)
    if said.typicality is not None:
        columns.append(_numbers("typicality", said.typicality(X)))
    if n_axes == 1 and len(columns) == 1:
        columns.append(_numbers("place in the table", np.arange(len(Z))))
    rows = shown_rows(labeled)
    regions, absent = regions_of(cov, n_axes, rows)
    return {
        "n": len(rows),
        "ids": _ids(row_ids, rows, len(Z)),
        "rows": None if len(rows) == len(Z) else rows.tolist(),
        "labeled": np.flatnonzero(labeled[rows]).tolist(),
        "top": top_columns(said, X, feature_names, Z[:, :n_axes], rows),
        "columns": [_drawn(column, rows) for column in columns],
        "components": n_axes,
        "regions": regions,
        "absent": absent,
        "x": 0,
        "y": 1,
        "color": n_axes if said.targets else 0,
        "label": f"Scatter plot of {html.count(len(rows), 'row')}, {int(labeled[rows].sum()):,} of them labeled",
    }


def most_targets(X):
    """Return how many targets have columns in the picture of a table."""
    return MAX_TARGETS if X.shape[0] <= LARGE else OF_LARGE


def _drawn(column, rows):
    """Return a column of the rows that are drawn; one that is made of others has no values of its own."""
    if "values" not in column:
        return column
    return column | {"values": [column["values"][i] for i in rows.tolist()]}


def shown_rows(labeled):
    """Return the rows that are drawn, all or so many: the labeled ones first, then every so-manieth of the others.

    Examples
    --------
    >>> shown_rows(np.array([True, False, False])).tolist()
    [0, 1, 2]
    """
    if len(labeled) <= MAX_ROWS:
        return np.arange(len(labeled))
    kept, others = np.flatnonzero(labeled), np.flatnonzero(~labeled)
    kept = kept[_spread(len(kept), MAX_ROWS)]
    return np.sort(np.concatenate([kept, others[_spread(len(others), MAX_ROWS - len(kept))]]))


def _spread(n, wanted):
    """Return up to `wanted` of n indices, evenly spaced."""
    return np.arange(n) if n <= wanted else np.linspace(0, n - 1, wanted).astype(int)


def _ids(row_ids, rows, n):
    if row_ids is None:
        return None if len(rows) == n else rows.tolist()
    return [one if isinstance(one, int) else str(one) for one in (row_ids[i] for i in rows.tolist())]


def _targets(said, X, y, names, first):
    """Return of each target what is given, what is predicted and how surely; `first` columns come before them.

    Where some rows have a value and others only a prediction, a column of both comes before them, by their numbers.
    """
    found = [None] * len(said.targets) if said.predict is None else said.predict(X)
    columns = []
    for target, one, name in list(zip(said.targets, found, names))[: most_targets(X)]:
        write = _numbers if target.kind == "real" else _classes(target)
        given = np.full(X.shape[0], np.nan) if y is None else target.values(y)
        known = np.isfinite(given)
        if one is not None and known.any() and not known.all():
            at = first + len(columns)
            columns.append({"name": f"{name}, given or predicted", "either": [at + 1, at + 2]})
        if one is None or known.any():
            columns.append(write(f"{name}, given", given))
        if one is None:
            continue
        columns.append(write(f"{name}, predicted", target.values(one.values)))
        if one.proba is not None:
            columns.append(_numbers(f"{name}, probability", np.max(one.proba, axis=1)))
        if one.std is not None:
            columns.append(_numbers(f"{name}, ± std", one.std))
    return columns


def _classes(target):
    classes = [str(name) for name in target.classes.tolist()]

    def write(name, codes):
        values = [None if np.isnan(code) else int(code) for code in codes.tolist()]
        return {"name": str(name), "kind": "classes", "classes": classes, "values": values}

    return write


def _numbers(name, values):
    return {"name": str(name), "kind": "number", "values": short_numbers(values)}


def short_numbers(values):
    """Return numbers with four digits, or more where their span has none in the first four; None where there is none.

    Examples
    --------
    >>> short_numbers(np.array([0.123456, -12.0, np.nan, 4000.26]))
    [0.1235, -12, None, 4000]
    >>> short_numbers(np.array([1000.0123, 1000.0456]))
    [1000.0123, 1000.0456]
    """
    values = np.asarray(values, dtype=float)
    known = values[np.isfinite(values)]
    span = np.ptp(known) if len(known) else 0.0
    least = _digits_after_point(span) if span else -np.inf
    return [_short(value, least) if np.isfinite(value) else None for value in values.tolist()]


def _short(value, least):
    if value == 0:
        return 0
    found = round(value, int(max(_digits_after_point(value), least)))
    return int(found) if found == int(found) else found


def _digits_after_point(value):
    return DIGITS - 1 - np.floor(np.log10(abs(value)))
