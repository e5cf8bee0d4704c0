"""The page that gnomon fit and gnomon report write about a stored model and rows."""

import json
from pathlib import Path
from typing import Any

from gnomon._cli.columns import row_column
from gnomon._cli.commands import InputError, Shape, one_line
from gnomon._cli.stored import StoredModel
from gnomon.export import write_report
from gnomon.selection import Comparison, SearchResults
from gnomon.selection.partial import results_of
from gnomon.tables import Table

ORIGIN = ("call", "table_sha256", "times")
UNITS = {
    "preprocessing": "the units that the preprocessing gave the columns",
    "standard": "standard deviations of the column",
    "unit": "parts of the row's length",
}


def figures_beside(stored: str) -> dict[str, Any]:
    """How a model was chosen and how it compares, by the figures that gnomon fit wrote beside it, if it did."""
    file = Path(stored) / "metrics.json"
    if not file.is_file():
        return {}
    try:
        figures = json.loads(file.read_text(encoding="utf-8"))
        return {
            "settings": dict(figures["settings"]),
            **{name: figures.get(name) for name in ORIGIN},  # absent beside models of older releases
            "choice": results_of(SearchResults, figures["choice"]),
            "comparison": results_of(Comparison, figures["comparison"]),
        }
    except (ValueError, TypeError, KeyError, AttributeError, OSError) as error:
        raise InputError(
            f"{file} is not what gnomon fit wrote ({one_line(error)}); name model.gnomon itself."
        ) from None


def shape_in(figures: dict[str, Any]) -> tuple[int, int] | None:
    """The height and width of images, by the settings of the fit."""
    found = (figures.get("settings") or {}).get("shape")
    return None if found is None else Shape().convert(found, None, None)


def check_shape(table: Table, shape: tuple[int, int] | None) -> None:
    """Refuse a height and width that rows do not have."""
    if shape is None or shape[0] * shape[1] == len(table.feature_names):
        return
    raise InputError(
        f"{table.path}: --shape {shape[0]}x{shape[1]} is of images of {shape[0] * shape[1]} pixels, and rows have "
        f"{len(table.feature_names)} features."
    )


def write_page(path: str | Path, stored: StoredModel, table: Table, figures: dict[str, Any], **more: Any) -> None:
    """Write the report of a model and the rows of a table; `more` are further parameters of `write_report`."""
    if more.get("n_refits") and not stored.said.labeled(more["y"], table.X.shape[0]).any():
        raise InputError(f"{table.path}: --refits fits to labels that are drawn anew, and no row has one.")
    try:
        write_report(
            path,
            estimator=stored.pipeline,
            X=table.X,
            row_ids=row_column(table).popitem()[1],
            feature_units=next((UNITS[name] for name in UNITS if name in stored.pipeline.named_steps), None),
            target_names=stored.targets or None,
            title=Path(table.path).name,
            settings=_origin(figures) | (figures.get("settings") or {}),
            **{name: figures.get(name) for name in ("choice", "comparison")},
            **more,
        )
    except ImportError as error:
        raise InputError(one_line(error)) from error


def _origin(figures: dict[str, Any]) -> dict[str, Any]:
    """The command that made a model, its table and its times, as lines of a report."""
    call, sha256, times = (figures.get(name) for name in ORIGIN)
    steps = {f"seconds of {step}": f"{seconds:.3g}" for step, seconds in (times or {}).get("seconds", {}).items()}
    return {"command": call, "sha256 of the table": sha256, "begun": (times or {}).get("began")} | steps
