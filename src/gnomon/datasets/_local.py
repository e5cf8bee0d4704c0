"""Finding, checking and reading the data files that the user holds in the folder named by GNOMON_DATA."""

from __future__ import annotations

import hashlib
import inspect
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from gnomon.datasets._generated import array_digest
from gnomon.datasets._sources import SourceFile

Loader = TypeVar("Loader", bound=Callable[..., Any])
DATA_HOME = """data_home : path or None, default=None
    Folder of the file; None means the one that the environment variable GNOMON_DATA names."""
DOWNLOAD = """download_if_missing : bool, default=True
    Let scikit-learn download its version when the local file and its own copy are missing."""
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


def documented(loader: Loader, parameters: list[str], **words: Any) -> Loader:
    """Complete a docstring, which may end with parameters of its own, by what every loader says."""
    own = inspect.cleandoc(loader.__doc__ or "")
    if "\nParameters\n" not in own:
        own += "\n\nParameters\n----------"
    loader.__doc__ = TOLD.format(own=own, parameters="\n".join(parameters), name=loader.__name__, **words)
    return loader


def fetcher(*shape: int) -> Callable[[Loader], Loader]:
    """Document a loader of a file whose data have this shape."""

    def complete(loader: Loader) -> Loader:
        last = [DOWNLOAD] if "download_if_missing" in inspect.signature(loader).parameters else []
        return documented(loader, [DATA_HOME, *last], digest="of the file", skip="  # doctest: +SKIP", shape=shape)

    return complete


def read_file(source: SourceFile, data_home: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """The arrays of one known file, once its digest agrees."""
    content = find_file(source, data_home).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != source.sha256:
        raise ValueError(
            f"{source.name} has sha256 {digest}, wanted {source.sha256}: the file is damaged or another "
            f"version. Make it again from its source, {source.provenance}."
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def find_file(source: SourceFile, data_home: str | os.PathLike[str] | None) -> Path:
    """Path of a known file, or FileNotFoundError that says where it was looked for and what to do."""
    folder = data_home if data_home is not None else os.environ.get("GNOMON_DATA")
    todo = f"It is no part of this library; its source is {source.provenance}."
    if not folder:
        raise FileNotFoundError(
            f"{source.name} was not looked for, because GNOMON_DATA is not set: set it to the folder that "
            f"holds the file, or pass data_home. {todo}"
        )
    path = Path(folder) / source.name
    if not path.is_file():
        raise FileNotFoundError(f"{source.name} is not in {folder} (GNOMON_DATA or data_home). {todo}")
    return path


def read_csr(arrays: dict[str, Any], dtype: Any = np.float64) -> sparse.csr_matrix:
    """The matrix stored as data, indices, indptr and shape; indices become 32-bit, as SciPy wants them."""
    parts = (
        arrays["data"].astype(dtype),
        arrays["indices"].astype(np.int32),
        arrays["indptr"].astype(np.int32),
    )
    return sparse.csr_matrix(parts, shape=tuple(int(size) for size in arrays["shape"]))


def bunch_of(
    source: SourceFile,
    data: Any,
    target: Any,
    *,
    feature_names: list[str] | None = None,
    target_names: list[str] | None = None,
    **more: Any,
) -> Any:
    """A Bunch of one file; names that the file lacks are numbers."""
    n_targets = target.shape[1] if target.ndim == 2 else int(target.max()) + 1
    return Bunch(
        data=data,
        target=target,
        feature_names=feature_names or [f"x{j}" for j in range(data.shape[1])],
        target_names=target_names or [str(j) for j in range(n_targets)],
        DESCR=source.description,
        provenance=source.provenance,
        sha256=source.sha256,
        **more,
    )


def second_place(fetcher: Any, missing: FileNotFoundError, download_if_missing: bool, **options: Any) -> Any:
    """What scikit-learn's fetcher gives; when it fails too, the message on the local file stays in front."""
    try:
        return fetcher(download_if_missing=download_if_missing, **options)
    except OSError as failure:
        reason = " ".join(str(failure).split())
        raise FileNotFoundError(f"{missing} sklearn.datasets.{fetcher.__name__} failed too: {reason}") from failure


def bunch_of_fetched(fetched: Any, origin: str, target_names: list[str] | None) -> Any:
    """A Bunch of what one of scikit-learn's fetchers gave."""
    target = fetched.target.astype(np.int64)
    stand_in = SourceFile("", array_digest(fetched.data, target), origin, fetched.DESCR)
    return bunch_of(stand_in, fetched.data, target, target_names=target_names)
