"""Bad input: one line on stderr that names the trouble, exit code 2, nothing written, never a traceback."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from gnomon import SPPCA
from gnomon.cli import main
from gnomon.datasets import load_iris
from gnomon.export import save_model
from gnomon.tables import write_table

pytestmark = pytest.mark.usefixtures("few_splits")

IRIS = load_iris()
GOOD = "\n".join(["flower,a,b,c,kind", *(f"f{i},{i % 7},{i % 5},{i % 3}.5,{'xyz'[i % 3]}" for i in range(30))]) + "\n"
FIT = ["fit", "t.csv", "--no-compare", "--model", "sppca", "--target", "kind", "--id", "flower", "--out", "out"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A working directory with a good table, t.csv."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(GOOD)
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in Path(folder).rglob("*")}


def refusal(*arguments):
    """Run a command that must fail; return its one line and check that nothing was written."""
    before = contents(".")
    result = CliRunner().invoke(main, [str(word) for word in arguments], prog_name="gnomon")
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2
    assert result.stdout == ""
    assert contents(".") == before
    assert result.stderr.startswith("gnomon: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("gnomon: ").rstrip("\n")


def succeed(*arguments):
    result = CliRunner().invoke(main, [str(word) for word in arguments], prog_name="gnomon")
    assert result.exit_code == 0, result.output


# ------------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["fit"], ["Missing argument 'TABLE'", "See `gnomon fit --help`."]),
        (["fit", "t.csv", "--target", "kind"], ["Missing option '--out'"]),
        (["fit", "t.csv", "--out", "o"], ["--target is missing; without labels, use --model ppca."]),
        ([*FIT, "--components", "0"], ["'--components'", "'0' is neither a whole number from 1 on nor auto"]),
        ([*FIT, "--components", "two"], ["'--components'", "'two' is neither a whole number from 1 on nor auto"]),
        ([*FIT, "--model", "pca"], ["'--model'", "'pca' is not one of 'auto', 'search', 'cppca', 'ppca', 'sppca'"]),
        ([*FIT, "--seed", "-1"], ["'--seed'", "-1 is not in the range x>=0"]),
        (["fit", "t.csv", "u.csv", "--target", "kind", "--out", "o"], ["unexpected extra argument (u.csv)"]),
        (["demo", "--data", "iris"], ["'--data'", "'iris' is not one of 'wine', 'digits', 'breast_cancer'"]),
        ([*FIT, "--drop", "a", "--seeds", "1"], ["No such option", "--seeds"]),
        (["fti"], ["No such command 'fti'", "See `gnomon --help`."]),
    ],
)
def test_wrong_arguments(arguments, words):
    message = refusal(*arguments)
    assert [word for word in words if word not in message] == []


# ----------------------------------------------------------------------------------------------- tables


@pytest.mark.parametrize(
    "content, expected",
    [
        ("", "t.csv is empty."),
        ("flower,a,b,c,kind\n", "t.csv: a header and no rows."),
        ("flower,a,b,a,kind\n1,2,3,4,x\n", "t.csv: several columns are called 'a' (columns 2, 4); rename all but one."),
        (GOOD + "f31,1,2\n", "t.csv, row 31 (line 32): 3 cells, and the header has 5."),
        (GOOD.replace("f3,3,", "f3,x,").replace(",0.5,", ",low,"), "t.csv, row 4 (line 5), column 'a': 'x' is not a "
         "number, and neither are cells of 'c'; leave the columns out with --drop a c, take them for answers "
         "with --categorical a c, or name them for --target or --id."),
        (GOOD + "f31,1,two,3,x\n", "t.csv, row 31 (line 32), column 'b': 'two' is not a number; leave the column out "
         "with --drop b, take it for answers with --categorical b, or name it for --target or --id."),
        (re.sub(r"(?m)^(f\d+,.),.,", r"\1,,", GOOD), "t.csv, column 'b': no row has a value; leave the column out "
         "with --drop b."),
        (re.sub(r"(?m)^f(\d+),.", r"f\1,\1", GOOD), "t.csv, column 'a' counts the rows (0, 1, ...): name it with "
         "--id a, leave the column out with --drop a, or make it a feature with --keep a."),
        (GOOD + "f31,,inf,3,x\n", "t.csv, row 31 (line 32), column 'b': inf is not a finite number; correct it, or "
         "leave the column out with --drop b."),
        (GOOD.encode() + b"f31,1,2,3,caf\xe9\x81\n", "t.csv, line 32: byte 0xe9 is not UTF-8; save the table as UTF-8 "
         "text."),
        (GOOD.replace(",", ";") + "1\n", "t.csv, row 31 (line 32): 1 cell, and the header has 5."),
        (GOOD.replace("kind", "sort"), "t.csv: no column 'kind' for --target. The columns are 'flower', 'a', 'b', "
         "'c', 'sort'."),
        (GOOD + 'f31,1,"2,3,x\n', "t.csv, line 32: not a table row (unexpected end of data)."),
        (b"PK\x03\x04\xff\xfe\x00", "t.csv, line 1: byte 0xff is not UTF-8; save the table as UTF-8 text."),
    ],
)  # fmt: skip
def test_bad_tables(content, expected, folder):
    (folder / "t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert refusal(*FIT) == expected


def test_other_kinds_of_files(folder):
    (folder / "t.xlsx").write_bytes(b"PK")
    (folder / "t.parquet").write_bytes(b"PAR1 and nothing else")
    (folder / "t.npz").write_bytes(b"no archive")
    (folder / "t.ods").write_bytes(b"PK")
    (folder / "d").mkdir()
    options = ["--target", "kind", "--out", "out"]
    assert refusal("fit", "no.csv", *options) == "no.csv does not exist."
    assert refusal("fit", "d", *options).startswith("d is a folder; name a table file in it, or")
    assert refusal("fit", "t.ods", *options).startswith("t.ods: .ods is not a kind of table that can be read; save")
    assert refusal("fit", "t.xlsx", *options).startswith("t.xlsx is not an Excel file that can be read (")
    assert refusal("fit", "t.parquet", *options).startswith("t.parquet is not a Parquet file that ")
    assert refusal("fit", "t.npz", *options).startswith("t.npz is not an npz file of plain arrays")


@pytest.mark.parametrize(
    "kinds, options, expected",
    [
        ([""] * 30, [], "t.csv: no row has a value in 'kind'; without labels use --model ppca."),
        (["x"] * 2 + [""] * 28, [], "t.csv, column 'kind': only the value x in 2 labeled rows, which guides nothing; "
         "label more rows."),
        (["1.5"] * 2 + [""] * 28, [], "t.csv, column 'kind': only the value 1.5 in 2 labeled rows, which guides "
         "nothing; label more rows."),
        (["1.5", "inf"] * 15, [], "t.csv, row 2 (line 3), column 'kind': inf is not a finite number."),
        (["1", "x"] * 15, ["--target-kind", "real"], "t.csv: column 'kind' holds 'x', which is not a number, in row 2 "
         "(line 3); numbers are wanted here (--target-kind real). Labels and numbers in one table are for CPPCA."),
        (["1", "-1"] * 15, [], "t.csv: column 'kind' holds the numbers -1 and 1 only, which is ambiguous: pass "
         "--unlabeled= if -1 is a class, --unlabeled=-1 if it marks unlabeled rows, or --target-kind real for "
         "numbers."),
        (["x", "y"] * 15, ["--target", "a"], "t.csv: column 'kind' holds 'x', which is not a number, in row 1 "
         "(line 2); numbers are wanted here (--target-kind real). Labels and numbers in one table are for CPPCA."),
        (["x", "y"] * 15, ["--drop", "kind"], "t.csv: column 'kind' is named for --target and for --drop; name it "
         "once."),
        (["x", "y"] * 15, ["--drop", "a", "b", "c"], "t.csv: no feature columns are left beside 'kind', 'flower', "
         "'a', 'b', 'c'."),
    ],
)  # fmt: skip
def test_bad_targets(kinds, options, expected, folder):
    header, *rows = GOOD.splitlines()
    table = [header] + [row.rsplit(",", 1)[0] + "," + kind for row, kind in zip(rows, kinds)]
    (folder / "t.csv").write_text("\n".join(table) + "\n")
    assert refusal(*FIT, *options) == expected


def test_a_target_without_any_value_beside_others(folder):
    write_table("t.csv", {"a": range(9), "b": np.arange(9) % 4, "u": np.arange(9) / 2, "v": [None] * 9})
    assert refusal("fit", "t.csv", "--target", "u", "v", "--out", "out") == (
        "t.csv, column 'v': no value at all, which guides nothing; label more rows."
    )


def test_too_many_components():
    message = refusal(*FIT, "--components", "3")
    assert message.startswith("t.csv: --components 3 must be less than the rank of X, which is at most 3")


def test_the_equal_sign_of_an_empty_marker_is_understood(folder):
    write_table("t.csv", {"a": range(8), "b": np.arange(8) % 3, "kind": [1, -1] * 4})
    succeed("fit", "t.csv", "--target", "kind", "--unlabeled=", "--model", "sppca", "--no-compare", "--out", "out")


# ---------------------------------------------------------------------------------------------- outputs


def test_an_existing_folder_is_kept(folder):
    (folder / "out").mkdir()
    (folder / "out" / "notes.txt").write_text("mine")
    kept = "out exists and was kept; choose another --out, or add --force to replace it."
    assert refusal(*FIT) == kept
    assert refusal("demo", "--out", "out") == kept
    foreign = "out holds notes.txt, which gnomon did not write, or not so; --force does not replace it."
    assert refusal(*FIT, "--force") == foreign


def test_only_folders_of_results_are_replaced(folder):
    (folder / "file").write_text("mine")
    (folder / "real").mkdir()
    (folder / "link").symlink_to(folder / "real")
    for name in ("file", "link"):
        assert refusal(*FIT[:-1], name, "--force") == (
            f"{name} is not a folder, and --force replaces only folders that gnomon wrote."
        )


@pytest.mark.parametrize("command", ["fit", "demo", "compare", "transform"])
def test_a_name_that_the_disk_does_not_take_is_refused_before_the_work(command, folder, monkeypatch):
    def too_late(*arguments, **options):
        raise AssertionError

    monkeypatch.setattr("gnomon._cli.fitting.read", too_late)
    monkeypatch.setattr("gnomon._cli.demo.demo_table", too_late)
    words = {"fit": FIT[1:-2], "compare": ["t.csv", "--target", "kind"], "transform": ["out", "t.csv"]}.get(command, [])
    name = "n" * 300 + ("" if command in ("fit", "demo") else ".csv")
    assert refusal(command, *words, "--out", name).startswith(f"{name} cannot be written ([Errno 36] File name too ")


def test_the_next_command_can_be_run(folder):
    result = CliRunner().invoke(main, [*FIT[:-1], "-x"], prog_name="gnomon")
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("Next: gnomon ")]
    assert line == "Next: gnomon predict ./-x NEW.csv --out answers.csv"
    succeed(*line.replace("NEW.csv", "t.csv").split()[2:])


def test_the_folder_around_the_output_must_exist():
    assert refusal(*FIT[:-1], "no/out") == "no/out: the folder no does not exist; make it first."


@pytest.mark.parametrize("force", [False, True])
def test_a_failed_write_leaves_things_as_they_were(force, monkeypatch):
    if force:
        succeed(*FIT)

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gnomon._cli.fitting.write_parts", full)
    options = ["--force"] if force else []
    assert refusal(*FIT, *options) == "out cannot be written ([Errno 28] No space left on device)."


def test_a_failed_replacement_leaves_the_old_folder(monkeypatch):
    succeed(*FIT)

    def fail(*arguments):
        raise OSError("the new folder cannot be renamed")

    monkeypatch.setattr("gnomon._files._rename", fail)
    assert refusal(*FIT, "--force") == "out cannot be written (the new folder cannot be renamed)."


def test_an_interrupted_fit_leaves_nothing(folder, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("gnomon._cli.fitting.write_parts", interrupt)
    result = CliRunner().invoke(main, FIT)
    assert (result.exit_code, result.stderr.strip()) == (130, "gnomon: stopped.")
    assert os.listdir(folder) == ["t.csv"]


# ---------------------------------------------------------------------------------- transform and predict


@pytest.fixture
def fitted(folder):
    succeed(*FIT)


@pytest.mark.parametrize("command", ["transform", "predict"])
@pytest.mark.parametrize(
    "change, expected",
    [
        (lambda text: text.replace("flower,a,b", "flower,a,beta"), "new.csv: the model needs 'b', which the table "
         "lacks; the model does not know 'beta': leave out with --drop."),
        (lambda text: re.sub(r"(?m)^([^,]*),[^,]*,", r"\1,", text), "new.csv: the model needs 'a', which the table "
         "lacks."),
        (lambda text: re.sub(r"(?m)$", ",9", text.strip()).replace("kind,9", "kind,more"), "new.csv: the model does "
         "not know 'more': leave out with --drop."),
        (lambda text: text.replace("f3,3,", "f3,three,"), "new.csv, row 4 (line 5), column 'a': 'three' is not a "
         "number; correct or empty such cells: the model takes numbers there."),
        (lambda text: "", "new.csv is empty."),
    ],
)  # fmt: skip
def test_bad_new_tables(command, change, expected, fitted, folder):
    (folder / "new.csv").write_text(change(GOOD))
    assert refusal(command, "out", "new.csv", "--out", "result.csv") == expected


@pytest.mark.parametrize("command", ["transform", "predict"])
def test_bad_models(command, fitted, folder):
    (folder / "model.txt").write_text("no model")
    content = (folder / "out" / "model.gnomon").read_bytes()
    (folder / "cut.gnomon").write_bytes(content[:-100])
    (folder / "empty").mkdir()
    save_model(SPPCA(2).fit(IRIS.data, IRIS.target), "bare.gnomon")

    def with_model(name):
        return refusal(command, name, "t.csv", "--out", "result.csv")

    assert with_model("none") == "none does not exist."
    assert with_model("empty") == "empty/model.gnomon does not exist (is empty a folder that gnomon fit wrote?)."
    assert with_model("model.txt") == "model.txt is not a gnomon model file, or it was cut short or damaged."
    assert with_model("cut.gnomon") == "cut.gnomon is not a gnomon model file, or it was cut short or damaged."
    assert with_model("bare.gnomon") == "bare.gnomon names no columns; use a model that gnomon fit wrote."


@pytest.mark.parametrize("command", ["transform", "predict"])
def test_bad_result_files(command, fitted, folder):
    (folder / "old.csv").write_text("mine")
    (folder / "folder.csv").mkdir()

    def with_out(name, *more):
        return refusal(command, "out", "t.csv", "--out", name, *more)

    kept = "old.csv exists and was kept; choose another --out, or add --force to replace it."
    assert with_out("old.csv") == kept
    assert with_out("t.csv", "--force") == "t.csv is the input; choose another --out."
    assert with_out("folder.csv", "--force") == "folder.csv is a folder; --out wants the name of a file."
    assert with_out("no/x.csv") == "no/x.csv: the folder no does not exist; make it first."
    assert with_out("x.xlsx").startswith("x.xlsx: .xlsx is not a kind of table that can be written; use .csv")


@pytest.mark.parametrize("command", ["transform", "predict"])
def test_a_failed_result_file_leaves_nothing(command, fitted, monkeypatch):
    def half(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr("gnomon.tables._write._cell", half)
    assert refusal(command, "out", "t.csv", "--out", "result.csv") == ("result.csv cannot be written (disk full).")


def test_a_model_without_targets_predicts_nothing():
    succeed("fit", "t.csv", "--model", "ppca", "--drop", "flower", "kind", "--out", "out")
    assert refusal("predict", "out", "t.csv", "--out", "result.csv") == (
        "PPCA was fitted without targets and predicts nothing; use gnomon transform."
    )


# ------------------------------------------------------------------------------------------------- demo


def test_demo_labels():
    assert refusal("demo", "--labels", "60") == (
        "--labels 60 is too many: n_per_class=60 must lie between 0 and 48, the rows of class 'class_2'."
    )
    assert refusal("demo", "--labels", "0").startswith("Invalid value for '--labels': 0 is not in the range x>=1.")


def test_row_numbers_are_features_only_when_asked_for(folder):
    numbered = re.sub(r"(?m)^f(\d+),.", r"f\1,\1", GOOD)
    (folder / "t.csv").write_text(numbered)
    assert refusal(*FIT, "--keep", "d") == "t.csv: --keep names 'd', which is not a feature of the table."
    assert CliRunner().invoke(main, [*FIT, "--keep", "a"]).exit_code == 0
    (folder / "t.csv").write_text(numbered.replace("f7,7,", "f7,8,"))  # a gap: no row number
    assert CliRunner().invoke(main, [*FIT[:-1], "gap"]).exit_code == 0
