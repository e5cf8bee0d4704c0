"""Large tables come, and results go, some rows at a time; a folder of Parquet files is a table."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from commands import refusal, run
from gnomon.tables import TableError, read_table, table_parts, write_parts, write_table
from gnomon.tables import _parquet as parquet_module

pyarrow = pytest.importorskip("pyarrow.parquet", reason="the extra gnomon[io] is not installed")


@pytest.fixture(autouse=True)
def in_small_parts(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parquet_module, "FEWEST_ROWS", 7)
    monkeypatch.setattr(parquet_module, "PART", 1)


def table(n=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[3, 1] = np.nan
    name = np.array([f"r{i}" if i % 5 else None for i in range(n)], dtype=object)
    return {"name": name, **{f"x{j}": X[:, j] for j in range(3)}}


def test_parts_are_the_table():
    write_table("t.parquet", table())
    parts = list(table_parts("t.parquet", id="name"))
    assert [len(part.X) for part in parts] == [7, 7, 6]
    assert [part.first for part in parts] == [0, 7, 14]
    whole = read_table("t.parquet", id="name")
    np.testing.assert_array_equal(np.vstack([part.X for part in parts]), whole.X)
    assert np.concatenate([part.ids for part in parts]).tolist() == whole.ids.tolist()


def test_a_folder_of_parquet_files_is_a_table(tmp_path):
    (tmp_path / "many").mkdir()
    write_table("many/a.parquet", table(10, 1))
    write_table("many/b.parquet", table(15, 2))
    whole = read_table("many", id="name")
    assert whole.X.shape == (25, 3)
    np.testing.assert_array_equal(np.vstack([part.X for part in table_parts("many", id="name")]), whole.X)
    (tmp_path / "many" / "notes.txt").write_text("not alone")
    with pytest.raises(TableError, match="many is a folder; name a table file in it"):
        read_table("many")


def test_bad_cells_are_named_by_their_row_in_the_whole():
    columns = table()
    columns["x2"][16] = np.inf
    write_table("t.parquet", columns)
    with pytest.raises(TableError, match="row 17, column 'x2': inf is not a finite number"):
        list(table_parts("t.parquet", id="name"))
    write_table("none.parquet", {name: values[:0].astype(float) for name, values in columns.items()})
    with pytest.raises(TableError, match=r"none\.parquet: columns and no rows"):
        list(table_parts("none.parquet"))


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_parts_are_written_as_one_table(name):
    columns = table()
    columns["name"][:7] = None  # nothing says at first that it is text
    cut = [{key: values[a:b] for key, values in columns.items()} for a, b in ((0, 7), (7, 14), (14, 20))]
    write_parts(name, iter(cut))
    found = read_table(name, id="name")
    np.testing.assert_array_equal(found.X, np.column_stack([columns[f"x{j}"] for j in range(3)]))
    assert [value or None for value in found.ids.tolist()] == columns["name"].tolist()


@pytest.mark.parametrize("command", ["transform", "predict", "impute"])
def test_commands_say_of_parts_what_they_say_of_the_whole(command, monkeypatch):
    answers = ["predicted"] if command == "predict" else []
    columns = table(40)
    kind = np.array(["a", "b"], dtype=object)[(columns["x0"] > 0).astype(int)]
    write_table("fit.csv", columns | {"kind": kind})
    write_table("new.parquet", columns)
    run("fit", "fit.csv", "--target", "kind", "--id", "name", "--model", "sppca", "--no-compare", "--out", "out")
    in_parts = run(command, "out", "new.parquet", "--out", "parts.csv")
    monkeypatch.setattr(parquet_module, "FEWEST_ROWS", 1000)
    whole = run(command, "out", "new.parquet", "--out", "whole.csv")
    assert in_parts.replace("parts.csv", "whole.csv") == whole
    one, two = (read_table(name, id="name", targets=answers) for name in ("parts.csv", "whole.csv"))
    np.testing.assert_allclose(one.X, two.X, atol=1e-12)
    assert one.ids.tolist() == two.ids.tolist()


def test_an_error_on_the_way_leaves_nothing(tmp_path):
    write_table("fit.csv", table(40))
    run("fit", "fit.csv", "--id", "name", "--model", "ppca", "--out", "out")
    bad = table(40)
    bad["x0"][30] = np.inf
    write_table("new.parquet", bad)
    assert "row 31, column 'x0'" in refusal("transform", "out", "new.parquet", "--out", "z.parquet")
    assert not (tmp_path / "z.parquet").exists()


@pytest.mark.parametrize("kind", ["int64", "uint64", "Int64"])
def test_whole_numbers_beyond_those_of_float64_are_rounded(kind):
    values = pd.Series([2**60 + 1, 2**53 + 1, 3], dtype=kind)
    if kind == "Int64":
        values[2] = pd.NA
    pd.DataFrame({"a": values, "b": [0.5, 1.5, 2.5]}).to_parquet("t.parquet")
    table = read_table("t.parquet")
    assert_array_equal(table.X[:, 0], [2.0**60, 2.0**53, np.nan if kind == "Int64" else 3.0])
    assert read_table("t.parquet", id="a").ids.tolist()[:2] == [2**60 + 1, 2**53 + 1]


def test_infinite_numbers_may_mean_empty_cells():
    pd.DataFrame({"a": [np.inf, 1.0, -np.inf], "b": [0.5, 1.5, 2.5]}).to_parquet("t.parquet")
    assert_array_equal(read_table("t.parquet", missing=["inf", "-inf"]).X[:, 0], [np.nan, 1.0, np.nan])
    with pytest.raises(TableError, match="row 3, column 'a': -inf is not a finite number"):
        read_table("t.parquet", missing=["inf"])
