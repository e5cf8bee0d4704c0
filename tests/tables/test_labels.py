"""Labels in a file of their own: in the order of rows or by their names, and what is refused."""

import gzip

import numpy as np
import pytest

from commands import column, refusal, run
from gnomon.tables import Table, TableError, with_labels

pytestmark = pytest.mark.usefixtures("few_splits")


def table_of(n=4, ids=None, **targets):
    ids = None if ids is None else np.array(ids, dtype=object)
    return Table("x.mtx", np.ones((n, 2)), ["x0", "x1"], targets, ids, None if ids is None else "barcode")


@pytest.mark.parametrize(
    "text, name, expected",
    [
        ("B\nT\nB\nT\n", "label", ["B", "T", "B", "T"]),
        ("cell_type\nB\nT\nB\nT\n", "cell_type", ["B", "T", "B", "T"]),
        ("B\n\nNA\nT", "label", ["B", None, None, "T"]),
        ("B\nT\nT\n\n", "label", ["B", "T", "T", None]),
        ("y\n1\n2\n3\n1\n", "y", [1, 2, 3, 1]),
        ("1.5\n2\n3\n1\n", "label", [1.5, 2.0, 3.0, 1.0]),
        ("water\n1,5\n2\n\n1,25\n", "water", [1.5, 2.0, None, 1.25]),
        ("1,5\n2,25\n3,0\n-1,5\n", "label", [1.5, 2.25, 3.0, -1.5]),
        ('"B cell"\r\n"T cell"\r\n"T cell"\r\n"B cell"\r\n', "label", ["B cell", "T cell", "T cell", "B cell"]),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_label_a_line(tmp_path, text, name, expected, packed):
    path = tmp_path / "y.txt"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert {name: expected} == {k: v.tolist() for k, v in with_labels(table_of(), str(path)).targets.items()}


@pytest.mark.parametrize("between", [",", "\t", ";"])
@pytest.mark.parametrize("header", [None, ("id", "kind")])
def test_labels_by_name_in_any_order(tmp_path, between, header):
    rows = [*([header] if header else []), ("d", "T"), ("a", "B"), ("b", "")]
    (tmp_path / "y.txt").write_text("".join(f"{between.join(row)}\n" for row in rows))
    table = with_labels(table_of(ids=["a", "b", "c", "d"]), str(tmp_path / "y.txt"))
    assert table.targets[header[1] if header else "label"].tolist() == ["B", None, None, "T"]


@pytest.mark.parametrize("decimal", [",", "."])
def test_numbers_by_name_are_numbers(tmp_path, decimal):
    (tmp_path / "y.csv").write_text("id;water\nd;12.5\na;9.75\nc;\n".replace(".", decimal))
    table = with_labels(table_of(ids=["a", "b", "c", "d"]), str(tmp_path / "y.csv"))
    assert table.targets["water"].tolist() == [9.75, None, None, 12.5]
    (tmp_path / "y.csv").write_text("1,2\n3,4\n2,5\n")  # names of rows and codes
    table = with_labels(table_of(ids=["1", "2", "3", "4"]), str(tmp_path / "y.csv"))
    assert table.targets["label"].tolist() == [2, 5, 4, None]


def test_the_name_of_the_target_may_be_given(tmp_path):
    (tmp_path / "y.txt").write_text("kind\nB\nT\nT\n\n")
    assert with_labels(table_of(), str(tmp_path / "y.txt"), "kind").targets["kind"].tolist() == ["B", "T", "T", None]


@pytest.mark.parametrize(
    "text, ids, said",
    [
        ("B\nT\n", None, "2 labels for the 4 rows of x.mtx"),
        ("B\nT\nB\nT\n\n", None, "the first may be a label"),
        ("a,B\nb,T\n", None, "have no names; add --id"),
        ("a,B\ne,T\n", "abcd", "'e' is the name of no row"),
        ("a,B\na,T\n", "abcd", "'a' has two labels"),
        ("a,B\nb,T\n", "aacd", "two rows are called 'a'"),
        ("a,B,1\nb,T,2\n", "abcd", "3 columns"),
        ("x0\nB\nT\nB\nT\n", None, "'x0' is a column of x.mtx as well"),
        ("\n\n\n\n", None, "is empty"),
    ],
)
def test_labels_that_do_not_fit_are_refused(tmp_path, text, ids, said):
    (tmp_path / "y.txt").write_text(text)
    with pytest.raises(TableError, match=said) as error:
        with_labels(table_of(ids=ids and list(ids)), str(tmp_path / "y.txt"))
    assert "\n" not in str(error.value)


def test_what_is_no_text_is_refused(tmp_path):
    (tmp_path / "y.txt.gz").write_bytes(b"\x1f\x8bodd")
    for path, said in ("no.txt", "No such file"), ("y.txt.gz", "unpacked"):
        with pytest.raises(TableError, match=said):
            with_labels(table_of(), str(tmp_path / path))
    with pytest.raises(TableError, match="has the target 'y'"):
        with_labels(table_of(y=np.array([1, 2, 3, 4], dtype=object)), str(tmp_path / "no.txt"))


def test_fit_and_predict_with_labels_beside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kinds = np.repeat(["B", "T"], 20)
    X = rng.normal(size=(40, 3)) + 4.0 * (kinds == "T")[:, None]
    np.savez("x.npz", X=X)
    labels = [*kinds[:10], *[""] * 10, *kinds[20:30], *["NA"] * 10]
    (tmp_path / "y.txt").write_text("\n".join(["kind", *labels]) + "\n")
    run("fit", "x.npz", "--labels", "y.txt", "--model", "dppca", "--out", "out")
    run("predict", "out", "x.npz", "--out", "answers.csv")
    assert np.mean(np.array(column("answers.csv", "predicted")) == kinds) > 0.9
    run("compare", "x.npz", "--labels", "y.txt", "--model", "dppca")
    (tmp_path / "short.txt").write_text("B\nT\n")
    assert "2 labels for the 40 rows" in refusal("fit", "x.npz", "--labels", "short.txt", "--out", "other")
    assert not (tmp_path / "other").exists()
    several = refusal("fit", "x.npz", "--labels", "y.txt", "--target", "a", "b", "--out", "other")
    assert "has one target" in several


def test_a_label_may_be_words_and_a_number(tmp_path):
    (tmp_path / "labels.txt").write_text("type 1\ntype 2\ntype 1\n")
    table = Table("t.npz", np.eye(3), ["a", "b", "c"], {})
    assert with_labels(table, str(tmp_path / "labels.txt")).targets["label"].tolist() == ["type 1", "type 2", "type 1"]


MANY = "age,sample,kind\n3,c1,B\n5,c3,\n4,c0,T\n"


def test_of_more_columns_the_target_is_named(tmp_path):
    path = tmp_path / "about.csv"
    path.write_text(MANY)
    table = table_of(ids=["c0", "c1", "c2", "c3"])
    assert with_labels(table, str(path), "kind").targets["kind"].tolist() == ["T", "B", None, None]
    assert with_labels(table, str(path), "age").targets["age"].tolist() == [4, 3, None, 5]


@pytest.mark.parametrize("name, ids", [(None, True), ("other", True), ("sample", True), ("kind", False)])
def test_of_more_columns_the_way_out_is_told(tmp_path, name, ids):
    path = tmp_path / "about.csv"
    path.write_text(MANY)
    with pytest.raises(
        TableError, match=r"3 columns; .* --target names that of the labels, .*: 'age', 'sample', 'kind'"
    ):
        with_labels(table_of(ids=["c0", "c1", "c2", "c3"] if ids else None), str(path), name)
