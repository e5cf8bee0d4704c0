"""Finding, checking and reading data files: in the folder named by GNOMON_DATA, in the cache, or from their source."""

import hashlib
import inspect
import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from gnomon.datasets._download import check, downloaded
from gnomon.datasets._sources import FILES

Loader = TypeVar("Loader", bound=Callable[..., Any])
DATA_HOME = """data_home : path or None, default=None
    Folder of the file; None means the one that the environment variable GNOMON_DATA names. Where that holds no such
    file, the set is downloaded from its source: once, to the folder that GNOMON_CACHE names, or the system's."""
TOLD = """{own}
{parameters}

Returns
-------
Bunch
    `data`, `target`, `feature_names`, `target_names`, `DESCR`, `provenance`, `sha256` ({digest}).

Examples
--------
>>> from gnomon.datasets import {name}
>>> {name}().data.shape{skip}
{shape}
"""


def documented(loader: Loader, parameters: str, **words: Any) -> Loader:
    """Complete a docstring, which may end with parameters of its own, by what every loader says."""
    own = inspect.cleandoc(loader.__doc__ or "")
    if "\nParameters\n" not in own:
        own += "\n\nParameters\n----------"
    loader.__doc__ = TOLD.format(own=own, parameters=parameters, name=loader.__name__, **words)
    return loader


def fetcher(*shape: int) -> Callable[[Loader], Loader]:
    """Document a loader of a file whose data have this shape."""
    return lambda loader: documented(loader, DATA_HOME, digest="of the file", skip="  # doctest: +SKIP", shape=shape)


def read_bunch(name: str, data_home: Any, fields: Any = None, **more: Any) -> Any:
    """A Bunch of one known file; `fields`, of its arrays, and `more` replace and add entries."""
    source, (path, fetched) = FILES[name], find_file(name, data_home)
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != source.sha256 and not fetched:
        raise ValueError(
            f"{name}.npz has sha256 {digest}, wanted {source.sha256}: the file is damaged or another "
            f"version. Make it again from its source, {source.provenance}."
        )
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            held = {name: arrays[name] for name in arrays.files}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read ({error}). Delete it, and it is downloaded again.") from error
    if fetched:
        check(name, held, source, f"Delete {path}, and it is downloaded again.")
    found = stored_fields(held) | (fields(held) if fields else {}) | more
    data, target = found["data"], found["target"]
    n_targets = target.shape[1] if target.ndim == 2 else int(target.max()) + 1
    names = {
        "feature_names": [f"x{j}" for j in range(data.shape[1])],
        "target_names": [str(j) for j in range(n_targets)],
    }
    text = f"{source.description} Source: {source.provenance}."
    return Bunch(**(names | found), DESCR=text, provenance=source.provenance, sha256=source.sha256)


def stored_fields(arrays: dict[str, Any]) -> dict[str, Any]:
    """The entries that a file holds under their usual names."""
    found = {name: [str(text) for text in arrays[name]] for name in ("feature_names", "target_names") if name in arrays}
    if "X" in arrays:
        integers = arrays["X"].dtype.kind in "iu"
        found["data"] = arrays["X"].astype(np.float64) if integers else arrays["X"]
    elif "indptr" in arrays:
        found["data"] = read_csr(arrays)
    found["target"] = arrays["y"].astype(np.int64) if "y" in arrays else arrays["Y"].astype(np.float64)
    return found


def find_file(name: str, data_home: str | os.PathLike[str] | None) -> tuple[Path, bool]:
    """Path of a known file, and whether it is one that was downloaded.

    Raises FileNotFoundError, which says where it was looked for and what to do.
    """
    folder, source = data_home if data_home is not None else os.environ.get("GNOMON_DATA"), FILES[name]
    if folder and (Path(folder) / f"{name}.npz").is_file():
        return Path(folder) / f"{name}.npz", False
    if data_home is None:
        return downloaded(name, source, f"Or set GNOMON_DATA to a folder that holds {name}.npz."), True
    raise FileNotFoundError(
        f"{name}.npz is not in {folder} (data_home). It is no part of this library; its source is {source.provenance}: "
        "without data_home it is downloaded."
    )


def read_csr(arrays: dict[str, Any], dtype: Any = np.float64) -> sparse.csr_matrix:
    """The matrix stored as data, indices, indptr and shape; indices become 32-bit, as SciPy wants them."""
    indices, indptr = (arrays[name].astype(np.int32) for name in ("indices", "indptr"))
    return sparse.csr_matrix((arrays["data"].astype(dtype), indices, indptr), shape=tuple(map(int, arrays["shape"])))
