"""Writing columns as CSV, TSV or Parquet."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from gnomon.tables._parquet import INSTALL, has_pyarrow
from gnomon.tables._table import TableError

WRITABLE = (".csv", ".tsv", ".parquet")


def can_write_parquet() -> bool:
    """Whether a library that writes Parquet is installed."""
    return has_pyarrow()


def check_output(path: str | Path) -> None:
    """Refuse a file name whose kind cannot be written, before any work is done for it."""
    suffix = Path(path).suffix.lower()
    if suffix not in WRITABLE:
        raise TableError(
            f"{path}: {suffix or 'no extension'} is not a kind of table that can be written; use {', '.join(WRITABLE)}."
        )
    if suffix == ".parquet" and not can_write_parquet():
        raise TableError(f"{path}: writing Parquet {INSTALL}, or choose a .csv file.")


def write_table(path: str | Path, columns: Mapping[str, Any]) -> None:
    """Write columns of one length; None and NaN become empty cells.

    Parameters
    ----------
    path : path
        A .csv, .tsv or .parquet file; it is overwritten.
    columns : mapping of str to 1-D array-like
        Names and values, in order.
    """
    check_output(path)
    suffix = Path(path).suffix.lower()
    if suffix == ".parquet":
        data = {name: _plain(values) for name, values in columns.items()}
        nw.from_dict(data, backend="pyarrow").write_parquet(path)
        return
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t" if suffix == ".tsv" else ",", lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(map(_cell, values) for values in columns.values())))


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
