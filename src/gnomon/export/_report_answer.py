"""The first part of a report: what came out, in sentences, and what to do next."""

import re

import numpy as np

from gnomon.describe import unusual
from gnomon.export import _report_page as html
from gnomon.export._report_fit import share_in_components
from gnomon.plotting.outliers import beyond_limits

N_NAMED = 5
OWN = "The predictions of "  # the beginning of a sentence of a verdict
SURE = 0.8  # a probability below which a prediction is called unsure


def answer(said, X, y, y_true, row_ids, names, comparison, wanted):
    """A list of what was predicted and how surely, whether labels helped, and which rows to label and to mistrust.

    Of a model without labels it is what the components hold, and what labels would do.

    `wanted` are numbers of rows that are best labeled next.
    """
    n = X.shape[0]
    items = _held(said) if not said.targets else []
    items += [] if said.predict is None else _predicted(said, X, y, y_true, names)
    items += _helped(comparison) if comparison else []
    if len(wanted):
        items.append(["Label next, to teach it most: ", *html.listed(wanted[:N_NAMED], row_ids), "."])
    if said.typicality is not None:
        items.append(_unlike(unusual(said.typicality(X)), n, row_ids, ""))
    elif said.monitor is not None:
        items.append(_unlike(beyond_limits(said, X), n, row_ids, ", beyond a 99 % limit"))
    if not said.targets:
        items.append("Next: label a few rows of each kind; a fit with them as the target predicts the rest.")
    return f'<ul class="answer">{"".join(html.tag("li", item) for item in items)}</ul>' if items else ""


def _held(said):
    """How much of the columns is in the components, where the model says so."""
    share = share_in_components(said)
    if share is None:
        return []
    hold = f"{html.count(said.n_components, 'component')} {'holds' if said.n_components == 1 else 'hold'}"
    of = html.count(said.n_features, "column")
    return [f"{hold} {100 * share:.1f} % of the variance of the {of}; the rest counts as noise."]


def _unlike(odd, n, row_ids, how):
    if not len(odd):
        return f"No row is unlike the rest{how}."
    few = f"{html.count(len(odd), 'row')} of {n:,} {'is' if len(odd) == 1 else 'are'} unlike the rest{how}: "
    return [few, *html.listed(odd, row_ids, N_NAMED), "."]


def _predicted(said, X, y, y_true, names):
    """What is predicted for how many rows, a sentence a target; one for all numbers that the same rows have."""
    found = said.predict(X)
    n = X.shape[0]
    if said.measured_together(y):
        rows = np.flatnonzero(~said.labeled(y, n))
        return [_of_numbers(rows, found, names)] if len(rows) else []
    items = []
    for target, one, name in zip(said.targets, found, names, strict=True):
        rows = np.arange(n) if y is None else np.flatnonzero(~target.labeled(y))
        if len(rows) and target.kind == "real":
            items.append(_of_numbers(rows, [one], [name]))
        elif len(rows):
            items.append(_of_classes(rows, target, one, name, y_true))
    return items


def _of_numbers(rows, found, names):
    more = ", …" if len(names) > N_NAMED else ""
    if any(one.std is None for one in found):
        return f"{_rows_without(rows)} a predicted {', '.join(names[:N_NAMED])}{more}."
    typical = [html.number(float(np.median(one.std[rows])), 3) for one in found[:N_NAMED]]
    if len(names) == 1:
        said = f"{_rows_without(rows)} a predicted {names[0]}, give or take {typical[0]}"
        return f"{said} (the median of their standard deviations)."
    each = ", ".join(f"{name} {one}" for name, one in zip(names, typical))
    return f"{_rows_without(rows)} predictions, give or take {each}{more} (the medians of their standard deviations)."


def _of_classes(rows, target, found, name, y_true):
    text = f"{_rows_without(rows)} a predicted {name}"
    if found.proba is not None:
        largest = np.max(found.proba[rows], axis=1)
        unsure = int((largest < SURE).sum())
        text += f", with a probability of {largest.mean():.2f} on average; {unsure or 'none'} below {SURE:g}"
    if y_true is not None:
        right = target.codes(y_true)[rows] == target.codes(found.values)[rows]
        text += f". {100 * right.mean():.1f} % agree with the hidden truth"
    return f"{text}."


def _rows_without(rows):
    return f"{html.count(len(rows), 'row')} without a label {'has' if len(rows) == 1 else 'have'}"


def _helped(comparison):
    """The first sentence of the verdict, and how good predictions are; of several targets, where labels helped."""
    targets = html.targets_of(comparison)
    words = comparison.labels
    if words is None or len(targets) == 1:
        first, *rest = re.split(r"(?<=\.) (?=[A-Z])", comparison.verdict)
        return [html.signed(text, targets) for text in [first, *(one for one in rest[-1:] if one.startswith(OWN))]]
    said = [f"{name}: {word or 'not compared'}" for name, word in zip(targets, words, strict=True)]
    return [f"Whether the labels helped, by target: {'; '.join(said)}."]
