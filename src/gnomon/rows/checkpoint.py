"""Answers of reads in a file, as they come: a fit that was stopped goes on without reading those rows again."""

import hashlib
import io
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._files import delete, growing
from .._types import Array, IntArray
from .._warn import warn
from .contract import A, Block, Columns, Rows, Task
from .kind import is_sparse
from .summary import Summary

MAGIC = b"gnomon checkpoint 1\n"
DIGEST = 32  # bytes
OF_ARRAYS = ("_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer")  # names of NumPy that an array is read by
FEW = 1 << 21  # numbers beside rows, columns counted by one, that are written for every read
LOOKED_AT = 3  # rows by which a table is known again


class RecordedRows(Rows):
    """Rows whose answers are kept in a file; what was asked before, with the same numbers, is taken from there.

    Answers are sums that come home. Numbers that are left beside the rows are kept too where they are few; else the
    rows are asked again.
    """

    def __init__(self, rows: Rows, record: "Record", lineage: bytes) -> None:
        self.rows, self.record, self.lineage = rows, record, lineage
        self.shape, self.dtype, self.weights, self.masked = rows.shape, rows.dtype, rows.weights, rows.masked
        self.sparse, self.own_threads, self.elsewhere = rows.sparse, rows.own_threads, rows.elsewhere
        self.counter = rows.counter

    def _key(self, *question: Any) -> bytes:
        return digest(self.lineage, self.weights, self.masked, *question)

    def _known(self, key: bytes) -> Any:
        found, reads = self.record[key]
        self.counter.total += reads
        return found

    def _recorded(self, ask: Callable[[], Any], *question: Any) -> Any:
        key = self._key(*question)
        if key in self.record:
            return self._known(key)
        before = self.counter.total
        found = ask()
        return self.record.add(key, found, self.counter.total - before)

    def _over(self, rows: Rows, *change: Any) -> "RecordedRows":
        return RecordedRows(rows, self.record, digest(self.lineage, *change) if change else self.lineage)

    def fold(self, task: Task[A], rows: IntArray | None = None, columns: Columns | None = None) -> A:
        found: A = self._recorded(lambda: self.rows.fold(task, rows, columns), "fold", task, rows, columns)
        return found

    def fold_columns(self, task: Task[tuple[A, Columns]], columns: Columns | None = None) -> "tuple[A, RecordedRows]":
        key = self._key("fold_columns", task, columns)
        if key in self.record:
            found, beside = self._known(key)
            rows = self.rows.with_columns(**beside) if beside else self.rows
        else:
            before = self.counter.total
            (found, names), rows = self.rows.fold_columns(_Named(task), columns)
            if self.shape[0] * len(names.of) <= FEW:
                beside = {name: rows.gather(name) for name in sorted(names.of)}
                found, _ = self.record.add(key, (found, beside), self.counter.total - before)
        return found, self._over(rows, "fold_columns", task, columns)

    def map(self, task: Task[Block]) -> Rows:
        return self._over(self.rows.map(task), "map", task)

    def gather(self, *columns: str) -> Any:
        return self.rows.gather(*columns)

    def take(self, rows: IntArray) -> Rows:
        return self.rows.take(rows)

    def with_columns(self, **columns: Any) -> "RecordedRows":
        return self._over(self.rows.with_columns(**columns), "columns", columns)

    def summarize(
        self, Y: Any = None, group: Any = None, n_groups: int = 1, *, second: bool = False, rough: bool = False
    ) -> Summary:
        def ask() -> Summary:
            return self.rows.summarize(Y, group, n_groups, second=second, rough=rough)

        found: Summary = self._recorded(ask, "summarize", Y, group, n_groups, second, rough)
        return found

    def inner_products(self, mean: Array, scale: float) -> Array:
        found: Array = self._recorded(lambda: self.rows.inner_products(mean, scale), "inner products", mean, scale)
        return found

    def coordinate_rows(self, T: Array) -> Rows:
        return self.rows.coordinate_rows(T)

    def anew(self, *, weights: Array | None = None, masked: bool | None = None) -> "RecordedRows":
        return self._over(self.rows.anew(weights=weights, masked=masked))

    def there(self, A: Array) -> Any:
        return self.rows.there(A)

    def like(self, A: Array) -> Any:
        return self.rows.like(A)

    def project(self, mean: Array, V: Array) -> Any:
        return self.rows.project(mean, V)


@dataclass(frozen=True)
class _Names:
    """Names of columns; `+` joins them."""

    of: frozenset[str]

    def __add__(self, other: "_Names") -> "_Names":
        return _Names(self.of | other.of)


@dataclass(frozen=True)
class _Named:
    """A task that says, too, which columns it leaves beside the rows."""

    task: Any

    def __call__(self, block: Block) -> tuple[tuple[Any, _Names], Columns]:
        answer, aligned = self.task(block)
        return (answer, _Names(frozenset(aligned))), aligned


class Record:
    """Answers and the reads that each took, by the digest of what was asked, in a file that only grows.

    An answer counts once all of it is on the disk; what a kill has left of one is cut off.
    """

    def __init__(self, path: str | os.PathLike[str], table: bytes) -> None:
        self.path, self.name, self._at = path, os.fspath(path), dict[bytes, tuple[int, int]]()
        self._file = growing(path)
        try:
            self._open(table)
            if not self._at:
                self._file.seek(0)
                self._file.truncate()
                self._file.write(MAGIC)
                self._append(digest("table"), table)
        except BaseException:
            self._file.close()
            raise

    def _open(self, table: bytes) -> None:
        """Find the answers that are there whole, of a fit to the same table."""
        begun = self._file.read(len(MAGIC))
        if begun != MAGIC[: len(begun)]:
            raise ValueError(f"checkpoint={self.name!r} is a file of another kind; name a new one.")
        end = self._file.tell()
        while (head := self._file.read(2 * DIGEST + 8)) and len(head) == 2 * DIGEST + 8:
            size = int.from_bytes(head[DIGEST : DIGEST + 8], "little")
            body = self._file.read(size)
            if len(body) < size or hashlib.sha256(body).digest() != head[DIGEST + 8 :]:
                break
            self._at[head[:DIGEST]] = end + len(head), size
            end = self._file.tell()
        self._file.truncate(end)
        if self._at and self._bytes(digest("table")) != table:
            raise ValueError(
                f"checkpoint={self.name!r} is that of a fit to other rows, or by another version; delete it, or "
                "name a new one."
            )

    def __contains__(self, key: bytes) -> bool:
        return key in self._at

    def __getitem__(self, key: bytes) -> Any:
        return _Reader(io.BytesIO(self._bytes(key))).load()

    @property
    def n_answers(self) -> int:
        """How many there are."""
        return len(self._at) - 1

    def add(self, key: bytes, answer: Any, reads: float) -> Any:
        """Write an answer and return it as the file has it, so that whatever follows is the same to the bit."""
        body = pickle.dumps((answer, reads), protocol=5)
        try:
            self._append(key, body)
        except OSError as error:
            warn(f"checkpoint={self.name!r} cannot be written ({error}); the fit goes on, and that file stays.")
        return _Reader(io.BytesIO(body)).load()[0]

    def _append(self, key: bytes, body: bytes) -> None:
        start = self._file.seek(0, os.SEEK_END)
        try:
            self._file.write(key + len(body).to_bytes(8, "little") + hashlib.sha256(body).digest() + body)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(start)
            raise
        self._at[key] = start + 2 * DIGEST + 8, len(body)

    def _bytes(self, key: bytes) -> bytes:
        start, size = self._at[key]
        self._file.seek(start)
        return self._file.read(size)

    def close(self) -> None:
        """Leave the file."""
        self._file.close()

    def remove(self) -> None:
        """Delete it, once nothing is left to go on with."""
        self.close()
        delete(self.path)


class _Reader(pickle.Unpickler):
    """Arrays, and classes of ours, alone: a file says nothing that is called."""

    def find_class(self, module: str, name: str) -> Any:
        whose = module.partition(".")[0]
        if whose == "gnomon" or (whose == "numpy" and name in OF_ARRAYS):
            found = super().find_class(module, name)
            if whose == "numpy" or isinstance(found, type):
                return found
        raise ValueError(f"a checkpoint holds {module}.{name}, which no answer does; delete it.")


@contextmanager
def checkpointed(rows: Rows, path: str | os.PathLike[str] | None) -> Iterator[Rows]:
    """The rows, with a record of their answers at `path` for as long as a fit takes; None records nothing.

    Whatever stops the fit leaves the record, and says so in a note of the exception; the end deletes it.
    """
    if path is None:
        yield rows
        return
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"checkpoint={path!r} must be the path of a file, or None.")
    record = Record(path, _table(rows))
    try:
        yield RecordedRows(rows, record, b"")
    except BaseException as error:
        error.add_note(f"{path} holds {record.n_answers} answers of reads; the same fit goes on from there.")
        record.close()
        raise
    record.remove()


def _table(rows: Rows) -> bytes:
    """What a table is known by: its size, its type, and some rows; and who reads it."""
    n = rows.shape[0]
    some = rows.take(np.unique(np.linspace(0, n - 1, LOOKED_AT).round().astype(np.intp))).gather()
    return digest(version("gnomon"), rows.shape, str(rows.dtype), some if is_sparse(some) else np.asarray(some))


def digest(*what: Any) -> bytes:
    """A digest of numbers, text, arrays and what is made of them, the same in every process."""
    found = hashlib.sha256()
    _feed(found, what)
    return found.digest()


def _feed(found: Any, what: Any) -> None:
    found.update(type(what).__name__.encode() + b"(")
    if what is None or isinstance(what, bool | int | float | complex | str | np.generic):
        found.update(repr(what).encode())
    elif isinstance(what, bytes):
        found.update(what)
    elif isinstance(what, np.ndarray):
        found.update(f"{what.dtype.str}{what.shape}".encode())
        if what.dtype == object:
            _feed(found, what.tolist())
        else:
            found.update(np.ascontiguousarray(what).view(np.uint8).data if what.size else b"")
    elif sp.issparse(what):
        for part in (what.shape, *what.tocsr().sorted_indices().__reduce_ex__(2)[2].values()):
            _feed(found, part)
    elif isinstance(what, dict):
        for key in sorted(what):
            _feed(found, (key, what[key]))
    elif isinstance(what, tuple | list):
        for part in what:
            _feed(found, part)
    elif callable(what) and hasattr(what, "__qualname__"):
        found.update(f"{what.__module__}.{what.__qualname__}".encode())
    elif is_dataclass(what):
        for field in fields(what):
            _feed(found, (field.name, getattr(what, field.name)))
    else:
        _feed(found, vars(what))
    found.update(b")")
