"""The result of a search: a table of scores, the choice, and plain sentences about them."""

from dataclasses import dataclass
from typing import Any

from gnomon.selection._table import Table

CLEAR = 0.05
SHORT = {"n_private": "private", "n_factors": "factors", "unlabeled_weight": "weight"}  # where room is short


@dataclass(frozen=True)
class PermutationTest:
    """Scores with true and with permuted labels.

    Attributes
    ----------
    score : float
        With the labels as they are.
    permuted : list of float
        After the labels of the labeled rows have changed places.
    repeats_choice : bool
        Whether the whole choice among candidates was repeated for every permutation. Where only the chosen candidate
        was, the p-value is somewhat low: it was chosen because it fits the labels as they are.

    Examples
    --------
    >>> test = PermutationTest(0.9, [0.1] * 19)
    >>> test.p_value, test.above_chance
    (0.05, True)
    """

    score: float
    permuted: list
    repeats_choice: bool = True

    @property
    def p_value(self):
        """Share of scores, the true one among them, that are at least as high as the true one."""
        return (1 + self._n_as_high) / (1 + len(self.permuted))

    @property
    def above_chance(self):
        """Whether at most one in twenty scores is as high."""
        return self.p_value <= CLEAR

    @property
    def verdict(self):
        """The outcome in plain words."""
        count = f"{self._n_as_high} of {len(self.permuted)} fits to permuted labels score as high"
        count += f" (p = {self.p_value:.2f}"
        count += ")" if self.repeats_choice else "; the choice was not repeated for them, so p is somewhat low)"
        if self.above_chance:
            return f"The labels say more of the rows than chance would: {count}."
        if not self._n_as_high:
            return f"Too few permutations to tell whether the labels say more of the rows than chance would: {count}."
        return f"No sign that the labels say more of the rows than chance would: {count}."

    @property
    def _n_as_high(self):
        return sum(value >= self.score for value in self.permuted)


@dataclass(frozen=True, repr=False)
class SearchResults(Table):
    """What was tried, what was chosen, and whether the labels say more of the rows than chance would.

    Attributes
    ----------
    rows : list of dict
        One per candidate: "preprocessing", "model", "settings" (dict), "agreement" (None where every row is labeled),
        "error", "score", "seconds" (of one fit), "baseline", and "note", the reason where there is no score.
    chosen : int
        Which of `rows` was chosen.
    target_kind : {"classes", "real"}
        How y was read.
    verdict : str
        The choice in plain words.
    permutation_test : PermutationTest or None
        The permutation test, if asked for.

    Examples
    --------
    >>> from gnomon.selection import SearchResults
    >>> row = dict(preprocessing="rows", model="PLS", settings={}, agreement=0.9, error=0.2, score=0.7, seconds=0.1,
    ...            baseline=True, note=None)
    >>> print(SearchResults([row], 0, "real", "PLS was the only one."))
       preprocessing  model  correlation  error  score  seconds
    *  rows           PLS    0.900        0.200  0.700  0.1
    PLS was the only one.
    """

    rows: list
    chosen: int
    target_kind: str
    verdict: str
    permutation_test: PermutationTest | None = None

    @property
    def chosen_row(self):
        """The entry of `rows` that was chosen."""
        return self.rows[self.chosen]

    def __post_init__(self):
        if isinstance(self.permutation_test, dict):  # as `to_dict` stores it
            object.__setattr__(self, "permutation_test", PermutationTest(**self.permutation_test))

    def cells(self, most: Any = None) -> Any:
        """Return the table as strings, best score first, the chosen row marked by a star.

        Parameters
        ----------
        most : int, default=None
            Rows to show; None shows all. The chosen row and the best baseline are always among them.

        Returns
        -------
        header : list of str
        body : list of list of str
        """
        agreement, error = ("kappa", "balanced error") if self.target_kind == "classes" else ("correlation", "error")
        header = ["", "preprocessing", "model", agreement, error, "score", "seconds"]
        ranks = [(row["score"] is None, -(row["score"] or 0.0)) for row in self.rows]
        order = sorted(range(len(self.rows)), key=ranks.__getitem__)
        if most is not None:
            wanted = {self.chosen, *[i for i in order if self.rows[i]["baseline"]][:1]}
            kept = {*wanted, *[i for i in order if i not in wanted][: max(0, most - len(wanted))]}
            order = [i for i in order if i in kept and self.rows[i]["note"] is None]
        return header, [["*" if i == self.chosen else "", *_cells(self.rows[i])] for i in order]

    @property
    def notes(self):
        """Why some candidates have no score, one sentence per reason."""
        reasons = {}
        for row in self.rows:
            if row["note"]:
                reasons.setdefault(row["note"], []).append(named(row))
        return [f"{', '.join(dict.fromkeys(names))}: {note.rstrip('.')}." for note, names in reasons.items()]


def _cells(row):
    numbers = ["-" if row[name] is None else f"{row[name]:.3f}" for name in ("agreement", "error", "score")]
    seconds = "-" if row["seconds"] is None else f"{row['seconds']:.2g}"
    return [row["preprocessing"], _model(row), *numbers, seconds]


def _model(row):
    settings = ", ".join(
        f"{SHORT.get(name, name)}={value:g}"
        for name, value in row["settings"].items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    )
    return f"{row['model']} ({settings})" if settings else row["model"]


def named(row):
    """The candidate of a row in words."""
    return f"{_model(row)} on {row['preprocessing']}"


def verdict(rows, chosen, kind, permuted, kept=False):
    """Say what was chosen, what the best baseline does, and what the permutation test says.

    `kept` says that others scored higher, but not clearly.
    """
    best = rows[chosen]
    sentences = [f"Chosen: {named(best)}, score {best['score']:.3f}: {_reading(best, kind)}."]
    if kept:
        sentences.append(
            "No evidence for another: none scores higher by more than chance would, so the default was kept."
        )
    others = [row for row in rows if row["baseline"] and row["score"] is not None and row is not best]
    if others:
        sentences.append(_against(best["score"], max(others, key=lambda row: row["score"])))
    if permuted is not None:
        sentences.append(permuted.verdict)
    return " ".join(sentences)


def _against(score, baseline):
    gain = score - baseline["score"]
    name = named(baseline)
    if abs(gain) < 0.0005:
        return f"Tied with the best baseline, {name} (difference < 0.001)."
    return f"That is {abs(gain):.3f} {'above' if gain > 0 else 'below'} the best baseline, {name}."


def _reading(row, kind):
    error = 100 * row["error"]
    if kind == "real":
        held_out = f"leave {error:.0f} % of the variance of held-out targets"
        agreed = "the predictions of its half-label models for the unlabeled rows correlate at"
    else:
        held_out = f"err on {error:.1f} % of the held-out labels, averaged over classes"
        agreed = "its half-label models agree on the unlabeled rows with a Cohen's kappa of"
    if row["agreement"] is None:
        return f"its half-label models {held_out} (every row is labeled, so agreement does not count)"
    return f"{agreed} {row['agreement']:.2f}, and {held_out}"
