"""A model together with the table it wants: its columns, their scaling and what the targets are called."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from gnomon._cli.commands import Refusal, one_line
from gnomon.describe import describe
from gnomon.export import load_metadata, load_model, save_model
from gnomon.tables import Scaling, Table, read_table


@dataclass(frozen=True)
class StoredModel:
    """A fitted estimator and what it takes to feed it a table.

    Attributes
    ----------
    estimator : fitted model
        What takes the rows that `rows` gives.
    features, targets : list of str
        Columns it was fitted on.
    id : str or None
        Column that named the rows.
    drop : list of str
        Columns that were left out; they may be there or not in a new table.
    scaling : Scaling
        Applied to every table.
    front : fitted transformer or None
        Stands between the scaled table and the estimator.
    filler : fitted PPCA or None
        Fills empty cells where front or estimator cannot take them.
    classes : list of (list or None), or None
        The classes of each target in order where every one is of its own kind, None in it for numbers.
    """

    estimator: Any
    features: list[str]
    targets: list[str]
    id: str | None
    drop: list[str]
    scaling: Scaling
    front: Any = None
    filler: Any = None
    classes: list[list[Any] | None] | None = None

    def save(self, path: Path) -> None:
        """Write everything to one model file."""
        facts = {name: getattr(self, name) for name in ("features", "targets", "id", "drop", "classes")}
        whole = self.estimator if self.front is None else self.pipeline
        save_model(whole, path, metadata={**facts, "scaling": asdict(self.scaling), "filler": self.filler})

    @property
    def predicts(self) -> bool:
        """Whether it has targets, and a model that predicts them."""
        return describe(self.estimator).predict is not None

    @property
    def pipeline(self) -> Pipeline:
        """The front and the estimator as one."""
        return Pipeline([("front", self.front), ("model", self.estimator)])

    def rows(self, table: Table) -> Any:
        """The rows of a table as the estimator takes them."""
        X = self.scaling.apply(table)
        if self.filler is not None and np.isnan(X).any():
            X = self.filler.impute(X)
        return X if self.front is None else self.front.transform(X)

    @classmethod
    def load(cls, path: str) -> StoredModel:
        """Read what `save` wrote, from the file or the folder that holds it."""
        file = Path(path) / "model.gnomon" if Path(path).is_dir() else Path(path)
        if not file.is_file():
            hint = f" (is {path} a folder that gnomon fit wrote?)" if Path(path).is_dir() else ""
            raise Refusal(f"{file} does not exist{hint}.")
        try:
            estimator, metadata = load_model(file), load_metadata(file)
        except (ValueError, OSError) as error:
            raise Refusal(one_line(error)) from None
        if not metadata or "features" not in metadata:
            raise Refusal(f"{file} names no columns; use a model that gnomon fit wrote.")
        front = None
        if isinstance(estimator, Pipeline):
            front, estimator = estimator["front"], estimator["model"]
        return cls(estimator, **{**metadata, "scaling": Scaling(**metadata["scaling"]), "front": front})

    def read(self, path: str, id: str | None, drop: tuple[str, ...]) -> Table:
        """Read a new table: columns are matched by name; those of the fit that have no use now may be there."""
        ignore = [*self.targets, *self.drop]
        return read_table(path, id=id, likely_id=self.id, drop=drop, ignore=ignore, features=self.features)
