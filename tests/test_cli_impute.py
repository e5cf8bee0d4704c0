"""`gnomon impute` gives a table back: gaps are filled, and all else stays as it came."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from commands import column, run
from gnomon.datasets import load_iris
from gnomon.export import load_model
from gnomon.tables import write_table

IRIS = load_iris()
ROWS = np.arange(0, 150, 3)
X = IRIS.data[ROWS]
HOLES = np.random.default_rng(0).random(X.shape) < 0.1
SIZE = np.array(["small", "mid", "large"], dtype=object)[np.digitize(X[:, 2], [2.5, 5.0])]
COLUMNS = {
    "a": np.where(HOLES[:, 0], np.nan, X[:, 0]),
    "code": [f"{i:03}" for i in range(len(X))],
    "size": np.where(np.arange(len(X)) % 10 == 4, None, SIZE),
    "kind": np.array(["x", None, "y"], dtype=object)[np.arange(len(X)) % 3],
    "b": np.where(HOLES[:, 1], np.nan, X[:, 1]),
    "made": [f"2024-01-{i % 28 + 1:02}" for i in range(len(X))],
    "c": np.where(HOLES[:, 2], np.nan, X[:, 2]),
    "petal": X[:, 3],
}
FIT = ("--target", "kind", "--id", "code", "--drop", "made", "--categorical", "size", "--model", "sppca")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    write_table("t.csv", COLUMNS)


def write_as(kind):
    if kind == "parquet":
        write_table("t.parquet", COLUMNS)
    elif kind == "xlsx":
        pytest.importorskip("pandas").DataFrame(COLUMNS).to_excel("t.xlsx", index=False)
    elif kind == "npz":
        beside = {name: np.where(np.equal(COLUMNS[name], None), "", COLUMNS[name]) for name in ("size", "kind")}
        numbers = np.column_stack([COLUMNS[name] for name in ("a", "b", "c", "petal")])
        strings = {name: cells.astype(str) for name, cells in beside.items()}
        others = {"code": COLUMNS["code"], "made": COLUMNS["made"]}
        np.savez("t.npz", X=numbers, feature_names=["a", "b", "c", "petal"], **strings, **others)


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx", "npz"])
def test_all_columns_but_the_gaps_stay_as_they_came(kind, monkeypatch):
    monkeypatch.setattr("gnomon.tables._parquet.PART", 1)
    monkeypatch.setattr("gnomon.tables._parquet.FEWEST_ROWS", 7)
    write_as(kind)
    run("fit", "t.csv", *FIT, "--no-compare", "--out", "out")
    n = HOLES[:, :3].sum() + 5
    assert f"filled {n} empty cells in 50 rows of t.{kind}; wrote f.csv\n" in run(
        "impute", "out", f"t.{kind}", "--out", "f.csv"
    )
    header = Path("f.csv").read_text().splitlines()[0].split(",")
    assert sorted(header) == sorted(COLUMNS)
    if kind != "npz":
        assert header == list(COLUMNS)
    for name in ("code", "kind", "made"):
        assert column("f.csv", name) == ["" if cell is None else cell for cell in COLUMNS[name]]
    size = column("f.csv", "size")
    assert [found for found, cell in zip(size, COLUMNS["size"], strict=True) if cell is not None] == [
        cell for cell in COLUMNS["size"] if cell is not None
    ]
    gone = np.equal(COLUMNS["size"], None)
    assert np.mean(np.array(size)[gone] == SIZE[gone]) >= 0.8
    for name, j in (("a", 0), ("b", 1), ("c", 2)):
        found = np.array(column("f.csv", name), dtype=float)
        assert_allclose(found[~HOLES[:, j]], X[~HOLES[:, j], j], rtol=1e-12)
        assert np.isfinite(found).all()


def test_what_was_filled_can_be_fitted_as_it_is():
    run("fit", "t.csv", *FIT, "--no-compare", "--out", "out")
    run("impute", "out", "t.csv", "--out", "f.csv")
    said = run("fit", "f.csv", *FIT[:-1], "sepca", "--no-compare", "--out", "again")
    assert "50 rows, 7 features\n" in said
    assert load_model("again").predict(pytest.importorskip("pandas").read_csv("f.csv")).tolist()


def test_columns_that_are_dropped_now_and_numbers_of_rows_stay_out():
    run("fit", "t.csv", *FIT[:2], "--drop", "made", "code", *FIT[6:], "--no-compare", "--out", "out")
    run("impute", "out", "t.csv", "--drop", "made", "kind", "--out", "f.csv")
    assert Path("f.csv").read_text().splitlines()[0] == "a,code,size,b,c,petal"


def test_names_of_annotated_rows_and_columns_of_obs_stay():
    anndata, pandas = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    obs = pandas.DataFrame({"kind": COLUMNS["kind"]}, index=np.array(COLUMNS["code"], dtype=object))
    numbers = np.column_stack([COLUMNS[name] for name in ("a", "b", "c", "petal")])
    anndata.AnnData(numbers, obs=obs, var=pandas.DataFrame(index=list("abcd"))).write_h5ad("t.h5ad")
    run("fit", "t.h5ad", "--target", "kind", "--model", "sppca", "--no-compare", "--out", "out")
    run("impute", "out", "t.h5ad", "--out", "f.csv")
    assert Path("f.csv").read_text().splitlines()[0] == "obs_names,kind,a,b,c,d"
    assert column("f.csv", "obs_names") == COLUMNS["code"]
    assert column("f.csv", "kind")[:3] == ["x", "", "y"]
