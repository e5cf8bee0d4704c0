"""The result of `choose_guided`: a table of scores, the choice, and plain sentences about them."""

from dataclasses import dataclass, field
from html import escape
from typing import Any

from gnomon.selection.permutation import PermutationTest

SHORT = {
    "n_private": "private",
    "n_factors": "factors",
    "unlabeled_weight": "weight",
}  # names of settings where room is short


@dataclass(frozen=True)
class GuidedChoice:
    """What was tried, what was chosen, and whether the labels helped.

    Attributes
    ----------
    rows : list of dict
        One a candidate: "front", "model", "settings" (dict), "agreement", "error", "score", "seconds" (of one fit),
        "baseline", and "note", the reason where there is no score (then those are None).
    chosen : int
        Which of `rows` was chosen.
    target_kind : {"classes", "real"}
        How y was read.
    verdict : str
        The choice in plain words.
    labels_helped : PermutationTest or None
        The permutation test of the chosen candidate, if asked for.
    estimator_ : estimator or Pipeline
        The chosen candidate, fitted to all rows and labels; None in a choice that was read back.

    Examples
    --------
    >>> from gnomon.selection import GuidedChoice
    >>> row = dict(front="rows", model="PLS", settings={}, agreement=0.9, error=0.2, score=0.7, seconds=0.1,
    ...            baseline=True, note=None)
    >>> print(GuidedChoice([row], 0, "real", "PLS was the only one."))
       front  model  correlation  error  score  seconds
    *  rows   PLS    0.900        0.200  0.700  0.1
    PLS was the only one.
    """

    rows: list
    chosen: int
    target_kind: str
    verdict: str
    labels_helped: PermutationTest | None = None
    estimator_: Any = field(default=None, repr=False, compare=False)

    def to_dict(self):
        """Return plain numbers, text and lists, ready for JSON.

        Returns
        -------
        dict
            For `from_dict`; the estimator is left out.
        """
        helped = self.labels_helped
        return {
            "rows": [dict(row) for row in self.rows],
            "chosen": self.chosen,
            "target_kind": self.target_kind,
            "verdict": self.verdict,
            "labels_helped": None if helped is None else {"score": helped.score, "permuted": list(helped.permuted)},
        }

    @classmethod
    def from_dict(cls, values):
        """Make a choice, without its estimator, from what `to_dict` returned.

        Parameters
        ----------
        values : dict
            As `to_dict` returned it.

        Returns
        -------
        GuidedChoice
            Equal to the first one.
        """
        helped = values["labels_helped"]
        return cls(**{**values, "labels_helped": None if helped is None else PermutationTest(**helped)})

    def cells(self, most=None):
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
        header = ["", "front", "model", "agreement" if self.target_kind == "classes" else "correlation"]
        header += ["error", "score", "seconds"]
        order = sorted(range(len(self.rows)), key=lambda i: _rank(self.rows[i]))
        if most is not None:
            wanted = [self.chosen, *[i for i in order if self.rows[i]["baseline"]][:1]]
            kept = {*wanted, *[i for i in order if i not in wanted][: max(0, most - len(wanted))]}
            order = [i for i in order if i in kept and self.rows[i]["note"] is None]
        return header, [["*" if i == self.chosen else "", *_cells(self.rows[i])] for i in order]

    def __repr__(self):
        header, body = self.cells()
        widths = [max(map(len, column)) for column in zip(header, *body)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)) for line in [header, *body]]
        return "\n".join([line.rstrip() for line in lines] + self.notes() + [self.verdict])

    def notes(self):
        """Say why some candidates have no score.

        Returns
        -------
        list of str
            One sentence a reason.
        """
        reasons = {}
        for row in self.rows:
            if row["note"]:
                reasons.setdefault(row["note"], []).append(named(row))
        return [f"{', '.join(dict.fromkeys(names))}: {note.rstrip('.')}." for note, names in reasons.items()]

    def _repr_html_(self):
        header, body = self.cells()
        head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
        lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in body)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes())
        return (
            f"<p><strong>{escape(self.verdict)}</strong></p><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{lines}</tbody></table>{notes}"
        )


def _rank(row):
    return (row["score"] is None, -(row["score"] or 0.0))


def _cells(row):
    numbers = ["-" if row[name] is None else f"{row[name]:.3f}" for name in ("agreement", "error", "score")]
    seconds = "-" if row["seconds"] is None else f"{row['seconds']:.2g}"
    return [row["front"], _model(row), *numbers, seconds]


def _model(row):
    settings = ", ".join(
        f"{SHORT.get(name, name)}={value:g}" for name, value in row["settings"].items() if not isinstance(value, str)
    )
    return f"{row['model']} ({settings})" if settings else row["model"]


def named(row):
    """The candidate of a row in words."""
    return f"{_model(row)} on {row['front']}"


def verdict(rows, chosen, kind, helped):
    """Say what was chosen, what the best baseline does, and whether the labels helped."""
    best = rows[chosen]
    sentences = [f"Chosen: {named(best)}, score {best['score']:.3f}: {_reading(best, kind)}."]
    others = [row for row in rows if row["baseline"] and row["score"] is not None and row is not best]
    if others:
        rival = max(others, key=lambda row: row["score"])
        gain = best["score"] - rival["score"]
        how = "above" if gain > 0 else "below" if gain < 0 else "equal to"
        more = f" by {abs(gain):.3f}" if gain else ""
        sentences.append(f"That is {how} the best baseline, {named(rival)}{more}.")
    if helped is not None:
        sentences.append(_helped(helped))
    return " ".join(sentences)


def _reading(row, kind):
    if kind == "real":
        return (
            f"the predictions of its half-label models for the unlabelled rows correlate at {row['agreement']:.2f}, "
            f"and leave {100 * row['error']:.0f} % of the variance of held-out targets"
        )
    return (
        f"its half-label models agree on {100 * row['agreement']:.1f} % of the unlabelled rows and err on "
        f"{100 * row['error']:.1f} % of the labels held out"
    )


def _helped(test):
    n = len(test.permuted)
    as_high = sum(value >= test.score for value in test.permuted)
    count = f"{as_high} of {n} fits to permuted labels score as high (p = {test.p_value:.2f})"
    if test.labels_helped:
        return f"The labels helped: {count}."
    return f"No sign that the labels help: {count}; read the projection as one without labels."
