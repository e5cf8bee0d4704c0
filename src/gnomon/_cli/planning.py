"""gnomon fit --dry-run: what would be read, assumed, fitted and written; nothing is."""

import warnings
from typing import Any

from gnomon._cli import fitting
from gnomon._cli.answering import Answer
from gnomon._cli.choosing import parameters, traits_of
from gnomon._cli.commands import AUTO, OPEN, InputError, one_line
from gnomon._cli.fitting import Request
from gnomon._cli.show import number_of, target_line
from gnomon._cli.sizes import default_components
from gnomon._cli.targets import classes_alike, in_words

WORDS = {AUTO: "guided, which many models teach", "search": "the model that the labels choose"}


def plan(request: Request, table: Any, out: str, *, on_disk: bool) -> Answer:
    """What a fit of a table that was read would do."""
    parameters(request.model, request.parameters)
    guided = bool(table.targets) and traits_of(request.model).guided
    if not on_disk:
        fitting.check_features(table, request.keep)
        fitting.scale_steps(table, request.scale)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            targets = fitting.targets_of(request, table, guided)
        except (ValueError, TypeError) as error:
            raise InputError(f"{table.path}: {one_line(in_words(table, error))}") from error
    k = request.components
    usual = None if on_disk else default_components(targets if guided else None, table.X, request.model)
    if k is None or (k == AUTO and (request.model in OPEN or usual is None)):  # as a fit has it
        k = usual
    notes = [f"{table.path} was read {table.assumed}."] if getattr(table, "assumed", None) else []
    notes += dict.fromkeys(in_words(table, warning.message) for warning in caught)
    notes += classes_alike(table, targets)
    found = {
        "table": table.path,
        "n_rows": int(table.X.shape[0]),
        "n_features": int(table.X.shape[1]),
        "features": list(table.feature_names),
        "target": list(table.targets),
        "target_kind": None if targets is None else targets.kind,
        "n_labeled": 0 if targets is None else targets.n_labeled,
        "model": request.model,
        "components": k,
        "scale": request.scale,
        "seed": request.seed,
        "from_disk": on_disk,
        "notes": notes,
        "out": out,
        "dry_run": True,
    }
    return Answer(_in_words(found, "" if targets is None else target_line(targets, list(table.targets))), found)


def _in_words(found: dict[str, Any], of_target: str) -> str:
    from_disk = ", read from disk as often as needed" if found["from_disk"] else ""
    size = f"{number_of(found['n_rows'], 'row')}, {number_of(found['n_features'], 'feature')}"
    lines = [f"{found['table']}: {size}{from_disk}"]
    lines += [of_target] if of_target else []
    model, k = WORDS.get(found["model"], found["model"]), found["components"]
    size = "its own number of components" if k is None else number_of(k, "component")
    size += " at most" if k is not None and found["model"] in OPEN else ""
    size = "as many components as are found best" if k == AUTO else size
    lines.append(f"would fit {model}: {size}, scale {found['scale']}, seed {found['seed']}")
    lines += [f"note: {note}" for note in found["notes"]]
    return "\n".join([*lines, f"Nothing was fitted; a fit would write {found['out']}."])
