"""Getting a data set from its public source: download, conversion, and a check that its content is the known one.

Files of a source are addressed below `BASE`, archives of a commit below `ARCHIVES`. Both lie in a temporary folder
until the set is made, so the cache holds only whole sets.
"""

import hashlib
import importlib
import os
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from gnomon._files import new_file
from gnomon.datasets._convert import CONVERTERS
from gnomon.datasets._sources import SourceFile

BASE = "https://raw.githubusercontent.com/"
ARCHIVES = "https://codeload.github.com/"


def cache_folder() -> Path:
    """Where downloaded sets are kept: GNOMON_CACHE, or the folder of the user's system for such."""
    named = os.environ.get("GNOMON_CACHE")
    return Path(named) if named else Path(_needed("pooch", "the data set").os_cache("gnomon"))


def digest_of(arrays: dict[str, Any]) -> str:
    """Digest of arrays: their names, types, shapes and values."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        one = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {one.dtype.str} {one.shape}\n".encode())
        found.update(one.tobytes())
    return found.hexdigest()


def downloaded(name: str, source: SourceFile, way_out: str) -> Path:
    """The file of a set in the cache, which is made where it is not there yet."""
    path = cache_folder() / f"{name}.npz"
    if path.is_file():
        return path
    for package in source.needs:
        _needed(package, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        files = [_download(name, file, Path(folder) / str(i), way_out) for i, file in enumerate(source.files)]
        try:
            arrays = CONVERTERS[source.converter](files)
        except Exception as error:  # a page of errors in place of the file, or another version
            raise ValueError(f"{name}: what came from {source.files[0]} cannot be read ({error}). {way_out}") from error
    check(name, arrays, source, way_out)
    with new_file(path) as stream:
        np.savez_compressed(stream, **arrays)
    return path


def check(name: str, arrays: dict[str, Any], source: SourceFile, way_out: str) -> None:
    """Raise where arrays are not the known ones."""
    found = digest_of(arrays)
    if found != source.content:
        raise ValueError(f"{name}: the content has digest {found}, wanted {source.content}. {way_out}")


def _download(name: str, file: str, path: Path, way_out: str) -> Path:
    """A file of the source, or a folder, which is unpacked from the archive of its commit."""
    pooch, address, unpack = _needed("pooch", name), BASE + quote(file), None
    if file.endswith("/"):
        owner, repository, commit, folder = file.rstrip("/").split("/", 3)
        address = f"{ARCHIVES}{owner}/{repository}/tar.gz/{commit}"
        unpack = pooch.Untar(members=[f"{repository}-{commit}/{folder}"])
    try:
        pooch.retrieve(address, known_hash=None, fname=path.name, path=path.parent, processor=unpack)
    except Exception as error:  # of the network, in the words of whatever library met it
        reason = type(error).__name__
        raise FileNotFoundError(f"{name} could not be downloaded from {address} ({reason}). {way_out}") from error
    return Path(f"{path}.untar", *unpack.members) if unpack else path


def _needed(package: str, name: str) -> Any:
    try:
        found = importlib.import_module(package)
    except ImportError:
        raise FileNotFoundError(
            f"{name} cannot be downloaded without {package}, which is not installed: pip install 'gnomon[data]', or "
            "set GNOMON_DATA to a folder that holds its file."
        ) from None
    if package == "pooch":
        found.get_logger().setLevel("WARNING")
    return found
