"""A model together with the table it wants: its columns, their scaling and what the targets are called."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gnomon._cli.commands import Refusal, one_line
from gnomon.export import load_metadata, load_model, save_model
from gnomon.tables import Scaling, Table, read_table


@dataclass(frozen=True)
class StoredModel:
    """A fitted estimator and what it takes to feed it a table.

    Attributes
    ----------
    estimator : fitted model
        SPPCA or PPCA.
    features, targets : list of str
        Columns it was fitted on.
    id : str or None
        Column that named the rows.
    drop : list of str
        Columns that were left out; they may be there or not in a new table.
    scaling : Scaling
        Applied to every table.
    """

    estimator: Any
    features: list[str]
    targets: list[str]
    id: str | None
    drop: list[str]
    scaling: Scaling

    def save(self, path: Path) -> None:
        """Write everything to one model file."""
        facts = {name: getattr(self, name) for name in ("features", "targets", "id", "drop")}
        save_model(self.estimator, path, metadata={**facts, "scaling": asdict(self.scaling)})

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
        return cls(estimator, **{**metadata, "scaling": Scaling(**metadata["scaling"])})

    def read(self, path: str, id: str | None, drop: tuple[str, ...]) -> Table:
        """Read a new table: columns are matched by name; those of the fit that have no use now may be there."""
        ignore = [*self.targets, *self.drop]
        return read_table(path, id=id, likely_id=self.id, drop=drop, ignore=ignore, features=self.features)
