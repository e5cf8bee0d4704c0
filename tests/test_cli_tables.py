"""Tables as people have them, through the commands: what is asked, and that the way out which is named works."""

import json
import re
import shlex
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from commands import column, refusal, run
from gnomon._cli.options import FORMS
from gnomon.cli import main
from gnomon.tables import read_table, write_table

OPTIONS = ("--target", "kind", "--id", "name", "--model", "sppca", "--no-compare", "--out", "out")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)


def rows(n=40):
    X = np.random.default_rng(0).normal(10.0, 2.0, size=(n, 3)).round(3)
    return [["name", "a", "b", "c", "kind"], *([f"r{i}", *map(str, x), "xy"[i % 2]] for i, x in enumerate(X))]


def write(name, table, separator=","):
    Path(name).write_text("\n".join(separator.join(row) for row in table) + "\n")


def read_whole(path):
    """The columns of a text table, numbers as such."""
    table = read_table(path, targets=["kind"], id="name")
    columns = {name: table.X[:, j] for j, name in enumerate(table.feature_names)}
    return {"name": table.ids} | columns | {"kind": table.targets["kind"]}


def way_out(said):
    """The options that a refusal names first."""
    return shlex.split(re.search(r"(--\S+=\S+|--\w+ .*?)( if| and leave|, or|;|$)", said)[1])


def test_numbers_that_mean_nothing_are_asked_about_and_known_to_the_model():
    table = rows()
    table[3][2] = table[9][2] = table[5][3] = "-999"
    write("t.csv", table)
    said = refusal("fit", "t.csv", *OPTIONS)
    assert said.endswith(
        "t.csv: -999 in 'b', 'c' lies far from all other numbers; add --missing=-999 if it means an empty cell, or "
        "keep it with --keep b c.\n"
    )
    assert "-999 in 'b', 'c'" in refusal("fit", "t.csv", *OPTIONS, "--dry-run")
    run("fit", "t.csv", *OPTIONS, *way_out(said))
    run("predict", "out", "t.csv", "--out", "known.csv")
    table[3][2] = table[9][2] = table[5][3] = ""
    write("empty.csv", table)
    run("predict", "out", "empty.csv", "--out", "empty-answers.csv")
    assert column("known.csv", "p_x") == column("empty-answers.csv", "p_x")
    run("fit", "t.csv", *OPTIONS[:-1], "kept", "--keep", "b", "c")
    table[3][2] = "-999"
    write("new.csv", [table[0], table[3]])
    run("predict", "kept", "new.csv", "--out", "more.csv")  # the fit has said that they are numbers


@pytest.mark.parametrize("dask", [(), ("--dask",)])
def test_numbers_that_mean_nothing_are_asked_about_in_new_rows(dask):
    pytest.importorskip("dask")
    write("t.csv", rows())
    write_table("t.parquet", read_whole("t.csv"))
    run("fit", "t.parquet", *OPTIONS, *dask)
    table = rows()
    table[3][2] = "-999"
    write("new.csv", [table[0], table[3]])  # a row alone has no others to lie far from
    for command in ("transform", "predict", "impute"):
        said = refusal(command, "out", "new.csv", "--out", "answers.csv")
        assert said.endswith(
            "new.csv: -999 in 'b' lies far from all numbers of the fit; add --missing=-999 if it means an empty cell, "
            "or keep it with --keep b.\n"
        )
        assert not Path("answers.csv").exists()
    assert "-999 in 'b'" in refusal("report", "out", "new.csv", "--out", "page.html")
    run("predict", "out", "new.csv", "--out", "known.csv", *way_out(said))
    said = run("predict", "out", "new.csv", "--out", "kept.csv", "--keep", "b")
    assert said.startswith("predicted 1 row of new.csv; ")
    table[3][2] = ""
    write("empty.csv", [table[0], table[3]])
    run("predict", "out", "empty.csv", "--out", "empty-answers.csv")
    assert column("known.csv", "p_x") == column("empty-answers.csv", "p_x") != column("kept.csv", "p_x")


def test_marks_of_the_fit_are_known_in_tables_of_numbers():
    pytest.importorskip("pyarrow")
    table = rows()
    table[3][2], table[5][3] = "n.d.", "-999"
    write("t.csv", table)
    run("fit", "t.csv", *OPTIONS, "--missing", "n.d.", "-999")
    numbers = np.array([[float(cell) for cell in row[1:4]] for row in rows()[1:]])
    numbers[4, 2] = -999
    write_table("t.parquet", dict(zip("abc", numbers.T, strict=True)))
    numbers[4, 2] = np.nan
    write_table("empty.parquet", dict(zip("abc", numbers.T, strict=True)))
    for name in ("t", "empty"):
        run("predict", "out", f"{name}.parquet", "--out", f"{name}-answers.csv")
    assert Path("t-answers.csv").read_text() == Path("empty-answers.csv").read_text()


@pytest.mark.parametrize(
    "labels, said",
    [
        (
            "x y -999",
            "'-999' in 13 rows; add --unlabeled=-999 if they have no label, or --unlabeled '' if it is a class",
        ),
        ("1 2 -9", "'-9' in 13 rows; add --unlabeled=-9 if they have no label, or --unlabeled '' if it is a number"),
        ("1.5 2.25 -99", "'-99' in 13 rows; add --unlabeled=-99"),
        ("x y k.A.", "'k.A.' in 13 rows; add --unlabeled k.A."),
        ("x y ? unknown", "'?', 'unknown' in 20 rows; add --missing '?' unknown if they have no label"),
    ],
)
def test_marks_are_no_classes(labels, said):
    table, labels = rows(), labels.split()
    for i, row in enumerate(table[1:]):
        row[4] = labels[i % len(labels)]
    write("t.csv", table)
    asked = refusal("fit", "t.csv", *OPTIONS, "--dry-run")
    assert said in asked
    found = run("fit", "t.csv", *OPTIONS, "--dry-run", *way_out(asked))
    assert re.search(r"(27|20) of 40 rows labeled", found)


def test_a_table_without_names_of_columns():
    write("t.csv", rows()[1:])
    said = refusal("fit", "t.csv", *OPTIONS)
    assert "Is the header line missing? Then add --form no-header; columns are column1, column2, ..." in said
    looked = run("look", "t.csv")
    assert "the first line looks like a row; if no line names the columns, add --form no-header" in looked
    words = shlex.split(looked.splitlines()[-1])
    assert words == ["gnomon", "look", "t.csv", "--form", "no-header"]
    words = shlex.split(run(*words[1:]).splitlines()[-1])
    assert words[3:8] == ["--form", "no-header", "--target", "column5", "--id"]
    assert "40 rows, 3 features" in run(*words[1:], "--dry-run")


def test_samples_as_columns_with_labels_of_their_own():
    X = np.random.default_rng(0).normal(size=(30, 25)).round(3)
    table = [["gene", *(f"s{i}" for i in range(25))], *([f"g{j}", *map(str, x)] for j, x in enumerate(X))]
    write("genes.csv", table)
    write("labels.csv", [[f"s{i}", "xy"[i % 2]] for i in range(25)])
    form = ("--form", "transposed", "--id", "gene")
    out = ("--model", "sppca", "--no-compare", "--out", "out")
    found = run("fit", "genes.csv", *form, "--labels", "labels.csv", *out)
    assert "genes.csv: 25 rows, 30 features" in found
    assert "was read with columns as rows" in found
    assert "Next: gnomon predict out NEW.csv --form transposed --out answers.csv" in found
    run("predict", "out", "genes.csv", "--form", "transposed", "--out", "answers.csv")
    assert column("answers.csv", "gene") == [f"s{i}" for i in range(25)]
    assert refusal("predict", "out", "genes.csv", "--out", "new.csv") == (
        "gnomon: genes.csv has none of the columns that the model needs, 'g0', 'g1', 'g2', 'g3', ... (30 in all); "
        "if its rows are the columns of the model, add --form transposed.\n"
    )
    write("other.csv", [["symbol", *table[0][1:]], *table[1:]])
    said = refusal("predict", "out", "other.csv", "--form", "transposed", "--out", "new.csv")
    assert "--drop, or say with --id which column names the rows, as 'gene' did in the fit." in said


def test_look_says_that_samples_may_be_columns():
    write("genes.csv", [["gene", *"abcd"], *([f"g{j}", *map(str, range(j, j + 4))] for j in range(1200))])
    assert "many more rows than columns; if rows are features" in run("look", "genes.csv")
    write("nm.csv", [["nm", "a", "b"], *([str(1100 + 2 * j), f"{j * 0.1:.1f}", "0.3"] for j in range(30))])
    assert "nm goes in equal steps, as wavelengths do; if columns are samples, add --form transposed" in run(
        "look", "nm.csv"
    )
    assert "transposed" not in run("look", "nm.csv", "--form", "transposed").split("\n", 1)[1].split("gnomon")[0]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_known_to_the_reader(form):
    write("t.csv", rows())
    result = CliRunner().invoke(main, ["look", "t.csv", "--form", form])
    assert result.exit_code == 0, result.output
    assert result.stdout != run("look", "t.csv") or form == "decimal-point"


def test_form_of_what_says_so_itself_is_refused():
    np.savez("t.npz", X=np.eye(3))
    for words in ("look",), ("fit", "--model", "ppca", "--out", "out"):
        said = refusal(words[0], "t.npz", *words[1:], "--form", "transposed")
        assert "t.npz: --form says how text is written; a .npz file says so itself, so leave it out." in said


def test_options_of_odd_names_can_be_typed():
    table = rows()
    table[0] = ["name", "--a", "-b=1", "c", "kind"]
    for row in table[1:]:
        row[1] = row[2] = "text"
    write("t.csv", table)
    said = refusal("fit", "t.csv", *OPTIONS)
    assert "leave the columns out with --drop=--a --drop=-b=1, take them for answers with --categorical=--a" in said
    assert "40 rows, 1 feature\n" in run("fit", "t.csv", *OPTIONS, "--dry-run", "--drop=--a", "--drop=-b=1")


def test_a_wide_table_is_read_and_looked_at_soon():
    names = [f"g{j}" for j in range(20_000)]
    cells = np.round(np.random.default_rng(0).normal(size=(20, 20_000)), 3).astype(str).tolist()
    write("wide.csv", [["name", *names], *([f"r{i}", *row] for i, row in enumerate(cells))])
    begun = time.process_time()
    table = read_table("wide.csv", id="name")
    assert time.process_time() - begun < 5.0  # 14 s where each name was sought among all
    assert table.X.shape == (20, 20_000)
    begun = time.process_time()
    run("look", "wide.csv")
    assert time.process_time() - begun < 10.0  # 25 s where each column was compared with all others


def test_every_command_of_a_model_says_how_a_table_was_read():
    write("t.csv", rows())
    run("fit", "t.csv", *OPTIONS)
    table = [[cell.replace(".", ",") for cell in row] for row in rows()]
    write("new.csv", [["Meat of May"], *table], ";")
    said = "note: new.csv was read with semicolons between cells, from line 2 on, with decimal commas."
    for command, out in (("predict", "p.csv"), ("transform", "z.csv"), ("impute", "f.csv"), ("report", "r.html")):
        assert said in run(command, "out", "new.csv", "--out", out), command
    assert json.loads(run("predict", "out", "new.csv", "--out", "q.csv", "--json"))["assumed"] in said


def test_classes_that_differ_by_case_alone_are_noted():
    table = rows()
    table[1][4] = "X"
    write("t.csv", table)
    said = "note: 'X' and 'x' of 'kind' are two classes; write them alike if they are one."
    assert said in run("fit", "t.csv", *OPTIONS, "--dry-run")
    assert said in run("fit", "t.csv", *OPTIONS)


def test_a_model_of_complete_rows_names_what_takes_others():
    table = rows()
    table[1][1] = ""
    write("t.csv", table)
    said = refusal("fit", "t.csv", *OPTIONS[:4], "--model", "dppca", "--out", "out")
    assert "DPPCA needs every entry: leave --model out, or fill the cells first by gnomon impute" in said
    run("fit", "t.csv", *OPTIONS[:4], "--no-compare", "--out", "out")


def test_what_meant_no_label_is_known_to_the_model():
    table = rows()
    for row in table[1::3]:
        row[4] = "unknown"
    write("t.csv", table)
    run("fit", "t.csv", *OPTIONS[:4], "--unlabeled", "unknown", "--no-compare", "--out", "out")
    found = json.loads(run("suggest", "out", "t.csv", "--count", "3", "--json"))["suggested"]
    assert {row["name"] for row in found} <= {row[0] for row in table[1::3]}
    run("report", "out", "t.csv", "--out", "r.html")
    table[1][4] = "z"
    write("t.csv", table)
    said = refusal("suggest", "out", "t.csv")
    assert "z is none of the model's classes x, y; add --unlabeled z if it means that the row has none." in said


def test_the_target_is_told_by_its_name_and_its_doubts():
    names = ["name", "a", "batch", "kind"]
    write("t.csv", [names, *([f"r{i}", str(i % 7), "AB"[i % 2], "xy"[i % 2]] for i in range(12))])
    assert "--target kind" in run("look", "t.csv")
    names[3] = "sort"
    write("t.csv", [names, *([f"r{i}", str(i % 7), "AB"[i % 2], ["x", "y", "?"][i % 3]] for i in range(12))])
    assert "--target sort" in run("look", "t.csv")


@pytest.mark.parametrize("decimal", [".", ","])
def test_a_target_of_numbers_stays_one_beside_what_means_no_label(decimal):
    cells = [f"{x:.3f}".replace(".", decimal) for x in np.random.default_rng(0).normal(size=(40, 3)).ravel()]
    rows = [[*cells[3 * i : 3 * i + 2], cells[3 * i + 2] if i % 2 else "n.b."] for i in range(40)]
    Path("t.csv").write_text("\n".join(";".join(row) for row in [["a", "b", "water"], *rows]) + "\n")
    words = ("--target", "water", "--unlabeled", "n.b.", "--model", "sppca", "--no-compare")
    assert "target water: real numbers (numbers with fractions); 20 of 40 rows labeled" in run(
        "fit", "t.csv", *words, "--out", "out"
    )
    run("report", "out", "t.csv", "--out", "r.html")
    assert "20 rows had no label." in Path("r.html").read_text()
    said = refusal("report", "out", "t.csv", "--unlabeled", "?", "--out", "none.html")
    assert "'n.b.' is not a number; add --unlabeled n.b. if it means that the row has none." in said
    Path("labels.txt").write_text("\n".join(row[2].replace(",", ".") for row in rows) + "\n")
    labels = ("--labels", "labels.txt", "--target", "w", "--unlabeled", "n.b.", "--model", "sppca", "--no-compare")
    assert "target w: real numbers" in run("fit", "t.csv", "--drop", "water", *labels, "--out", "two")


def test_columns_without_names_may_be_called_by_number():
    table = rows()
    write("t.csv", table[1:])
    run("fit", "t.csv", "--form", "no-header", "--target", "5", "--id", "1", "--drop", "2", *OPTIONS[4:])
    run("predict", "out", "t.csv", "--form", "no-header", "--id", "1", "--out", "answers.csv")
    assert column("answers.csv", "column1") == [row[0] for row in table[1:]]
    write("named.csv", table)
    said = refusal("fit", "named.csv", "--target", "5", *OPTIONS[4:-1], "other")
    assert said.endswith("no column '5' for --target. The columns go by name, and number 5 is 'kind'.\n")
    Path("fit.toml").write_text('target = ["5"]\nform = ["no-header"]\nid = "1"\n')
    run("fit", "t.csv", "--config", "fit.toml", *OPTIONS[4:-1], "more")
