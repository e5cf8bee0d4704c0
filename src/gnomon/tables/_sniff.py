"""What a text file is: how its bytes are text, what separates cells, and how numbers are written."""

import codecs
import csv
import gzip
import io
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from gnomon.tables._table import TableError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
LOOKED_AT = 1 << 18  # bytes by which the separator is told
ROWS = 200  # of them, at most
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # bytes that no text has
GZIP, STDIN = b"\x1f\x8b", "-"
WITH_COMMA = re.compile(r"\s*[+-]?(\d+|\d{1,3}(\.\d{3})+)?,\d+([eE][+-]?\d+)?\s*")
WITH_POINT = re.compile(r"\s*[+-]?\d*\.\d+([eE][+-]?\d+)?\s*")
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

    def text(self, encoding: str) -> Any:
        """Its text; ends of lines stay what they are."""
        return io.TextIOWrapper(self.open(), encoding=encoding, newline="")

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
    decimal_comma: bool = False

    def said(self, usual: str) -> str:
        """What was assumed, where it is not what the name of the file says; empty where it is."""
        parts = [] if self.encoding == "utf-8-sig" else [f"as {self.encoding} text"]
        if self.separator != usual:
            parts.append(f"with {SEPARATORS[self.separator]} between cells")
        if self.decimal_comma:
            parts.append("with decimal commas")
        return ", ".join(parts)


def source_of(path: str) -> Source:
    """The file of that name; "-" is standard input."""
    if path != STDIN:
        return Source(path)
    if sys.stdin is None:
        raise TableError("standard input is closed.")
    return Source("standard input", sys.stdin.buffer.read())


def sniff(source: Source, usual: str) -> Form:
    """Tell the form of a text; `usual` separates cells where nothing speaks for another separator.

    The separator is that which cuts all rows that are looked at, the header among them, into one number of cells, more
    than one. Commas are decimal ones where they are in numbers, separate nothing, and no number has a point.
    """
    with source.open() as file:
        try:
            head = file.read(LOOKED_AT)
        except (OSError, EOFError) as error:
            raise TableError(f"{source.path} cannot be unpacked ({error}).") from None
        whole = len(head) < LOOKED_AT
    encoding = _encoding(head)
    if encoding is None:
        return Form(separator=usual)  # who reads it will say what is wrong
    text = head.decode(encoding, errors="replace")
    if not whole:
        text = text[: text.rfind("\n") + 1] or text  # the last line may be half there
    fits = [separator for separator in dict.fromkeys([usual, *SEPARATORS]) if _cuts(text, separator)]
    separator = fits[0] if fits else usual
    return Form(encoding, separator, separator != "," and _has_decimal_commas(text, separator))


def with_points(cells: list[str]) -> list[str]:
    """Cells in which numbers with decimal commas are written with points; others as they are."""
    return [_with_point(cell) if "," in cell and WITH_COMMA.fullmatch(cell) else cell for cell in cells]


def _with_point(cell: str) -> str:
    return cell.replace(".", "").replace(",", ".")


def _unpacked(file: Any) -> Any:
    begun = file.read(2)
    file.seek(0)
    return gzip.GzipFile(fileobj=file) if begun == GZIP else file


def _encoding(head: bytes) -> str | None:
    """That of a text; None of what is no text."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    with suppress(UnicodeDecodeError):
        codecs.getincrementaldecoder("utf-8")().decode(head)  # a character may be cut at the end
        return "utf-8-sig"
    return WESTERN if is_western(head) else None


def is_western(text: bytes) -> bool:
    """Whether bytes that are not UTF-8 may be text of a machine with one byte a character."""
    return not CONTROL.search(text) and not any(byte in text for byte in NO_WESTERN)


def _cut(text: str, separator: str) -> list[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    return [row for row in islice(reader, ROWS) if row]


def _cuts(text: str, separator: str) -> bool:
    """Whether all rows have one number of cells, more than one."""
    try:
        sizes = {len(row) for row in _cut(text, separator)}
    except csv.Error:
        return False
    return len(sizes) == 1 and sizes != {1}


def _has_decimal_commas(text: str, separator: str) -> bool:
    try:
        cells = [cell for row in _cut(text, separator)[1:] for cell in row]
    except csv.Error:
        return False
    return any(map(WITH_COMMA.fullmatch, cells)) and not any(map(WITH_POINT.fullmatch, cells))


def ending(path: str | Path) -> str:
    """The ending of a name that says what the file is, that of a packed one before .gz."""
    name = Path(path).name.lower()
    return Path(name.removesuffix(".gz")).suffix
