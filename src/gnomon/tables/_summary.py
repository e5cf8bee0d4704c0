"""Rows that are no samples: those called Total, Mean or SD that hold sums, means or deviations of the other rows."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.tables._table import TableError, listing, row_of

LEAVE_OUT, TAKE = "no-summary", "all-rows"  # values of --form
SHARE, CLOSE = 0.9, 0.05  # of columns that must agree, up to how they were rounded and never worse than this

MOST_COLUMNS, MOST_NAMED = 50, 50  # that are looked at; more rows of such names are names of something else
Statistic = Callable[[np.ndarray], np.ndarray]
DEVIATIONS: tuple[Statistic, ...] = (
    lambda X: np.nanstd(X, axis=0, ddof=1),
    lambda X: np.nanstd(X, axis=0),
    lambda X: np.nanstd(X, axis=0, ddof=1) / np.sqrt((~np.isnan(X)).sum(axis=0)),
)
KINDS: dict[str, tuple[str, tuple[Statistic, ...]]] = {  # what such rows are called, and what they hold
    "sums": (r"(grand |sub ?)?totals?|sums?|summe|gesamt|somme", (lambda X: np.nansum(X, axis=0),)),
    "means": (r"means?|averages?|avg|mittelwert|moyenne", (lambda X: np.nanmean(X, axis=0),)),
    "deviations": (r"sd|s d|sem?|st ?d(ev)?|std ?(dev|err)|standard (deviations?|errors?)", DEVIATIONS),
    "variances": (r"var(iances?)?", (lambda X: np.nanvar(X, axis=0, ddof=1), lambda X: np.nanvar(X, axis=0))),
    "medians": (r"medians?", (lambda X: np.nanmedian(X, axis=0),)),
    "lowest values": (r"min(imum)?|lowest", (lambda X: np.nanmin(X, axis=0),)),
    "highest values": (r"max(imum)?|highest", (lambda X: np.nanmax(X, axis=0),)),
    "numbers of values": (r"n|counts?", (lambda X: (~np.isnan(X)).sum(axis=0),)),
}
WORDS = re.compile(rf"(?:{'|'.join(words for words, _ in KINDS.values())})(?: ?\(.*\))?")


def kind_of_summary(text: str) -> str | None:
    """What a row of that name may hold of others."""
    if text[-1:].isdigit():  # as most names of rows
        return None
    plain = " ".join(text.casefold().replace(".", " ").replace("_", " ").split()).strip(" :=")
    if not WORDS.fullmatch(plain):
        return None
    return next(kind for kind, (words, _) in KINDS.items() if re.fullmatch(words, plain.partition("(")[0].strip()))


def candidates(columns: Iterable[Sequence[Any]], first: int = 0) -> dict[int, str]:
    """Rows in which a cell of text may be the name of a summary, and that name; the first row has number `first`."""
    found: dict[int, str] = {}
    for cells in columns:
        texts = ((i, cell) for i, cell in enumerate(cells, first) if isinstance(cell, str))
        found |= {i: cell.strip() for i, cell in texts if kind_of_summary(cell)}
    return found


def summaries(X: np.ndarray, named: Mapping[int, str]) -> dict[int, str]:
    """What those of the rows that may be summaries hold: "sums", "means", ...

    It is told by the numbers: they are those of all other rows, or of the rows above up to the summary before. One
    beside such a row is taken for another of them.
    """
    found: dict[int, str] = {}
    if not named or len(named) > MOST_NAMED:
        return found
    X = X[:, np.unique(np.linspace(0, X.shape[1] - 1, MOST_COLUMNS, dtype=int))] if X.shape[1] else X
    rest = np.array([i for i in range(len(X)) if i not in named], dtype=int)
    start = 0
    for i in sorted(named):
        above = rest[(rest >= start) & (rest < i)]
        kind = str(kind_of_summary(named[i]))
        if any(len(rows) > 1 and _holds(X[i], X[rows], KINDS[kind][1]) for rows in (rest, above)):
            found[i] = kind
        start = start if i + 1 in named else i + 1
    for i in (*sorted(named), *sorted(named, reverse=True)):
        if i not in found and (i - 1 in found or i + 1 in found):
            found[i] = "summaries"
    return found


def _holds(row: np.ndarray, X: np.ndarray, statistics: Iterable[Statistic]) -> bool:
    """Whether a row holds one of some statistics of the columns of other rows."""
    given = ~np.isnan(row) & ((~np.isnan(X)).sum(axis=0) > 1)
    given[given] = np.nanmax(X[:, given], axis=0) > np.nanmin(X[:, given], axis=0)
    values, X = row[given], X[:, given]
    half = 0.51 * np.array(list(map(_last_digit, values)))
    for statistic in statistics:
        wanted = statistic(X)
        tells = (wanted != 0) | (values != 0)
        near = np.abs(values - wanted) <= np.minimum(half, CLOSE * np.abs(wanted)) + 1e-9 * np.abs(wanted)
        if tells.any() and near[tells].mean() >= SHARE:
            return True
    return False


def _last_digit(value: float) -> float:
    """What one more in the last digit of a number is worth."""
    whole, _, decimals = f"{value:.15g}".partition(".")
    return float(10.0 ** (-len(decimals) if decimals else len(whole) - len(whole.rstrip("0"))))


def without_summaries(
    path: str, X: np.ndarray, named: Mapping[int, str], lines: Sequence[int | None], form: Sequence[str],
    beside: Sequence[Sequence[str | None]] = (),
) -> tuple[list[int], str]:  # fmt: skip
    """The rows that are samples, and what is said of those that are none; these are refused until it is said.

    Empty rows ahead of them, in which the cells beside are empty as well, go with them.
    """
    found = {} if TAKE in form else summaries(X, named)
    rows = [i for i in range(len(X)) if i not in found]
    if not found:
        return rows, ""
    while rows and np.isnan(X[rows[-1]]).all() and not any(cells[rows[-1]] for cells in beside):
        rows.pop()
    names = [named[i] for i in sorted(found)]
    if LEAVE_OUT not in form:
        i, kinds = min(found), ", ".join(dict.fromkeys(found[j] for j in sorted(found)))
        raise TableError(
            f"{path}, {row_of(i, lines[i])}: {listing(names, 4)} hold{'' if names[1:] else 's'} {kinds} of other rows; "
            f"add --form {LEAVE_OUT} to leave such rows out, or --form {TAKE} if they are samples."
        )
    n = "1 row of a summary" if len(names) == 1 else f"{len(names)} rows of summaries"
    return rows, f"without {n} ({listing(names, 4)})"
