"""Damaged files of every format: read after all, or one error of one line."""

import gzip
import importlib
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from gnomon.tables import TableError, _parquet, read_table, write_table

PER_FILE = 120
X = np.random.default_rng(0).normal(size=(30, 4))
KIND = np.where(X[:, 0] > 0, "a", "b")
FILES = ("t.csv", "t.tsv", "t.parquet", "plain.npz", "packed.npz", "sparse.npz", "packed.csv.gz")


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    columns = {f"c{j}": X[:, j] for j in range(4)} | {"kind": KIND}
    for name in FILES[:3]:
        if name == "t.parquet":
            pytest.importorskip("pyarrow")
        write_table(folder / name, columns)
    (folder / "packed.csv.gz").write_bytes(gzip.compress((folder / "t.csv").read_bytes()))
    np.savez(folder / "plain.npz", X=X, kind=KIND)
    np.savez_compressed(folder / "packed.npz", X=X, kind=KIND)
    S = sparse.random(30, 6, 0.3, format="csr", random_state=0)
    parts = {"data": S.data, "indices": S.indices, "indptr": S.indptr, "shape": S.shape}
    np.savez_compressed(folder / "sparse.npz", kind=KIND, **parts)
    return folder


def damaged(content, rng):
    """Change some bytes, cut the end, leave a piece out, put noise in, or write zeros over a piece."""
    content = bytearray(content)
    how, at = rng.integers(5), int(rng.integers(len(content)))
    if how == 0:
        for place in rng.integers(len(content), size=5):
            content[place] = rng.integers(256)
    elif how == 1:
        del content[at:]
    elif how == 2:
        del content[at : at + int(rng.integers(1, len(content)))]
    elif how == 3:
        content[at:at] = rng.bytes(int(rng.integers(1, 40)))
    else:
        piece = slice(at, at + 20)
        content[piece] = bytes(len(content[piece]))
    return bytes(content)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_gives_one_line(originals, tmp_path, name):
    rng = np.random.default_rng(FILES.index(name))
    content = (originals / name).read_bytes()
    path = tmp_path / f"damaged{name[name.index('.') :]}"
    refused = []
    for _ in range(PER_FILE):
        path.write_bytes(damaged(content, rng))
        try:
            read_table(path, targets=["kind"])
        except TableError as error:
            refused.append(str(error))
    assert len(refused) > PER_FILE / 3
    assert all(refused)
    assert not any("\n" in message for message in refused)


def test_a_member_that_is_no_array_is_named(tmp_path):
    np.savez(tmp_path / "t.npz", X=X)
    with zipfile.ZipFile(tmp_path / "t.npz", "a") as archive:
        archive.writestr("notes.txt", "no array")
    with pytest.raises(TableError, match=r"'notes.txt' is no array"):
        read_table(tmp_path / "t.npz")


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_a_small_file_that_asks_for_all_memory_is_damaged(tmp_path, monkeypatch, ending):
    """A length in the header of a damaged one may be any number."""
    pytest.importorskip("pyarrow")
    path = tmp_path / f"t.{ending}"
    getattr(pd.DataFrame({"a": X[:, 0]}), f"to_{ending}")(path)

    def asks_for_much(*_, **__):
        raise MemoryError("malloc of size 288230376151711744 failed")

    module = importlib.import_module(f"pyarrow.{ending}")
    for name in ("read_table", "ParquetFile"):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, asks_for_much)
    with pytest.raises(TableError, match="so small, it asks for all memory"):
        read_table(path)
    monkeypatch.setattr(_parquet, "SMALL", 0)
    with pytest.raises(MemoryError):
        read_table(path)
