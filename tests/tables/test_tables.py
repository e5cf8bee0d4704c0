"""Tables: what is read from each kind of file, and the one line that each bad file gives."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from gnomon.tables import TableError, read_table, write_table
from gnomon.tables import _parquet as parquet_module

GOOD = "row,width,height,kind\na,1,2.5,iris\nb,-3e1,4,\nc,5,6,rose\n"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file into an empty working directory and return its name."""
    monkeypatch.chdir(tmp_path)

    def to(name, content):
        if isinstance(content, str):
            content = content.encode()
        (tmp_path / name).write_bytes(content)
        return name

    return to


def message_of(call, *args, **kwargs):
    with pytest.raises(TableError) as caught:
        call(*args, **kwargs)
    message = str(caught.value)
    assert "\n" not in message
    return message


def assert_is_good(table):
    assert table.feature_names == ["width", "height"]
    assert_array_equal(table.X, [[1, 2.5], [-30, 4], [5, 6]])
    assert table.targets["kind"].tolist() == ["iris", None, "rose"]
    assert table.ids.tolist() == ["a", "b", "c"]
    assert table.id_name == "row"


# ------------------------------------------------------------------------------------- what is read


@pytest.mark.parametrize(
    "name, content",
    [
        ("t.csv", GOOD),
        ("t.CSV", GOOD),
        ("t.tsv", GOOD.replace(",", "\t")),
        ("t.csv", "\ufeff" + GOOD),
        ("t.csv", GOOD.replace("\n", "\r\n")),
        ("t.csv", GOOD.replace("\n", "\n\n")),
        ("t.csv", GOOD.replace(",", " , ")),
        ("t.csv", GOOD.replace("iris", '"iris"').rstrip("\n")),
        ("t.csv", GOOD.replace(",\n", ",NA\n")),
    ],
    ids=["csv", "upper case", "tsv", "byte order mark", "crlf", "blank lines", "spaces", "quotes", "NA"],
)
def test_text_is_read(write, name, content):
    assert_is_good(read_table(write(name, content), targets=["kind"], id="row"))


def test_parquet_is_read(write):
    text = read_table(write("t.csv", GOOD), targets=["kind"], id="row")
    columns = {"row": text.ids, "width": text.X[:, 0], "height": text.X[:, 1], "kind": text.targets["kind"]}
    write_table("t.parquet", columns)
    assert_is_good(read_table("t.parquet", targets=["kind"], id="row"))


@pytest.mark.parametrize("empty", ["", " ", "NA", "N/A", "NaN", "nan", "null", "NULL", "-nan"])
def test_empty_cells_of_text_are_nan(write, empty):
    table = read_table(write("t.csv", f"a,b,c\n1,{empty},2\n3,4,{empty}\n"))
    assert_array_equal(table.X, [[1, np.nan, 2], [3, 4, np.nan]])
    assert table.n_missing == 2


def test_null_cells_of_parquet_are_nan(write):
    columns = {"real": [1.5, None, np.nan], "whole": [1, None, 2], "flag": [None, True, False], "none": [None] * 3}
    pytest.importorskip("polars").DataFrame(columns, strict=False).write_parquet("t.parquet")
    table = read_table("t.parquet")
    nan = np.nan
    assert_array_equal(table.X, [[1.5, 1, nan, nan], [nan, nan, 1, nan], [nan, 2, 0, nan]])
    assert table.n_missing == 7


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nan_in_npz_stays_and_so_does_the_type(write, dtype):
    X = np.array([[1, np.nan], [np.nan, 2]], dtype=dtype)
    np.savez("t.npz", X=X)
    table = read_table("t.npz")
    assert_array_equal(table.X, X)
    assert (table.X.dtype, table.n_missing) == (dtype, 2)


def test_parquet_keeps_float32_and_leaves_the_index_of_pandas_out(write):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": [3.0, 4.0]}, dtype=np.float32, index=[7, 9])
    frame.to_parquet("t.parquet")
    table = read_table("t.parquet")
    assert table.feature_names == ["a", "b"]
    assert table.X.dtype == np.float32


def test_npz_is_read_dense_and_sparse(write):
    X = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    C = sparse.csr_matrix(X)
    np.savez("dense.npz", X=X, y=[1, 0], kind=["a", ""], feature_names=["p", "q", "r"], other=np.ones(7))
    np.savez("csr.npz", data=C.data, indices=C.indices, indptr=C.indptr, shape=C.shape, y=[1, 0])
    dense, csr = read_table("dense.npz", targets=["kind"]), read_table("csr.npz", targets=["y"])
    assert dense.feature_names == ["p", "q", "r"]
    assert dense.targets["kind"].tolist() == ["a", None]
    assert csr.feature_names == ["x0", "x1", "x2"]
    assert sparse.issparse(csr.X)
    assert_array_equal(csr.X.toarray(), dense.X)
    assert csr.targets["y"].tolist() == [1, 0]


def test_npz_types_of_features(write):
    np.savez("f4.npz", X=np.ones((2, 2), np.float32))
    np.savez("u1.npz", X=np.ones((2, 2), np.uint8))
    assert read_table("f4.npz").X.dtype == np.float32
    assert read_table("u1.npz").X.dtype == np.float64


def test_npz_table_of_targets_is_one_target_a_column(write):
    np.savez("t.npz", X=np.ones((2, 2)), Y=[[1.0, np.nan], [3.0, 4.0]], target_names=["oil", "water"])
    table = read_table("t.npz", targets=["Y"])
    assert {name: values.tolist() for name, values in table.targets.items()} == {"oil": [1, 3], "water": [None, 4]}


def test_many_rows_come_in_chunks(write):
    lines = [f"{i},{i / 7!r},{'ab'[i % 2]}" for i in range(10_000)]
    table = read_table(write("t.csv", "\n".join(["i,x,y", *lines])), targets=["y"])
    assert_array_equal(table.X, np.column_stack([np.arange(10_000), np.arange(10_000) / 7]))
    assert table.targets["y"][[4096, 9999]].tolist() == ["a", "b"]
    assert table.where(9999, "x") == "t.csv, row 10000 (line 10001), column 'x'"


def test_lines_count_those_inside_quotes(write):
    name = write("t.csv", 'x,note,kind\n1,"two\nlines",a\n2,one,b\n')
    table = read_table(name, targets=["kind"], drop=["note"])
    assert table.lines.tolist() == [2, 4]


def test_wanted_features_are_matched_by_name_in_any_order(write):
    name = write("t.csv", "kind,b,a,row\nx,2,1,9\n")
    table = read_table(name, features=["a", "b"], likely_id="row", ignore=["kind", "absent"])
    assert table.X.tolist() == [[1.0, 2.0]]
    assert table.ids.tolist() == ["9"]
    np.savez("t.npz", X=[[2.0, 1.0]], feature_names=["b", "a"])
    assert read_table("t.npz", features=["a", "b"], likely_id="row").X.tolist() == [[1.0, 2.0]]


# ------------------------------------------------------------------------------ what is refused: files


def test_missing_files_folders_and_kinds(write, tmp_path):
    assert message_of(read_table, "no.csv") == "no.csv does not exist."
    (tmp_path / "d.csv").mkdir()
    assert message_of(read_table, "d.csv").startswith("d.csv is a folder; name a table file in it, or")
    kinds = (
        ".csv, .tsv, .txt, .tab, .dat, .data, .asc, .psv, .parquet, .feather, .xlsx, .npz, .npy, .mtx, .h5ad, .jdx, "
        ".dx, .jcamp"
    )
    expected = f"t.sav: .sav is not a kind of table that can be read; use {kinds}."
    assert message_of(read_table, write("t.sav", "a,b")) == expected
    assert message_of(read_table, write("t.ods", "a,b")).endswith("; save the sheet as .xlsx or CSV.")
    assert message_of(read_table, write("t.csv.zip", "a,b")).endswith("; unpack it first.")
    assert "t.npz.gz: .gz is not a kind" in message_of(read_table, write("t.npz.gz", "a,b"))
    assert "t.v2: .v2 is not a kind" in message_of(read_table, write("t.v2", "a,b"))


@pytest.mark.parametrize(
    "content, expected",
    [
        ("", "t.csv is empty."),
        ("\n\n", "t.csv: the first line holds no column names."),
        (",,\n,,\n", "t.csv: the first line holds no column names."),
        ("a,b\n", "t.csv: a header and no rows."),
        ("a;b\n1;2\n3\n", "t.csv, row 2 (line 3): 1 cell, and the header has 2."),
        ("a\tb\n1\t2\t3\n", "t.csv: the header is separated by tabs, not by commas."),
        ("a,b,a\n1,2,3\n", "t.csv: several columns are called 'a' (columns 1, 3); rename all but one."),
        ("a,b\n1,2\n3\n", "t.csv, row 2 (line 3): 1 cell, and the header has 2."),
        ("a,b\n1,2\n\n3,4,5\n", "t.csv, row 2 (line 4): 3 cells, and the header has 2."),
        ("a,b\n1,2\n3,x y\n", "t.csv, row 2 (line 3), column 'b': 'x y' is not a number; leave the column out with "
         "--drop b, take it for answers with --categorical b, or name it for --target or --id."),
        ("a,my col\n1,1_0\n", "t.csv, row 1 (line 2), column 'my col': '1_0' is not a number; leave the column out "
         "with --drop 'my col', take it for answers with --categorical 'my col', or name it for --target or --id."),
        ("a,b\n1,\n,x\n", "t.csv, row 2 (line 3), column 'b': 'x' is not a number; leave the column out with --drop b, "
         "take it for answers with --categorical b, or name it for --target or --id."),
        ("a,b\n,inf\n1,\n", "t.csv, row 1 (line 2), column 'b': inf is not a finite number; correct it, or leave the "
         "column out with --drop b."),
        ("a,b\n1,-inf\n", "t.csv, row 1 (line 2), column 'b': -inf is not a finite number; correct it, or leave the "
         "column out with --drop b."),
        ("a,b\n1,1e999\n", "t.csv, row 1 (line 2), column 'b': 1e999 is not a finite number; correct it, or leave "
         "the column out with --drop b."),
        ("a,b\n1,-1e200\n", "t.csv, row 1 (line 2), column 'b': -1e200 is larger than 1e+150 in size; correct it, or "
         "leave the column out with --drop b."),
        (",a\n0,1\n", "t.csv: column 1 has no name in the header; if it numbers the rows, add --id column1 or "
         "--drop column1."),
        (b"a,b\n1,caf\xe9\x81\n", "t.csv, line 2: byte 0xe9 is not UTF-8; save the table as UTF-8 text."),
        (b"\x89PNG\r\n\x1a\n\x00", "t.csv, line 1: byte 0x89 is not UTF-8; save the table as UTF-8 text."),
        ('a,b\n1,"2\n3,4\n', "t.csv, line 2: not a table row (unexpected end of data)."),
    ],
)  # fmt: skip
def test_bad_text_gives_one_line(write, content, expected):
    assert message_of(read_table, write("t.csv", content)) == expected


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_columns_of_text_are_named_together(write, suffix):
    columns = {"a": [1, 2], "b": ["x", "y"], "c": [0.5, 1.5], "d d": ["u", "v"], "e": ["p", "q"]}
    write_table(f"t.{suffix}", columns)
    said = message_of(read_table, f"t.{suffix}")
    assert "row 1" in said
    assert said.endswith(
        "column 'b': 'x' is not a number, and neither are cells of 'd d', 'e'; leave the columns out with --drop b "
        "'d d' e, take them for answers with --categorical b 'd d' e, or name them for --target or --id."
    )


def test_long_cells_are_cut_in_messages(write):
    assert f"'{'x' * 37}...' is not a number" in message_of(read_table, write("t.csv", f"a,b\n1,{'x' * 99}\n"))


def test_tabs_are_wanted_in_tsv(write):
    assert message_of(read_table, write("t.tsv", "a,b\n1,2,3\n")) == (
        "t.tsv: the header is separated by commas, not by tabs."
    )


@pytest.mark.parametrize(
    "columns, expected",
    [
        ({"a": [1.0, 2.0], "b": ["x", "y"]}, "row 1, column 'b': 'x' is not a number"),
        ({"a": [1.0, None], "b": [None, "1.5"]}, "row 2, column 'b': '1.5' is text; store the column as numbers, or"),
        ({"a": [1.0, None], "b": [float("inf"), 2]}, "row 1, column 'b': inf is not a finite number"),
        ({"a": [None, 1e200], "b": [1, 2]}, "row 2, column 'a': 1e+200 is larger than 1e+150 in size"),
    ],
)
def test_bad_parquet_cells_are_named(write, columns, expected):
    pytest.importorskip("polars").DataFrame(columns).write_parquet("t.parquet")
    assert f"t.parquet, {expected}" in message_of(read_table, "t.parquet")


def test_bad_parquet_files(write, monkeypatch):
    pl = pytest.importorskip("polars")
    message = message_of(read_table, write("t.parquet", "a,b\n1,2\n"))
    assert message.startswith("t.parquet is not a Parquet file that can be read (")
    pl.DataFrame({"a": []}).write_parquet("none.parquet")
    assert message_of(read_table, "none.parquet") == "none.parquet: columns and no rows."
    monkeypatch.setattr(parquet_module, "has_pyarrow", lambda: False)
    assert "t.parquet: reading Parquet needs pyarrow" in message_of(read_table, "t.parquet")


def bad_npz(**arrays):
    def save():
        np.savez("t.npz", **arrays)

    return save


@pytest.mark.parametrize(
    "save, expected",
    [
        (bad_npz(A=np.ones(3)), "t.npz holds neither X nor data, indices, indptr and shape; its arrays are A."),
        (bad_npz(X=np.ones(3)), "t.npz: X has shape (3,) and type float64; 2-D numbers were wanted."),
        (bad_npz(X=np.array([["a"]])), "t.npz: X has shape (1, 1) and type <U1; 2-D numbers were wanted."),
        (bad_npz(X=np.ones((0, 3))), "t.npz: X is empty, with shape (0, 3)."),
        (bad_npz(X=[[np.nan, np.inf]], feature_names=["p", "q"]), "t.npz, row 1, column 'q': inf is not a finite"),
        (bad_npz(X=np.array([[1, {}]], dtype=object)), "t.npz is not an npz file of plain arrays (Python objects"),
        (bad_npz(data=[1.0], indices=[5], indptr=[0, 1], shape=[1, 3]), "t.npz: data, indices, indptr and shape do"),
        (bad_npz(data=[1, np.nan], indices=[0, 2], indptr=[0, 1, 2], shape=[2, 3]), "t.npz, row 2, column 'x2': NaN"),
        (bad_npz(X=np.ones((2, 2)), x0=[1, 2]), "t.npz: several columns are called 'x0' (columns 1, 3)"),
    ],
)  # fmt: skip
def test_bad_npz_gives_one_line(write, save, expected):
    save()
    assert message_of(read_table, "t.npz").startswith(expected)


def test_npz_roles_must_be_arrays_of_their_own(write):
    np.savez("t.npz", X=np.ones((2, 2)), Y=np.ones((2, 2)))
    assert "t.npz: 'x1' is a column of X; a --target must be an array" in message_of(
        read_table, "t.npz", targets=["x1"]
    )
    assert "t.npz: 'Y' must be a 1-D array with one entry per row" in message_of(read_table, "t.npz", id="Y")


def test_text_named_npz_is_refused(write):
    assert message_of(read_table, write("t.npz", "a,b\n1,2\n")).startswith("t.npz is not an npz file of plain")


# ------------------------------------------------------------------------------ what is refused: roles


@pytest.mark.parametrize(
    "roles, expected",
    [
        ({"targets": ["kinds"]}, "t.csv: no column 'kinds' for --target. Did you mean 'kind'?"),
        ({"id": "zzz"}, "t.csv: no column 'zzz' for --id. The columns are 'row', 'width', 'height', 'kind'."),
        ({"drop": ["widht"]}, "t.csv: no column 'widht' for --drop. Did you mean 'width'?"),
        ({"targets": ["kind"], "id": "kind"}, "t.csv: column 'kind' is named for --target and for --id; name it once."),
        ({"targets": ["kind", "kind"]}, "t.csv: column 'kind' is named for --target twice; name it once."),
        ({"targets": ["row", "width", "height"], "drop": ["kind"]}, "t.csv: no feature columns are left beside 'row', "
         "'width', 'height', 'kind'."),
        ({"features": ["width", "depth"], "ignore": ["row", "kind"]}, "t.csv: the model needs 'depth', which the "
         "table lacks; the model does not know 'height': leave out with --drop."),
        ({"features": ["width"], "ignore": ["row", "kind"]}, "t.csv: the model does not know 'height': leave out "
         "with --drop."),
    ],
)  # fmt: skip
def test_wrong_roles_are_named(write, roles, expected):
    assert message_of(read_table, write("t.csv", GOOD), **roles) == expected


def test_a_missing_header_is_guessed(write):
    message = message_of(read_table, write("t.csv", "5.1,3.5,-1\n1,2,3\n"), targets=["species"])
    assert "The columns are '5.1', '3.5', '-1'. Is the header line missing? Then add --form no-header;" in message
    message = message_of(read_table, write("t.csv", "5.1,3.5,setosa\n1,2,x\n"), targets=["species"])
    assert "The columns are '5.1', '3.5', 'setosa'. Is the header line missing? Then add --form no-header;" in message


def test_long_lists_of_columns_are_cut(write):
    name = write("t.csv", ",".join(f"c{j}" for j in range(20)) + "\n")
    assert "'c7', ... (20 in all)." in message_of(read_table, name, targets=["species"])


# ---------------------------------------------------------------------------------------- target cells


@pytest.mark.parametrize(
    "cells, given",
    [
        (["a", "", "b"], ["a", None, "b"]),
        (["True", "NA", "False"], ["True", None, "False"]),
        (["3", "", "-1"], [3, None, -1]),
        (["1.0", "", "2"], [1.0, None, 2.0]),
        (["1", "2.5", "1e3"], [1.0, 2.5, 1000.0]),
        (["1", "x", "3"], ["1", "x", "3"]),
        (["1_0", "2", "3"], ["1_0", "2", "3"]),
        (["inf", "x", "3"], ["inf", "x", "3"]),
        (["", "", ""], [None, None, None]),
        ([str(10**19), "2", "3"], [10**19, 2, 3]),
    ],
)
def test_cells_of_text_are_numbers_where_all_are(write, cells, given):
    write("t.csv", "\n".join(["a,y", *(f"1,{cell}" for cell in cells)]) + "\n")
    found = read_table("t.csv", targets=["y"]).targets["y"].tolist()
    assert found == given
    assert [type(cell) for cell in found] == [type(cell) for cell in given]


@pytest.mark.parametrize(
    "cell, said", [("inf", "inf is not a finite number"), ("1e151", "1e151 is larger than 1e+150")]
)
def test_numbers_that_cannot_be_targets_are_named(write, cell, said):
    write("t.csv", f"a,y\n1,0.5\n1,{cell}\n")
    message = message_of(read_table, "t.csv", targets=["y"])
    assert message.startswith(f"t.csv, row 2 (line 3), column 'y': {said}")


def test_cells_of_other_files_are_as_they_hold_them(write):
    np.savez("t.npz", X=np.ones((3, 2)), y=[0, -1, 1], text=["1", "", "2"], real=[1.0, np.nan, 2.0])
    table = read_table("t.npz", targets=["y", "text", "real"])
    assert [cells.tolist() for cells in table.targets.values()] == [[0, -1, 1], ["1", None, "2"], [1.0, None, 2.0]]


# -------------------------------------------------------------------------------------------- writing


COLUMNS = {
    "id": np.array(["a", "b,c"], dtype=object),
    "z": np.array([0.1, np.nan]),
    "n": np.array([1, 2]),
    "seen": np.array([True, False]),
    "given": np.array(["x", None], dtype=object),
    "mixed": np.array([1, "y"], dtype=object),
}


def test_csv_is_written_exactly(write, tmp_path):
    write_table("t.csv", COLUMNS)
    assert (tmp_path / "t.csv").read_text() == 'id,z,n,seen,given,mixed\na,0.1,1,True,x,1\n"b,c",,2,False,,y\n'
    write_table("t.tsv", {"a": np.array([1 / 3])})
    assert (tmp_path / "t.tsv").read_text() == f"a\n{1 / 3!r}\n"


def test_tsv_has_tabs(tmp_path):
    write_table(tmp_path / "t.tsv", {"a": [1, 2], "b": ["x", None]})
    assert (tmp_path / "t.tsv").read_text() == "a\tb\n1\tx\n2\t\n"


def test_parquet_is_written_with_types(write):
    pl = pytest.importorskip("polars")
    write_table("t.parquet", COLUMNS)
    frame = pl.read_parquet("t.parquet")
    assert frame.columns == list(COLUMNS)
    assert frame["n"].to_list() == [1, 2]
    assert frame["seen"].to_list() == [True, False]
    assert frame["given"].to_list() == ["x", None]
    assert frame["mixed"].to_list() == ["1", "y"]


def test_only_known_kinds_are_written(write, monkeypatch):
    assert message_of(write_table, "t.xlsx", COLUMNS) == (
        "t.xlsx: .xlsx is not a kind of table that can be written; use .csv, .tsv, .parquet."
    )
    monkeypatch.setattr("gnomon.tables._write.has_pyarrow", lambda: False)
    assert "t.parquet: writing Parquet needs pyarrow" in message_of(write_table, "t.parquet", COLUMNS)


@pytest.mark.parametrize("name", ["t.npz", "t.npy"])
def test_text_that_is_called_an_array_is_none_that_numpy_writes(tmp_path, name):
    (tmp_path / name).write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match=r"\(it is none of those that NumPy writes\)\.") as error:
        read_table(tmp_path / name)
    assert "pickle" not in str(error.value)
