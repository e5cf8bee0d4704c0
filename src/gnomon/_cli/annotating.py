"""Results in an AnnData: the input with what the model says of its rows, or a new one."""

import warnings
from typing import Any

import numpy as np

from gnomon._cli.columns import check_predicts, monitor_columns, row_column
from gnomon._cli.commands import InputError, one_line
from gnomon._cli.stored import StoredModel
from gnomon.anndata import annotate, import_anndata
from gnomon.tables import Table, is_h5ad, open_h5ad


class Annotated:
    """A table as an AnnData with the projection and, if predicted, the predictions."""

    def __init__(self, model: StoredModel, what: str, table: Table) -> None:
        predict = what == "predicted"
        if predict:
            check_predicts(model.said)
        self.said, self.n_rows, self.assumed = what, table.X.shape[0], table.assumed
        self.unseen = table.unseen
        self.data = open_h5ad(table.path) if is_h5ad(table.path) else _of(table)
        try:
            annotate(self.data, model.said, table.X, model.targets, predictions=predict)
        except ValueError as error:
            raise InputError(one_line(error)) from None
        if not predict or "gnomon_typicality" not in self.data.obs:
            for name, values in monitor_columns(model, table).items():
                self.data.obs[f"gnomon_{name}"] = values

    @property
    def typical(self) -> tuple[np.ndarray, Any]:
        """How typical the rows are, and what they are called."""
        if "gnomon_typicality" not in self.data.obs:
            return np.zeros(0), np.zeros(0)
        return self.data.obs["gnomon_typicality"].to_numpy(), self.data.obs_names.to_numpy()


def _of(table: Table) -> Any:
    """A table of another kind as an AnnData."""
    names = ["" if name is None else str(name) for name in next(iter(row_column(table).values()))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names of rows that are not unique
        data = import_anndata().AnnData(table.X)
        data.obs_names, data.var_names = names, table.feature_names
    return data
