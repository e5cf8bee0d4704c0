"""A model together with the table it wants: its columns, their scaling and what the targets are called."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler, normalize

from gnomon._cli.commands import Refusal, one_line
from gnomon.export import load_metadata, load_model, save_model
from gnomon.tables import Table, read_table

SCALES = ("none", "standard", "unit")


@dataclass(frozen=True)
class Scaling:
    """How columns are made comparable before a model sees them.

    Attributes
    ----------
    kind : {"none", "standard", "unit"}
        "standard" divides each feature, and each of several targets, by its standard deviation; "unit" divides each
        row of features by its length.
    divisors : ndarray of shape (p,) or None
        The standard deviations of the training table; 1 for a constant column. Means need no removing: the models
        estimate them.
    y_divisors : ndarray of shape (q,) or None
        The same of several targets, over the rows that have them. One target alone needs no scaling.
    """

    kind: str
    divisors: np.ndarray | None = None
    y_divisors: np.ndarray | None = None

    @classmethod
    def of(cls, kind: str, X: Any, y: np.ndarray | None = None) -> Scaling:
        """Learn the scaling of a training table; `y` are its targets when there are several."""
        if kind != "standard":
            return cls(kind)
        divisors, y_divisors = (None if Z is None else StandardScaler(with_mean=False).fit(Z).scale_ for Z in (X, y))
        return cls(kind, divisors, y_divisors)

    def apply(self, X: Any) -> Any:
        """Scale rows of features; the type of float stays."""
        if self.kind == "unit":
            return normalize(X)
        if self.kind == "none":
            return X
        inverse = (1.0 / self.divisors).astype(X.dtype)
        return (X @ sparse.diags_array(inverse)).tocsr() if sparse.issparse(X) else X * inverse

    def apply_to_targets(self, y: Any) -> Any:
        """Scale several targets; one stays as it is."""
        return y if self.y_divisors is None else y / self.y_divisors

    def restore_targets(self, values: np.ndarray) -> np.ndarray:
        """Bring (n, q) predictions, or their standard deviations, back to the units of the table."""
        return values if self.y_divisors is None else values * self.y_divisors


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
