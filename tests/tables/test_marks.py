"""Marks for what is not known are named all at once, with words that take them away."""

import shlex

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gnomon.tables import TableError, as_option, is_no_class, numbers_for_nothing, read_table, stands_for_nothing
from gnomon.tables._marks import SeenNumbers

MESS = "a,b,c,d\n1,n.d.,x,4\n<0.05,2,y,5\n3,--,z,-999\n"


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(MESS)


def test_one_line_names_all_that_is_wrong_and_a_way_out():
    with pytest.raises(TableError) as caught:
        read_table("t.csv")
    assert str(caught.value) == (
        "t.csv, row 2 (line 3), column 'a': '<0.05' is not a number, and neither are cells of 'b', 'c'; add "
        "--missing '<0.05' n.d. --missing=-- if they mean empty cells and leave the column out with --drop c, take it "
        "for answers with --categorical c, or name it for --target or --id."
    )
    table = read_table("t.csv", missing=["<0.05", "n.d.", "--", "-999"], drop=["c"])
    nan = np.nan
    assert_array_equal(table.X, [[1, nan, 4], [nan, 2, 5], [3, nan, nan]])


def test_numbers_mean_nothing_in_tables_of_numbers_too():
    np.savez("t.npz", X=[[1.0, -999], [2, 3]], y=[-999, 4], feature_names=["a", "b"])
    table = read_table("t.npz", targets=["y"], missing=["-999.0"])
    assert_array_equal(table.X, [[1, np.nan], [2, 3]])
    assert table.targets["y"].tolist() == [None, 4]
    with pytest.raises(TableError, match=r"--missing n.d. names a cell of text; in a .npz file an empty cell is empty"):
        read_table("t.npz", missing=["-999", "n.d."])


@pytest.mark.parametrize("text", ["?", "N.D.", "--", "#DIV/0!", "<0.05", "< LOD", ">100", "\u22645", "k.A.", "Unknown"])
def test_marks(text):
    assert stands_for_nothing(text)


@pytest.mark.parametrize("text", ["n/a", "Null", "<NA>", "unlabeled", "Unclassified", "no label"])
def test_marks_of_no_label(text):
    assert stands_for_nothing(text)
    assert is_no_class(text)


@pytest.mark.parametrize("text", ["<=50K", ">50K", "x", "A", "n", "7", "<b>"])
def test_names_of_classes(text):
    assert not stands_for_nothing(text)


@pytest.mark.parametrize(
    "values, found",
    [
        ([1, 2, 3, -999], {-999.0: 1}),
        ([1, 2, 3, np.nan, -9, -9], {-9.0: 2}),
        ([1, 2, 999], {}),
        ([1, 2, 999, 999], {999.0: 2}),
        ([-1000, -998, -999], {}),
        ([0, 900, 999, 999], {}),
        ([-999, -999], {}),
    ],
)
def test_numbers_that_lie_far_from_all_others(values, found):
    assert numbers_for_nothing(np.array(values, dtype=float)) == found


def test_options_that_the_shell_takes():
    assert as_option("--drop", "a b", "c") == "--drop 'a b' c"
    assert shlex.split(as_option("--drop", "--a", "b", "-c=d")) == ["--drop", "b", "--drop=--a", "--drop=-c=d"]


def test_arrays_alone_are_a_table():
    np.save("t.npy", np.arange(6.0).reshape(3, 2))
    table = read_table("t.npy")
    assert_array_equal(table.X, [[0, 1], [2, 3], [4, 5]])
    assert table.feature_names == ["x0", "x1"]
    for bad, said in (
        (np.array(["a"]), "2-D numbers"),
        (np.array([[None]]), "Python objects"),
        (np.empty((0, 2)), "empty"),
    ):
        np.save("bad.npy", bad)
        with pytest.raises(TableError, match=said):
            read_table("bad.npy")
    with pytest.raises(TableError, match=r"a .npy file holds no labels, .* with --labels FILE"):
        read_table("t.npy", targets=["y"])
    with pytest.raises(TableError, match="holds no names of rows"):
        read_table("t.npy", id="x0")
    np.savez("t.npz", X=np.eye(2), feature_names=["a"])
    with pytest.raises(TableError, match=r"feature_names has shape \(1,\); a name for each of 2 columns"):
        read_table("t.npz")


@pytest.mark.parametrize("parts", [1, 3, 7])
def test_numbers_that_come_in_parts_are_told_as_those_of_the_whole(parts):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 9)).round(3)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[[3, 60], 0], X[5, 1], X[6, 1], X[8, 2], X[[9, 50], 2] = -999, -9, -99, 999, 9999
    X[:, 3] *= 500.0
    X[[4, 5], 3], X[:, 4], X[:, 5], X[7, 5] = 999, -999, 2.0, -9
    X[:, 6], X[:, 7] = np.nan, np.resize([-999, 999], 70)
    seen = SeenNumbers(9)
    for rows in np.array_split(X, parts):
        seen.add(rows)
    whole = {j: numbers_for_nothing(X[:, j]) for j in range(9)}
    assert {j: list(marks) for j, marks in seen.for_nothing().items()} == {
        j: list(marks) for j, marks in whole.items() if marks
    }
    assert sorted(seen.for_nothing()) == [0, 1, 2, 5, 7]


@pytest.mark.parametrize("top", [1, 5, 10])
def test_codes_of_no_answer_are_told_on_a_scale(top):
    answers = np.resize(np.arange(top + 1.0), 60)
    assert numbers_for_nothing(np.r_[answers, 99.0, 99.0, 88.0, 77.0]) == {77.0: 1, 88.0: 1, 99.0: 2}
    assert numbers_for_nothing(np.r_[answers, 99.0, 88.0]) == {}  # each once, which may be true
    assert numbers_for_nothing(np.r_[answers, 0.0, 99.0, 99.0, np.nan]) == {99.0: 2}


@pytest.mark.parametrize("rest", [np.arange(12.0), np.array([0.0, 2.5]), np.array([-11.0, 3.0]), np.array([1.0, 1.0])])
def test_codes_of_no_answer_are_none_among_counts_and_measurements(rest):
    assert numbers_for_nothing(np.r_[rest, 98.0, 98.0]) == {}


def test_codes_of_no_answer_are_told_in_parts():
    X = np.column_stack([np.resize(np.arange(1.0, 6.0), 40), np.arange(40.0), np.arange(80.0, 120.0)])
    X[[3, 20], 0] = 99.0
    seen = SeenNumbers(3)
    for part in np.split(X, 4):
        seen.add(part)
    assert seen.for_nothing() == {0: {99.0: 2}}
    assert seen.spans() == [[1.0, 99.0], [0.0, 39.0], [80.0, 119.0]]


@pytest.mark.parametrize("text", ["Don't know", "DON\u2019T KNOW", "No answer", "refused", "weiß nicht"])
def test_answers_that_are_none_are_told(text):
    assert is_no_class(text)
