"""Writing columns as CSV, TSV or Parquet."""

import csv
import importlib.util
import io
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from gnomon._files import is_stream, new_file
from gnomon.tables._h5ad import H5AD, NO_ANNDATA
from gnomon.tables._parquet import INSTALL, has_pyarrow
from gnomon.tables._table import TableError, number

WRITABLE = (".csv", ".tsv", ".parquet")


def check_output(path: str | Path, *, annotated: bool = False) -> None:
    """Refuse a file name whose kind cannot be written, before any work is done; AnnData is one if `annotated`."""
    suffix, writable = Path(path).suffix.lower(), (*WRITABLE, H5AD) if annotated else WRITABLE
    if suffix not in writable:
        raise TableError(
            f"{path}: {suffix or 'no extension'} is not a kind of table that can be written; use {', '.join(writable)}."
        )
    if suffix == ".parquet" and not has_pyarrow():
        raise TableError(f"{path}: writing Parquet {INSTALL}, or choose a .csv file.")
    if suffix == H5AD and importlib.util.find_spec("anndata") is None:
        raise TableError(f"{path}: writing AnnData {NO_ANNDATA}, or choose a .csv file.")


def write_table(path: str | Path, columns: Mapping[str, Any], *, replace: bool = True, safe: bool = False) -> None:
    """Write columns of one length to a .csv, .tsv or .parquet file; None and NaN become empty cells.

    The file appears complete or not at all; "-" is standard output, which gets CSV, as any pipe or device without an
    ending does. Without `replace` a file of that name is kept, and an OSError names the file that was written. `safe`
    sets an apostrophe before text that a spreadsheet would run: what begins with =, +, -, @, a tab or a line break, and
    is no number. Parquet needs none.
    """
    write_parts(path, [columns], replace=replace, safe=safe)


def write_parts(
    path: str | Path, parts: Iterable[Mapping[str, Any]], *, replace: bool = True, safe: bool = False
) -> None:
    """The same of a table that comes in parts, one after the other; each is forgotten once it is written."""
    suffix = Path(path).suffix.lower()
    if suffix or not is_stream(path):
        check_output(path)
    with new_file(path, replace=replace) as file:
        if suffix == ".parquet":
            _write_parquet(file, parts)
            return
        cell = _safe if safe else _cell
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, delimiter="\t" if suffix == ".tsv" else ",", lineterminator="\n")
        for i, columns in enumerate(parts):
            if i == 0:
                writer.writerow(map(cell, columns))
            writer.writerows(zip(*(map(cell, values) for values in columns.values())))
        text.detach()


def _write_parquet(file: Any, parts: Iterable[Mapping[str, Any]]) -> None:
    """Every part is a row group; the first one says what the columns are, text where it says nothing."""
    pyarrow, schema = importlib.import_module("pyarrow"), None
    with ExitStack() as stack:
        for columns in parts:
            data = {name: _plain(values) for name, values in columns.items()}
            if schema is None:
                schema = _schema(pyarrow, data)
                writer = stack.enter_context(importlib.import_module("pyarrow.parquet").ParquetWriter(file, schema))
            text = [field.name for field in schema if pyarrow.types.is_string(field.type)]
            data |= {name: [None if v is None else str(v) for v in data[name]] for name in text}
            writer.write_table(pyarrow.table(data, schema=schema))


def _schema(pyarrow: Any, data: Mapping[str, Any]) -> Any:
    found = pyarrow.table(dict(data)).schema
    kinds = [pyarrow.string() if pyarrow.types.is_null(field.type) else field.type for field in found]
    return pyarrow.schema(list(zip(found.names, kinds)))


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
