"""Result folders and files: complete or not at all, and nothing of the user's is overwritten unasked."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gnomon._cli.commands import Refusal, one_line
from gnomon.export.model_file import atomic_path
from gnomon.tables import check_output

RESULTS = ("model.gnomon", "projection.csv", "projection.parquet", "metrics.json", "report.html", "table.csv")


def refuse_existing(path: str, force: bool) -> None:
    """Refuse an output name that is taken, unless --force was given, or that has no folder to be in."""
    out = Path(path)
    if not out.absolute().parent.is_dir():
        raise Refusal(f"{path}: the folder {out.parent} does not exist; make it first.")
    if os.path.lexists(out) and not force:
        raise Refusal(f"{path} exists and was kept; choose another --out, or add --force to replace it.")


def check_folder(path: str, force: bool) -> None:
    """Check the name of a result folder; --force replaces only a folder of such results."""
    refuse_existing(path, force)
    out = Path(path)
    if not os.path.lexists(out):
        return
    if out.is_symlink() or not out.is_dir():
        raise Refusal(f"{path} is not a folder, and --force replaces only folders that gnomon wrote.")
    foreign = sorted(entry.name for entry in out.iterdir() if entry.name not in RESULTS)
    if foreign:
        raise Refusal(f"{path} holds {foreign[0]}, which gnomon did not write; --force does not replace it.")


def check_file(path: str, force: bool, table: str) -> None:
    """Check the name of a result table."""
    check_output(path)
    _check_name(path, force, table)


def check_page(path: str, force: bool, table: str) -> None:
    """Check the name of a report."""
    if Path(path).suffix.lower() != ".html":
        raise Refusal(f"{path}: a report is a page of HTML; choose a name that ends in .html.")
    _check_name(path, force, table)


def _check_name(path: str, force: bool, table: str) -> None:
    out = Path(path)
    if out.exists() and out.samefile(table):
        raise Refusal(f"{path} is the input; choose another --out.")
    refuse_existing(path, force)
    if out.is_dir():
        raise Refusal(f"{path} is a folder; --out wants the name of a file.")


@contextmanager
def new_folder(path: str) -> Iterator[Path]:
    """A folder beside `path` to fill; it takes the name `path` when the block ends well, else it goes."""
    out = Path(path)
    temporary = out.with_name(f".{out.name}.{secrets.token_hex(4)}")
    old = out.with_name(f"{temporary.name}.old")
    try:
        temporary.mkdir()
        yield temporary
        _replace(temporary, out, old)
    except OSError as error:
        raise Refusal(f"{path} cannot be written ({one_line(error)}).") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _replace(temporary: Path, out: Path, old: Path) -> None:
    if not out.is_dir():
        temporary.rename(out)
        return
    out.rename(old)
    try:
        temporary.rename(out)
    except OSError:
        old.rename(out)
        raise


@contextmanager
def new_file(path: str) -> Iterator[Path]:
    """A file beside `path` to fill; it takes the name `path` when the block ends well, else it goes."""
    try:
        with atomic_path(path) as temporary:
            yield temporary
    except OSError as error:
        raise Refusal(f"{path} cannot be written ({one_line(error)}).") from error
