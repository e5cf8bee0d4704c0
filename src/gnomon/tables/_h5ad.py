"""AnnData files (.h5ad): X, a column of obs as target, the names of the rows; through the package anndata."""

import importlib
import io
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gnomon._files import new_file
from gnomon.rows.kind import is_sparse
from gnomon.tables._npz import chosen, of_numbers
from gnomon.tables._table import Table, TableError, Wanted, choose_features, close_names, listing, without_role
from gnomon.targets.forms import objects

H5AD = ".h5ad"
NO_ANNDATA = "needs anndata, which is not installed: pip install 'gnomon[anndata]'"
LOOK = """import sys, h5py
with h5py.File(sys.argv[1]) as file:
    file.visititems(lambda name, found: dict(found.attrs).clear())"""  # its structure and attributes, not the numbers
PATIENCE = 60.0  # seconds in which that is read; a structure that is damaged may lead round for ever
ROW = "obs_names"  # what the names of the rows are called, as AnnData calls them


def read_h5ad(path: str, wanted: Wanted) -> Table:
    """Read a .h5ad file: X or a layer has the features, columns of obs are targets or the id; others are unused."""
    data = open_h5ad(path)
    X, columns, beside = _matrix(path, data, wanted.layer), [str(name) for name in data.var_names], beside_of(data)
    if not all(X.shape):
        raise TableError(f"{path}: {wanted.layer or 'X'} is empty, with shape {X.shape}.")
    both = sorted(set(columns) & set(beside))
    beside = {name: cells for name, cells in beside.items() if name not in both}
    wanted = wanted.settled(list(beside))
    asked = [name for name in (*wanted.targets, *wanted.categorical, wanted.id) if name in both]
    if asked:
        raise TableError(f"{path}: {asked[0]!r} is a column of obs and of X as well; rename it in one of them.")
    unused = [name for name in beside if name not in (*wanted.targets, wanted.id, *wanted.drop, *wanted.categorical)]
    wanted = wanted._replace(ignore=[*wanted.ignore, *unused])
    features = choose_features(path, [*columns, *beside], wanted)
    roles = [(name, "--target") for name in wanted.targets] + [(name, "--categorical") for name in wanted.categorical]
    roles += [] if wanted.id is None else [(wanted.id, "--id")]
    for name, option in roles:
        if name not in beside:
            raise TableError(f"{path}: {name!r} is a column of X; {option} takes a column of obs.")
    X = chosen(path, X, columns, features)
    id_name = wanted.id or ROW
    targets = {name: objects(beside[name]) for name in wanted.targets}
    ids = objects(beside.get(id_name, _cells(data.obs_names)))
    answers = {name: objects(beside[name]) for name in wanted.categorical}
    rest = {name: objects(beside[name]) for name in without_role(list(beside), columns, wanted) if name != id_name}
    order = [*beside, *columns]
    return Table(path, X, features, targets, ids, id_name, answers=answers, rest=rest, order=order)


def is_h5ad(path: str | Path) -> bool:
    """Whether a name is that of an AnnData file."""
    return Path(path).suffix.lower() == H5AD


def open_h5ad(path: str) -> Any:
    """The AnnData of a file."""
    try:
        anndata = importlib.import_module("anndata")
    except ImportError:
        raise TableError(f"{path}: reading AnnData {NO_ANNDATA}.") from None
    _check_structure(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that are not unique, which is refused below, and of old files
            return anndata.read_h5ad(path)
    except (MemoryError, ImportError):
        raise
    except Exception as error:  # of HDF5, of anndata's readers of its parts
        reason = " ".join(str(error).split())
        raise TableError(f"{path} is not an AnnData file that can be read ({reason}).") from None


def _check_structure(path: str) -> None:
    """Refuse a file on which HDF5 ends its process, or never ends: another process, which may, reads its structure."""
    if not sys.executable:
        return
    try:
        command = [sys.executable, "-P", "-c", LOOK, path]
        code = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE).returncode
    except subprocess.TimeoutExpired:
        code = None
    if code not in (0, 1):  # of 1, an error that Python tells, anndata says more
        raise TableError(f"{path} is damaged: HDF5 cannot read how it is built. Take another copy of it.")


def write_h5ad(path: str | Path, data: Any, *, replace: bool = True) -> None:
    """Write an AnnData to a file, which appears complete or not at all."""
    whole = io.BytesIO()
    try:
        with importlib.import_module("h5py").File(whole, "w") as file:
            importlib.import_module("anndata.io").write_elem(file, "/", data)
    except (MemoryError, ImportError):
        raise
    except Exception as error:  # of HDF5, of anndata's writers of its parts
        reason = " ".join(str(error).split())
        raise TableError(f"{path} cannot be written as AnnData ({reason}).") from None
    with new_file(path, replace=replace) as file:
        file.write(whole.getbuffer())


def _matrix(path: str, data: Any, layer: str | None) -> Any:
    if layer is None or (layer == "X" and layer not in data.layers):
        X = data.X
    elif layer in data.layers:
        X = data.layers[layer]
    else:
        raise TableError(f"{path}: no layer {layer!r}. {close_names(layer, list(data.layers), 'layers')}")
    if X is None:
        layers = f"; name a layer with --layer: {listing(data.layers)}" if data.layers else ""
        raise TableError(f"{path} has no X{layers}.")
    return of_numbers(path, as_rows(X))


def as_rows(X: Any) -> Any:
    """A matrix of an AnnData as models take it: csr if it is sparse in any way, else an array."""
    return sparse.csr_matrix(X) if is_sparse(X) else np.asarray(X)


def beside_of(data: Any) -> dict[str, list[Any]]:
    """The columns of obs and the names of its rows, as cells."""
    return {ROW: _cells(data.obs_names)} | {str(name): _cells(data.obs[name]) for name in data.obs.columns}


def _cells(column: Any) -> list[Any]:
    """Cells of a column as a table has them, None where one is empty."""
    values = np.asarray(column.astype(object), dtype=object).tolist()
    return [None if value is None or value != value or value == "" else value for value in values]
