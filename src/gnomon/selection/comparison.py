"""The result of `compare`: a table of scores and one plain sentence about them."""

from dataclasses import asdict, dataclass, field
from html import escape
from typing import NamedTuple

import numpy as np

CLEAR = 2.0  # standard errors of a paired difference


class Outcome(NamedTuple):
    """One method on the scored rows: losses row by row, or the reason why there are none."""

    dims: int | None = None
    losses: np.ndarray | None = None
    own_losses: np.ndarray | None = None
    seconds: float | None = None
    note: str = ""


@dataclass(frozen=True, repr=False)
class Comparison:
    """Scores of supervised models and their rivals on the same rows.

    Attributes
    ----------
    rows : list of dict
        One a method: `method`, `dims`, `score` and `standard_error` of the projection, `read_out` and
        `read_out_error` of the method's own predictions, `seconds` of the slowest fit, `note`. None where
        there is no value.
    metric : {"error", "R2"}
        What `score` is: the share of wrong rows (lower is better) or R2 (higher is better).
    verdict : str
        How the best supervised projection does against its best rival, and against PCA.
    n_scored, n_labelled, n_splits : int
        Rows scored, rows labelled, splits of the labelled rows (0 when the hidden truth was given).
    n_filled : int
        Missing entries of X that the rivals saw as the mean of their column.

    Examples
    --------
    >>> row = dict(method="PCA", dims=2, score=0.1, standard_error=0.02, read_out=None, read_out_error=None)
    >>> Comparison([row | {"seconds": 0.5, "note": ""}], "error", "PCA errs on 10.0 %.", 225, 30)
    method  dims  1-NN error of the projection  error of own read-out  seconds PCA     2     0.100 ± 0.020
    -                      0.5 Each method learned from 30 labelled rows and was scored by the nearest
    labelled row on 225 rows whose labels were hidden. PCA errs on 10.0 %.
    """

    rows: list = field(default_factory=list)
    metric: str = "error"
    verdict: str = ""
    n_scored: int = 0
    n_labelled: int = 0
    n_splits: int = 0
    n_filled: int = 0

    @classmethod
    def from_dict(cls, stored):
        """Return the comparison that `to_dict` wrote.

        Parameters
        ----------
        stored : dict
            As `to_dict` returns it.

        Returns
        -------
        Comparison
        """
        stored = {"n_filled": 0, **stored}  # versions before missing entries did not write it
        return cls(**{name: stored[name] for name in cls.__dataclass_fields__})

    def to_dict(self):
        """Return everything as plain Python values, ready for JSON.

        Returns
        -------
        dict
            One entry an attribute.
        """
        return asdict(self)

    @property
    def protocol(self):
        """How the scores were made, in one sentence, or two where entries of X are missing."""
        if not self.n_filled:
            return self._procedure()
        entries = "1 missing entry" if self.n_filled == 1 else f"{self.n_filled} missing entries"
        return f"{self._procedure()} For the rivals {entries} of X had to be filled with column means."

    def _procedure(self):
        what = "the nearest labelled row" if self.metric == "error" else "a ridge regression on the projection"
        if not self.n_splits:
            return (
                f"Each method learned from {self.n_labelled} labelled rows and was scored by {what} on "
                f"{self.n_scored} rows whose labels were hidden."
            )
        how_many = (
            f"{self.n_scored} of {self.n_labelled}" if self.n_scored < self.n_labelled else f"All {self.n_scored}"
        )
        return (
            f"{how_many} labelled rows were held out in turn, in {self.n_splits} splits, and "
            f"scored by {what}; no method saw a held-out label, and unlabelled rows stayed in."
        )

    def cells(self):
        """Return the table as strings, "-" where there is no value.

        Returns
        -------
        header : list of str
        body : list of list of str
        """
        score = "1-NN error" if self.metric == "error" else "R2"
        header = [
            "method",
            "dims",
            f"{score} of the projection",
            f"{score.split()[-1]} of own read-out",
            "seconds",
        ]
        body = [
            [
                row["method"],
                "-" if row["dims"] is None else str(row["dims"]),
                _with_error(row["score"], row["standard_error"]),
                _with_error(row["read_out"], row["read_out_error"]),
                _duration(row["seconds"]),
            ]
            for row in self.rows
        ]
        return header, body

    def __repr__(self):
        header, body = self.cells()
        widths = [max(map(len, column)) for column in zip(header, *body)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)) for line in [header, *body]]
        notes = [f"{row['method']} does not apply: {row['note']}." for row in self.rows if row["note"]]
        return "\n".join([line.rstrip() for line in lines] + notes + [self.protocol, self.verdict])

    def _repr_html_(self):
        header, body = self.cells()
        head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
        lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in body)
        notes = "".join(f"<p>{escape(row['method'])}: {escape(row['note'])}.</p>" for row in self.rows if row["note"])
        return (
            f"<p><strong>{escape(self.verdict)}</strong></p><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{lines}</tbody></table>{notes}<p>{escape(self.protocol)}</p>"
        )


def summarise(outcomes, *, models, metric, n_labelled, n_splits, n_filled=0):
    """Make a Comparison of the outcome of each method; `models` names the supervised ones."""
    n_scored = max(len(outcome.losses) for outcome in outcomes.values() if outcome.losses is not None)
    return Comparison(
        rows=[_row(name, outcome, metric) for name, outcome in outcomes.items()],
        metric=metric,
        verdict=_verdict(outcomes, models, metric),
        n_scored=n_scored,
        n_labelled=n_labelled,
        n_splits=n_splits,
        n_filled=n_filled,
    )


def _row(name, outcome, metric):
    score, error = _mean(outcome.losses, metric)
    read_out, read_out_error = _mean(outcome.own_losses, metric)
    return {
        "method": name,
        "dims": outcome.dims,
        "score": score,
        "standard_error": error,
        "read_out": read_out,
        "read_out_error": read_out_error,
        "seconds": outcome.seconds,
        "note": outcome.note,
    }


def _mean(losses, metric):
    if losses is None:
        return None, None
    loss = float(losses.mean())
    error = float(losses.std(ddof=1) / np.sqrt(len(losses))) if len(losses) > 1 else None
    return (loss if metric == "error" else 1.0 - loss), error


def _with_error(value, error):
    if value is None:
        return "-"
    return f"{value:.3f}" if error is None else f"{value:.3f} ± {error:.3f}"


def _duration(seconds):
    if seconds is None:
        return "-"
    return "< 0.001" if seconds < 1e-3 else f"{seconds:.2g}"


def _verdict(outcomes, models, metric):
    ours = min(models, key=lambda name: outcomes[name].losses.mean())
    losses = outcomes[ours].losses
    rivals = {name: o.losses for name, o in outcomes.items() if name not in models and o.losses is not None}
    best = min(rivals, key=lambda name: rivals[name].mean())
    first = f"{ours} {_scored(losses, metric)}; the best rival, {best}, {_scored(rivals[best], metric)}"
    sentences = [f"{first}: {_difference(rivals[best] - losses, metric)}."]
    if "PCA" in rivals and best != "PCA":
        sentences.append(f"Against PCA, which ignores the labels: {_difference(rivals['PCA'] - losses, metric)}.")
    if outcomes[ours].own_losses is not None:
        read_out = _scored(outcomes[ours].own_losses, metric).replace("errs", "err").replace("reaches", "reach")
        sentences.append(f"The predictions of {ours} itself {read_out}.")
    return " ".join(sentences)


def _scored(losses, metric):
    mean = losses.mean()
    return f"errs on {100 * mean:.1f} % of the rows" if metric == "error" else f"reaches R2 {1 - mean:.3f}"


def _difference(gains, metric):
    """Say what a paired gain (positive: ours is better) amounts to."""
    gain = gains.mean()
    error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.inf
    size = (
        f"{100 * abs(gain):.1f} ± {100 * error:.1f} points" if metric == "error" else f"{abs(gain):.3f} ± {error:.3f}"
    )
    if not gains.any():
        return "equal on every row"
    if abs(gain) <= CLEAR * error:
        return f"no clear difference ({size})"
    return f"{'better' if gain > 0 else 'worse'} by {size}"
