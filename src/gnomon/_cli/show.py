"""What the commands print when they have succeeded: short, plain, and what to do next."""

import shlex
import textwrap
from collections import Counter
from pathlib import Path

import numpy as np

from gnomon._cli.demo import Example
from gnomon._cli.fitting import Run
from gnomon._text import text_table
from gnomon.describe import UNUSUAL, unusual
from gnomon.selection import Comparison
from gnomon.tables import said_of_unseen
from gnomon.targets import Targets

WIDTH = 100
MOST_NAMES = 6
OF_ONE_KIND = (".parquet", ".feather", ".xlsx", ".npz", ".npy", ".mtx", ".h5ad")  # of tables that others are like
MOST_CANDIDATES = 8  # shown of a choice


def summary(runs: list[Run], comparison: Comparison | None) -> str:
    """The table, the target, the models, the comparison and the notes."""
    table = runs[0].table
    n, p = table.X.shape
    empty = f"; {table.n_missing} of {n * p} feature cells empty" if table.n_missing else ""
    lines = [f"{table.path}: {number_of(n, 'row')}, {number_of(p, 'feature')}{empty}"]
    if runs[0].targets is not None:
        lines.append(target_line(runs[0].targets, list(table.targets)))
    for run in runs:
        lines.append(_model_line(run))
        if run.choice is not None:
            header, body = run.choice.cells(most=MOST_CANDIDATES)
            more = len(run.choice.rows) - len(body)
            lines += ["", *text_table(header, body, right=range(3, len(header)))]
            lines += [f"and {more} candidates more, in metrics.json"] if more > 0 else []
            lines.append(run.choice.verdict)
    if comparison is not None:
        lines += ["", *repr(comparison).splitlines()]
    notes = list(dict.fromkeys(note for run in runs for note in run.notes))
    if notes:
        lines += ["", *(f"note: {note}" for note in notes)]
    for i, line in enumerate(lines):
        if len(line) > WIDTH and "  " not in line.strip():  # rows of tables stay whole
            lines[i] = textwrap.fill(line, WIDTH, subsequent_indent="  ")
    return "\n".join(lines)


def target_line(targets: Targets, names: list[str]) -> str:
    """What the targets are, and how many rows have one."""
    kinds = Counter("numbers" if one.classes is None else f"{len(one.classes)} classes" for one in targets.columns)
    kind = " and ".join(one if n == 1 else f"{n} columns of {one}" for one, n in kinds.items())
    if targets.kind in ("real", "counts"):
        kind = "real numbers" if len(names) == 1 else f"{len(names)} real targets"
    reason = "; ".join(dict.fromkeys(column.reason for column in targets.columns))
    labeled = f"{targets.n_labeled} of {targets.n_samples} rows labeled"
    shown = ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")
    return f"target {shown}: {kind} ({reason}); {labeled}"


def _model_line(run: Run) -> str:
    before = ""
    if "preprocessing" in run.stored.pipeline.named_steps:
        before = f" on {run.choice.chosen_row['preprocessing']}"
    said = run.stored.said
    k, fit = said.n_components, said.fit
    start = f"{said.model}{before}: {k} component{'' if k == 1 else 's'}, scale {run.request.scale}"
    notes = [] if fit.solver is None else [f"solver {fit.solver}"]
    if fit.converged is not None:
        notes.append("converged" if fit.converged else "NOT converged")
    if fit.log_likelihood is not None:
        notes.append(f"{fit.log_likelihood:.2f} nats")
    notes += fit.remarks
    return f"{start}; {', '.join(notes)}" if notes else start


def how_read(path: str, assumed: str) -> list[str]:
    """A note of what was assumed of a table, if anything was."""
    return [f"note: {path} was read {assumed}."] if assumed else []


def unseen(answers: dict[str, list[str]]) -> list[str]:
    """A note for each column with answers that the fit did not have."""
    return [f"note: {said_of_unseen(name, some)}." for name, some in answers.items()]


def number_of(n: int, what: str) -> str:
    """So many of something."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def unlike(typicality: np.ndarray, ids: np.ndarray) -> str:
    """A sentence about rows that are unlike those of the fit; empty where there are none."""
    odd = unusual(typicality)
    if not len(odd):
        return ""
    names = ", ".join(str(ids[i]) for i in odd[:MOST_NAMES]) + (", ..." if len(odd) > MOST_NAMES else "")
    are = "row is" if len(odd) == 1 else "rows are"
    return f"{len(odd)} {are} unlike those of the fit (typicality below {UNUSUAL}): {names}"


def demo_predictions(run: Run, example: Example) -> str:
    """The first unlabeled rows with prediction, probability and the hidden truth."""
    hidden = np.flatnonzero(~run.targets.labeled)
    shown = hidden[:: max(1, len(hidden) // 5)][:5]
    (found,) = run.stored.said.predict(run.table.X[shown])
    lines = ["row   predicted   probability  truth (hidden from the fit)"]
    for i, label, share in zip(shown, found.values, found.proba.max(axis=1)):
        lines.append(f"{example.table.ids[i]:<5} {label!s:<11} {share:<12.2f} {example.truth[i]}")
    return "\nSome of the unlabeled rows:\n" + "\n".join(lines)


def written(run: Run, out: str, names: list[str]) -> str:
    """Where the results are, what is missing for want of a library, and a command that uses the stored model."""
    lines = ["", f"Wrote to {out}: {', '.join(names)}."]
    if "report.html" in names:
        lines.append(f"Open {Path(out) / 'report.html'} in a browser.")
    else:
        lines.append("No report.html: its pictures need matplotlib (pip install 'gnomon[plot]').")
    if "projection.parquet" not in names:
        lines.append("No projection.parquet: that needs pyarrow (pip install 'gnomon[io]').")
    folder = f"./{out}" if out.startswith("-") else out  # which would be an option
    table = Path(out, "table.csv")
    fitted = Path(run.request.table)
    kind = fitted.suffix.lower() if fitted.suffix.lower() in OF_ONE_KIND else "" if fitted.is_dir() else ".csv"
    new = [f"{folder}/table.csv" if table.exists() else f"NEW{kind}"]
    new += ["--form", "transposed"] if "transposed" in run.request.form else []
    command = "transform" if run.stored.said.predict is None else "predict"
    lines.append(f"Next: gnomon {command} {shlex.join([folder, *new])} --out answers.csv")
    return "\n".join(lines)
