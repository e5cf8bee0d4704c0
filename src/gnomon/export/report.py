"""One self-contained HTML page about a fitted model: what it is, what it shows, how it compares, what it predicts."""

import platform
from dataclasses import replace as changed
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_array

from gnomon._files import new_file
from gnomon.describe import check_lengths, describe
from gnomon.export import _report_page as html
from gnomon.export._report_answer import answer
from gnomon.export._report_fit import fit_section
from gnomon.export._report_importance import importance_section
from gnomon.export._report_loadings import loadings_section
from gnomon.export._report_predictions import best_labeled_next, held_out, prediction_sections, suggestions, unlike
from gnomon.export._report_scatter import MAX_ROWS, explorer
from gnomon.plotting import ProjectionDisplay
from gnomon.selection import Comparison, SearchResults
from gnomon.selection.partial import results_of
from gnomon.tables import count_missing

N_CANDIDATES = 20
PACKAGES = ("gnomon", "numpy", "scipy", "scikit-learn")


def write_report(
    path: Any,
    *,
    estimator: Any,
    X: Any,
    y: Any = None,
    y_true: Any = None,
    n_fitted: Any = None,
    row_ids: Any = None,
    feature_names: Any = None,
    feature_units: Any = None,
    shape: Any = None,
    n_refits: Any = 0,
    target_names: Any = None,
    comparison: Any = None,
    choice: Any = None,
    title: Any = None,
    settings: Any = None,
    replace: Any = True,
) -> Any:
    """Write a report of a fitted model as one HTML file that opens without a network.

    The file appears complete or not at all.

    Parameters
    ----------
    path : str or path-like
        File to write.
    estimator : fitted gnomon model, pipeline or choice
        The model, or what holds it.
    X : array-like
        The rows it was fitted to, or others of the same columns.
    y : array-like, default=None
        Their targets, as given to `fit`.
    y_true : array-like like `y`, default=None
        Hidden truth to put beside the predictions.
    n_fitted : int, default=None
        How many rows the model was fitted to, where X may be others; None says that X are those.
    row_ids : sequence of length n_samples, default=None
        Names of the rows; None counts from 0.
    feature_names : sequence of length n_features, default=None
        Columns as the model sees them; None takes the names that it knows, or x0, x1, ...
    feature_units : str, default=None
        What the numbers of X count, where they were scaled before the fit: "standard deviations of the column", say.
    shape : tuple of two int, default=None
        Height and width of the images that rows of X are, line by line: loadings are then drawn as images.
    n_refits : int, default=0
        Fits of the model to labels drawn anew with replacement, 20 say: they tell how sure it is which columns go with
        the predictions. A choice is made anew in each.
    target_names : str or sequence of str, default=None
        Name of the target, or of each of several.
    comparison : Comparison or dict, default=None
        Result of `gnomon.selection.compare`, or its `to_dict()`.
    choice : GuidedSearch, SearchResults or dict, default=None
        A fitted `gnomon.selection.GuidedSearch`, its `results_`, or their `to_dict()`: how the model was chosen.
    title : str, default=None
        Heading; None says which model it is.
    settings : dict, default=None
        Further settings to list, such as those of a command line.
    replace : bool, default=True
        Whether a file of that name is replaced; if not, it is kept, and an OSError names the file that was written.

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
    comparison, choice = results_of(Comparison, comparison), results_of(SearchResults, choice)
    said = _of_rows(estimator, X, y=y, y_true=y_true, row_ids=row_ids)
    names, wanted = _target_names(target_names, said), best_labeled_next(said, X, y)
    title = title or f"{said.model} in {html.count(said.n_components, 'component')}"
    parts = [
        html.tag("h1", title),
        *_head(said, X, y, names, n_fitted),
        answer(said, X, y, y_true, row_ids, names, comparison, wanted),
        _projection(said, X, y, row_ids, names, feature_names),
        *[show(one) for show, one in ((_choice, choice), (_comparison, comparison)) if one],
        _columns(said, estimator, X, y, feature_names, feature_units, shape, n_refits),
        *prediction_sections(said, X, y, y_true, row_ids, names),
        unlike(said, X, row_ids),
        suggestions(said, wanted, row_ids),
        fit_section(said, names, feature_units),
        _settings(said, settings or {}),
    ]
    with new_file(path, replace=replace) as file:
        file.write(html.page(title, parts).encode(errors="replace"))  # a path in it may hold bytes that are no text
    return Path(path)


def _columns(said, estimator, X, y, names, units, shape, n_refits):
    """Return what there is to say of columns."""
    important = importance_section(said, estimator, X, y, names, shape, n_refits)
    return loadings_section(said, X, names, units, shape) + important


def _of_rows(estimator, X, **given):
    """Return what the model says of itself, once what is given of the rows is found to be of all of them."""
    check_lengths(np.shape(X)[0], **given)
    return _asked_once(describe(estimator))


def _asked_once(said):
    """Return the description with what several parts of the page ask of the same rows worked out once."""

    def once(ask):
        kept = []

        def answer(X):
            if not kept or kept[0] is not X:
                kept[:] = X, ask(X)
            return kept[1]

        return None if ask is None else answer

    return changed(said, **{name: once(getattr(said, name)) for name in ("project", "predict", "typicality")})


def versions():
    """The versions of Python, and of what computes here."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def _target_names(given, said):
    if given is None:
        n = len(said.targets)
        return ["y"] if n <= 1 else [f"y{j}" for j in range(n)]
    return [given] if isinstance(given, str) else [str(name) for name in given]


def _head(said, X, y, names, n_fitted):
    """What was fitted, and what is shown."""
    rows = check_array(X, accept_sparse="csr", dtype=None, ensure_all_finite=False)
    n_labeled = said.n_labeled if n_fitted is None else int(said.labeled(y, rows.shape[0]).sum())
    lead = html.tag("p", _what_was_fitted(said, n_fitted or rows.shape[0], names), "lead")
    return [lead, _what_is_shown(rows, n_labeled, n_fitted)]


def _what_was_fitted(said, n, names):
    size = f"{html.count(n, 'row')} of {html.count(said.n_features, 'column')}"
    start = f"{size} in {html.count(said.n_components, 'component')}, by {said.model}"
    if not said.targets:
        return f"{start}, without labels."
    if len(said.targets) == 1 and said.targets[0].kind == "classes":
        label = f"a label of one of {html.count(len(said.targets[0].classes), 'class', 'classes')}"
    else:
        shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        numbers = any(target.kind == "real" for target in said.targets)
        label = f"a value of {shown}" if numbers else f"a class of {shown}"
    if said.n_labeled == n:
        return f"{start}; all of them with {label}."
    part = "took part without one" if said.uses_unlabeled else "were left out"
    others = html.count(n - said.n_labeled, "row")
    return f"{start}; {said.n_labeled:,} of them with {label}. The other {others} {part}."


def _what_is_shown(rows, n_labeled, n_fitted):
    n_missing = count_missing(rows)
    verb = "is" if n_missing == 1 else "are"
    missing = f"{html.count(n_missing, 'entry', 'entries')} of the table {verb} missing." if n_missing else ""
    labeled = f"{n_labeled:,}" if n_labeled else "none"
    size = f"Shown here: {html.count(rows.shape[0], 'row')}, {labeled} of them with a label."
    shown = " ".join(filter(None, ["" if n_fitted is None else size, missing]))
    return html.tag("p", shown) if shown else ""


def _projection(said, X, y, row_ids, names, feature_names):
    """Return the projection to look into, and a still picture of it, or one for each target that is not a number."""
    if len(said.targets) <= 1 or said.numeric:
        stills = _still(said, X, y, 0, names[0])
    else:
        stills = "".join(html.tag("h3", name) + _still(said, X, y, j, name) for j, name in enumerate(names))
    n = X.shape[0]
    some = html.tag("p", f"{MAX_ROWS:,} of {n:,} rows are in this picture, the labeled ones first.", "soft")
    return (
        html.tag("h2", "Projection")
        + explorer(said, X, y, row_ids, names, feature_names)
        + (some if n > MAX_ROWS else "")
        + html.folded("Still picture, with the regions of some rows", stills)
    )


def _still(said, X, y, output, name):
    """Return the picture that needs no script, with the regions of some rows."""
    ax = html.axes(7.6, 5.0)
    display = ProjectionDisplay.from_estimator(said, X, y, output=output, target_name=name, ax=ax)
    n_labeled, n = int(display.labeled.sum()), len(display.labeled)
    posterior = display.covariance is not None
    caption = f"Each point is a row{' at its posterior mean' if posterior else ', projected from its columns alone'}. "
    if 0 < n_labeled < n:
        caption += "Solid points with an edge are labeled; faint ones are not"
        guessed = np.isfinite(display.values).all()
        caption += " and have the color of their prediction. " if guessed else ". "
    if posterior:
        caption += "Outlines hold 95 % of the posterior of a row: how far it may lie from where it is drawn. "
    if len(display.marked):
        caption += "Rings are around the rows that are farthest beyond the 99 % limits of T2 and SPE."
    description = f"Scatter plot of {html.count(n, 'row')}, {n_labeled:,} of them labeled"
    return html.figure(ax, description, caption)


def _comparison(comparison):
    header, body = comparison.cells()
    numeric = range(header.index("dims"), len(header))
    better = {"error": "A lower error is better", "R2": "A higher R2 is better"}
    both = "Lower errors and higher R2 are better"
    ends = "" if comparison.n_draws > 1 else "; in brackets is the interval of 95 %"
    how = f"{comparison.protocol} {better.get(comparison.metric, both)}{ends}."
    table = html.table(header, body, numeric=numeric)
    said = "".join(html.tag("p", text, "soft") for text in [*comparison.notes, how])
    verdict = html.tag("p", html.signed(comparison.verdict, html.targets_of(comparison)), "verdict")
    return html.tag("h2", "Comparison") + verdict + table + said + held_out(comparison.held_out)


def _choice(choice):
    header, body = choice.cells(most=N_CANDIDATES)
    shown = "" if len(body) == len(choice.rows) else f" {len(body)} of {len(choice.rows)} candidates are shown."
    agreement = "how their predictions of unlabeled rows correlate, less"
    if choice.target_kind == "classes":
        agreement = "their agreement on unlabeled rows (Cohen's kappa, 0 for chance), less"
    if choice.chosen_row["agreement"] is None:
        agreement = "with every row labeled, minus"
    how = (
        f"Each candidate was fitted to one half of the labels and to the other. The score is {agreement} their error "
        f"on each other's labels over that of chance; a star marks the one that was chosen.{shown}"
    )
    said = "".join(html.tag("p", text, "soft") for text in [*choice.notes, how])
    verdict = html.tag("p", html.signed(choice.verdict), "verdict")
    return html.tag("h2", "How the model was chosen") + verdict + html.table(header, body, numeric=range(3, 7)) + said


def _settings(said, settings):
    rows = [(name, _setting(value)) for name, value in settings.items() if value not in (None, [], ())]
    rows += [(f"{said.model}.{name}", _setting(value)) for name, value in said.parameters.items()]
    rows += versions().items()
    written = f"Written by gnomon {version('gnomon')} on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC."
    return html.tag("h2", "Settings and versions") + html.table([], rows) + html.tag("footer", written)


def _setting(value):
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
