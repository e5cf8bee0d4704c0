"""The result of `compare`: a table of scores and plain sentences about them."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnomon.selection._table import Table

CLEAR = 2.0  # standard errors of a paired difference


class Outcome(NamedTuple):
    """One method on the scored rows: for each target losses row by row, or the reason why there are none."""

    dims: int | None = None
    losses: list | None = None  # of the projection
    own_losses: list | None = None  # of the method's own predictions
    seconds: float | None = None
    note: str = ""


@dataclass(frozen=True, repr=False)
class Comparison(Table):
    """Scores of supervised models and baselines on the same rows.

    Attributes
    ----------
    rows : list of dict
        One per method, and per target where there are several: `method`, `target`, `metric` ("error" or "R2"), `dims`,
        `score` and `standard_error` of the projection, `prediction` and `prediction_error` of the method's own
        predictions, `seconds` of the slowest fit, `note`. None where there is no value.
    metric : {"error", "R2", "mixed"}
        What `score` is: the share of wrong rows (lower is better), R2 (higher is better), or each for its targets.
    verdict : str
        How the best supervised projection does against its best baseline, and against PCA.
    n_scored, n_labeled, n_splits : int
        Rows scored, rows labeled, splits of the labeled rows (0 when the hidden truth was given).
    n_filled : int
        Missing entries of X that the baselines saw as the mean of their column.

    Examples
    --------
    >>> row = dict(method="PCA", target="y", metric="error", dims=2, score=0.1, standard_error=0.02, prediction=None)
    >>> row |= {"prediction_error": None, "seconds": 0.5, "note": ""}
    >>> Comparison([row], "error", "PCA errs on 10.0 %.", 225, 30)
    method  dims  1-NN error of the projection  error of own predictions  seconds PCA     2     0.100 ± 0.020
    -                         0.5 Each method learned from 30 labeled rows and was scored by the nearest
    labeled row on 225 rows whose labels were hidden. PCA errs on 10.0 %.
    """

    rows: list = field(default_factory=list)
    metric: str = "error"
    verdict: str = ""
    n_scored: int = 0
    n_labeled: int = 0
    n_splits: int = 0
    n_filled: int = 0

    @property
    def protocol(self):
        """How the scores were made, in one sentence, or two where entries of X are missing."""
        by_row, by_ridge = "the nearest labeled row", "a ridge regression on the projection"
        what = {"error": by_row, "R2": by_ridge}.get(self.metric, f"{by_row} (classes) or {by_ridge} (numbers)")
        part = f"{self.n_scored} of {self.n_labeled}" if self.n_scored < self.n_labeled else f"All {self.n_scored}"
        said = (
            f"{part} labeled rows were held out in turn, in {self.n_splits} splits, and scored by {what}; no method "
            "saw a held-out label, and unlabeled rows stayed in."
        )
        if not self.n_splits:
            said = (
                f"Each method learned from {self.n_labeled} labeled rows and was scored by {what} on {self.n_scored} "
                "rows whose labels were hidden."
            )
        if self.n_filled:
            entries = "1 missing entry" if self.n_filled == 1 else f"{self.n_filled} missing entries"
            said += f" For the baselines {entries} of X had to be filled with column means."
        return said

    @property
    def notes(self):
        """Why some methods have no score, one sentence each."""
        return list(
            dict.fromkeys(f"{row['method']} does not apply: {row['note']}." for row in self.rows if row["note"])
        )

    def cells(self) -> Any:
        """Return the table as strings, "-" where there is no value.

        Returns
        -------
        header : list of str
        body : list of list of str
        """
        names = {"error": ("1-NN error", "error"), "R2": ("R2", "R2")}.get(self.metric, ("score", "score"))
        header = ["method", "dims", f"{names[0]} of the projection", f"{names[1]} of own predictions", "seconds"]
        body = [
            [
                row["method"],
                "-" if row["dims"] is None else str(row["dims"]),
                _with_error(row["score"], row["standard_error"]),
                _with_error(row["prediction"], row["prediction_error"]),
                _duration(row["seconds"]),
            ]
            for row in self.rows
        ]
        if self.metric != "mixed" and len({row["target"] for row in self.rows}) < 2:
            return header, body
        for line, row in zip(body, self.rows):
            line.insert(1, f"{row['target']} ({row['metric']})")
        return ["method", "target", *header[1:]], body

    @property
    def _remarks(self):
        return [*self.notes, self.protocol]


def summarize(outcomes, *, models, tasks, n_labeled, n_splits, n_filled=0):
    """Make a Comparison of the outcome of each method; `models` names the supervised ones."""
    metrics = {task.metric for task in tasks}
    every = [found for outcome in outcomes.values() for found in (outcome.losses, outcome.own_losses) if found]
    scored = [len(losses) for found in every for losses in found if losses is not None]
    said = [_verdict(outcomes, models, t, task.metric) for t, task in enumerate(tasks)]
    if len(tasks) > 1:
        said = [f"{task.name}: {sentence}" for task, sentence in zip(tasks, said)]
    return Comparison(
        rows=[_row(name, outcome, t, task) for t, task in enumerate(tasks) for name, outcome in outcomes.items()],
        metric=metrics.pop() if len(metrics) == 1 else "mixed",
        verdict=" ".join(said),
        n_scored=max(scored),
        n_labeled=n_labeled,
        n_splits=n_splits,
        n_filled=n_filled,
    )


def _row(name, outcome, t, task):
    score, error = _mean(outcome.losses, t, task.metric)
    prediction, prediction_error = _mean(outcome.own_losses, t, task.metric)
    return {
        "method": name,
        "target": task.name,
        "metric": task.metric,
        "dims": outcome.dims,
        "score": score,
        "standard_error": error,
        "prediction": prediction,
        "prediction_error": prediction_error,
        "seconds": outcome.seconds,
        "note": outcome.note,
    }


def _mean(found, t, metric):
    if found is None or found[t] is None:
        return None, None
    losses = found[t]
    loss = float(losses.mean())
    return (loss if metric == "error" else 1.0 - loss), _standard_error(losses)


def _standard_error(losses):
    return float(losses.std(ddof=1) / np.sqrt(len(losses))) if len(losses) > 1 else None


def _with_error(value, error):
    if value is None:
        return "-"
    return f"{value:.3f}" if error is None else f"{value:.3f} ± {error:.3f}"


def _duration(seconds):
    if seconds is None:
        return "-"
    return "< 0.001" if seconds < 1e-3 else f"{seconds:.2g}"


def _verdict(outcomes, models, t, metric):
    losses = {name: o.losses[t] for name, o in outcomes.items() if o.losses is not None and o.losses[t] is not None}
    own = {name: o.own_losses[t] for name, o in outcomes.items() if o.losses and o.own_losses[t] is not None}
    mine = {name: losses[name] for name in models if name in losses}
    if not mine:
        best = _best({name: own[name] for name in models if name in own})
        return f"The predictions of {best} {_plural(own[best], metric)}."
    baselines = {name: found for name, found in losses.items() if name not in models}
    ours, best = _best(mine), _best(baselines)
    first = f"{ours} {_scored(losses[ours], metric)}; the best baseline, {best}, {_scored(baselines[best], metric)}"
    sentences = [f"{first}: {_difference(baselines[best] - losses[ours], metric)}."]
    if "PCA" in baselines and best != "PCA":
        against = _difference(baselines["PCA"] - losses[ours], metric)
        sentences.append(f"Against PCA, which ignores the labels: {against}.")
    if ours in own:
        sentences.append(f"The predictions of {ours} itself {_plural(own[ours], metric)}.")
    return " ".join(sentences)


def _best(losses):
    return min(losses, key=lambda name: losses[name].mean())


def _plural(losses, metric):
    return _scored(losses, metric).replace("errs", "err").replace("reaches", "reach")


def _scored(losses, metric):
    mean = losses.mean()
    return f"errs on {100 * mean:.1f} % of the rows" if metric == "error" else f"reaches R2 {1 - mean:.3f}"


def _difference(gains, metric):
    """Say what a paired gain (positive: ours is better) amounts to."""
    gain, error = gains.mean(), _standard_error(gains)
    error = np.inf if error is None else error
    size = f"{abs(gain):.3f} ± {error:.3f}"
    if metric == "error":
        size = f"{100 * abs(gain):.1f} ± {100 * error:.1f} points"
    if not gains.any():
        return "equal on every row"
    if abs(gain) <= CLEAR * error:
        return f"no clear difference ({size})"
    return f"{'better' if gain > 0 else 'worse'} by {size}"
