"""Names of results: nothing of the user's is overwritten unasked, and what cannot be written is said in one line."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from gnomon._cli.commands import InputError, one_line
from gnomon._files import Taken, changed, is_stream, sweep
from gnomon.tables import check_output, write_h5ad, write_parts, write_table

ONLY = {
    ".html": "a report is a page of HTML; choose a name that ends in .html.",
    ".onnx": "a graph is a file of ONNX; choose a name that ends in .onnx.",
}


def named(path: str, option: str = "--out") -> Path:
    """The path of a result, whose name is one that the disk takes."""
    if not path:
        raise InputError(f"{option} is empty; name the result.")
    with said_in_one_line(path), suppress(FileNotFoundError, NotADirectoryError):
        os.lstat(path)
    return Path(path)


def check_free(path: str, force: bool, option: str = "--out") -> None:
    """Refuse an output name that is taken, unless --force was given, or that has no folder to be in."""
    out = Path(path)
    if not out.absolute().parent.is_dir():
        raise InputError(f"{path}: the folder {out.parent} does not exist; make it first.")
    if os.path.lexists(out) and not force:
        raise InputError(f"{path} exists and was kept; choose another {option}, or add --force to replace it.")
    for name in sweep(out.absolute().parent):
        click.echo(f"gnomon: deleted {name}, which a run that was killed had left.", err=True)


def check_folder(path: str, force: bool, table: str | None = None) -> None:
    """Check the name of a result folder; --force replaces only a folder of such results, and not the input."""
    if path == "-":
        raise InputError("--out: the results are a folder, which standard output cannot be; name one.")
    out = named(path)
    check_free(path, force)
    if not os.path.lexists(out):
        return
    if out.is_symlink() or not out.is_dir():
        raise InputError(f"{path} is not a folder, and --force replaces only folders that gnomon wrote.")
    if table is not None and out.resolve() in Path(table).resolve().parents:
        raise InputError(f"{path} holds the input, {table}; choose another --out.")
    foreign = changed(out)
    if foreign:
        raise InputError(f"{path} holds {foreign}, which gnomon did not write, or not so; --force does not replace it.")


def check_file(
    path: str, force: bool, source: str, *, only: str | None = None, option: str = "--out", annotated: bool = False
) -> None:
    """Check the name of a result of the file `source`: a table, AnnData too if `annotated`, or what ends `only` so."""
    if path == "-" and sys.stdout is None:
        raise InputError("standard output is closed.")
    out, stream = named(path, option), is_stream(path)
    if only is not None and out.suffix.lower() != only and not stream:
        raise InputError(f"{path}: {ONLY[only]}")
    if only is None and (out.suffix or not stream):
        check_output(path, annotated=annotated)
    if stream:
        return
    if out.exists() and Path(source).exists() and out.samefile(source):
        raise InputError(f"{path} is the input; choose another {option}.")
    check_free(path, force, option)
    if out.is_dir():
        raise InputError(f"{path} is a folder; {option} wants the name of a file.")


def write(path: str, columns: Mapping[str, Any], force: bool, safe: bool) -> None:
    """Write a result table."""
    with said_in_one_line(path):
        write_table(path, columns, replace=force, safe=safe)


def write_in_parts(path: str, parts: Iterable[Mapping[str, Any]], force: bool, safe: bool) -> None:
    """Write a result table that comes in parts."""
    with said_in_one_line(path):
        write_parts(path, parts, replace=force, safe=safe)


def write_annotated(path: str, data: Any, force: bool) -> None:
    """Write an AnnData."""
    with said_in_one_line(path):
        write_h5ad(path, data, replace=force)


@contextmanager
def said_in_one_line(path: str) -> Iterator[None]:
    """Say in one line why `path` cannot be written."""
    try:
        yield
    except Taken as error:
        raise InputError(one_line(error)) from None
    except OSError as error:
        path = "standard output" if path == "-" else path
        raise InputError(f"{path} cannot be written ({one_line(error)}).") from error
