"""Writing R workspaces as `save` does (version 2, XDR, gzip), where dicts are lists and frames, and those of RCV1."""

import gzip
import struct
from functools import partial

import numpy as np
from scipy import sparse

from gnomon.datasets import _texts
from gnomon.datasets._local import read_csr

END = struct.pack(">i", 254)


def integers(*numbers):
    return struct.pack(f">{len(numbers)}i", *numbers)


def text(word):
    return integers(9, len(word)) + word.encode()


def item(value):
    """The bytes of a value, in parts; a function makes its value when it is written."""
    value = value() if callable(value) else value
    if isinstance(value, dict):
        yield integers(19 | 512, len(value))
        for one in value.values():
            yield from item(one)
        yield integers(2 | 1024, 1) + text("names") + integers(16, len(value)) + b"".join(map(text, value)) + END
    elif value.dtype.kind == "f":
        yield integers(14, len(value)) + value.astype(">f8").tobytes()
    else:
        yield integers(13, len(value)) + value.astype(">i4").tobytes()


def save(path, name, value):
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(b"RDX2\nX\n" + integers(2, 0x30500, 0x20300, 2 | 1024, 1) + text(name))
        stream.writelines(item(value))
        stream.write(END)


def frame(table, n_features):
    """The columns of a sparse table as an R frame of class mldr has them, the last by the package."""
    names = [f"Att{j + 1}" if j < n_features else f"L{j}" for j in range(table.shape[1])]
    columns = {name: partial(column, table, j) for j, name in enumerate(names)}
    return {"name": np.zeros(1), "dataset": {**columns, ".labelcount": np.zeros(table.shape[0], dtype=int)}}


def column(table, j):
    found = np.zeros(table.shape[0])
    inside = slice(*table.indptr[j : j + 2])
    found[table.indices[inside]] = table.data[inside]
    return found


def halves(X, Y, member, k, size):
    """One subset as its source has it: stories of its halves, in one of which the topics stand too far left."""
    half, shift = _texts.SHIFTS[k]
    for b in (0, 1):
        rows = np.flatnonzero(member >> (2 * k + b) & 1)
        rows = np.append(rows, np.repeat(rows[-1:], size - len(rows)))  # some stories came twice
        if b == half:
            yield sparse.hstack([X[rows][:, :-shift], Y[rows], sparse.csr_matrix((size, shift))])
        else:
            yield sparse.hstack([X[rows], Y[rows]])


def subset_files(held, file, size):
    """The workspaces of the five subsets, of halves of this size, from their merged arrays."""
    X, Y = read_csr(held), np.unpackbits(held["Y"], axis=1)[:, : held["n_labels"]].astype(float)
    X.data = np.round(X.data, 6)
    for k in range(5):
        table = sparse.vstack(list(halves(X, sparse.csr_matrix(Y), held["member"], k, size)), format="csc")
        save(file(), f"rcv1sub{k + 1}", frame(table, X.shape[1]))
