"""Results as columns, ready to be written."""

from dataclasses import replace
from typing import Any

import numpy as np

from gnomon._cli.commands import InputError
from gnomon._cli.stored import StoredModel
from gnomon.describe import Description
from gnomon.rows.kind import is_sparse
from gnomon.tables import Table, answer_of, count_missing, names_of_answers
from gnomon.targets.forms import objects


def row_column(table: Table) -> dict[str, Any]:
    """The ids as given, or row numbers from 1."""
    if table.ids is not None:
        return {str(table.id_name): table.ids}
    return {"row": table.first + np.arange(1, table.X.shape[0] + 1)}


def projection_columns(stored: StoredModel, table: Table) -> dict[str, np.ndarray]:
    """z1, z2, ... given the features alone, then the posterior standard deviation of each, if there is a posterior."""
    Z, cov = stored.said.project(table.X)
    columns = {f"z{j + 1}": Z[:, j] for j in range(Z.shape[1])}
    if cov is None:
        return columns
    std = np.sqrt(np.maximum(np.diagonal(cov, axis1=-2, axis2=-1), 0.0))  # rounding may leave -1e-20 for 0
    std = np.broadcast_to(std, Z.shape)
    return columns | {f"z{j + 1}_std": std[:, j] for j in range(Z.shape[1])}


def check_predicts(said: Description) -> None:
    """Refuse a model that predicts nothing."""
    if not said.targets:
        raise InputError(f"{said.model} was fitted without targets and predicts nothing; use gnomon transform.")
    if said.predict is None:
        raise InputError(f"{said.model} does not predict; use gnomon transform, and a classifier on its result.")


def prediction_columns(stored: StoredModel, table: Table, *, probabilities: bool = True) -> dict[str, Any]:
    """Predicted classes with probabilities, or predicted numbers, with standard deviations where the model has them."""
    said = stored.said
    check_predicts(said)
    columns: dict[str, Any] = {}
    deviations: dict[str, Any] = {}
    for target, found, name in zip(said.targets, said.predict(table.X), stored.targets, strict=True):
        which = f"_{name}" if len(stored.targets) > 1 else ""
        columns[f"predicted{which}"] = found.values
        if target.kind == "real" and found.std is not None:
            deviations[f"predicted{which}_std"] = found.std
        elif target.kind != "real" and probabilities:
            columns |= {f"p{which}_{label}": found.proba[:, c] for c, label in enumerate(target.classes.tolist())}
    return columns | deviations


def typicality_columns(stored: StoredModel, table: Table) -> dict[str, np.ndarray]:
    """How typical rows are of those of the fit, where the model can tell."""
    found = stored.said.typicality
    return {} if found is None else {"typicality": found(table.X)}


def monitor_columns(stored: StoredModel, table: Table) -> dict[str, np.ndarray]:
    """Hotelling's T2 and SPE of rows, each in parts of its 95 % limit, where the model has them."""
    said = stored.watching
    if said.monitor is None:
        return {}
    limits = (limit if limit > 0.0 else 1.0 for limit in said.limits(0.05))
    found = zip(("t2_of_limit", "spe_of_limit"), said.monitor(table.X), limits, strict=True)
    return {name: np.asarray(values / limit) for name, values, limit in found}


def unlikeness_columns(stored: StoredModel, table: Table) -> dict[str, np.ndarray]:
    """How unlike those of the fit rows are, in one way: how typical, or else T2 and SPE."""
    return typicality_columns(stored, table) or monitor_columns(stored, table)


def imputed_columns(stored: StoredModel, table: Table) -> dict[str, Any]:
    """A table with its empty cells of features filled, and all its other columns as they came.

    An empty answer becomes the one that is expected most.
    """
    if is_sparse(table.X):
        raise InputError(f"{table.path}: a sparse table has no empty cells to fill; what it does not store is zero.")
    values = np.where(np.isnan(table.X), stored.filled(table), table.X) if table.n_missing else table.X
    found = {name: values[:, j] for j, name in enumerate(table.feature_names)}
    for name, answers in stored.answers.items():
        shares = np.column_stack([found.pop(one) for one in names_of_answers(name, answers)])
        likely = objects([answers[j] for j in shares.argmax(axis=1)])
        cells = table.answers[name]
        found[name] = np.where([answer_of(cell) is None for cell in cells], likely, cells)
    found |= table.rest | ({} if table.ids is None else row_column(table))
    return {name: found[name] for name in dict.fromkeys([*table.order, *found]) if name in found}


def count_empty(stored: StoredModel, table: Table) -> int:
    """How many cells of features are empty, those of answers as the file has them."""
    n_numbers = len(table.feature_names) - sum(map(len, stored.answers.values()))
    empty = [answer_of(cell) is None for cells in table.answers.values() for cell in cells]
    return count_missing(table.X[:, :n_numbers]) + sum(empty)


def suggested_columns(stored: StoredModel, table: Table, labeled: np.ndarray, n: int) -> dict[str, Any]:
    """The rows without a label that are best labeled next, and what the model says of them."""
    said = stored.said
    if said.suggest is None:
        raise InputError(f"{said.model} suggests no rows to label; use a model that gnomon fit writes without --model.")
    unlabeled = np.flatnonzero(~labeled)
    if not len(unlabeled):
        raise InputError(f"{table.path}: every row has a label; there is none to suggest.")
    rows = said.suggest(n, table.X, unlabeled)
    some = replace(table, X=table.X[rows], ids=None)
    ids = {name: values[rows] for name, values in row_column(table).items()}
    return joined(ids, prediction_columns(stored, some))


def joined(*parts: dict[str, Any]) -> dict[str, Any]:
    """One set of columns; a name that an earlier part has already taken is given an underscore."""
    columns: dict[str, Any] = {}
    for part in parts:
        for name, values in part.items():
            while name in columns:
                name += "_"
            columns[name] = values
    return columns


OF_NEW_ROWS = {
    "projected": (projection_columns, typicality_columns, monitor_columns),
    "predicted": (prediction_columns, unlikeness_columns),
    "filled": (imputed_columns,),
}
