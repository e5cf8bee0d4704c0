"""Single cells: fit a model to an AnnData and write what it says into it, by the conventions of scanpy."""

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

import gnomon
from gnomon.describe import Description, Prediction, Target, describe
from gnomon.tables import as_rows, close_names, stands_for_nothing
from gnomon.targets.forms import objects

__all__ = ["guide"]

BASIS, DEVIATIONS = "X_gnomon", "X_gnomon_std"  # in obsm
SCORES = ("probability", "typicality", "t2_of_limit", "spe_of_limit")  # columns of obs, each behind "gnomon_"
INSTALL = "pip install 'gnomon[anndata]'"


def guide(adata, target, n_components=2, *, model=None, layer=None, unlabeled="auto", groups=None, copy=False):
    """Project the cells of an AnnData, guided by the labels that some of them have, and predict all labels.

    Parameters
    ----------
    adata : anndata.AnnData
        Cells by genes; X or the layer may be sparse. An X that is backed by a file is read into memory, and what is set
        stands in memory until you write it.
    target : str
        Column of `obs` with classes or numbers. Empty cells (None, NaN) have no label.
    n_components : int, default=2
        Size of the projection of the default model; a `model` has its own.
    model : estimator or pipeline, default=None
        What is fitted, as a copy; `gnomon.GuidedProjection` by default.
    layer : str, default=None
        Layer to use in place of X.
    unlabeled : "auto", label, list of labels or None, default="auto"
        Categories that mean that a cell has no label, such as "Unknown". With "auto" such words are refused until
        this says what they mean; None takes every category for a class.
    groups : str, default=None
        Column of `obs` that says which donor or sample each cell is of, for a model whose `fit` takes groups: cells of
        one donor and class count as one label.
    copy : bool, default=False
        Whether to leave `adata` as it is and return a copy with the results.

    Returns
    -------
    AnnData or None
        The copy if `copy`, else None. Set are

        - ``obsm["X_gnomon"]``: the projection, and ``obsm["X_gnomon_std"]`` its standard deviations,
        - ``obs["gnomon_<target>"]``: the predicted classes, as categories, or numbers, with
          ``obs["gnomon_<target>_std"]``,
        - ``obs["gnomon_probability"]``: the probability of the class that is predicted,
        - ``obs["gnomon_typicality"]``: how typical a cell is of all; below 0.01 it is unlike them,
        - ``uns["gnomon"]``: the target, its classes, the model, its parameters and the version of this library,

        where the model has such a thing.

    Raises
    ------
    ImportError
        When anndata is not installed.
    ValueError
        When `obs` has no such column, there is no such layer, or the model cannot be fitted to it, or takes no groups.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> from gnomon.anndata import guide
    >>> from gnomon.datasets import make_text
    >>> counts = make_text(200, 300, 3)
    >>> adata = anndata.AnnData(counts.data)
    >>> adata.obs["cell_type"] = np.where(np.arange(200) % 10, "Unknown", np.array(["B", "NK", "T"])[counts.target])
    >>> guide(adata, "cell_type", unlabeled="Unknown")
    >>> adata.obsm["X_gnomon"].shape
    (200, 2)
    >>> adata.obs["gnomon_cell_type"].cat.categories.tolist()
    ['B', 'NK', 'T']
    """
    _check_kind(adata)
    X = _matrix(adata, layer)
    y = _labels(adata.obs, target, unlabeled)
    if model is None:
        mark = None if unlabeled is None else "auto"
        model = gnomon.GuidedProjection(n_components, unlabeled=mark)
    said = describe(clone(model).fit(X, y, **_told_groups(adata.obs, groups, model)))
    result = adata if not copy else adata.to_memory() if adata.isbacked else adata.copy()
    annotate(result, said, X, [target])
    if layer is not None:
        result.uns["gnomon"]["layer"] = layer
    return result if copy else None


def annotate(data: Any, said: Description, X: Any, names: Sequence[str], *, predictions: bool = True) -> None:
    """Write what a fitted model says of rows into an AnnData of these rows, in place of what an earlier one said.

    `names` are the columns of obs that its targets came from; without `predictions` they are not predicted.
    """
    odd = [name for name in names if name in SCORES]
    if odd:
        raise ValueError(
            f"a target called {odd[0]!r} would be told as obs['gnomon_{odd[0]}'], which is taken; rename it."
        )
    Z, cov = said.project(X)
    found = said.predict(X) if predictions and said.predict is not None else ()
    columns = _told_columns(said.targets, found, names)
    if said.typicality is not None:
        columns["gnomon_typicality"] = np.asarray(said.typicality(X))
    stale = [name for name in data.obs.columns if str(name).startswith(tuple(f"gnomon_{score}" for score in SCORES))]
    for name in stale:
        del data.obs[name]
    for name, values in columns.items():
        data.obs[name] = values
    data.obsm.pop(DEVIATIONS, None)
    data.obsm[BASIS] = np.asarray(Z)
    if cov is not None:
        std = np.sqrt(np.maximum(np.diagonal(cov, axis1=-2, axis2=-1), 0.0))  # rounding may leave -1e-20 for 0
        data.obsm[DEVIATIONS] = np.array(np.broadcast_to(std, Z.shape))
    data.uns["gnomon"] = _record(said, names)


def import_anndata() -> Any:
    """The package anndata."""
    try:
        return importlib.import_module("anndata")
    except ImportError:
        raise ImportError(f"gnomon.anndata needs anndata, which is not installed: {INSTALL}.") from None


def _check_kind(adata: Any) -> None:
    if not isinstance(adata, import_anndata().AnnData):
        raise TypeError(f"adata is a {type(adata).__name__}; an anndata.AnnData is wanted.")


def _matrix(adata: Any, layer: str | None) -> Any:
    if layer is not None and layer not in adata.layers:
        raise ValueError(f"adata has no layer {layer!r}. {close_names(layer, list(adata.layers), 'layers')}")
    X, what = (adata.X, "X") if layer is None else (adata.layers[layer], f"layer {layer!r}")
    if adata.isbacked and X is not None:
        X = X.to_memory() if hasattr(X, "to_memory") else X[()]
    if X is None:
        raise ValueError(f"adata has no X; name a layer. {close_names('X', list(adata.layers), 'layers')}")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{what} of adata has dtype {X.dtype}; real numbers are wanted.")
    X = as_rows(X)
    return X if X.dtype.kind == "f" else X.astype(np.float64)


def _labels(obs: Any, target: str, unlabeled: Any) -> np.ndarray:
    """The cells of the target, None where there is no label."""
    if target not in obs.columns:
        raise ValueError(f"adata.obs has no column {target!r}. {close_names(target, list(obs.columns), 'columns')}")
    marks = [] if unlabeled is None else unlabeled if isinstance(unlabeled, list | tuple | set) else [unlabeled]
    empty = obs[target].isna().to_numpy()
    cells = [None if gap else cell for cell, gap in zip(obs[target].astype(object), empty, strict=True)]
    cells = [None if cell in marks else cell for cell in cells]
    asked = [cell for cell in cells if isinstance(cell, str) and (cell == "" or stands_for_nothing(cell))]
    if asked and unlabeled is not None:
        raise ValueError(
            f"adata.obs[{target!r}] is {asked[0]!r} in {asked.count(asked[0])} cells; pass unlabeled={asked[0]!r} if "
            "they have no label, or unlabeled=None if it is a class."
        )
    if all(cell is None for cell in cells):
        raise ValueError(f"no cell has a label in adata.obs[{target!r}]; label some of them.")
    return objects(cells)


def _told_groups(obs: Any, groups: str | None, model: Any) -> dict[str, Any]:
    """What `fit` is told of the donors of cells."""
    if groups is None:
        return {}
    if groups not in obs.columns:
        raise ValueError(f"adata.obs has no column {groups!r}. {close_names(groups, list(obs.columns), 'columns')}")
    step, last = model.steps[-1] if isinstance(model, Pipeline) else ("", model)
    if not has_fit_parameter(last, "groups"):
        raise ValueError(
            f"groups={groups!r}: {type(last).__name__} takes each cell for a sample of its own; leave groups out, or "
            "take gnomon.GuidedProjection."
        )
    return {f"{step}__groups" if step else "groups": obs[groups].tolist()}


def _told_columns(targets: Sequence[Target], found: Sequence[Prediction], names: Sequence[str]) -> dict[str, Any]:
    """Predictions of every target, and how sure they are."""
    columns: dict[str, Any] = {}
    for target, told, name in zip(targets, found, names):
        which = f"_{name}" if len(names) > 1 else ""
        if target.classes is not None:
            pandas = importlib.import_module("pandas")
            columns[f"gnomon_{name}"] = pandas.Categorical(told.values, categories=target.classes.tolist())
        else:
            columns[f"gnomon_{name}"] = np.asarray(told.values)
            if told.std is not None:
                columns[f"gnomon_{name}_std"] = np.asarray(told.std)
        if told.proba is not None:
            columns[f"gnomon_probability{which}"] = told.proba.max(axis=1)
    return columns


def _record(said: Description, names: Sequence[str]) -> dict[str, Any]:
    """What a .h5ad file can hold of the model: text, numbers, arrays of them."""
    simple = {name: value for name, value in said.parameters.items() if value is not None}
    params = {name: v if isinstance(v, bool | int | float | str) else repr(v) for name, v in simple.items()}
    record: dict[str, Any] = {"model": said.model, "params": params, "version": gnomon.__version__}
    classes = {name: target.classes for name, target in zip(names, said.targets) if target.classes is not None}
    if len(said.targets) > 1:
        return record | {"target": np.array(names, dtype=object), "classes": classes}
    for name, _ in zip(names, said.targets):
        record["target"] = name
    for found in classes.values():
        record["classes"] = found
    return record
