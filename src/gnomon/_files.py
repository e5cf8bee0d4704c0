"""The one place that writes files, and its rule.

What is new is written beside what is old, under a hidden name with the number of the process, and flushed to the disk,
files and folder. Then it takes its name, in one step that a name taken meanwhile refuses (renameat2 NOREPLACE; where
that is missing a link, and for folders POSIX's rename, which replaces an empty one at most); the result stays as
NAME-2, which is said. A folder is replaced by exchange; where that is missing the old one is NAME-2 until the new one
stands. Deleted is only what gnomon wrote and nobody changed: metrics.json holds the sha256 of every file. An error or a
signal leaves nothing hidden; what a kill leaves is deleted by the next command that writes there, once it is an hour
old and its process is gone. A link to a file is followed; pipes and devices are written to once the result is whole.
"""

import ctypes
import errno
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

RECORD = "metrics.json"
NOREPLACE, EXCHANGE = 1, 2
HERE = -100  # AT_FDCWD: names are taken from the working folder
LEFTOVER = re.compile(r"\.gnomon\.(\d+)\.[0-9a-f]{8}")
STALE = 3600  # seconds

_unfinished: set[Path] = set()
_growing: set[str] = set()


class Taken(OSError):
    """A name was taken while the result was made."""


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether a name stands for standard output ("-"), a pipe or a device."""
    try:
        return str(path) == "-" or stat.S_IFMT(os.stat(path).st_mode) not in (stat.S_IFREG, stat.S_IFDIR)
    except OSError:
        return False


@contextmanager
def new_file(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[BinaryIO]:
    """A file to write to, which takes the name `path` when the block ends well, else it goes."""
    if is_stream(path):
        buffer = io.BytesIO()
        yield buffer
        with nullcontext(sys.stdout.buffer) if str(path) == "-" else open(path, "wb") as stream:
            stream.write(buffer.getbuffer())
            stream.flush()
        return
    target = Path(os.path.realpath(path))
    with _beside(target) as temporary:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if replace:
            with suppress(FileNotFoundError):
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
        else:
            _take_or_set_aside(temporary, target)


@contextmanager
def new_folder(path: str | os.PathLike[str], *, replace: bool = False) -> Iterator[Path]:
    """A folder to fill, which takes the name `path`, of an unchanged folder of results if `replace`, or goes."""
    target = Path(path).absolute()
    with _beside(target) as temporary:
        temporary.mkdir()
        yield temporary
        if not replace or target.is_symlink() or not target.is_dir() or changed(target):
            _take_or_set_aside(temporary, target)
        elif not _rename(temporary, target, EXCHANGE):
            old = _set_aside(target, target)
            try:
                _take_or_set_aside(temporary, target)
            finally:
                if not target.exists():
                    _take(old, target)
                elif changed(old) is None:
                    _take(old, temporary)  # it goes under that name, for nothing half deleted has a final one
        elif changed(temporary):  # the old one, which nobody reaches by its name now
            _rename(temporary, target, EXCHANGE)
            _take_or_set_aside(temporary, target)


def growing(path: str | os.PathLike[str]) -> BinaryIO:
    """A file that is read and appended to, made where there is none; `delete` it in the end."""
    file = open(path, "r+b" if os.path.exists(path) else "x+b")  # noqa: SIM115  whoever asked closes it
    _growing.add(os.fspath(path))
    return file


def left_growing() -> list[str]:
    """The growing files that are not deleted yet, which whatever comes next may go on with."""
    return sorted(_growing)


def delete(path: str | os.PathLike[str]) -> None:
    """Delete a growing file, if it is still there."""
    _growing.discard(os.fspath(path))
    Path(path).unlink(missing_ok=True)


def sealed(record: dict[str, Any], folder: Path) -> str:
    """A record as text, with the sha256 of every file of its folder and of its own text without that."""
    record = record | {"sha256": {name: _digest(folder / name) for name in sorted(os.listdir(folder))}}
    record["sha256"][RECORD] = hashlib.sha256(_text(record)).hexdigest()
    return _text(record).decode()


def changed(folder: Path) -> str | None:
    """The first file of a folder that gnomon did not write there, or that was changed since."""
    sums: dict[str, str] = {}
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        record = json.loads((folder / RECORD).read_bytes())
        own = record["sha256"].pop(RECORD)
        if own == hashlib.sha256(_text(record)).hexdigest():
            sums = record["sha256"] | {RECORD: _digest(folder / RECORD)}
    return next((name for name in sorted(os.listdir(folder)) if sums.get(name) != _digest(folder / name)), None)


def sweep(folder: Path) -> list[str]:
    """Delete what killed processes left in a folder; returns the names."""
    found = []
    for path in folder.glob(".gnomon.*"):
        process = LEFTOVER.fullmatch(path.name)
        with suppress(OSError):
            if process and time.time() - path.lstat().st_mtime > STALE and not _runs(int(process[1])):
                _discard(path)
                found += [] if path.exists() else [path.name]
    return found


def abandon() -> None:
    """Delete what this process has begun to write and not finished; what its parent writes stays."""
    for path in [path for path in _unfinished if path.name.startswith(f".gnomon.{os.getpid()}.")]:
        _discard(path)


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A hidden name in the folder of `target`, under which nothing is left."""
    temporary = target.with_name(f".gnomon.{os.getpid()}.{secrets.token_hex(4)}")
    _unfinished.add(temporary)
    try:
        yield temporary
        if os.name == "posix":
            handle = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
    finally:
        _discard(temporary)
        _unfinished.discard(temporary)


def _discard(path: Path) -> None:
    """Delete a file or a folder under a hidden name; an old folder that someone has changed stays."""
    with suppress(OSError):
        if not path.is_dir():
            path.unlink()
        elif not (path / RECORD).exists() or changed(path) is None:
            for file in path.iterdir():
                file.unlink()
            path.rmdir()


def _take_or_set_aside(new: Path, target: Path) -> None:
    try:
        _take(new, target)
    except FileExistsError:
        aside = _set_aside(new, target)
        raise Taken(f"{target.name} was made or changed meanwhile, and kept; the result is in {aside}") from None


def _set_aside(path: Path, target: Path) -> Path:
    """Rename to the first free name of those that follow `target`."""
    for i in count(2):
        name = target.with_name(f"{target.stem}-{i}{target.suffix}")
        with suppress(FileExistsError):
            _take(path, name)
            break
    return name


def _take(path: Path, target: Path) -> None:
    """Rename to a name that must be free."""
    try:
        if not _rename(path, target, NOREPLACE):
            (os.rename if path.is_dir() else os.link)(path, target)
    except OSError:
        if os.path.lexists(target):
            raise FileExistsError(target) from None
        raise


def _rename(path: Path, target: Path, how: int) -> bool:
    """Rename as renameat2 does; False where the system or the disk cannot."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if call is None:
        return False
    code = ctypes.get_errno() if call(HERE, os.fsencode(path), HERE, os.fsencode(target), how) else 0
    if code in (0, errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return code == 0
    raise OSError(code, os.strerror(code), str(target))


def _runs(process: int) -> bool:
    if os.name == "posix":
        try:
            os.kill(process, 0)
        except OSError as error:
            return error.errno != errno.ESRCH
    return os.name == "posix"


def _digest(path: Path) -> str:
    """The sha256 of a file; none of what is no file."""
    if not path.is_file():
        return "none"
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _text(record: dict[str, Any]) -> bytes:
    return (json.dumps(record, indent=2, allow_nan=False) + "\n").encode()
