"""Messages and frames of texts: made ones by hand, and files of the sources, made from the known arrays."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from gnomon.datasets import _download, _texts
from gnomon.datasets._local import read_csr
from gnomon.datasets._sources import FILES
from workspaces import save


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


def subset_files(held, folder, size):
    X, Y = read_csr(held), np.unpackbits(held["Y"], axis=1)[:, : held["n_labels"]].astype(float)
    X.data = np.round(X.data, 6)
    for k in range(5):
        table = sparse.vstack(list(halves(X, sparse.csr_matrix(Y), held["member"], k, size)), format="csc")
        save(folder / f"{k}", f"rcv1sub{k + 1}", frame(table, X.shape[1]))
    return [folder / f"{k}" for k in range(5)]


@pytest.mark.slow
@pytest.mark.realdata
def test_workspaces_of_the_subsets_become_the_known_arrays(data_dir, tmp_path):
    with np.load(data_dir / "rcv1_subsets.npz") as arrays:
        held = {key: arrays[key] for key in arrays.files}
    found = _texts.subsets(subset_files(held, tmp_path, 3000))
    _download.check("rcv1_subsets", found, FILES["rcv1_subsets"], "")
