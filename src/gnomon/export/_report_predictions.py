"""The part of a report that predicts the rows without a label, most uncertain first."""

from typing import NamedTuple

import numpy as np

from gnomon.describe import unusual
from gnomon.export import _report_page as html
from gnomon.plotting import OutlierDisplay, PredictionDisplay

N_PREDICTIONS = 50
N_SUGGESTIONS = 10
BOTH = 0.02  # share of the rows that pass one of two limits of 99 %
FEWEST = 10  # hidden values from which there is a picture of them


class _Body(NamedTuple):
    """The table of predictions, line by line in the order of the rows."""

    header: list  # without the name of the row
    numeric: object  # which columns are numbers, the name of the row counted
    lines: list
    doubt: np.ndarray  # the most uncertain rows come first
    wrong: np.ndarray  # mask of the predictions that the truth contradicts
    said: str = ""  # what there is to say of all of them


def prediction_sections(said, X, y, y_true, row_ids, names):
    """Return the predictions, target by target but for numbers that the same rows have; then the truth."""
    if said.predict is None:
        return []
    n = X.shape[0]
    found = said.predict(X)
    ids = list(range(n) if row_ids is None else row_ids)
    if said.measured_together(y):
        rows = np.flatnonzero(~said.labeled(y, n))
        parts = [_section(_numbers(said.targets, found, y_true, rows, names), rows, ids)] if len(rows) else []
        return [*_headed(parts), _beside_truth(said, X, y, y_true, names)]
    parts, several = [], len(said.targets) > 1
    for target, one, name in zip(said.targets, found, names, strict=True):
        rows = np.arange(n) if y is None else np.flatnonzero(~target.labeled(y))
        if not len(rows):
            continue
        if target.kind == "classes":
            body = _classes(target, one, y_true, rows, name)
        else:
            body = _numbers([target], [one], y_true, rows, [name])
        parts.append((html.tag("h3", name) if several else "") + _section(body, rows, ids))
    return [*_headed(parts), _beside_truth(said, X, y, y_true, names)]


def _headed(parts):
    return [html.tag("h2", "Predictions for the unlabeled rows") + "".join(parts)] if parts else []


def _beside_truth(said, X, y, y_true, names):
    """Return pictures of predictions of unlabeled rows beside the truth; nothing where it is unknown."""
    if y_true is None:
        return ""
    parts = []
    for j, (target, one, name) in enumerate(zip(said.targets, said.predict(X), names, strict=True)):
        hidden = np.array(y_true, dtype=object)
        if y is not None:
            hidden[target.labeled(y)] = None
        if np.isfinite(target.values(hidden)).sum() >= FEWEST:
            for kind in _kinds(target.kind == "real", one.proba is not None):
                look = {"kind": kind, "output": j, "target_name": name, "ax": html.axes(4.8, 4.6)}
                parts.append(_picture(PredictionDisplay.from_estimator(said, X, hidden, **look)))
    return html.tag("h2", "Predictions beside the hidden truth") + "".join(parts) if parts else ""


def held_out(records):
    """Return pictures of what was predicted for labeled rows by fits that had not seen their labels."""
    parts = []
    for one in records or []:
        if len(one["rows"]) < FEWEST:
            continue
        real, doubt = one["classes"] is None, None if one["doubt"] is None else np.array(one["doubt"])
        look = {"class_names": one["classes"], "target_name": one["target"]}
        look |= {"std": doubt} if real else {"proba": None if doubt is None else doubt[:, None]}  # of the named class
        for kind in _kinds(real, doubt is not None):
            found = {"truth": np.array(one["truth"]), "values": np.array(one["predicted"])}
            parts.append(_picture(PredictionDisplay(kind=kind, **found, **look).plot(ax=html.axes(4.8, 4.6))))
    said = "Each labeled row was predicted by a fit that had not seen its label, and had fewer labels to learn from."
    return html.tag("h3", "Labeled rows, held out in turn") + html.tag("p", said) + "".join(parts) if parts else ""


def _kinds(real, with_proba):
    return ("numbers",) if real else ("confusion", "reliability") if with_proba else ("confusion",)


def _picture(display):
    n, name = html.count(len(display.truth), "row"), display.target_name
    caption = {
        "numbers": f"Measured against predicted {name} of {n}; on the line both are equal.",
        "confusion": f"Which classes of {name} are taken for which, in {n}; each line is one true class.",
        "reliability": f"How often the named class of {name} is right, by how probable it was said to be, in {n}. "
        "Above the line the model is more often right than it says, below it less often.",
    }[display.kind]
    return html.figure(display.ax_, f"{display.kind} of {name}: {display.ax_.get_title()}", caption)


def unlike(said, X, row_ids):
    """Return the rows that are unlike those of the fit, the most unlike first; nothing where the model cannot tell."""
    parts = [part for part in (_untypical(said, X, row_ids), _limits(said, X, row_ids)) if part]
    return html.tag("h2", "Rows unlike the rest") + "".join(parts) if parts else ""


def _untypical(said, X, row_ids):
    if said.typicality is None:
        return ""
    found = said.typicality(X)
    odd = unusual(found)
    text = "No row lies so far from the others that fewer than one in a hundred would."
    if len(odd):
        lie = "lies" if len(odd) == 1 else "lie"
        text = [
            f"{html.count(len(odd), 'row')} of {len(found):,} {lie} so far from the others that fewer than one in a "
            "hundred would: ",
            *html.listed(odd, row_ids, N_SUGGESTIONS, [_share(found[row]) for row in odd[:N_SUGGESTIONS]]),
            ". In brackets is the share of rows expected as far (their typicality). What is predicted for these rows "
            "should not be trusted.",
        ]
    return html.tag("p", text)


def _limits(said, X, row_ids):
    """Return the picture of the rows against the limits of T2 and SPE; nothing where the model has none."""
    if said.monitor is None:
        return ""
    display = OutlierDisplay.from_estimator(said, X, row_ids=row_ids, ax=html.axes(5.6, 4.2))
    odd, n = display.beyond, len(display.t2)
    names = html.listed(odd, row_ids, N_SUGGESTIONS)
    parts = [
        "T2 is how far a row is from the middle within the plane that follows the columns best, SPE how far it is from "
        "that plane, each divided by the limit that one row in twenty like those of the fit passes. The limit of 99 % "
        f"is passed by one in a hundred of them; here {html.count(len(odd), 'row')} of {n:,} "
        f"({100 * len(odd) / n:.1f} %) {'is' if len(odd) == 1 else 'are'} beyond that of T2 or of SPE",
        *([": "] if names else []),
        *names,
        ".",
    ]
    if len(odd) > 3 + 2 * BOTH * n:
        parts.append(
            " These are more than the limits allow for: the rows are not like those of the fit, or the limits, where "
            "the fit kept no rows to set them by, are for normal rows, which these are not."
        )
    return html.figure(display.ax_, "Hotelling's T2 against SPE", parts)


def _share(value):
    return "under 0.0001" if value < 1e-4 else f"{value:.4f}"


def best_labeled_next(said, X, y):
    """Numbers of unlabeled rows that are best labeled next; none where the model suggests none."""
    unlabeled = np.flatnonzero(~said.labeled(y, X.shape[0]))
    if said.suggest is None or not len(unlabeled):
        return np.zeros(0, dtype=int)
    return said.suggest(N_SUGGESTIONS, X, unlabeled)


def suggestions(said, rows, row_ids):
    """Return the rows that are best labeled next, and why; nothing where there are none."""
    if not len(rows):
        return ""
    names = html.listed(rows, row_ids)
    why = "rows as far as can be from every labeled one"
    if any(target.kind == "classes" for target in said.targets):
        why = "rows in doubt, with many rows around them that no labeled row is near"
    text = ["Were more rows to be labeled, these would teach most, the first one first: ", *names, f". They are {why}."]
    return html.tag("h2", "Rows to label next") + html.tag("p", text)


def _section(body, rows, ids):
    order = np.argsort(-body.doubt, kind="stable")[:N_PREDICTIONS]
    lines = [[html.Row.named(rows[i], ids), *body.lines[i]] for i in order]
    kinds = ["wrong" if body.wrong[i] else "" for i in order]
    said = f"{html.count(len(rows), 'row')} had no label.{body.said}"
    if len(order) < len(rows):
        which = f"first {len(order)}" if np.ptp(body.doubt) < 1e-9 else f"{len(order)} most uncertain"
        said += f" The {which} are shown."
    return html.tag("p", said) + html.table(["row", *body.header], lines, numeric=body.numeric, kinds=kinds)


def _classes(target, found, y_true, rows, name):
    shown = target.classes.tolist()
    certain = found.proba is None  # a class is all that it says
    proba = (target.codes(found.values)[:, None] == np.arange(len(shown))) * 1.0 if certain else np.asarray(found.proba)
    proba, best = proba[rows], min(2, len(shown))
    ranked = np.argsort(-proba, axis=1, kind="stable")
    header = [name, "probability", "next", "its probability"][: 1 if certain else 2 * best]
    lines = [
        [cell for code in codes[:best] for cell in (shown[code], f"{shares[code]:.3f}")][: len(header)]
        for codes, shares in zip(ranked, proba)
    ]
    doubt, wrong, said = 1 - proba.max(axis=1), np.zeros(len(rows), dtype=bool), ""
    if y_true is not None:
        truth = target.codes(y_true)[rows]
        given = target.given(y_true)[rows]
        lines = [
            [*line, value if code < 0 else shown[code]] for line, value, code in zip(lines, given, truth, strict=True)
        ]
        wrong = truth != ranked[:, 0]
        said = f" {100 * (1 - wrong.mean()):.1f} % of the predictions agree with the hidden truth."
        header = [*header, "truth"]
    return _Body(header, () if certain else (2, 4), lines, doubt, wrong, said)


def _numbers(targets, found, y_true, rows, names):
    mean = np.column_stack([one.values for one in found])[rows].astype(float)
    with_std = all(one.std is not None for one in found)
    std = np.column_stack([one.std for one in found])[rows] if with_std else None
    truth = None if y_true is None else np.column_stack([target.values(y_true) for target in targets])[rows]
    header = [text for name in names for text in ((name, "± std") if with_std else (name,))]
    header += [] if truth is None else [f"true {name}" for name in names]
    values = mean if std is None else np.stack([mean, std], axis=2).reshape(len(rows), -1)
    values = values if truth is None else np.hstack([values, truth])
    lines = [[html.number(value) for value in line] for line in values]
    doubt = np.zeros(len(rows)) if std is None else (std / std.max(axis=0)).sum(axis=1)
    said = _coverage(mean, std, truth) + _deviations(std, doubt)
    return _Body(header, range(1, len(header) + 1), lines, doubt, np.zeros(len(rows), dtype=bool), said)


def _coverage(mean, std, truth):
    if truth is None or std is None or not np.isfinite(truth).any():
        return ""
    inside = np.abs(truth - mean) <= 1.959964 * std
    share = 100 * inside[np.isfinite(truth)].mean()
    return f" {share:.1f} % of the hidden values lie in the 95 % interval of their prediction."


def _deviations(std, doubt):
    if std is None:
        return " The model gives no standard deviations."
    return " The model gives every row the same standard deviation." if np.ptp(doubt) < 1e-9 else ""
