"""Matrix Market files: a matrix, and the names that lie beside it as single-cell pipelines write them."""

import gzip
import importlib
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gnomon.rows.kind import is_sparse
from gnomon.tables._npz import chosen, of_numbers
from gnomon.tables._table import Table, TableError, Wanted, choose_features
from gnomon.targets.forms import objects

BARCODE = "barcode"  # what the names of the cells are called
OF_ROWS, OF_COLUMNS = ("barcodes.tsv",), ("features.tsv", "genes.tsv")
NAME = re.compile(r"matrix\.mtx(\.gz)?$", re.IGNORECASE)


def read_mtx(path: str, wanted: Wanted) -> Table:
    """Read a .mtx or .mtx.gz file.

    A file called matrix.mtx, whatever stands before that, with barcodes.tsv and features.tsv (or genes.tsv) beside it
    has the features as rows, as 10x Genomics writes it: it is turned round, the barcodes name the rows and the first
    words of the lines of features.tsv the columns. Any other has the samples as rows and columns x0, x1, ...
    """
    X, names = _matrix(path), _names_beside(path)
    if not all(X.shape):
        raise TableError(f"{path}: the matrix is empty, with shape {X.shape}.")
    if names is None:
        ids, columns, assumed = None, [f"x{j}" for j in range(X.shape[1])], ""
    else:
        ids, columns, assumed = _turned(path, X.shape, *names)
        X = sparse.csr_matrix(X.T) if is_sparse(X) else np.ascontiguousarray(X.T)
    if wanted.targets:
        raise TableError(
            f"{path}: a .mtx file holds no labels, so there is no {wanted.targets[0]!r} for --target; give them in a "
            "text file, a label a line or the name of a row and its label, with --labels FILE."
        )
    wanted = wanted.settled([] if ids is None else [BARCODE])
    ignore = [*wanted.ignore, *([] if ids is None else [BARCODE])]
    features = choose_features(path, [*columns, *([] if ids is None else [BARCODE])], wanted._replace(ignore=ignore))
    if wanted.id not in (None, BARCODE):
        raise TableError(f"{path}: {wanted.id!r} is a column of the matrix, which holds no names of rows.")
    X = chosen(path, X, columns, features)
    return Table(path, X, features, {}, ids, None if ids is None else BARCODE, assumed=assumed)


class _Text:
    """The bytes of a file, unpacked, without NUL and with an end to the last line: else scipy reads past the text."""

    def __init__(self, file: Any) -> None:
        self.file, self.last = file, b""

    def read(self, size: int = -1) -> bytes:
        text: bytes = self.file.read(size)
        if b"\0" in text:
            raise ValueError("it holds a byte of zeros, which no text has")
        if not text and self.last not in (b"", b"\n"):
            text = b"\n"
        self.last = text[-1:]
        return text


def _matrix(path: str) -> Any:
    try:
        with gzip.open(path, "rb") if path.lower().endswith(".gz") else open(path, "rb") as file:
            found = importlib.import_module("scipy.io").mmread(_Text(file))
    except MemoryError:
        raise
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableError(f"{path} cannot be unpacked ({error}).") from None
    except Exception as error:  # of the header, of the numbers, of the sizes
        reason = " ".join(str(error).split())
        raise TableError(f"{path} is not a Matrix Market file that can be read ({reason}).") from None
    return of_numbers(path, sparse.csr_matrix(found) if is_sparse(found) else np.asarray(found))


def _names_beside(path: str) -> tuple[Path, Path] | None:
    """The files that name rows and columns; both or none are there."""
    file = Path(path)
    start = NAME.sub("", file.name)
    if start == file.name:
        return None
    rows, columns = (_first_there(file.parent, start, names) for names in (OF_ROWS, OF_COLUMNS))
    if rows is None and columns is None:
        return None
    if rows is None or columns is None:
        there, other = (rows, OF_COLUMNS) if columns is None else (columns, OF_ROWS)
        raise TableError(
            f"{path}: {there} lies beside it, and {start}{other[0]} does not; put it there, or give the matrix another "
            "name to read it without names, samples as rows."
        )
    return rows, columns


def _first_there(folder: Path, start: str, names: tuple[str, ...]) -> Path | None:
    files = (folder / f"{start}{name}{packed}" for name in names for packed in ("", ".gz"))
    return next((file for file in files if file.is_file()), None)


def _turned(path: str, shape: tuple[int, int], rows: Path, columns: Path) -> tuple[np.ndarray, list[str], str]:
    """Names of rows and columns once the matrix is turned round, and what is said of that."""
    ids, names = _first_words(rows), _first_words(columns)
    for file, found, wanted, what in (rows, ids, shape[1], "columns"), (columns, names, shape[0], "rows"):
        if len(found) != wanted:
            raise TableError(f"{path}: the matrix has {wanted} {what}, and {file} names {len(found)}.")
    return objects(ids), names, f"turned round, rows named by {rows.name} and columns by {columns.name}"


def _first_words(file: Path) -> list[str]:
    try:
        content = file.read_bytes()
        text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TableError(f"{file} is not UTF-8 text.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableError(f"{file} cannot be unpacked ({error}).") from None
    return [line.split("\t")[0].strip() for line in text.splitlines() if line.strip()]
