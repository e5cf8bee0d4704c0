"""Fitted models as one file without pickle: a manifest in JSON and plain arrays, all checked on reading.

The file is a zip archive, uncompressed and with fixed dates, so the same model gives the same bytes.
`manifest.json` names the class, its parameters and its fitted attributes; arrays are members in NumPy's
.npy format. The manifest holds the sha256 of every array, and the comment of the archive the sha256 of all
bytes before it.
"""

import hashlib
import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import gnomon
from gnomon._files import new_file
from gnomon.export._codec import UnknownClass, decode, decode_model, encode, encode_model

__all__ = ["load_metadata", "load_model", "save_model"]

FORMAT = "gnomon-model"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
IN_FOLDER = "model.gnomon"  # in what `gnomon fit` writes
DIGEST_LENGTH = 64


def save_model(estimator: Any, path: Any, *, metadata: Any = None) -> Any:
    """Write a fitted model to one file, without pickle.

    The file appears complete or not at all: it is written under another name in the same folder and then
    renamed.

    Parameters
    ----------
    estimator : fitted model of this library
        Any of the classes in `gnomon.__all__`, or a `Pipeline` of them and of `Columns`, `GapFiller` and scikit-learn's
        scalers (`StandardScaler`, `MinMaxScaler`, `MaxAbsScaler`, `RobustScaler`, `PowerTransformer`,
        `QuantileTransformer`, `Normalizer`, `TfidfTransformer`).
    path : path
        File to write; ".gnomon" is the usual ending. An existing file is replaced.
    metadata : dict or None, default=None
        Numbers, text, lists, dicts, arrays and fitted models to keep beside the model, for :func:`load_metadata`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from gnomon import PPCA
    >>> from gnomon.datasets import load_iris
    >>> from gnomon.export import load_model, save_model
    >>> X = load_iris().data
    >>> model = PPCA(2).fit(X)
    >>> with TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "iris.gnomon")
    ...     loaded = load_model(Path(folder) / "iris.gnomon")
    >>> bool((loaded.transform(X) == model.transform(X)).all())
    True
    """
    arrays: list[np.ndarray] = []
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "gnomon_version": gnomon.__version__,
        **encode_model(estimator, arrays, "estimator"),
        "metadata": encode(metadata, arrays, "metadata"),
    }
    content = _sealed(manifest, arrays)
    with new_file(path) as file:
        file.write(content)


def load_model(path: Any) -> Any:
    """Read a model that :func:`save_model` wrote.

    Nothing in the file is executed, and only the classes of this library are made. A file that is damaged,
    was altered or is something else gives one ValueError that says so.

    Parameters
    ----------
    path : path
        The file, or the folder that ``gnomon fit`` wrote.

    Returns
    -------
    fitted model
        Its predictions are those of the saved one, bit for bit.

    Examples
    --------
    >>> from gnomon.export import load_model
    >>> model = load_model("iris.gnomon")  # doctest: +SKIP
    """
    manifest, arrays = _opened(path)
    try:
        return decode_model(manifest, arrays, path)
    except UnknownClass as error:
        raise ValueError(
            f"{path} holds a model of class {error.args[0]!r}, which gnomon {gnomon.__version__} does "
            f"not have; it was written by gnomon {manifest.get('gnomon_version')}."
        ) from None
    except TypeError as error:
        raise ValueError(
            f"{path} was written by gnomon {manifest.get('gnomon_version')} and does not fit gnomon "
            f"{gnomon.__version__}: {error}."
        ) from None


def load_metadata(path: Any) -> Any:
    """Read what was given to :func:`save_model` as `metadata`.

    Parameters
    ----------
    path : path
        The file, or the folder that ``gnomon fit`` wrote.

    Returns
    -------
    dict or None
        The metadata, with arrays as arrays.

    Examples
    --------
    >>> from gnomon.export import load_metadata
    >>> load_metadata("iris.gnomon")  # doctest: +SKIP
    """
    manifest, arrays = _opened(path)
    return decode(manifest["metadata"], arrays)


def _sealed(manifest: dict[str, Any], arrays: list[np.ndarray]) -> bytes:
    members = {}
    for i, array in enumerate(arrays):
        held = io.BytesIO()
        np.lib.format.write_array(held, array, allow_pickle=False)
        members[member_name(i)] = held.getvalue()
    manifest["sha256"] = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    text = json.dumps(manifest, indent=1, allow_nan=False)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {MANIFEST: text.encode(), **members}.items():
            archive.writestr(zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0)), content)
        archive.comment = b"0" * DIGEST_LENGTH
    content = buffer.getvalue()[:-DIGEST_LENGTH]
    return content + hashlib.sha256(content).hexdigest().encode()


def member_name(i: int) -> str:
    return f"arrays/{i:03}.npy"


def _opened(path: Any) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The manifest and the arrays of a file, once every digest agrees."""
    file = Path(path)
    content = (file / IN_FOLDER if file.is_dir() else file).read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        manifest = json.loads(members.pop(MANIFEST))
        is_model = manifest["format"] == FORMAT
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, RuntimeError, OSError, EOFError):
        is_model = False
    if not is_model:
        raise ValueError(f"{path} is not a gnomon model file, or it was cut short or damaged.")
    if manifest["format_version"] != FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {manifest['format_version']} and gnomon {gnomon.__version__} "
            f"reads version {FORMAT_VERSION}; it was written by gnomon {manifest.get('gnomon_version')}: use "
            "that version."
        )
    digest = hashlib.sha256(content[:-DIGEST_LENGTH]).hexdigest().encode()
    found = {name: hashlib.sha256(member).hexdigest() for name, member in members.items()}
    if content[-DIGEST_LENGTH:] != digest or found != manifest["sha256"]:
        raise ValueError(f"{path} was cut short or altered after it was written (its sha256 differs).")
    files = [io.BytesIO(members[member_name(i)]) for i in range(len(members))]
    return manifest, [np.lib.format.read_array(file, allow_pickle=False) for file in files]
