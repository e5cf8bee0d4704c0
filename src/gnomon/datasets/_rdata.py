"""Reading an R workspace (files .rda of `save`), its vectors of numbers one at a time: the serialization XDR of R."""

import bz2
import gzip
import lzma
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

OPENERS = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}
NUMBERS = {10: np.dtype(">i4"), 13: np.dtype(">i4"), 14: np.dtype(">f8"), 15: np.dtype(">c16"), 24: np.dtype("u1")}
NOTHING = (241, 242, 247, 251, 252, 253, 254)  # NULL, known environments, missing and unbound values
SYMBOL, PAIRS, ENVIRONMENT, TEXT, TEXTS, LISTS, ALTREP, SEEN = 1, (2, 3, 5, 6), 4, 9, 16, (19, 20), 238, 255
HAS_ATTRIBUTES, HAS_TAG = 512, 1024


def read_workspace(path: Path, keep: Callable[[Any], Any] = np.copy) -> dict[Any, Any]:
    """The objects of a workspace by name; `keep` makes of each vector of numbers what is kept of it.

    Lists and frames with names become dicts, lists and text lists. Files of gzip, bzip2 and xz are read as they
    are decompressed, so memory is that of what is kept.
    """
    with open(path, "rb") as file:
        begin = file.read(2)
    with OPENERS.get(begin, open)(path, "rb") as stream:
        head = stream.read(7)
        if head not in (b"RDX2\nX\n", b"RDX3\nX\n"):
            raise ValueError(f"{path.name} begins with {head!r} and is no R workspace of version 2 or 3 in XDR")
        return Reader(stream, keep).workspace(int(head[3:4]))


class Reader:
    """Items of the serialization in a stream, one after another."""

    def __init__(self, stream: BinaryIO, keep: Callable[[Any], Any]):
        self.stream, self.keep = stream, keep
        self.seen: list[Any] = []  # symbols and environments, which are written once

    def workspace(self, version: int) -> Any:
        """The whole workspace, after its first two lines."""
        self.bytes(12)  # version, that of the writer, the lowest of a reader
        if version == 3:
            self.bytes(self.integer())  # name of the encoding
        return self.item(self.integer())

    def bytes(self, count: int) -> bytes:
        """So many bytes, or an error."""
        found = self.stream.read(count)
        if len(found) < count:
            raise EOFError("the file ends too early")
        return found

    def integer(self) -> int:
        """A signed integer of four bytes."""
        return struct.unpack(">i", self.bytes(4))[0]

    def length(self) -> int:
        """The length of a vector, in two parts where it is long."""
        found = self.integer()
        return found if found >= 0 else self.integer() * 2**32 + self.integer()

    def item(self, flags: int) -> Any:
        """What follows these flags."""
        kind = flags & 255
        if kind in NOTHING:
            return None
        if kind == SEEN:
            return self.seen[(flags >> 8 or self.integer()) - 1]
        if kind == SYMBOL:
            self.seen.append(self.item(self.integer()))
            return self.seen[-1]
        if kind == TEXT:
            count = self.integer()
            return self.bytes(count).decode("latin-1") if count >= 0 else None
        if kind == ALTREP:
            return self.alternative()
        if kind == ENVIRONMENT:
            return self.environment()
        if kind in PAIRS:
            return self.pairs(flags)
        return self.vector(kind, flags)

    def vector(self, kind: int, flags: int) -> Any:
        """A vector of numbers, of texts, or of anything; the names of the last make a dict of it."""
        if kind in NUMBERS:
            found = self.keep(np.frombuffer(self.bytes(self.length() * NUMBERS[kind].itemsize), NUMBERS[kind]))
        elif kind == TEXTS or kind in LISTS:
            found = [self.item(self.integer()) for _ in range(self.length())]
        else:
            raise ValueError(f"R objects of type {kind} are not read")
        about = self.item(self.integer()) if flags & HAS_ATTRIBUTES else None
        names = about.get("names") if about and kind in LISTS else None
        return dict(zip(names, found, strict=True)) if names else found

    def pairs(self, flags: int) -> dict[Any, Any]:
        """A pairlist: values by tag, or by place where one has none."""
        found: dict[Any, Any] = {}
        while flags & 255 in PAIRS:
            if flags & HAS_ATTRIBUTES:
                self.item(self.integer())
            tag = self.item(self.integer()) if flags & HAS_TAG else len(found)
            found[tag] = self.item(self.integer())
            flags = self.integer()
        rest = self.item(flags)
        return found if rest is None else found | {len(found): rest}

    def environment(self) -> None:
        """An environment, of which nothing is kept but its place."""
        self.integer()  # locked or not
        self.seen.append(None)
        for _ in range(4):  # enclosure, frame, table and attributes
            self.item(self.integer())

    def alternative(self) -> Any:
        """A vector in another form: the one that is wrapped, or nothing, as for a sequence."""
        about, state, _ = (self.item(self.integer()) for _ in range(3))
        return state[0] if about[0].startswith("wrap_") else None
