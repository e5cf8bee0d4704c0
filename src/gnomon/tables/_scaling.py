"""Making the columns of a table comparable, and remembering how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler, normalize

from gnomon.tables._table import Table, TableError


@dataclass(frozen=True)
class Scaling:
    """How columns are made comparable before a model sees them.

    Attributes
    ----------
    kind : {"none", "standard", "unit"}
        "standard" divides each feature, and each of several targets, by its standard deviation; "unit" divides each
        row of features by its length, which needs complete rows.
    divisors : ndarray of shape (p,) or None
        The standard deviations of what is observed in the training table; 1 for a constant column. Means need no
        removing: the models estimate them.
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

    def apply(self, table: Table) -> Any:
        """Scale the features of a table; the type of float and empty cells stay."""
        X = table.X
        if self.kind == "unit":
            _refuse_empty_cells(table)
            return normalize(X)
        if self.kind == "none":
            return X
        inverse = (1.0 / self.divisors).astype(X.dtype)
        return (X @ sparse.diags_array(inverse)).tocsr() if sparse.issparse(X) else X * inverse

    def restore(self, X: np.ndarray) -> np.ndarray:
        """Bring scaled features back to the units of the table; rows of length 1 have lost theirs and stay."""
        return X if self.divisors is None else X * self.divisors

    def apply_to_targets(self, y: Any) -> Any:
        """Scale several targets; one stays as it is."""
        return y if self.y_divisors is None else y / self.y_divisors

    def restore_target(self, values: np.ndarray, j: int) -> np.ndarray:
        """Bring predictions of one of several targets, or their standard deviations, back to the units of the table."""
        return values if self.y_divisors is None else values * self.y_divisors[j]


def _refuse_empty_cells(table: Table) -> None:
    if not table.n_missing:
        return
    i, j = divmod(int(np.isnan(table.X).argmax()), table.X.shape[1])
    raise TableError(
        f"{table.where(i, table.feature_names[j])}: the cell is empty, and --scale unit divides a row by its length, "
        "which takes all cells; fill it, leave the row out, or fit with another --scale."
    )
