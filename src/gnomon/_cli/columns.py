"""Results as columns, ready to be written."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon._cli.commands import Refusal
from gnomon._cli.stored import StoredModel
from gnomon.selection import readings
from gnomon.selection.labels import target_kind
from gnomon.selection.target_variables import target_variables
from gnomon.tables import Table


def row_column(table: Table) -> dict[str, Any]:
    """The ids as given, or row numbers from 1."""
    if table.ids is not None:
        return {str(table.id_name): table.ids}
    return {"row": np.arange(1, table.X.shape[0] + 1)}


def projection_columns(estimator: Any, X: Any) -> dict[str, np.ndarray]:
    """z1, z2, ... given the features alone, then the posterior standard deviation of each, if there is a posterior."""
    Z, cov = readings.project(estimator, X)
    columns = {f"z{j + 1}": Z[:, j] for j in range(Z.shape[1])}
    if cov is None:
        return columns
    std = np.sqrt(np.diagonal(cov, axis1=-2, axis2=-1))
    std = np.broadcast_to(std, Z.shape)
    return columns | {f"z{j + 1}_std": std[:, j] for j in range(Z.shape[1])}


def prediction_columns(stored: StoredModel, X: Any, *, probabilities: bool = True) -> dict[str, Any]:
    """Predicted classes with probabilities, or predicted numbers, with standard deviations where the model has them."""
    estimator = stored.estimator
    variables = [estimator] if target_kind(estimator) == "classes" else target_variables(estimator, stored.classes)
    if variables:
        return _columns_of_each(stored, variables, X, probabilities)
    mean, std = (
        None if values is None else stored.scaling.restore_targets(np.reshape(values, (X.shape[0], -1)))
        for values in readings.predict(estimator, X)
    )
    names = ["predicted"] if len(stored.targets) == 1 else [f"predicted_{name}" for name in stored.targets]
    columns = {name: mean[:, j] for j, name in enumerate(names)}
    return columns if std is None else columns | {f"{name}_std": std[:, j] for j, name in enumerate(names)}


def _columns_of_each(stored: StoredModel, variables: list, X: Any, probabilities: bool) -> dict[str, Any]:
    columns = {}
    for name, variable in zip(stored.targets, variables, strict=True):
        which = f"_{name}" if len(stored.targets) > 1 else ""
        if target_kind(variable) == "real":
            columns[f"predicted{which}"], columns[f"predicted{which}_std"] = readings.predict(variable, X)
            continue
        columns[f"predicted{which}"] = variable.predict(X)
        if probabilities:
            shares = variable.predict_proba(X)
            columns |= {f"p{which}_{label}": shares[:, j] for j, label in enumerate(variable.classes_)}
    return columns


def imputed_columns(stored: StoredModel, table: Table, X: Any) -> dict[str, np.ndarray]:
    """The features of a table, empty cells filled; X are its rows as the model takes them."""
    if hasattr(table.X, "tocsr"):
        raise Refusal(f"{table.path}: a sparse table has no empty cells to fill; what it does not store is zero.")
    model = stored.filler or stored.estimator
    filled = stored.scaling.restore(model.impute(stored.scaling.apply(table))) if table.n_missing else table.X
    values = np.where(np.isnan(table.X), filled, table.X)
    return {name: values[:, j] for j, name in enumerate(table.feature_names)}


def joined(*parts: dict[str, Any]) -> dict[str, Any]:
    """One set of columns; a name that an earlier part has already taken is given an underscore."""
    columns: dict[str, Any] = {}
    for part in parts:
        for name, values in part.items():
            while name in columns:
                name += "_"
            columns[name] = values
    return columns
