"""The part of a report that says which columns go with what is predicted, and how sure that is with so few labels."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from gnomon.describe import describe
from gnomon.export import _report_page as html
from gnomon.plotting import LoadingsDisplay
from gnomon.plotting._columns import correlations, names_of, own_columns, table_of
from gnomon.plotting._style import POSITIVE, plain_axes
from gnomon.plotting.loadings import picture_of
from gnomon.rows.frames import framed

N_COLUMNS = 15
HELD = (5.0, 95.0)  # percent of the refits
FEWEST = 5  # refits that say something


class Importance(NamedTuple):
    """Of every column; its mean square over the columns is one."""

    values: Any  # (p,)
    refits: Any  # (b, p) the same of fits to labels that were drawn anew


def importance_section(said, estimator, X, y, names, shape, n_refits):
    """Return the section of a model that predicts; none where its columns are rows, or nothing varies."""
    if n_refits and (y is None or not said.targets):
        raise ValueError(f"n_refits={n_refits!r} draws labels anew; y must be given, to a model that was guided by it.")
    if said.predict is None or said.parameters.get("kernel") == "precomputed":
        return ""
    values = importance(said, X)
    if not values.any():
        return ""
    found = Importance(values, refitted(estimator, said, X, y, n_refits) if n_refits else np.zeros((0, len(values))))
    names = names_of(own_columns(X, said), said, names)
    display = LoadingsDisplay(loadings=values[None], feature_names=names, dims=[0], n_top=N_COLUMNS, shape=shape)
    kind, places = picture_of(display)
    return (
        html.tag("h2", "Columns that go with the predictions")
        + _explained(found, kind, n_refits)
        + {
            "bars": lambda: _bars(found, display),
            "curve": lambda: _curve(found, places),
            "image": lambda: _image(found, shape),
        }[kind]()
    )


def importance(said, X):
    """How closely every column (p,) goes with the predictions, akin to VIP of PLS.

    Squared correlations with the predictions of each target or class are summed by their variances (numbers in units of
    their deviation), and the root is taken, in units in which the mean square over the columns is one.
    """
    parts = []
    for target, one in zip(said.targets, said.predict(X), strict=True):
        if target.kind == "real":
            values = np.asarray(one.values, dtype=float)[:, None]
            parts.append(values / (values.std() or 1.0))
        else:
            certain = target.codes(one.values)[:, None] == np.arange(len(target.classes))  # a class is all that it says
            parts.append(np.asarray(certain if one.proba is None else one.proba, dtype=float))
    P = np.hstack(parts)
    squares = correlations(own_columns(X, said), P) ** 2 @ P.var(axis=0)
    size = float(squares.mean())
    return np.sqrt(squares / size) if size > 0 else np.zeros(len(squares))


def refitted(estimator, said, X, y, n_refits):
    """The same (b, p) of models fitted to the rows with labels drawn anew; fits that fail are left out."""
    rng, out = np.random.default_rng(0), []
    for _ in range(n_refits):
        with warnings.catch_warnings(action="ignore"):
            try:
                model = clone(estimator).fit(*resampled(said, X, y, rng))
            except (ValueError, ArithmeticError, RuntimeError):
                continue
            out.append(importance(describe(model), X))
    return np.reshape(out, (len(out), X.shape[1]))


def resampled(said, X, y, rng):
    """X and y with as many labeled rows, drawn with replacement, of one target of classes class by class.

    Labeled rows that are not drawn lose their label, or leave where no row is without one.
    """
    n = X.shape[0]
    labeled = said.labeled(y, n)
    groups = np.zeros(n, dtype=int)
    if len(said.targets) == 1 and said.targets[0].kind == "classes":
        groups = said.targets[0].codes(y)
    drawn = np.concatenate(
        [rng.choice(rows, len(rows)) for code in np.unique(groups[labeled])
         if len(rows := np.flatnonzero(labeled & (groups == code)))]
    )  # fmt: skip
    unlabeled = np.flatnonzero(~labeled)
    lost = np.setdiff1d(np.flatnonzero(labeled), drawn) if len(unlabeled) else unlabeled
    rows = np.concatenate([unlabeled, lost, drawn])
    marks = np.concatenate([unlabeled, np.full(len(lost), unlabeled[0] if len(unlabeled) else 0, dtype=int), drawn])
    own = own_columns(X, said)
    return framed(table_of(own)[rows], own), np.asarray(y)[marks]


def _explained(found, kind, n_refits):
    how = (
        "How closely each column goes with what the model predicts: its correlations with the predictions, in units in "
        "which the mean square over all columns is 1. It is akin to VIP (variable importance in projection) of PLS: a "
        "column above 1 goes with them more than most. It need not be a cause of them, nor needed beside the others."
    )
    if kind == "bars" and len(found.values) > N_COLUMNS:
        how += f" The {N_COLUMNS} largest are shown."
    if n_refits and len(found.refits) < FEWEST:
        how += f" Of {n_refits} fits to labels that were drawn anew too few succeeded to say how sure it is."
    elif n_refits:
        where = {"bars": "In brackets is", "curve": "The band is", "image": "It is not drawn here"}[kind]
        what = "" if kind == "image" else f" what holds 90 % of {len(found.refits)} fits to labels drawn anew, with "
        how += f" {where}{what}{'.' if kind == 'image' else 'replacement.'}"
    return html.tag("p", how)


def _held(found):
    """The ends (2, p) between which most refits are, or None."""
    return np.percentile(found.refits, HELD, axis=0) if len(found.refits) >= FEWEST else None


def _bars(found, display):
    top, ends = display.top(0), _held(found)
    beside = [html.number(found.values[j], 3) for j in top]
    if ends is not None:
        beside = [f"{one} ({ends[0, j]:.2f} to {ends[1, j]:.2f})" for one, j in zip(beside, top, strict=True)]
    names, largest, half = [display.feature_names[j] for j in top], float(found.values.max()), (len(top) + 1) // 2
    parts = [
        html.bars("", names[some], found.values[top[some]], largest, beside[some])
        for some in (slice(half), slice(half, None))
        if len(top[some])
    ]
    return f'<div class="panels">{"".join(parts)}</div>'


def _curve(found, places):
    order, ends, ax = np.argsort(places), _held(found), html.axes(7.6, 2.6)
    if ends is not None:
        ax.fill_between(places[order], ends[0, order], ends[1, order], color=POSITIVE, alpha=0.25, lw=0)
    ax.plot(places[order], found.values[order], color=POSITIVE, lw=1.3)
    ax.margins(x=0)
    ax.set(xlabel="column", ylabel="importance", ylim=(0, None))
    plain_axes(ax)
    caption = "Columns lie where the numbers in their names say."
    return html.figure(ax, "Importance of the columns as a curve", caption)


def _image(found, shape):
    ax = html.axes(4.4, 3.4 * min(2.0, shape[0] / shape[1]))
    shown = ax.imshow(found.values.reshape(shape), cmap="Blues", vmin=0)
    ax.set(xticks=[], yticks=[])
    ax.figure.colorbar(shown, ax=ax, label="importance", fraction=0.046)
    return html.figure(ax, "Importance of the pixels", "The darker a pixel, the closer it goes with the predictions.")
