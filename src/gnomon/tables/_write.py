"""Writing columns as CSV, TSV or Parquet."""

import csv
import importlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gnomon._files import is_stream, new_file
from gnomon.tables._parquet import INSTALL, has_pyarrow
from gnomon.tables._table import TableError, number

WRITABLE = (".csv", ".tsv", ".parquet")


def check_output(path: str | Path) -> None:
    """Refuse a file name whose kind cannot be written, before any work is done for it."""
    suffix = Path(path).suffix.lower()
    if suffix not in WRITABLE:
        raise TableError(
            f"{path}: {suffix or 'no extension'} is not a kind of table that can be written; use {', '.join(WRITABLE)}."
        )
    if suffix == ".parquet" and not has_pyarrow():
        raise TableError(f"{path}: writing Parquet {INSTALL}, or choose a .csv file.")


def write_table(path: str | Path, columns: Mapping[str, Any], *, replace: bool = True, safe: bool = False) -> None:
    """Write columns of one length to a .csv, .tsv or .parquet file; None and NaN become empty cells.

    The file appears complete or not at all; "-" is standard output, which gets CSV, as any pipe or device without an
    ending does. Without `replace` a file of that name is kept, and an OSError names the file that was written. `safe`
    sets an apostrophe before text that a spreadsheet would run: what begins with =, +, -, @, a tab or a line break, and
    is no number. Parquet needs none.
    """
    suffix = Path(path).suffix.lower()
    if suffix or not is_stream(path):
        check_output(path)
    with new_file(path, replace=replace) as file:
        if suffix == ".parquet":
            data = {name: _plain(values) for name, values in columns.items()}
            importlib.import_module("pyarrow.parquet").write_table(importlib.import_module("pyarrow").table(data), file)
            return
        cell = _safe if safe else _cell
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, delimiter="\t" if suffix == ".tsv" else ",", lineterminator="\n")
        writer.writerow(map(cell, columns))
        writer.writerows(zip(*(map(cell, values) for values in columns.values())))
        text.detach()


def _plain(values: Any) -> Any:
    """Arrays of objects as lists of one type, which Parquet needs: text where the types differ."""
    array = np.asarray(values)
    if array.dtype.kind == "U":
        return array.tolist()
    if array.dtype != object:
        return array
    kinds = {type(value) for value in array if value is not None}
    return array.tolist() if len(kinds) <= 1 else [None if v is None else str(v) for v in array]


def _cell(value: Any) -> Any:
    return "" if value is None or value != value else value


def _safe(value: Any) -> Any:
    risky = (
        isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) and number(value) is None
    )
    return f"'{value}" if risky else _cell(value)
