"""What a text file is: how its bytes are text, and what separates cells."""

import codecs
import csv
import gzip
import hashlib
import io
import re
import sys
import zlib
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from gnomon._files import is_stream
from gnomon.tables._table import TableError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
NAMED = re.compile(r'"?sep=(.)"?\r?\n')  # the first line of what Excel is to open
NUMBER = re.compile(r"\s*[+-]?[\d.,]*\d[\d.,]*([eE][+-]?\d+)?\s*")
LOOKED_AT = 1 << 18  # bytes by which the separator is told
ROWS = 200  # of them, at most
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # bytes that no text has
GZIP, STDIN = b"\x1f\x8b", "-"
WESTERN, NO_WESTERN = "cp1252", b"\x81\x8d\x8f\x90\x9d"


@dataclass(frozen=True)
class Source:
    """A text file, packed or not, or standard input."""

    path: str  # as the user named it
    content: bytes | None = None  # of standard input, which can be read but once

    def open(self) -> Any:
        """Its bytes, unpacked."""
        if self.content is not None:
            return _unpacked(io.BytesIO(self.content))
        return open(self.path, "rb") if self.plain else gzip.open(self.path, "rb")

    def text(self, form: "Form") -> Any:
        """Its text below a line that names the separator; ends of lines stay what they are."""
        file = io.TextIOWrapper(self.open(), encoding=form.encoding, newline="")
        if form.named:
            file.readline()
        return file

    @property
    def sha256(self) -> str:
        """Of what can be read but once; else empty."""
        return "" if self.content is None else hashlib.sha256(self.content).hexdigest()

    @property
    def plain(self) -> bool:
        """Whether it is a file that is not packed."""
        if self.content is not None:
            return False
        with open(self.path, "rb") as file:
            return file.read(2) != GZIP


@dataclass(frozen=True)
class Form:
    """How the text of a table is written."""

    encoding: str = "utf-8-sig"
    separator: str = ","
    named: bool = False  # whether the first line says what the separator is

    def rows(self, file: Any) -> Any:
        """The rows of a text, as lists of cells."""
        spaces = self.separator == " "
        return csv.reader(file, delimiter=self.separator, strict=True, skipinitialspace=spaces)

    def said(self, usual: str) -> list[str]:
        """What was assumed, where it is not what the name of the file says; empty where it is."""
        parts = [] if self.encoding == "utf-8-sig" else [f"as {self.encoding} text"]
        if self.separator != usual:
            parts.append(f"with {SEPARATORS.get(self.separator, repr(self.separator))} between cells")
        return parts


def source_of(path: str) -> Source:
    """The file of that name, or a pipe; "-" is standard input."""
    if path != STDIN:
        return Source(path, Path(path).read_bytes() if is_stream(path) else None)
    if sys.stdin is None:
        raise TableError("standard input is closed.")
    return Source("standard input", sys.stdin.buffer.read())


def sniff(source: Source, usual: str) -> Form:
    """Tell the form of a text; `usual` separates cells where nothing speaks for another separator.

    The separator is that which the first line names, or that which cuts most rows that are looked at into one number of
    cells, more than one, most of which are numbers. Spaces are in text as well, so that they must do it much better.
    """
    with source.open() as file:
        try:
            head = file.read(LOOKED_AT)
        except (OSError, EOFError, zlib.error) as error:
            raise TableError(f"{source.path} cannot be unpacked ({error}).") from None
        whole = len(head) < LOOKED_AT
    encoding = _encoding(head)
    if encoding is None:
        return Form(separator=usual)  # who reads it will say what is wrong
    text = head.decode(encoding, errors="replace")
    if not whole:
        text = text[: text.rfind("\n") + 1] or text  # the last line may be half there
    named = NAMED.match(text)
    if named:
        return Form(encoding, named[1], named=True)
    fits = {separator: _fit(text, separator) for separator in dict.fromkeys([usual, *SEPARATORS])}
    best = max(fits, key=lambda separator: fits[separator])
    return Form(encoding, best if fits[best] > 0.0 else usual)


def _unpacked(file: Any) -> Any:
    begun = file.read(2)
    file.seek(0)
    return gzip.GzipFile(fileobj=file) if begun == GZIP else file


def _encoding(head: bytes) -> str | None:
    """That of a text; None of what is no text."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if len(head) > 3 and 2 * head[1::2].count(0) > len(head[1::2]) and not head[0::2].count(0):
        return "utf-16-le"  # as Windows writes it, without a mark
    with suppress(UnicodeDecodeError):
        codecs.getincrementaldecoder("utf-8")().decode(head)  # a character may be cut at the end
        return "utf-8-sig"
    return WESTERN if is_western(head) else None


def is_western(text: bytes) -> bool:
    """Whether bytes that are not UTF-8 may be text of a machine with one byte a character."""
    return not CONTROL.search(text) and not any(byte in text for byte in NO_WESTERN)


def _fit(text: str, separator: str) -> float:
    """How well a separator cuts a text: the share of rows of the usual size, and that of numbers in them; else 0."""
    try:
        reader = Form(separator=separator).rows(io.StringIO(text, newline=""))
        rows = [row[:-1] if separator == " " and not row[-1] else row for row in islice(reader, ROWS) if row]
    except csv.Error:
        return 0.0
    sizes = Counter(map(len, rows))
    size = max(sizes, key=lambda size: (sizes[size], size), default=0)
    if size < 2 or (sizes[size] < 2 and len(rows) > 1):
        return 0.0
    cells = [cell for row in rows if len(row) == size for cell in row if cell.strip()]
    numbers = sum(map(bool, map(NUMBER.fullmatch, cells))) / max(1, len(cells))
    return max(0.0, sizes[size] / len(rows) + numbers - (1.1 if separator == " " else 0.0))


def ending(path: str | Path) -> str:
    """The ending of a name that says what the file is, that of a packed one before .gz."""
    name = Path(path).name.lower()
    return Path(name.removesuffix(".gz")).suffix
