"""One table in many forms of text, in Excel and Feather is one table; what was assumed is said."""

import gzip
import io
import re
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from commands import metrics, refusal, run
from gnomon.tables import TableError, read_table, table_parts
from gnomon.tables import _sniff as sniff_module

NAMES = ["sample", "water", "fat", "kind"]
ROWS = [["a", 1.5, -2.25, "x"], ["b", None, 1e-7, "é"], ["c", 3.0, 1234.5, None], ["d", -0.5, 12.0, "x"]]
X = np.array([[np.nan if cell is None else cell for cell in row[1:3]] for row in ROWS], dtype=float)


def text(separator=",", decimal=".", end="\n", thousands=""):
    def cell(value):
        if isinstance(value, float):
            written = f"{value:,}".replace(",", thousands) if abs(value) >= 1000 else repr(value)
            whole, point, rest = written.rpartition(".")
            return written if not point else whole + decimal + rest
        return "" if value is None else value

    return "".join(separator.join(map(cell, row)) + end for row in [NAMES, *ROWS])


FORMS = {
    "plain": ("t.csv", text().encode(), ""),
    "mark of utf-8": ("t.csv", text().encode("utf-8-sig"), ""),
    "semicolons": ("t.csv", text(";").encode(), "with semicolons between cells"),
    "tabs": ("t.csv", text("\t").encode(), "with tabs between cells"),
    "bars": ("t.txt", text("|").encode(), "with bars between cells"),
    "tsv": ("t.tsv", text("\t").encode(), ""),
    "commas in tsv": ("t.tsv", text().encode(), "with commas between cells"),
    "txt": ("t.txt", text("\t").encode(), "with tabs between cells"),
    "decimal commas": ("t.csv", text(";", ",").encode(), "with semicolons between cells, with decimal commas"),
    "decimal commas in tsv": ("t.tsv", text("\t", ",").encode(), "with decimal commas"),
    "thousands": (
        "t.csv",
        text(";", ",", thousands=".").encode(),
        "with semicolons between cells, with decimal commas, with groups of thousands in 'fat'",
    ),
    "thousands after spaces": ("t.csv", text(thousands=" ").encode(), "with groups of thousands in 'fat'"),
    "latin-1": ("t.csv", text().encode("latin-1"), "as cp1252 text"),
    "Excel in Europe": (
        "t.csv",
        text(";", ",", "\r\n").encode("cp1252"),
        "as cp1252 text, with semicolons between cells, with decimal commas",
    ),
    "utf-16": ("t.txt", text("\t", end="\r\n").encode("utf-16"), "as utf-16 text, with tabs between cells"),
    "packed": ("t.csv.gz", gzip.compress(text().encode()), ""),
    "packed tsv": ("t.tsv.gz", gzip.compress(text("\t").encode()), ""),
    "lines of old": ("t.csv", text(end="\r").encode(), ""),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(name):
    return read_table(name, targets=["kind"], id="sample")


def check(table, assumed):
    assert_array_equal(table.X, X)
    assert table.targets["kind"].tolist() == ["x", "é", None, "x"]
    assert table.ids.tolist() == ["a", "b", "c", "d"]
    assert table.assumed == assumed


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_table(form, folder):
    name, content, assumed = FORMS[form]
    (folder / name).write_bytes(content)
    check(read(name), assumed)


@pytest.mark.parametrize(
    "form", [name for name in FORMS if "txt" not in FORMS[name][0] and "tsv" not in FORMS[name][0]]
)
def test_standard_input_is_told_by_its_text(form, monkeypatch):
    _, content, assumed = FORMS[form]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    table = read("-")
    check(table, assumed)
    assert table.path == "standard input"


def test_the_first_sheet_of_excel(folder):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append([])
    for row in [NAMES, *ROWS]:
        sheet.append(row)
    sheet["B4"] = "#N/A"
    book.save(folder / "t.xlsx")
    check(read("t.xlsx"), "")
    book.create_sheet("notes").append(["nothing"])
    book.save(folder / "t.xlsx")
    check(read("t.xlsx"), "from its sheet 'Sheet'")
    sheet["C3"] = "much"
    book.save(folder / "t.xlsx")
    with pytest.raises(TableError, match=r"t.xlsx, row 1 \(line 3\), column 'fat': 'much' is not a number"):
        read("t.xlsx")


def test_a_book_without_sheets_is_refused(tmp_path):
    pytest.importorskip("openpyxl").Workbook().save(tmp_path / "whole.xlsx")
    with zipfile.ZipFile(tmp_path / "whole.xlsx") as whole, zipfile.ZipFile(tmp_path / "t.xlsx", "w") as damaged:
        for name in whole.namelist():
            text = whole.read(name)
            damaged.writestr(
                name, re.sub(b"<sheets>.*</sheets>", b"<sheets/>", text) if "workbook.xml" in name else text
            )
    with pytest.raises(TableError, match=r"t\.xlsx"):
        read_table(tmp_path / "t.xlsx")


def test_feather():
    feather = pytest.importorskip("pyarrow.feather")
    pandas = pytest.importorskip("pandas")
    feather.write_feather(pandas.DataFrame(ROWS, columns=NAMES), "t.feather")
    check(read("t.feather"), "")


def test_columns_of_one_name_are_refused_in_parquet_and_feather():
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    feather = pytest.importorskip("pyarrow.feather")
    table = pa.table([[1.5, 2.0, 4.0], [0.5, 2.0, 1.0], ["a", "b", "a"]], names=["water", "water", "kind"])
    parquet.write_table(table, "t.parquet")
    feather.write_feather(table, "t.feather")
    for name in ("t.parquet", "t.feather"):
        wanted = f"{name}: several columns are called 'water' (columns 1, 2); rename all but one."
        assert wanted in refusal("fit", name, "--target", "kind", "--out", "out")
        assert wanted in refusal("look", name)
        with pytest.raises(TableError, match="several columns are called 'water'"):
            list(table_parts(name, features=["water"]))


def test_integers_stay_integers_and_text_stays_text(folder):
    (folder / "t.csv").write_text("id;a;day;kind\n1,5;1,5;1,2,3;1\n2,5;7;4,5,6;2\n")
    table = read_table("t.csv", targets=["kind"], id="day")
    assert table.X.tolist() == [[1.5, 1.5], [2.5, 7.0]]
    assert table.targets["kind"].tolist() == [1, 2]
    assert table.ids.tolist() == ["1,2,3", "4,5,6"]


AMBIGUOUS = {
    "points and commas": ("a;b\n1.5;2,5\n", "column 'b': '2,5' is not a number"),
    "thousands alone": ("a;b\n1,5;1.234\n", "column 'a': '1,5' is not a number"),
    "rows of several lengths": ("a;b\n1;2\n1;2;3\n", r"row 2 \(line 3\): 3 cells, and the header has 2"),
    "groups of three": ("a\tb\n12,345\t1\n", "'12,345' is not a number; add --form decimal-comma or decimal-point"),
}


@pytest.mark.parametrize("what", AMBIGUOUS)
def test_what_could_be_read_in_two_ways_is_refused(what, folder):
    content, said = AMBIGUOUS[what]
    (folder / "t.csv").write_text(content)
    with pytest.raises(TableError, match=said):
        read_table("t.csv")


def test_that_separator_is_taken_which_leaves_numbers(folder):
    (folder / "t.csv").write_text("nm;1100,5;1102,5\na;1,2;3,4\nb;5,6;7,8\n")  # commas cut all lines alike, too
    table = read_table("t.csv", id="nm")
    assert table.X.tolist() == [[1.2, 3.4], [5.6, 7.8]]
    assert table.feature_names == ["1100,5", "1102,5"]


def test_a_byte_that_is_no_text_far_down_is_named(folder, monkeypatch):
    monkeypatch.setattr(sniff_module, "LOOKED_AT", 64)
    good = "a,kind\n" + "1,x\n" * 100
    (folder / "t.csv").write_bytes(good.encode() + "2,é\n".encode("cp1252"))
    table = read_table("t.csv", targets=["kind"])
    assert table.targets["kind"][-1] == "é"
    assert table.assumed == "as cp1252 text"
    (folder / "t.csv").write_bytes(good.encode() + b"2,\x81\xe9\n")
    with pytest.raises(TableError, match=r"t.csv, line 102: byte 0x81 is not UTF-8"):
        read_table("t.csv", targets=["kind"])


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_a_packed_file_that_was_cut_is_refused(folder, share):
    content = gzip.compress(text().encode() * 50)
    (folder / "t.csv.gz").write_bytes(content[: int(share * len(content))])
    with pytest.raises(TableError, match=r"t.csv.gz cannot be unpacked|t.csv.gz, line"):
        read("t.csv.gz")


def test_marks_of_what_is_not_known(folder):
    (folder / "t.csv").write_text("a,b,kind\n1,n.d.,x\n2,<0.05,?\n3,7,y\n")
    with pytest.raises(
        TableError, match=r"'n.d.' is not a number; add --missing n.d. '<0.05' if they mean empty cells"
    ):
        read_table("t.csv", targets=["kind"])
    table = read_table("t.csv", targets=["kind"], missing=["n.d.", "<0.05", "?"])
    assert_array_equal(table.X, [[1.0, np.nan], [2.0, np.nan], [3.0, 7.0]])
    assert table.targets["kind"].tolist() == ["x", None, "y"]
    np.savez("t.npz", X=np.eye(2))
    with pytest.raises(TableError, match=r"--missing \? names a cell of text"):
        read_table("t.npz", missing=["?"])


def test_the_command_says_what_it_assumed(folder, monkeypatch):
    monkeypatch.setattr("gnomon._cli.fitting.can_write_report", lambda: False)
    rng = np.random.default_rng(0)
    lines = [
        "a;b;c;kind",
        *(";".join(f"{v:.3f}".replace(".", ",") for v in rng.normal(size=3)) + f";k{i % 2}" for i in range(40)),
    ]
    content = "\r\n".join(lines)
    (folder / "t.csv").write_text(content)
    options = ("--target", "kind", "--model", "sppca", "--no-compare", "--out", "out")
    run("fit", "t.csv", *options)
    said = "was read with semicolons between cells, with decimal commas."
    assert metrics()["notes"][0] == f"t.csv {said}"
    (folder / "u.csv").write_text(content.replace("k0", "unknown"))
    assert "'unknown' in 20 rows; add --unlabeled unknown if" in refusal("fit", "u.csv", *options[:-1], "out2")
    run("fit", "u.csv", *options[:-1], "out2", "--unlabeled", "")
    (folder / "v.csv").write_text(content.replace("\r\n", "\r\nn.d.;1,5;2,5;k1\r\n", 1))
    assert "add --missing n.d. if it means an empty cell" in refusal("predict", "out", "v.csv", "--out", "answers.csv")
    run("predict", "out", "v.csv", "--out", "answers.csv", "--missing", "n.d.")


def test_standard_input_by_the_command(folder):
    import subprocess
    import sys

    rng = np.random.default_rng(0)
    content = "a,b,c,kind\n" + "".join(",".join(map(str, rng.normal(size=3))) + f",k{i % 2}\n" for i in range(40))
    command = [sys.executable, "-m", "gnomon", "fit", "-", "--target", "kind", "--model", "sppca", "--no-compare"]
    done = subprocess.run([*command, "--out", "out"], input=content.encode(), capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert b"standard input: 40 rows, 3 features" in done.stdout
    command = [sys.executable, "-m", "gnomon", "predict", "out", "-", "--out", "-", "--drop", "kind"]
    done = subprocess.run(command, input=content.encode(), capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 41
