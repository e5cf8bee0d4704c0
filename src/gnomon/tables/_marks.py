"""Marks that people write where nothing is known: words, limits of what can be measured, and numbers."""

import re
from collections.abc import Mapping

import numpy as np

WORDS = (
    "? ?? - -- --- . .. * #n/a #div/0! #value! #ref! #num! #name? #null! n.a. n.a n/d n.d. n.d nd na n.b. k.a. k.a "
    "1.#ind 1.#qnan none nil missing unknown undefined undetermined unassigned tbd bdl lod loq n/a null nan <na> -nan "
    "unlabeled unlabelled unclassified"
)
PHRASES = (
    "not available",
    "not determined",
    "not detected",
    "not measured",
    "below detection limit",
    "no data",
    "no label",
)
NO_ANSWER = (
    "don't know", "don\u2019t know", "dont know", "do not know", "no answer", "not answered", "refused", "refusal",
    "not applicable", "prefer not to say", "no opinion", "weiss nicht", "keine angabe", "ne sait pas", "no sabe",
)  # fmt: skip
PLACEHOLDERS = frozenset((*WORDS.split(), *PHRASES, *NO_ANSWER))
# which may mean that nothing is known; the user is asked
CENSORED = re.compile(r"[<>\u2264\u2265]=?\s*(\d[\d.,]*|lo[dq])", re.IGNORECASE)  # below or above what can be measured
DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
LOW, HIGH = (-9.0, -99.0, -999.0, -9999.0), (999.0, 9999.0)
CODES = (77.0, 88.0, 97.0, 98.0, 99.0)  # of no answer, behind questions that are answered by numbers up to `SCALE`
MARKS, SCALE = (*LOW, *HIGH, *CODES), 10.0


def stands_for_nothing(text: str) -> bool:
    """Whether people write so where a value is not known, or beyond what can be measured."""
    return text.casefold() in PLACEHOLDERS or CENSORED.fullmatch(text) is not None


def is_no_class(text: str) -> bool:
    """The same among names of classes, where -999 is no number."""
    return stands_for_nothing(text) or text in {f"{mark:g}" for mark in (*LOW, *HIGH)}


class SeenNumbers:
    """What is to be known of the columns of a table that comes in parts, to ask the same of them."""

    def __init__(self, p: int) -> None:
        self.low, self.high = np.full(p, np.inf), np.full(p, -np.inf)  # of all numbers that are no such mark
        self.counts = np.zeros((len(MARKS), p), dtype=int)

    def add(self, X: np.ndarray) -> None:
        """Look at some rows."""
        self.counts += [np.count_nonzero(mark == X, axis=0) for mark in MARKS]
        rest = np.where(np.isin(X, MARKS), np.nan, X)
        self.low = np.fmin(self.low, np.fmin.reduce(rest, axis=0))
        self.high = np.fmax(self.high, np.fmax.reduce(rest, axis=0))

    def spans(self) -> list[list[float]]:
        """The least and the largest number of each column, of all; four digits tell what lies far away."""
        marks = np.array(MARKS)[:, None]
        low = np.fmin(self.low, np.where(self.counts > 0, marks, np.inf).min(axis=0))
        high = np.fmax(self.high, np.where(self.counts > 0, marks, -np.inf).max(axis=0))
        return [[float(f"{a:.4g}"), float(f"{b:.4g}")] for a, b in zip(low, high)]

    def for_nothing(self) -> dict[int, Mapping[float, int]]:
        """What `numbers_for_nothing` finds in the columns in which it finds something."""
        found = {}
        for j in np.flatnonzero(self.counts.any(axis=0)):
            marks = np.repeat(MARKS, np.minimum(self.counts[:, j], 2))
            ends = [self.low[j], self.high[j]] if self.low[j] <= self.high[j] else []
            found[int(j)] = numbers_for_nothing(np.array([*ends, *marks]))
        return {j: marks for j, marks in found.items() if marks}


def numbers_for_nothing(values: np.ndarray) -> Mapping[float, int]:
    """Numbers such as -999 that lie far from all others, and how often; large ones that are there once may be true."""
    found: dict[float, int] = {}
    for mark in (*LOW, *HIGH):
        n = int(np.count_nonzero(values == mark))
        if n == 0 or (mark in HIGH and n == 1):
            continue
        rest = values[(values != mark) & ~np.isnan(values)]
        if len(rest) > 1 and not rest.min() - np.ptp(rest) <= mark <= rest.max() + np.ptp(rest):
            found[mark] = n
    return found | _codes(values)


def _codes(values: np.ndarray) -> dict[float, int]:
    """Numbers such as 99 in two rows or more where all others are answers on a scale, of whole numbers up to ten."""
    counts = {mark: int(np.count_nonzero(values == mark)) for mark in CODES}
    if max(counts.values()) < 2:
        return {}
    rest = values[~np.isin(values, MARKS) & ~np.isnan(values)]
    ends = (rest.min(), rest.max()) if len(rest) else (0.0, 0.0)
    scale = ends[0] < ends[1] and max(map(abs, ends)) <= SCALE and all(end == np.floor(end) for end in ends)
    return {mark: n for mark, n in counts.items() if n} if scale else {}
