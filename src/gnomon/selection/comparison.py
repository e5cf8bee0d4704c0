"""The result of `compare`: a table of scores and plain sentences about them."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gnomon.selection._table import Table
from gnomon.selection.intervals import Interval, of_error, of_mean

CELLS = (  # of a row: value, ends of its interval, deviation over draws; of the projection, and of own predictions
    ("score", "low", "high", "spread"),
    ("prediction", "prediction_low", "prediction_high", "prediction_spread"),
)
MOST_CLASSES = 6  # named
SAID = {
    "helped": "The labels helped",
    "did not help": "The labels did not help",
    "cannot be told": "It cannot be told with these labels whether they helped",
}
FEW = 60  # rows without any difference below which, by the rule of three, more than one in twenty others may differ
SAME = 1.0  # degree: a projection that is nearer to that of PCA is the same


class Losses(NamedTuple):
    """Rows that were scored and their losses, split by split; rows count by `weights` (n,) over all rows."""

    rows: list
    values: list
    weights: np.ndarray
    overlap: float | None  # held-out rows over those learned from; None where splits are draws of what is labeled
    n_meant: float = np.inf  # unlabeled rows, or groups, that held-out ones stand for
    groups: np.ndarray | None = None  # (n,) of all rows; None where every row is one of its own

    @property
    def n_scored(self):
        """Rows that were scored, in one of several draws."""
        return len(self.rows[0]) if self.overlap is None else len(np.unique(np.concatenate(self.rows)))

    def by_row(self):
        """Mean losses of the rows, or groups of rows, that were scored, and their weights, which sum to one."""
        rows, values = np.concatenate(self.rows), np.concatenate(self.values)
        found, place, counts = np.unique(rows, return_inverse=True, return_counts=True)
        losses, weights = np.bincount(place, weights=values) / counts, self.weights[found]
        if self.groups is not None:
            place = np.unique(self.groups[found], return_inverse=True)[1]
            of_group = np.bincount(place, weights=weights)
            losses, weights = np.bincount(place, weights=weights * losses) / of_group, of_group
        return losses, weights / weights.sum()

    def by_split(self):
        """Mean loss of every split."""
        return np.array([np.average(v, weights=self.weights[r]) for r, v in zip(self.rows, self.values)])

    def interval(self, metric):
        """Mean loss, and its interval."""
        losses, weights = self.by_row()
        if self.overlap is None and len(self.rows) > 1:
            return of_mean(self.by_split())
        if metric == "error":
            return of_error(losses, weights, self.overlap or 0.0, self.n_meant)
        value, low, high = self._about(float(weights @ losses), losses, self.by_split())
        return Interval(value, max(low, 0.0), high)  # of a square; of one split both ends are NaN

    def gain(self, other):
        """How much lower these are than others of the same rows, and its interval."""
        (mine, weights), (theirs, _) = self.by_row(), other.by_row()
        gains = other.by_split() - self.by_split()
        if self.overlap is None and len(gains) > 1:
            return of_mean(gains)
        return self._about(float(weights @ (theirs - mine)), theirs - mine, gains)

    def _about(self, value, by_row, by_split):
        found = of_mean(by_row) if self.overlap is None else of_mean(by_split, self.overlap)
        half = 0.5 * (found.high - found.low)
        return Interval(value, value - half, value + half)


class Outcome(NamedTuple):
    """One method on the scored rows: for each target its `Losses`, or the reason why there are none."""

    dims: int | None = None
    losses: list | None = None  # of the projection
    own_losses: list | None = None  # of the method's own predictions
    seconds: float | None = None
    note: str = ""
    turned: float | None = None  # degrees between its projection and that of PCA
    got: str = ""  # what it chose for itself
    told: Any = ()  # in each split and for each task, of one that tells, the rows held out, its predictions, its doubts


@dataclass(frozen=True, repr=False)
class Comparison(Table):
    """Scores of supervised models and baselines on the same rows.

    Attributes
    ----------
    rows : list of dict
        One per method, and per target where there are several: `method`, `target`, `metric` ("error" or "R2"), `dims`,
        `score` of the projection with the ends `low` and `high` of its 95 % interval, `prediction` of the method's own
        predictions with `prediction_low` and `prediction_high`, `seconds` of the slowest fit, `note`, `got`, what a
        baseline chose for itself. None where there is no value. Of several draws `spread` and `prediction_spread` are
        deviations over them.
    metric : {"error", "R2", "mixed"}
        What `score` is: the share of wrong rows (lower is better), R2 (higher is better), or each for its targets.
    verdict : str
        Whether the labels helped, which is told by the best supervised projection beside that of PCA; how it does
        against the best baseline; and its own predictions.
    labels : list of {"helped", "did not help", "cannot be told"} or None
        The first of these in a word, for each target.
    n_scored, n_labeled, n_splits, n_draws : int
        Rows scored, rows labeled, splits of the labeled rows (0 when the hidden truth was given), draws of what is
        labeled (0 when it was not).
    n_groups : int
        Groups of the labeled rows, each held out as a whole; 0 where every row was held out by itself.
    shares : dict or None
        Estimated shares of the classes among the unlabeled rows, by which held-out rows count.
    n_filled : int
        Missing entries of X that the baselines saw as the mean of their column.
    held_out : list of dict or None
        Where labeled rows were held out, what the first model predicted for each, the first time: one dict per target
        with `method`, `target`, `classes` (None of numbers), `rows`, `truth` and `predicted` (codes of classes), and
        `doubt`, the probability of the named class or the standard deviation of a number, None where it tells none.

    Examples
    --------
    >>> row = dict(method="PCA", target="y", metric="error", dims=2, score=0.1, low=0.07, high=0.14, spread=None)
    >>> row |= dict(prediction=None, prediction_low=None, prediction_high=None, prediction_spread=None)
    >>> Comparison([row | dict(seconds=0.5, note="")], "error", "PCA errs on 10 %.", n_scored=225, n_labeled=30)
    method  dims  1-NN error of the projection  error of own predictions  seconds PCA     2     0.100 (0.07 to 0.14)
    -                         0.5 Each method learned from 30 labeled rows and was scored by the nearest
    labeled row on 225 rows whose labels were hidden. PCA errs on 10 %.
    """

    rows: list = field(default_factory=list)
    metric: str = "error"
    verdict: str = ""
    labels: list | None = None
    n_scored: int = 0
    n_labeled: int = 0
    n_splits: int = 0
    n_draws: int = 0
    n_filled: int = 0
    n_groups: int = 0
    shares: dict | None = None
    held_out: list | None = None

    @property
    def protocol(self):
        """How the scores were made, and what they assume, in a few sentences."""
        by_row, by_ridge = "the nearest labeled row", "a ridge regression on the projection"
        what = {"error": by_row, "R2": by_ridge}.get(self.metric, f"{by_row} (classes) or {by_ridge} (numbers)")
        part = f"{self.n_scored} of {self.n_labeled}" if self.n_scored < self.n_labeled else f"All {self.n_scored}"
        said = (
            f"{part} labeled rows were held out in turn, in {self.n_splits} splits, and scored by {what}; no method "
            "saw a held-out label, and unlabeled rows stayed in."
        )
        if self.n_groups:
            said += f" They are {self.n_groups} groups, of which each was held out as a whole."
        if not self.n_splits:
            said = (
                f"Each method learned from {self.n_labeled} labeled rows and was scored by {what} on {self.n_scored} "
                "rows whose labels were hidden."
            )
        if self.n_draws > 1:
            said += f" Means over {self.n_draws} draws of the labeled rows, ± their deviation."
        if self.shares:
            listed = ", ".join(
                f"{name} {100 * share:.0f} %" for name, share in list(self.shares.items())[:MOST_CLASSES]
            )
            more = ", ..." if len(self.shares) > MOST_CLASSES else ""
            said += (
                f" Rows count by the shares of the classes that are estimated for the unlabeled rows ({listed}{more}), "
                "as if labeled rows of a class were like its other rows."
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
                *(_with_interval(row, *names) for names in CELLS),
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
        chosen = {row["method"]: row["got"] for row in self.rows if row.get("got")}
        if not chosen:
            return [*self.notes, self.protocol]
        said = "; ".join(f"{name}: {got}" for name, got in chosen.items())
        return [*self.notes, self.protocol, f"Chosen by baselines within the labels they saw: {said}."]


def summarize(outcomes, models, problem, *, n_tried, n_filled=0, n_groups=0, shares=None):
    """A `Comparison` of the outcome of each method in so many splits or draws; `models` names the supervised ones."""
    tasks = problem.tasks
    metrics = {task.metric for task in tasks}
    every = [found for outcome in outcomes.values() for found in (outcome.losses, outcome.own_losses) if found]
    scored = [losses.n_scored for found in every for losses in found if losses is not None]
    words, said = zip(*(_verdict(outcomes, models, t, task.metric) for t, task in enumerate(tasks)))
    if len(tasks) > 1:
        said = [f"{task.name}: {sentence}" for task, sentence in zip(tasks, said)]
    return Comparison(
        rows=[_row(name, outcome, t, task) for t, task in enumerate(tasks) for name, outcome in outcomes.items()],
        metric=metrics.pop() if len(metrics) == 1 else "mixed",
        verdict=" ".join(said),
        labels=list(words),
        n_scored=max(scored),
        n_labeled=problem.targets.n_labeled,
        n_splits=0 if problem.has_truth else n_tried,
        n_draws=n_tried if problem.has_truth else 0,
        n_filled=n_filled,
        n_groups=n_groups,
        shares=None if shares is None else dict(zip(map(str, tasks[0].classes), map(float, shares))),
        held_out=_held_out(models[0], outcomes[models[0]].told, problem),
    )


def _held_out(method, told, problem):
    """What a model told of rows held out, target by target; None where there were none or it predicts nothing."""
    found = []
    for t, task in enumerate(problem.tasks):
        parts = [part[t] for part in told if part[t]]
        if not parts:
            continue
        every = np.concatenate([rows for rows, _, _ in parts])
        for j, column in enumerate(task.columns):
            rows, first = np.unique(every, return_index=True)
            known = np.isfinite(task.truth[rows, j])
            rows, first = rows[known], first[known]
            doubts = [doubts[j] for *_, doubts in parts]
            found.append(
                {
                    "method": method,
                    "target": problem.targets.columns[column].name,
                    "classes": None if task.classes is None else [str(name) for name in task.classes],
                    "rows": rows.tolist(),
                    "truth": task.truth[rows, j].tolist(),
                    "predicted": np.concatenate([values for _, values, _ in parts])[first, j].tolist(),
                    "doubt": None if any(one is None for one in doubts) else np.concatenate(doubts)[first].tolist(),
                }
            )
    return found or None


def _row(name, outcome, t, task):
    return {
        "method": name,
        "target": task.name,
        "metric": task.metric,
        "dims": outcome.dims,
        **_scores(outcome.losses, t, task.metric, CELLS[0]),
        **_scores(outcome.own_losses, t, task.metric, CELLS[1]),
        "seconds": outcome.seconds,
        "note": outcome.note,
        "got": outcome.got,
    }


def _scores(found, t, metric, names):
    """Score, ends of its interval and deviation over draws, by name."""
    if found is None or found[t] is None:
        return dict.fromkeys(names)
    losses, (value, low, high) = found[t], found[t].interval(metric)
    spread = None
    if losses.overlap is None and len(losses.rows) > 1:
        spread = float(losses.by_split().std(ddof=1))
    if metric == "R2":
        value, low, high = 1.0 - value, 1.0 - high, 1.0 - low
    ends = [None if np.isnan(end) else float(end) for end in (low, high)]
    return dict(zip(names, [float(value), *ends, spread]))


def _with_interval(row, value, low, high, spread):
    if row[value] is None:
        return "-"
    if row[spread] is not None:
        return f"{row[value]:.3f} ± {row[spread]:.3f}"
    return f"{row[value]:.3f}" if row[low] is None else f"{row[value]:.3f} ({row[low]:.2f} to {row[high]:.2f})"


def _duration(seconds):
    if seconds is None:
        return "-"
    return "< 0.001" if seconds < 1e-3 else f"{seconds:.2g}"


def _verdict(outcomes, models, t, metric):
    """Whether the labels helped, in a word or None, and sentences."""
    losses = {name: o.losses[t] for name, o in outcomes.items() if o.losses is not None and o.losses[t] is not None}
    own = {name: o.own_losses[t] for name, o in outcomes.items() if o.losses and o.own_losses[t] is not None}
    mine = {name: losses[name] for name in models if name in losses}
    if not mine:
        best = _best({name: own[name] for name in models if name in own}, metric)
        return None, f"The predictions of {best} {_own(own[best], metric)}."
    baselines = {name: found for name, found in losses.items() if name not in models}
    ours, word, sentences = _best(mine, metric), None, []
    if "PCA" in baselines:
        word = _helped(losses[ours], baselines["PCA"], outcomes[ours].turned, metric)
        beside = _difference(losses[ours].gain(baselines["PCA"]), metric)
        pca = _scored(losses["PCA"], metric)
        sentences.append(
            f"{SAID[word]}: {ours} {_scored(losses[ours], metric)}, PCA, which ignores them, {pca}: {beside}."
        )
        if outcomes[ours].turned is not None and outcomes[ours].turned < SAME:
            sentences.append(
                f"Its components span what those of PCA span, but for {outcomes[ours].turned:.2g} degrees; where "
                "scores differ, it is by the lengths of the components."
            )
    best = _best(baselines, metric) if baselines else "PCA"
    if best == "PCA":
        sentences += ["No other baseline does better than PCA."] * (len(baselines) > 1)
    else:
        beside = _difference(losses[ours].gain(baselines[best]), metric)
        sentences.append(f"The best baseline, {best}, {_scored(baselines[best], metric)}: {ours} is {beside}.")
    if ours in own:
        sentences.append(f"The predictions of {ours} itself {_own(own[ours], metric)}.")
    return word, " ".join(sentences)


def _helped(losses, without, turned, metric):
    """One of `SAID`: what a projection gains over that of PCA, which is the same without labels."""
    _, low, high = losses.gain(without)
    worthless = metric == "R2" and losses.interval(metric).value >= 1.0  # no better than the mean of the target
    if worthless or (turned is not None and turned < SAME):
        return "did not help"
    if low == high == 0.0 and losses.n_scored < FEW:  # equal on every row, and on how many more is not known
        return "cannot be told"
    if high <= 0.0:
        return "did not help"
    return "helped" if low > 0.0 else "cannot be told"


def _best(losses, metric):
    return min(losses, key=lambda name: losses[name].interval(metric).value)


def _own(losses, metric):
    value, low, high = losses.interval(metric)
    if metric == "error":
        ends = "" if np.isnan(low) else f" (95 %: {100 * low:.0f} to {100 * high:.0f} %)"
        return f"err on {100 * value:.1f} % of the rows{ends}"
    ends = "" if np.isnan(low) else f" (95 %: {1 - high:.2f} to {1 - low:.2f})"
    return f"reach R2 {1 - value:.3f}{ends}"


def _scored(losses, metric):
    mean = losses.interval(metric).value
    return f"errs on {100 * mean:.1f} % of the rows" if metric == "error" else f"reaches R2 {1 - mean:.3f}"


def _difference(gain, metric):
    """Say what a gain (positive: ours is better) amounts to."""
    value, low, high = gain
    unit, scale, digits = (" points", 100.0, 1) if metric == "error" else ("", 1.0, 3)
    if value == low == high == 0.0:
        return "equal on every row"
    size = f"{abs(scale * value):.{digits}f}{unit}"
    ends = sorted(np.round(np.sign(value or 1.0) * scale * end, digits) + 0.0 for end in (low, high))  # no minus zero
    if np.isnan(low):
        return f"{'better' if value > 0 else 'worse'} by {size}, one split, which tells nothing of chance"
    size += f" (95 %: {ends[0]:.{digits}f} to {ends[1]:.{digits}f})"
    if not round(scale * value, digits):
        return f"level{size.removeprefix(f'{0.0:.{digits}f}{unit}')}"
    word = "better" if value > 0 else "worse"
    return f"{word} by {size}" if low > 0.0 or high < 0.0 else f"not clearly {word}, by {size}"
