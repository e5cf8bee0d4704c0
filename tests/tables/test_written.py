"""Numbers as people write them are numbers; what may be two is refused, with the way out."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gnomon.tables import TableError, read_cells, read_table
from gnomon.tables._written import decimal_mark


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def to(*cells, separator=";"):
        lines = ["a;b".replace(";", separator), *(f"{cell}{separator}{i}" for i, cell in enumerate(cells))]
        (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
        return "t.csv"

    return to


COLUMNS = {
    "English": (["1,657.25", "12.5", "1,000,000", "-3"], [1657.25, 12.5, 1e6, -3]),
    "German": (["1.657,25", "12,5", "1.000.000,0", "-3"], [1657.25, 12.5, 1e6, -3]),
    "Swiss": (["1'657.25", "12.5", "1\u2019000\u2019000", "-3"], [1657.25, 12.5, 1e6, -3]),
    "French": (["1\u202f657,25", "12,5", "1\u00a0000\u00a0000", "-3"], [1657.25, 12.5, 1e6, -3]),
    "whole thousands": (["1,657,000", "12,000", "7"], [1657000, 12000, 7]),
    "spaces alone": (["1 657", "12", ""], [1657, 12, np.nan]),
    "typeset minus": (["\u22123.5", "-3.5", "+3.5"], [-3.5, -3.5, 3.5]),
    "percent": (["12.5%", "7 %", "NA"], [12.5, 7, np.nan]),
    "percent with commas": (["12,5%", "7%"], [12.5, 7]),
    "true and false": (["TRUE", "False", ""], [1, 0, np.nan]),
    "exponents": (["1,5e3", "2,5E-1"], [1500, 0.25]),
    "later thousands": (["1,5"] * 300 + ["1.657"], [1.5] * 300 + [1657]),
}


@pytest.mark.parametrize("how", COLUMNS)
def test_numbers_are_read(how, write):
    cells, expected = COLUMNS[how]
    path = write(*cells)
    table = read_table(path)
    assert_array_equal(table.X[:, 0], expected)
    if how != "true and false":  # which may be classes
        shown = [np.nan if cell is None else float(cell.rstrip("% ")) for cell in read_cells(path, 999).columns["a"]]
        assert_array_equal(shown, expected)


def test_what_is_left_out_is_said(write):
    assert read_table(write("12%", "7%")).assumed.endswith("without percent signs in 'a'")
    assert read_table(write("true", "false")).assumed.endswith("with 1 for true and 0 for false in 'a'")
    table = read_table(write("true", "false"), targets=["a"])
    assert table.targets["a"].tolist() == ["true", "false"]  # classes, of which nothing is to be said
    assert "true" not in table.assumed


REFUSED = {
    "a percent sign among others": (["12%", "0.5"], "'12%' is not a number"),
    "text among true and false": (["TRUE", "perhaps"], "'TRUE' is not a number"),
    "points among commas": (["1,5", "1.5", "2,5"], "'1,5' is not a number; add --form decimal-comma or decimal-point"),
    "a point that groups nothing": (["1,5"] * 300 + ["1.5"], "'1.5' is not a number"),
    "groups of two": (["1.25,5", "2,5"], "'1.25,5' is not a number"),
    "a code": (["1_000", "7"], "'1_000' is not a number"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_number_is_refused(what, write):
    cells, said = REFUSED[what]
    with pytest.raises(TableError, match=said):
        read_table(write(*cells))


def test_what_may_be_two_numbers_is_asked(write):
    path = write("12,345", "7", separator="\t")
    with pytest.raises(TableError, match="'12,345' is not a number; add --form decimal-comma or decimal-point"):
        read_table(path)
    assert read_table(path, form=["decimal-comma"]).X[0, 0] == 12.345
    assert read_table(path, form=["decimal-point"]).X[0, 0] == 12345
    assert read_table(write("12,345", "7")).X[0, 0] == 12.345  # which is why there are semicolons


def test_cells_that_are_no_features_stay_as_they_are(write):
    table = read_table(write("1,5", "2,5"), id="a")
    assert table.ids.tolist() == ["1,5", "2,5"]
    assert read_table(write("1,5", "1.657,5"), targets=["a"]).targets["a"].tolist() == [1.5, 1657.5]


@pytest.mark.parametrize(
    "cells, separator, mark",
    [
        ([], ",", "."),
        (["x, y", "7"], ",", "."),
        (["1.5", "12,345"], "\t", "."),
        (["1,234,567", "12,345"], ";", "."),
        (["0,5"], "\t", ","),
        (["1234,567"], ",", ","),
        (["12,345"], ",", ""),
        (["12,345"], ";", ","),
    ],
)
def test_the_decimal_mark_is_told(cells, separator, mark):
    assert decimal_mark(cells, separator) == mark
