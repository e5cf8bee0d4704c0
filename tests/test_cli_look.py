"""`gnomon look`: what each column is taken for, what is odd, and a command that runs."""

import gzip
import json
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_matrix, save_npz

from commands import refusal
from gnomon.cli import main
from gnomon.datasets import load_iris
from gnomon.tables import write_table

MESS = """sample;moisture;protein;temp;date;batch;passed;label;const;dup
s1;10,5;8,7;20;2024-01-02;A;yes;good;1;10,5
s2;11,2;n.d.;21;2024-01-03;A;no;;1;11,2
s3;9,8;8,9;-999;2024-01-04;B;yes;bad;1;9,8
s4;10,1;8,8;22;2024-01-05;B;no;bad;1;10,1
s5;10,9;8,1;19;2024-01-06;A;yes;good;1;10,9
s6;;8,4;20;2024-01-07;B;no;;1;
s7;10,2;8,5;21;2024-01-08;A;no;;1;10,2
s8;10,8;8,6;20;2024-01-09;B;yes;good;1;10,8
"""


def look(path, *more):
    result = CliRunner().invoke(main, ["look", str(path), *more])
    assert result.exit_code == 0, result.output
    return result.stdout


def looked(path):
    found = json.loads(look(path, "--json"))
    return found, {one["name"]: one for one in found["columns"]}


@pytest.fixture
def mess(tmp_path):
    file = tmp_path / "mess.csv"
    file.write_text(MESS)
    return file


def test_columns_are_told_apart(mess):
    _, columns = looked(mess)
    kinds = {name: (one["kind"], one["role"]) for name, one in columns.items()}
    assert kinds == {
        "sample": ("text", "id?"),
        "moisture": ("numbers", "feature"),
        "protein": ("numbers", "feature"),
        "temp": ("whole numbers", "feature"),
        "date": ("dates", "encode"),
        "batch": ("text", "encode"),
        "passed": ("yes or no", "encode"),
        "label": ("text", "target?"),
        "const": ("whole numbers", "feature"),
        "dup": ("numbers", "feature"),
    }
    assert columns["protein"]["placeholders"] == ["n.d."]
    assert columns["moisture"]["n_missing"] == 1
    assert columns["temp"]["placeholders"] == ["-999"]
    assert columns["temp"]["remarks"][0].startswith("-999 in 1 row lies far from all other numbers; --missing=-999")
    assert "says nothing" in columns["const"]["remarks"][0]
    assert columns["dup"]["remarks"] == ["the same in every row as moisture"]


def test_the_form_of_the_file_is_said(mess):
    first = look(mess).splitlines()[0]
    assert first.endswith("8 rows, 10 columns (with semicolons between cells, with decimal commas)")


def test_the_command_that_it_prints_runs(mess, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(look(mess).splitlines()[-1])
    assert words[:3] == ["gnomon", "fit", str(mess)]
    assert words[3:12] == [
        "--target", "label", "--id", "sample", "--categorical", "batch", "passed", "--drop", "date"
    ]  # fmt: skip
    result = CliRunner().invoke(main, [*words[1:], "--model", "sppca", "--components", "1"])
    assert result.exit_code == 0, result.output


def test_flowers_of_any_kind_of_file_say_the_same(tmp_path):
    bunch = load_iris()
    names = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    species = np.array(bunch.target_names)[bunch.target]
    lines = [",".join(["row", *names, "species"])]
    lines += [f"{i + 1},{','.join(map(str, x))},{s}" for i, (x, s) in enumerate(zip(bunch.data, species, strict=True))]
    (tmp_path / "iris.csv").write_text("\n".join(lines))
    (tmp_path / "iris.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"row": range(1, 151), **dict(zip(names, bunch.data.T, strict=True)), "species": species})
    frame.to_parquet(tmp_path / "iris.parquet")
    frame.to_feather(tmp_path / "iris.feather")
    frame.to_excel(tmp_path / "iris.xlsx", index=False)
    np.savez(tmp_path / "iris.npz", X=bunch.data, feature_names=names, row=np.arange(1, 151), species=species)
    for kind in ("csv", "csv.gz", "parquet", "feather", "xlsx", "npz"):
        found, columns = looked(tmp_path / f"iris.{kind}")
        roles = {one["role"]: name for name, one in columns.items() if one["role"] != "feature"}
        assert roles == {"id?": "row", "target?": "species"}, kind
        assert [columns[name]["n_different"] for name in names] == [35, 23, 43, 22], kind
        assert shlex.split(found["command"])[3:7] == ["--target", "species", "--id", "row"], kind


def test_shares_and_scales_are_noticed(tmp_path, rng):
    shares = rng.dirichlet(np.ones(4), size=30)
    np.savetxt(tmp_path / "shares.csv", shares, delimiter=",", header="a,b,c,d", comments="")
    assert "the features of every row sum to 1: shares" in look(tmp_path / "shares.csv")
    np.savetxt(
        tmp_path / "scales.csv", rng.normal(size=(30, 3)) * [1, 1, 50], delimiter=",", header="a,b,c", comments=""
    )
    found = look(tmp_path / "scales.csv")
    assert "--scale standard gives all the same weight" in found
    assert found.splitlines()[-1].endswith("--model ppca --scale standard --out results")


def test_a_target_of_numbers_is_told_by_its_empty_cells_and_name(tmp_path, rng):
    rows = [
        f"{i},{a:.4f},{b:.4f},{'' if i > 9 else f'{a + b:.4f}'}" for i, (a, b) in enumerate(rng.normal(size=(40, 2)))
    ]
    (tmp_path / "t.csv").write_text("\n".join(["id,a,b,starch", *rows]))
    assert looked(tmp_path / "t.csv")[1]["starch"]["role"] == "target?"
    assert looked(tmp_path / "t.csv")[1]["id"]["role"] == "id?"


def test_of_a_long_table_the_first_rows_are_looked_at(tmp_path, monkeypatch):
    from gnomon._cli import looking

    monkeypatch.setattr(looking, "MOST_ROWS", 5)
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 9)
    assert look(tmp_path / "t.csv").splitlines()[0].endswith("the first 5 rows, 2 columns")
    assert not looked(tmp_path / "t.csv")[0]["all_rows"]


def test_what_cannot_be_read_is_one_line(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3\n")
    assert "row 2 (line 3): 1 cell, and the header has 2" in refusal("look", str(tmp_path / "t.csv"))
    (tmp_path / "u.csv").write_text("a,a\n1,2\n")
    assert "several columns are called 'a'" in refusal("look", str(tmp_path / "u.csv"))
    (tmp_path / "v.csv").write_text("a,b\n")
    assert "a header and no rows" in refusal("look", str(tmp_path / "v.csv"))
    (tmp_path / "w.npz").write_bytes(b"nothing")
    assert "is not an npz file" in refusal("look", str(tmp_path / "w.npz"))
    assert "does not exist" in refusal("look", str(tmp_path / "x.csv"))


def measured(path, more, mark=""):
    """40 rows of six columns, one of which has a value in ten rows, and further columns."""
    rng = np.random.default_rng(0)
    table = {f"{1100 + 10 * j} nm": rng.normal(size=40).round(3).tolist() for j in range(6)}
    table |= {"water": [f"{x:.3f}" if i % 4 == 0 else mark for i, x in enumerate(rng.normal(size=40))]} | more
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return looked(path)[0]["command"]


def test_a_target_of_numbers_is_told_where_marks_stand_for_what_is_unknown(tmp_path):
    command = measured(tmp_path / "t.csv", {}, "n.b.")
    assert command.endswith("--target water --missing n.b. --out results")


def test_all_numbers_that_few_rows_have_are_targets(tmp_path):
    fat = [i / 7 if i % 3 == 0 else "" for i in range(40)]
    some = [i / 7 if i % 3 else "" for i in range(40)]  # most rows have it
    command = measured(tmp_path / "t.csv", {"fat": fat, "kind": ["ab"[i % 2] if i < 9 else "" for i in range(40)]})
    assert "--target water fat kind --out results" in command
    found, columns = looked(tmp_path / "t.csv")
    assert columns["fat"]["remarks"] == ["known in few rows, as kind is; if it is no target, leave it out with --drop"]
    assert "--target water --out results" in measured(tmp_path / "t.csv", {"some": some})
    many = {f"m{j}": fat for j in range(10)} | {f"f{j}": range(40) for j in range(20)}
    assert "--target water --" in measured(tmp_path / "t.csv", many)


def test_long_numbers_are_shown_short(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n0.12345678901234567,a text that is long\n2.5,b\n1e-300,c\n")
    text = look(tmp_path / "t.csv")
    assert "0.123457, 2.5, 1e-300" in text
    assert "a text that i..., b, c" in text


def test_a_folder_is_looked_at_in_all_of_its_files(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    folder = tmp_path / "parts"
    folder.mkdir()
    for j, name in enumerate("abc"):  # a class a file
        write_table(folder / f"{name}.parquet", {"x": np.arange(40.0) ** 0.5 + j, "kind": np.full(40, name)})
    said = look(folder)
    assert f"{folder}: 120 rows, 2 columns\n" in said
    assert "a, b, c" in said
    assert "--target kind" in said
    monkeypatch.setattr("gnomon._cli.looking.MOST_ROWS", 30)
    assert f"{folder}: 30 rows, the first of each of 3 files, 2 columns\n" in look(folder)
    assert not looked(folder)[0]["all_rows"]


def test_of_wide_tables_fewer_rows_are_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr("gnomon.tables._cells.CELLS", 100)
    monkeypatch.setattr("gnomon.tables._cells.FEWEST", 5)
    X = np.random.default_rng(0).normal(size=(30, 10))
    write_table(tmp_path / "t.csv", {f"x{j}": X[:, j] for j in range(10)})
    np.save(tmp_path / "t.npy", X)
    for name in ("t.csv", "t.npy"):
        assert f"{name}: the first 10 rows, 10 columns\n" in look(tmp_path / name)
    monkeypatch.setattr("gnomon.tables._cells.FEATURES", 4)
    monkeypatch.setattr("gnomon.tables._cells.FEWEST", 20)
    assert "t.npy: the first 20 rows, 5 columns (the first 5 of 10 features)\n" in look(tmp_path / "t.npy")
    assert "t.csv: the first 20 rows, 10 columns\n" in look(tmp_path / "t.csv")


def test_true_and_false_are_no_numbers_and_labels_may_be_beside(tmp_path):
    rows = ["a,ripe", *(f"{0.5 * i},{i % 3 == 0}" for i in range(9))]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    found, columns = looked(tmp_path / "t.csv")
    assert (columns["ripe"]["kind"], columns["ripe"]["role"]) == ("yes or no", "target?")
    save_npz(tmp_path / "s.npz", csr_matrix(np.diag([1.0, 2.0, 3.0, 400.0])))
    found, _ = looked(tmp_path / "s.npz")
    assert "--labels takes labels from a file of text" in found["remarks"][-1]
    assert "--scale standard" in found["command"]  # as its remark advises


def test_a_look_does_not_wait_for_scikit_learn():
    found = "import sys, gnomon._cli.looking; print([name for name in ('sklearn', 'pandas') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", found], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_columns_beside_a_matrix_are_not_read(tmp_path):
    anndata = pytest.importorskip("anndata")
    rng = np.random.default_rng(0)
    obs = pd.DataFrame(
        {"cell_type": ["a", "b", "", "", "", ""], "depth": 1e6 * rng.normal(size=6), "lane": [*"xxyyyx"]}
    )
    anndata.AnnData(rng.normal(size=(6, 3)), obs=obs.set_index(obs.index.astype(str))).write_h5ad(tmp_path / "t.h5ad")
    found, columns = looked(tmp_path / "t.h5ad")
    assert {name: columns[name]["role"] for name in ("cell_type", "depth", "lane")} == {
        "cell_type": "target?", "depth": "not read", "lane": "not read",
    }  # fmt: skip
    assert "--categorical" not in found["command"]
    assert "--scale" not in found["command"]


def test_free_text_is_no_answer_and_repeated_names_are_an_id(tmp_path):
    lines = [f"plot{i // 2},{i}.5,note {i % 30},{'ab'[i % 2]}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["sample,height,remarks,kind", *lines]))
    found, columns = looked(tmp_path / "t.csv")
    assert {name: one["role"] for name, one in columns.items()} == {
        "sample": "id?", "height": "feature", "remarks": "encode", "kind": "target?",
    }  # fmt: skip
    assert found["command"].endswith("--target kind --id sample --drop remarks --out results")


def test_the_same_of_many_columns_is_one_line(tmp_path):
    X = np.ones((9, 50))
    X[:, 0] = np.arange(9.0) ** 2
    write_table(tmp_path / "t.csv", {f"c{j}": X[:, j] for j in range(50)})
    notes = [line for line in look(tmp_path / "t.csv").splitlines() if "one value" in line or "the same" in line]
    assert notes == ["note: 'c1', 'c2', 'c3', 'c4', ... (49 in all): one value in every row; it says nothing"]


def test_a_column_of_marks_alone_is_left_out_by_a_command_that_runs(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    X = rng.normal(size=(40, 2)).round(3).tolist()
    lines = [f"{a},<LOD,{b if i % 4 else '<LOD'},{'ab'[i % 2]}" for i, (a, b) in enumerate(X)]
    (tmp_path / "t.csv").write_text("\n".join(["m1,m2,m3,kind", *lines]))
    found, columns = looked("t.csv")
    assert (columns["m2"]["kind"], columns["m2"]["role"]) == ("empty", "drop")
    assert columns["m2"]["remarks"] == ["nothing but '<LOD'; it says nothing"]
    assert found["command"] == "gnomon fit t.csv --target kind --drop m2 --missing '<LOD' --out results"
    words = shlex.split(found["command"])[1:]
    result = CliRunner().invoke(main, [*words, "--model", "sppca", "--components", "1", "--no-compare"])
    assert result.exit_code == 0, result.output


def test_samples_in_columns_with_text_in_some_rows_are_turned(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    X = rng.normal(size=(20, 6)).round(3)
    lines = [["batch", *"aabbab"], ["group", "case", "control", "", "case", "", "control"]]
    lines += [[f"M{j}", *map(str, row)] for j, row in enumerate(X)]
    lines[4][2] = "<LOD"
    (tmp_path / "t.csv").write_text("\n".join(map(",".join, [["", *(f"S{i}" for i in range(6))], *lines])))
    found, columns = looked("t.csv")
    assert found["command"] == "gnomon look t.csv --form transposed"
    assert len(found["remarks"]) == 1
    assert "text in 'batch', 'group'; if columns are samples, add --form transposed" in found["remarks"][0]
    assert not any(one["remarks"] for one in columns.values())
    turned = look("t.csv", "--form", "transposed")
    assert "--target group" in turned
    assert "if columns are samples" not in turned


def test_cells_of_several_lines_are_shown_on_one(tmp_path):
    lines = [f'{i}.5,"first\nsecond, {i}"' for i in range(5)]
    (tmp_path / "t.csv").write_text("\n".join(["height,remarks", *lines]))
    row = next(line for line in look(tmp_path / "t.csv").splitlines() if line.startswith("remarks"))
    assert "first second, 0" in row


@pytest.mark.parametrize("form", ["t.parquet", "t.feather"])
def test_cells_that_are_neither_text_nor_numbers_are_looked_at(tmp_path, monkeypatch, form):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=12)
    frame = pd.DataFrame({"a": rng.normal(size=12), "b": rng.normal(size=12), "day": days, "noon": days.date})
    frame["raw"], frame["pairs"], frame["ratio"] = [b"xy"] * 12, [[1, 2]] * 12, [0.5, 0.7, np.inf, *[0.5] * 9]
    frame["kind"] = np.where(np.arange(12) % 2, "oak", "elm")
    getattr(frame, f"to_{form[2:]}")(form)
    found, columns = looked(form)
    assert {name: columns[name]["kind"] for name in ("day", "noon", "raw", "pairs", "ratio")} == {
        "day": "dates", "noon": "dates", "raw": "text", "pairs": "text", "ratio": "numbers",
    }  # fmt: skip
    assert columns["ratio"]["remarks"] == ["'inf' among numbers; --missing takes it for an empty cell"]
    assert "--drop day noon --missing inf" in found["command"]
    words = shlex.split(found["command"])[1:]
    result = CliRunner().invoke(main, [*words, "--model", "sppca", "--components", "1", "--no-compare"])
    assert result.exit_code == 0, result.output
