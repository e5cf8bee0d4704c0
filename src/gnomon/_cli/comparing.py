"""gnomon compare, once the arguments are parsed: fit each model, score all beside the baselines."""

from collections.abc import Callable
from typing import Any

import click

from gnomon._cli import fitting
from gnomon._cli.choosing import traits_of
from gnomon._cli.commands import OPEN, InputError, one_line
from gnomon.selection import Comparison


def compare_models(
    models: list[str], asked: dict[str, Any], step: Callable[[str], None]
) -> tuple[list[fitting.Run], Comparison]:
    """Fit models of these names to one table and score them on its labeled rows."""
    _check_alike(models, asked)
    requests = [fitting.Request("compare", model=name, **asked) for name in models]
    step("reading the table")
    table = fitting.read(requests[0])
    runs = []
    for request in requests:
        step("choosing" if request.model in OPEN else f"fitting {request.model}")
        runs.append(fitting.fit(request, table))
    step("comparing with PCA, LDA and PLS")
    try:
        return runs, fitting.compared(runs)
    except ValueError as error:
        raise InputError(f"{table.path}: no comparison: {one_line(error)}") from error


def _check_alike(models: list[str], asked: dict[str, Any]) -> None:
    """Refuse models that do not read the targets alike."""
    if not asked["target"] and not asked["labels"]:
        raise click.UsageError("--target is missing; a comparison is made by labels.")
    for name in models:
        if not traits_of(name).guided:
            raise InputError(f"--model {name}: it ignores the target, and PCA is compared in any case; leave it out.")
    if asked["parameters"] and len(models) > 1:
        raise InputError("--set is of one model; name one by --model.")
    other = next((name for name in models if traits_of(name).several != traits_of(models[0]).several), None)
    if len(asked["target"]) > 1 and other is not None:
        raise InputError(
            f"--model: {models[0]} and {other} read several targets in different ways; compare one of them."
        )


def as_json(runs: list[fitting.Run], comparison: Comparison, out: str | None) -> dict[str, Any]:
    """What a comparison found, as plain data."""
    return {
        "table": runs[0].table.path,
        "models": [fitting.settings(run) for run in runs],
        "notes": list(dict.fromkeys(note for run in runs for note in run.notes)),
        "comparison": comparison.to_dict(),
        "out": out,
    }
