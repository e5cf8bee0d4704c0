"""One self-contained HTML page about a fitted model: what it is, what it shows, how it compares, what it predicts."""

import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.utils import check_array

from gnomon.export import _report_page as html
from gnomon.export._report_fit import fit_section
from gnomon.export.model_file import atomic_path
from gnomon.plotting import LoadingsDisplay, ProjectionDisplay
from gnomon.selection import Comparison, GuidedChoice, readings
from gnomon.selection.labels import class_codes, labelled_rows, n_labelled, real_targets, target_kind
from gnomon.selection.target_variables import target_variables

N_PREDICTIONS = 50
N_LOADINGS = 15
N_CANDIDATES = 20
PACKAGES = ("gnomon", "numpy", "scipy", "scikit-learn")


def write_report(
    path,
    *,
    estimator,
    X,
    y=None,
    y_true=None,
    row_ids=None,
    feature_names=None,
    feature_units=None,
    target_names=None,
    class_names=None,
    comparison=None,
    choice=None,
    title=None,
    settings=None,
):
    """Write a report of a fitted model as one HTML file that opens without a network.

    The file appears complete or not at all.

    Parameters
    ----------
    path : str or path-like
        File to write; replaced if it exists.
    estimator : fitted gnomon model
        The model.
    X : array-like
        The rows it was fitted to.
    y : array-like, default=None
        Their targets, as given to `fit`.
    y_true : array-like like `y`, default=None
        Hidden truth to put beside the predictions.
    row_ids : sequence of length n_samples, default=None
        Names of the rows; None counts from 0.
    feature_names : sequence of length n_features, default=None
        None takes the model's `feature_names_in_`, or x0, x1, ...
    feature_units : str, default=None
        What the numbers of X count, where they were scaled before the fit: "standard deviations of the column", say.
    target_names : str or sequence of str, default=None
        Name of the target, or of each of several.
    class_names : list of sequences, default=None
        What the classes of each of several targets stand for, in order; None for a target of numbers.
    comparison : Comparison or dict, default=None
        Result of `gnomon.selection.compare`, or its `to_dict()`.
    choice : GuidedChoice or dict, default=None
        Result of `gnomon.selection.choose_guided`, or its `to_dict()`: how the model was chosen.
    title : str, default=None
        Heading; None says which model it is.
    settings : dict, default=None
        Further settings to list, such as those of a command line.

    Returns
    -------
    pathlib.Path
        The file written.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from gnomon import SPPCA
    >>> from gnomon.export import write_report
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write_report(f"{folder}/report.html", estimator=SPPCA(2).fit(X, y), X=X, y=y)
    ...     file.read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'
    """
    comparison = Comparison.from_dict(comparison) if isinstance(comparison, dict) else comparison
    choice = GuidedChoice.from_dict(choice) if isinstance(choice, dict) else choice
    names = _target_names(target_names, estimator)
    variables = target_variables(estimator, class_names)
    title = title or f"{type(estimator).__name__} in {_components(estimator)}"
    parts = [
        html.tag("h1", title),
        html.tag("p", _what_was_fitted(estimator, X, names) + _what_is_missing(X), "lead"),
        _facts(estimator, X),
        html.tag("p", choice.verdict, "verdict") if choice else "",
        html.tag("p", comparison.verdict, "verdict") if comparison else "",
        *_projections(estimator, variables, X, y, names),
        _choice(choice) if choice else "",
        _comparison(comparison) if comparison else "",
        _loadings(estimator, feature_names, feature_units),
        *_all_predictions(estimator, variables, X, y, y_true, row_ids, names),
        fit_section(estimator, names, feature_units, variables),
        _settings(estimator, settings or {}),
    ]
    text = html.page(title, parts)
    with atomic_path(path) as temporary:
        Path(temporary).write_text(text, encoding="utf-8")
    return Path(path)


def _target_names(given, estimator):
    if given is None:
        means = getattr(estimator, "y_mean_", getattr(estimator, "y_intercept_", [0.0]))
        n = len(means) if target_kind(estimator) == "real" else max(1, len(target_variables(estimator)))
        return ["y"] if n == 1 else [f"y{j}" for j in range(n)]
    return [given] if isinstance(given, str) else [str(name) for name in given]


def _n_rows(X):
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _components(estimator):
    return html.count(readings.n_components(estimator), "component")


def _what_was_fitted(estimator, X, names):
    model, n = type(estimator).__name__, _n_rows(X)
    size = f"{html.count(n, 'row')} of {html.count(estimator.n_features_in_, 'column')}"
    start = f"{model} with {_components(estimator)} was fitted to {size}"
    if target_kind(estimator) == "none":
        return f"{start}, without labels."
    labelled = n_labelled(estimator)
    if target_kind(estimator) == "classes":
        label = f"a label of one of {html.count(len(estimator.classes_), 'class', 'classes')}"
    else:
        shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        label = f"a value of {shown}" if target_kind(estimator) in ("real", "mixed") else f"a class of {shown}"
    who = "all of them" if labelled == n else f"{labelled:,} of them"
    part = "were left out" if type(estimator).__name__ == "KDA" else "took part without one"
    rest = "" if labelled == n else f" The other {html.count(n - labelled, 'row')} {part}."
    return f"{start}; {who} with {label}.{rest}"


def _what_is_missing(X):
    if hasattr(X, "tocsr"):
        return ""
    n_missing = int(np.isnan(check_array(X, dtype=float, ensure_all_finite=False)).sum())
    verb = "is" if n_missing == 1 else "are"
    return f" {html.count(n_missing, 'entry', 'entries')} of the table {verb} missing." if n_missing else ""


def _facts(estimator, X):
    pairs = [
        ("rows", f"{_n_rows(X):,}"),
        ("labelled", f"{n_labelled(estimator):,}"),
        ("columns", f"{estimator.n_features_in_:,}"),
        ("components", readings.n_components(estimator)),
    ]
    if target_kind(estimator) == "classes":
        pairs.append(("classes", len(estimator.classes_)))
    return html.facts(pairs)


def _projections(estimator, variables, X, y, names):
    """Return the projection, or one for each of several targets."""
    if not variables:
        return [_projection(estimator, X, y, names)]
    given = [None if y is None else variable.labels(y) for variable in variables]
    parts = [_projection(*arguments) for arguments in zip(variables, [X] * len(given), given, [[n] for n in names])]
    titles = [html.tag("h3", name) for name in names] if len(parts) > 1 else [""]
    return [text for pair in zip(titles, parts, strict=True) for text in pair]


def _projection(estimator, X, y, names):
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(7.6, 5.0), layout="constrained")
    display = ProjectionDisplay.from_estimator(estimator, X, y, target_name=names[0], ax=drawn.subplots())
    n_labelled, n = int(display.labelled.sum()), len(display.labelled)
    posterior = display.covariance is not None
    caption = f"Each point is a row{' at its posterior mean' if posterior else ', projected from its columns alone'}. "
    if 0 < n_labelled < n:
        caption += "Solid points with an edge are labelled; faint ones are not"
        guessed = np.isfinite(display.values).all()
        caption += " and have the colour of their prediction. " if guessed else ". "
    if posterior:
        caption += "Outlines hold 95 % of the posterior of a row: how far it may lie from where it is drawn."
    description = f"Scatter plot of {n} rows, {n_labelled} of them labelled"
    return html.tag("h2", "Projection") + html.figure(drawn, description, caption)


def _comparison(comparison):
    header, body = comparison.cells()
    numeric = range(1, len(header))
    notes = [f"{row['method']} does not apply: {row['note']}." for row in comparison.rows if row["note"]]
    better = "lower" if comparison.metric == "error" else "higher"
    how = f"{comparison.protocol} A {better} {header[2].split(' of ')[0]} is better; ± is one standard error."
    table = html.table(header, body, numeric=numeric)
    said = "".join(html.tag("p", text, "soft") for text in [*notes, how])
    return html.tag("h2", "Comparison") + table + said


def _choice(choice):
    header, body = choice.cells(most=N_CANDIDATES)
    shown = "" if len(body) == len(choice.rows) else f" {len(body)} of {len(choice.rows)} candidates are shown."
    agreement = (
        "how often they agree on unlabelled rows"
        if choice.target_kind == "classes"
        else "how their predictions of unlabelled rows correlate"
    )
    how = (
        f"Each candidate was fitted to one half of the labels and to the other. The score is {agreement}, less their "
        f"error on each other's labels; a star marks the one that was chosen.{shown}"
    )
    said = "".join(html.tag("p", text, "soft") for text in [*choice.notes(), how])
    return html.tag("h2", "How the model was chosen") + html.table(header, body, numeric=range(3, 7)) + said


def _all_predictions(estimator, variables, X, y, y_true, row_ids, names):
    """Return the predictions, or those of each of several targets."""
    if not variables:
        return [_predictions(estimator, X, y, y_true, row_ids, names)]
    parts = []
    for variable, name in zip(variables, names, strict=True):
        given, truth = (None if values is None else variable.labels(values) for values in (y, y_true))
        parts.append(_predictions(variable, X, given, truth, row_ids, [name]))
    return parts


def _predictions(estimator, X, y, y_true, row_ids, names):
    """Return the predictions of unlabelled rows, most uncertain first."""
    rows = np.flatnonzero(~labelled_rows(estimator, y, _n_rows(X)))
    if target_kind(estimator) == "none" or not len(rows) or not hasattr(estimator, "predict"):
        return ""
    find = _class_predictions if target_kind(estimator) == "classes" else _real_predictions
    header, numeric, cells, doubt, wrong, more = find(estimator, X, y_true, rows, names)
    order = np.argsort(-doubt, kind="stable")[:N_PREDICTIONS]
    ids = range(_n_rows(X)) if row_ids is None else row_ids
    ids = list(ids)
    body = [[ids[rows[i]], *cells(i)] for i in order]
    kinds = ["wrong" if wrong[i] else "" for i in order]
    said = f"{html.count(len(rows), 'row')} had no label.{more}"
    if len(order) < len(rows):
        which = f"first {len(order)}" if np.ptp(doubt) < 1e-9 else f"{len(order)} most uncertain"
        said += f" The {which} are shown."
    return (
        html.tag("h2", "Predictions for the unlabelled rows")
        + html.tag("p", said)
        + html.table(["row", *header], body, numeric=numeric, kinds=kinds)
    )


def _class_predictions(estimator, X, y_true, rows, names):
    proba = np.asarray(estimator.predict_proba(X))[rows]
    ranked = np.argsort(-proba, axis=1, kind="stable")
    classes = estimator.classes_
    header = [names[0], "probability"]
    if len(classes) > 1:
        header += ["next", "its probability"]
    wrong, score = np.zeros(len(rows), dtype=bool), ""
    if y_true is not None:
        header.append("truth")
        truth = np.asarray(y_true, dtype=object).ravel()[rows]
        wrong = class_codes(estimator, truth) != ranked[:, 0]
        score = f" {100 * (1 - wrong.mean()):.1f} % of the predictions agree with the hidden truth."

    def cells(i):
        best = [classes[ranked[i, 0]], f"{proba[i, ranked[i, 0]]:.3f}"]
        if len(classes) > 1:
            best += [classes[ranked[i, 1]], f"{proba[i, ranked[i, 1]]:.3f}"]
        return best if y_true is None else [*best, truth[i]]

    return header, (2, 4), cells, 1 - proba.max(axis=1), wrong, score


def _real_predictions(estimator, X, y_true, rows, names):
    mean, std = (None if values is None else real_targets(values)[rows] for values in readings.predict(estimator, X))
    header = [text for name in names for text in ((name,) if std is None else (name, "± std"))]
    truth = None if y_true is None else real_targets(y_true)[rows]
    score = ""
    if truth is not None:
        header += [f"true {name}" for name in names]
    if truth is not None and std is not None:
        inside = np.abs(truth - mean) <= 1.959964 * std
        share = inside[np.isfinite(truth)].mean()
        score = f" {100 * share:.1f} % of the hidden values lie in the 95 % interval of their prediction."

    def cells(i):
        found = mean[i] if std is None else [value for pair in zip(mean[i], std[i]) for value in pair]
        return [html.number(value) for value in (*found, *(() if truth is None else truth[i]))]

    wrong = np.zeros(len(rows), dtype=bool)
    doubt = np.zeros(len(rows)) if std is None else (std / std.max(axis=0)).sum(axis=1)
    if std is None:
        score += " The model gives no standard deviations."
    elif np.ptp(doubt) < 1e-9:
        score += " The model gives every row the same standard deviation."
    return header, range(1, len(header) + 1), cells, doubt, wrong, score


def _loadings(estimator, feature_names, units):
    loadings = readings.loadings(estimator)
    if loadings is None:
        return ""
    k, p = loadings.shape
    if feature_names is None:
        feature_names = getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(p)])
    display = LoadingsDisplay(loadings=loadings[:4], feature_names=list(feature_names), dims=range(min(k, 4)))
    largest = np.abs(display.loadings).max() or 1.0
    panels = []
    for row in range(len(display.loadings)):
        top = display.top(row, N_LOADINGS)
        panels.append(
            html.bars(
                f"Component {row + 1}",
                [display.feature_names[j] for j in top],
                display.loadings[row, top],
                largest,
            )
        )
    said = f"Change of each column per unit of a component, in {units or 'the units that the model was given'}."
    if p > N_LOADINGS:
        said += f" The {N_LOADINGS} largest of each component are shown."
    if k > len(panels):
        said += f" The first {len(panels)} of {k} components are shown."
    return html.tag("h2", "Loadings") + html.tag("p", said) + f'<div class="panels">{"".join(panels)}</div>'


def _settings(estimator, settings):
    rows = [(name, _setting(value)) for name, value in settings.items()]
    rows += [(f"{type(estimator).__name__}.{name}", _setting(v)) for name, v in estimator.get_params().items()]
    rows += [("Python", platform.python_version())] + [(name, version(name)) for name in PACKAGES]
    written = f"Written by gnomon {version('gnomon')} on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC."
    return html.tag("h2", "Settings and versions") + html.table([], rows) + html.tag("footer", written)


def _setting(value):
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
