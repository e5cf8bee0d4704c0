"""What the commands print when they have succeeded: short, plain, and what to do next."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import Path

import numpy as np

from gnomon._cli.demo import Example
from gnomon._cli.fitting import Run

WIDTH = 100
MOST_NAMES = 6


def fit_summary(run: Run) -> str:
    """The table, the target, the model, the comparison and the notes."""
    lines = [_table_line(run)]
    if run.target is not None:
        lines.append(_target_line(run))
    lines.append(_model_line(run))
    if run.comparison is not None:
        lines += ["", *repr(run.comparison).splitlines()]
    if run.notes:
        lines += ["", *(f"note: {note}" for note in run.notes)]
    return "\n".join(
        textwrap.fill(line, WIDTH, subsequent_indent="  ") if len(line) > WIDTH else line for line in lines
    )


def _table_line(run: Run) -> str:
    n, p = run.X.shape
    n_missing = run.table.n_missing
    empty = f"; {n_missing} of {n * p} feature cells empty" if n_missing else ""
    return f"{run.table.path}: {n} rows, {p} features{empty}"


def _target_line(run: Run) -> str:
    target = run.target
    kind = "real numbers" if len(target.names) == 1 else f"{len(target.names)} real targets"
    if target.kind == "classes":
        kind = f"{target.n_classes} classes"
    labelled = f"{int(target.labelled.sum())} of {len(target.labelled)} rows labelled"
    names = ", ".join(target.names[:MOST_NAMES]) + (", ..." if len(target.names) > MOST_NAMES else "")
    return f"target {names}: {kind} ({target.reason}); {labelled}"


def _model_line(run: Run) -> str:
    estimator = run.stored.estimator
    end = "converged" if estimator.converged_ else "NOT converged"
    return (
        f"{type(estimator).__name__}: {estimator.components_.shape[0]} components, scale {run.request.scale}; solver "
        f"{estimator.solver_}, {end}, {estimator.log_likelihood_:.2f} nats"
    )


def demo_story(example: Example) -> str:
    """What the demo's table is."""
    return f"{example.story}."


def demo_predictions(run: Run, example: Example, n_shown: int = 5) -> str:
    """The first unlabelled rows with prediction, probability and the hidden truth."""
    estimator = run.stored.estimator
    hidden = np.flatnonzero(~run.target.labelled)
    shown = hidden[:: max(1, len(hidden) // n_shown)][:n_shown]
    shares = estimator.predict_proba(run.X[shown]).max(axis=1)
    predicted = estimator.predict(run.X[shown])
    lines = ["row   predicted   probability  truth (hidden from the fit)"]
    for i, label, share in zip(shown, predicted, shares):
        lines.append(f"{example.table.ids[i]:<5} {label!s:<11} {share:<12.2f} {example.truth[i]}")
    return "\nSome of the unlabelled rows:\n" + "\n".join(lines)


def written(out: str, names: list[str]) -> str:
    """Where the results are, and what is missing for want of a library."""
    lines = ["", f"Wrote to {out}: {', '.join(names)}."]
    if "report.html" in names:
        lines.append(f"Open {Path(out) / 'report.html'} in a browser.")
    else:
        lines.append("No report.html: its pictures need matplotlib (pip install 'gnomon[plot]').")
    if "projection.parquet" not in names:
        lines.append("No projection.parquet: that needs polars or pyarrow (pip install 'gnomon[io]').")
    return "\n".join(lines)


def next_steps(run: Run, out: str) -> str:
    """A command that uses the stored model."""
    folder = shlex.quote(out)
    if (Path(out) / "table.csv").exists():
        return f"Next: gnomon predict {shlex.quote(str(Path(out) / 'table.csv'))} --model {folder} --out answers.csv"
    command = "predict" if run.stored.targets else "transform"
    return f"Next: gnomon {command} NEW.csv --model {folder} --out answers.csv"
