"""What a stored model says of the rows of a table, some at a time, and how many there were."""

from typing import Any

import numpy as np

from gnomon._cli import columns
from gnomon._cli.stored import StoredModel
from gnomon.tables import Table

FILLED = "filled"  # of what can be done, that which gives the table back


class Applied:
    """Results by part; what is kept of a part are its typicality and names."""

    def __init__(self, model: StoredModel, what: str) -> None:
        self.model, self.what = model, what
        self.n_rows = self.n_missing = 0
        self.assumed = ""
        self.unseen: dict[str, list[str]] = {}  # answers that the fit did not have, by column
        self._typical: list[tuple[np.ndarray, Any]] = []

    def of(self, table: Table) -> dict[str, Any]:
        """The columns of the result."""
        parts = [make(self.model, table) for make in columns.OF_NEW_ROWS[self.what]]
        result = parts[0] if self.what == FILLED else columns.joined(columns.row_column(table), *parts)
        self.n_rows += table.X.shape[0]
        self.assumed = table.assumed
        self.n_missing += columns.count_empty(self.model, table) if self.what == FILLED else 0
        for name, answers in table.unseen.items():
            self.unseen[name] = list(dict.fromkeys([*self.unseen.get(name, []), *answers]))
        if "typicality" in result:
            self._typical.append((result["typicality"], next(iter(result.values()))))
        return result

    @property
    def said(self) -> str:
        """What was done."""
        if self.what != FILLED:
            return self.what
        return f"filled {self.n_missing} empty {'cell' if self.n_missing == 1 else 'cells'} in"

    @property
    def typical(self) -> tuple[np.ndarray, Any]:
        """How typical the rows are, and what they are called."""
        if not self._typical:
            return np.zeros(0), np.zeros(0)
        values, names = zip(*self._typical)
        return np.concatenate(values), np.concatenate(names)
