"""Tables that begin below a title and end above blanks, with what stands around them left out, and said."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gnomon.tables import TableError, read_cells, read_table
from gnomon.tables import _text as text_module

NAMES, ROWS = (
    "sample,water,fat,ash,kind",
    ["a,61.5,,1657.25,x", "b,58.25,9.5,812,y", "c,60,10.25,999.5,", "d,59,8.5,7,x"],
)
TABLE = "\n".join([NAMES, *ROWS, ""])
X = np.array([[61.5, np.nan, 1657.25], [58.25, 9.5, 812], [60, 10.25, 999.5], [59, 8.5, 7]])

AROUND = {
    "title": ("Meat of 2024\n" + TABLE, "from line 2 on"),
    "comments": ("# of the lab\n# by me, in May\n" + TABLE, "from line 3 on"),
    "instrument": ("Instrument: NIR 6500\nDate,01.02.2024\n\n" + TABLE, "from line 4 on"),
    "sheet with a title": ("Meat,,,,\n,,,,\n" + TABLE, "from line 3 on"),
    "two cells above": ("Meat,,,,v2\n,,,,\n" + TABLE, "from line 3 on"),
    "semicolons": ("Meat\nMay;2024\n" + TABLE.replace(",", ";"), "with semicolons between cells, from line 3 on"),
    "line of Excel": ("sep=;\n" + TABLE.replace(",", ";"), "with semicolons between cells"),
    "units": (TABLE.replace("\n", "\n,%,%,mg/kg,\n", 1), "without line 2, which has units"),
    "units and dashes": (TABLE.replace("\n", "\n-,%,-,mg/kg,-\n", 1), "without line 2, which has units"),
    "blanks below": (TABLE + ",,,,\n,,,,\n", "without 2 empty rows at its end"),
    "separators at the ends": (TABLE.replace("\n", ",\n"), ""),
    "of rows alone": (NAMES + "\n" + TABLE.split("\n", 1)[1].replace("\n", ",,\n"), ""),
    "of the header alone": (TABLE.replace("\n", ",,\n", 1), ""),
    "column without anything": (re.sub(r"^", ",", TABLE.rstrip(), flags=re.MULTILINE), ""),
    "spaces": (TABLE.replace(",,", ",NA,").replace(",\n", ",NA\n").replace(",", "  "), "with spaces between cells"),
    "without a name": (TABLE.replace("sample", "", 1), ""),
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def to(content, name="t.csv"):
        (tmp_path / name).write_text(content)
        return name

    return to


@pytest.mark.parametrize("what", AROUND)
def test_what_stands_around_a_table_is_left_out_and_said(what, write):
    content, said = AROUND[what]
    id = {"without a name": "column1", "column without anything": "sample"}.get(what, "sample")
    table = read_table(write(content), targets=["kind"], id=id)
    assert_array_equal(table.X, X)
    assert table.feature_names == ["water", "fat", "ash"]
    assert table.targets["kind"].tolist() == ["x", "y", None, "x"]
    assert table.ids.tolist() == ["a", "b", "c", "d"]
    assert table.assumed == said
    cells = read_cells("t.csv", 100)
    assert list(cells.columns) == [id, "water", "fat", "ash", "kind"]
    assert cells.columns["water"] == ["61.5", "58.25", "60", "59"]
    assert cells.assumed == said


def test_lines_are_counted_from_the_top_of_the_file(write):
    for above in ("", "sep=,\n", "Meat\n\nMay\n", "\n"):
        line = above.count("\n") + 4
        with pytest.raises(TableError, match=rf"row 3 \(line {line}\), column 'water': 'much' is not a number"):
            read_table(write(above + TABLE.replace("c,60", "c,much")), targets=["kind"], id="sample")


def test_names_of_rows_as_r_writes_them(write):
    r = '"water" "fat"\n"s 1" 61.5 9\n"s 2" 58.25 NA\n'
    table = read_table(write(r, "t.txt"), id="column1")
    assert table.ids.tolist() == ["s 1", "s 2"]
    assert_array_equal(table.X, [[61.5, 9], [58.25, np.nan]])
    with pytest.raises(
        TableError, match="column 1 has no name in the header; if it numbers the rows, add --id column1"
    ):
        read_table("t.txt")


def test_a_column_without_a_name_but_with_cells_is_not_left_out(write):
    content = TABLE.replace("\n", ",\n") + "e,1,2,3,x,7\n"
    with pytest.raises(TableError, match="column 6 has no name in the header"):
        read_table(write(content), targets=["kind"], id="sample")


def test_an_empty_row_between_others_is_a_row(write):
    table = read_table(write("a,b\n1,2\n,\n3,4\n,\n"))
    assert_array_equal(table.X, [[1, 2], [np.nan, np.nan], [3, 4]])
    assert table.assumed == "without 1 empty row at its end"


def test_empty_rows_at_the_end_of_a_large_table_are_left_out_too(write, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(text_module, "LARGE", 0)
    assert_array_equal(read_table(write("a,b\n1,2\n3,4\n,\n")).X, [[1, 2], [3, 4]])


HEADERS = [
    "0.5,0.25,7\n1,2,3\n2,1,6\n",
    "5.1,3.5,1.4,0.2\n4.9,3,1.4,0.2\n6.3,3.3,6,2.5\n",
    "5,3,1,2\n4,3,2,1\n6,3,1,2\n",
    "0.5,0.75,1\n0.25,0.5,0.75\n0.5,0.625,1\n",
]


@pytest.mark.parametrize("content", HEADERS)
def test_a_first_line_of_numbers_is_not_lost(content, write):
    with pytest.raises(TableError, match="the first line has numbers and no names of columns; add --form no-header"):
        read_table(write(content))
    table = read_table("t.csv", form=["no-header"])
    assert_array_equal(table.X, np.genfromtxt("t.csv", delimiter=","))
    assert table.feature_names == [f"column{j + 1}" for j in range(table.X.shape[1])]
    assert read_cells("t.csv", 9).odd_header
    assert not read_cells("t.csv", 9, form=["no-header"]).odd_header


def test_a_first_line_that_looks_like_a_row_is_said(write):
    write("5.1,3.5,1.4,0.2,setosa\n4.9,3,1.4,0.2,setosa\n6.3,3.3,6,2.5,virginica\n")
    said = "with a first line that looks like a row as names"
    assert read_table("t.csv", targets=["setosa"]).assumed == said
    assert read_cells("t.csv", 9).assumed == said


@pytest.mark.parametrize(
    "header",
    [
        "1100,1102,1104",
        "1100.5,1103,1104",
        "4000.5,3998.5,3996.5",
        ",".join(f"{4000 - 1.9 * j**1.01:.3f}" for j in range(12)),
        "672,7157,1956",
        "0,1,2,3",
        "sample,1100,1102,1104.5,1106,kind",
    ],
)
def test_wavelengths_and_numbers_of_genes_are_names(header, write):
    names = header.split(",")
    rows = (",".join(str(value + (j % 3)) for j in range(len(names))) for value in (0.5, 0.25, 2.5))
    table = read_table(write("\n".join([header, *rows, ""])))
    assert table.feature_names == names
    assert len(table.X) == 3
    assert table.assumed == ""


def test_a_row_of_text_is_not_taken_for_units(write):
    assert len(read_table(write(TABLE.replace("61.5,,1657.25", "5.,,-7.")), targets=["kind"], id="sample").X) == 4
    for row in ("e,n.d.,?,-,x", "e,much,little,none,x", "e,1,%,%,x", "e,%,%,%,", ",null,%,NA,x"):
        content = TABLE.replace("\n", f"\n{row}\n", 1)
        with pytest.raises(TableError, match="is not a number"):
            read_table(write(content), targets=["kind"], id="sample")


def test_curves_that_only_rise_are_not_taken_for_wavelengths(write):
    curves = [",".join(["s", *(f"{0.1 * i + j + 0.01 * j**2:.3f}" for j in range(9))]) for i in range(4)]
    with pytest.raises(TableError, match="column 2 has no name in the header"):
        read_table(write("\n".join(["sample,,,,,,,,,", *curves, ""])), id="sample")
    named = "sample," + ",".join(f"{1100 + 0.5 * j}" for j in range(9))
    assert len(read_table(write("\n".join(["NIR", named, "s,5,4,6,3,7,2,8,1,9", *curves, ""])), id="sample").X) == 5


def test_samples_as_columns_are_turned(write):
    content = "Spectra of May\nnm;a;b;c\n1100;0,5;1,5;2,5\n1102;0,25;1,25;\n"
    table = read_table(write(content), id="nm", form=["transposed"])
    assert_array_equal(table.X, [[0.5, 0.25], [1.5, 1.25], [2.5, np.nan]])
    assert table.feature_names == ["1100", "1102"]
    assert table.ids.tolist() == ["a", "b", "c"]
    assert table.assumed.endswith("from line 2 on, with columns as rows, with decimal commas")
    with pytest.raises(TableError, match=r"t.csv, row 2, column '1102': 'much' is not a number"):
        read_table(write(content.replace("1,25", "much")), id="nm", form=["transposed"])
    with pytest.raises(TableError, match="line 4: 3 cells, and other lines have 4"):
        read_table(write(content.replace(";\n", "\n")), id="nm", form=["transposed"])


def test_a_pipe_is_read(tmp_path):
    import os
    import threading

    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(TABLE))
    writer.start()
    table = read_table(tmp_path / "pipe", targets=["kind"], id="sample")
    writer.join()
    assert_array_equal(table.X, X)


def test_sheets_with_titles_gaps_and_others_before_them(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    monkeypatch.chdir(tmp_path)
    book = openpyxl.Workbook()
    book.active.title = "empty"
    sheet = book.create_sheet("meat")
    sheet["B1"] = "Meat of 2024"
    for i, row in enumerate([NAMES, *ROWS]):
        for j, cell in enumerate(row.split(",")):
            if cell:
                sheet.cell(3 + i, 2 + j + (j > 2), float(cell) if cell[0].isdigit() else cell)
    book.create_sheet("notes").append(["nothing"])
    book.save("t.xlsx")
    table = read_table("t.xlsx", targets=["kind"], id="sample")
    assert_array_equal(table.X, X)
    assert table.assumed == "from its sheet 'meat', from line 3 on"
    with pytest.raises(TableError, match=r"no column 'kind' for --target\. The columns are 'nothing'"):
        read_table("t.xlsx", targets=["kind"], layer="notes")
    with pytest.raises(TableError, match=r"no sheet 'meet'\. Did you mean 'meat'?"):
        read_table("t.xlsx", layer="meet")
    with pytest.raises(
        TableError, match=r"no column 'sort'.* It was read from its sheet 'meat'; --layer names another."
    ):
        read_table("t.xlsx", targets=["sort"])


def test_names_on_several_lines_are_on_one(write):
    table = read_table(write('"water\n(%)","fat\r\n (%)"\n1,2\n'))
    assert table.feature_names == ["water (%)", "fat (%)"]
