"""A model of a table in a file: a pipeline from the columns of the table to the predictions, and what it is called."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.pipeline import Pipeline

from gnomon._cli.commands import InputError, one_line
from gnomon._cli.marks import ask_of_marks
from gnomon.describe import Description, Target, describe
from gnomon.export import load_metadata, load_model, save_model
from gnomon.export.steps import known_answers
from gnomon.tables import Table, TableError, is_h5ad, marks_for, read_table, table_parts, with_labels

FACTS = ("targets", "id", "drop", "n_rows", "layer", "missing", "unlabeled", "spans")
LATER = {"layer", "missing", "unlabeled", "spans"}  # facts that files of earlier versions lack


@dataclass(frozen=True)
class StoredModel:
    """A fitted pipeline that takes the columns of a table, and the names around it.

    Its steps are "columns", then "standard" or "unit" scale, "gaps" filled, "preprocessing" and "model"; those between
    the first and the last only where they are needed.
    """

    pipeline: Pipeline
    targets: list[str]  # what it predicts
    id: str | None  # column that named the rows
    drop: list[str]  # columns that were left out; they may be there or not in a new table
    n_rows: int  # that it was fitted to
    layer: str | None = None  # of AnnData that it was fitted to, in place of X; taken from new .h5ad files too
    missing: list[str] = field(default_factory=list)  # cells that meant an empty one, and do in new tables
    unlabeled: str | None = None  # target cell that meant no label
    spans: list[list[float]] | None = None  # least and largest number of each feature, but for those of answers

    @property
    def said(self) -> Description:
        """What the model says of itself, of tables."""
        return describe(self.pipeline)

    @property
    def answers(self) -> dict[str, list[str]]:
        """The answers that it knows, by their columns."""
        return known_answers(self.pipeline["columns"])

    @property
    def known_targets(self) -> dict[str, Target]:
        """What it says of its targets, by their columns."""
        return dict(zip(self.targets, self.said.targets, strict=True))

    @property
    def watching(self) -> Description:
        """What knows how far rows are from those of the fit: the model, or else the one that fills gaps before it."""
        gaps = self.pipeline.named_steps.get("gaps")
        if self.said.monitor is not None or gaps is None or gaps.model_ is None:
            return self.said
        before = self.pipeline.steps[: list(self.pipeline.named_steps).index("gaps")]
        return describe(Pipeline([*before, ("model", gaps.model_)]))

    def save(self, path: Path) -> None:
        """Write everything to one model file."""
        save_model(self.pipeline, path, metadata={name: getattr(self, name) for name in FACTS})

    @classmethod
    def load(cls, path: str) -> Self:
        """Read what `save` wrote, from the file or the folder that holds it."""
        file = Path(path) / "model.gnomon" if Path(path).is_dir() else Path(path)
        if not file.is_file():
            hint = f" (is {path} a folder that gnomon fit wrote?)" if Path(path).is_dir() else ""
            raise InputError(f"{file} does not exist{hint}.")
        try:
            pipeline, metadata = load_model(file), load_metadata(file)
        except (ValueError, OSError) as error:
            raise InputError(one_line(error)) from None
        if not metadata or set(metadata) | LATER != set(FACTS):
            raise InputError(f"{file} names no columns; use a model that gnomon fit wrote.")
        return cls(pipeline, **metadata)

    def read(
        self,
        path: str,
        *,
        with_targets: bool = False,
        labels: str | None = None,
        unlabeled: str | None = None,
        keep: Sequence[str] = (),
        **asked: Any,
    ) -> Table:
        """Read a new table: columns are matched by name; those of the fit that have no use now may be there.

        `labels` is a file that has the target in place of the table, `unlabeled` a cell of it that means no label.
        """
        if labels is not None and len(self.targets) != 1:
            raise InputError(f"--labels: the file has one target, and the model {len(self.targets) or 'none'}.")
        likely = self.targets if with_targets and labels is None else []
        roles = self._roles(path, **asked)
        table = self._checked(read_table(path, likely_targets=likely, unlabeled=unlabeled, **roles), keep)
        return table if labels is None else with_labels(table, labels, self.targets[0], unlabeled)

    def parts(self, path: str, keep: Sequence[str] = (), **asked: Any) -> Iterator[Table]:
        """The same, some rows at a time where the table may be large."""
        try:
            yield from (self._checked(part, keep) for part in table_parts(path, **self._roles(path, **asked)))
        except OSError as error:  # of the table, while a result is written
            raise InputError(f"{error.strerror or one_line(error)}.") from error

    def _roles(
        self,
        path: str,
        id: str | None = None,
        drop: Sequence[str] = (),
        missing: Sequence[str] = (),
        layer: str | None = None,
        form: Sequence[str] = (),
        *,
        whole: bool = False,
    ) -> dict[str, Any]:
        answers = self.answers
        features = self.pipeline["columns"].feature_names_in_.tolist()
        ignore = [*self.targets, *self.drop]
        known = self.missing if answers else marks_for(path, self.missing)
        return {
            "id": id,
            "likely_id": self.id,
            "drop": drop,
            "ignore": ignore,
            "features": features[: len(features) - sum(map(len, answers.values()))],
            "missing": [*missing, *known],
            "layer": self.layer if layer is None and is_h5ad(path) else layer,
            "form": form,
            "categorical": answers,
            "whole": whole,
        }

    def _checked(self, table: Table, keep: Sequence[str]) -> Table:
        if self.spans is not None:
            ask_of_marks(table, keep, self.spans)
        if "unit" in self.pipeline.named_steps:
            check_cells(table)
        return table

    def filled(self, table: Table) -> Any:
        """The features of a table with its empty cells filled, in its units."""
        if "gaps" in self.pipeline.named_steps:
            upto = self.pipeline[: list(self.pipeline.named_steps).index("gaps") + 1]
            return upto.inverse_transform(upto.transform(table.X))
        impute = self.said.impute
        if impute is None:
            raise InputError(f"{self.said.model} fills no empty cells; use a model that does, such as ppca.")
        return impute(table.X)


def check_cells(table: Table) -> None:
    """Refuse a table with an empty cell where rows are divided by their length."""
    if table.n_missing:
        i, j = divmod(int(np.isnan(table.X).argmax()), table.X.shape[1])
        raise TableError(
            f"{table.where(i, table.feature_names[j])}: the cell is empty, and --scale unit divides a row by its "
            "length, which takes all cells; fill it, leave the row out, or fit with another --scale."
        )
