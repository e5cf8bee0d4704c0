"""Columns of answers: a column of 0 and 1 for each answer, whatever kind of file they come from."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from gnomon.tables import TableError, answer_of, indicators, read_table, write_table
from gnomon.tables import _answers as answers_module

TEXT = "age,smokes,code,region\n31,no,1,north\n25,yes,02,\n40,,10,south\n38,no,10,north\n"
NAMES = ["age", "smokes=no", "smokes=yes", "code=1", "code=2", "code=10"]
nan = np.nan
ROWS = [[31, 1, 0, 1, 0, 0], [25, 0, 1, 0, 1, 0], [40, nan, nan, 0, 0, 1], [38, 1, 0, 0, 0, 1]]
COLUMNS = {
    "age": np.array([31.0, 25, 40, 38]),
    "smokes": ["no", "yes", None, "no"],
    "code": [1, 2, 10, 10],
    "region": ["north", None, "south", "north"],
}


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TEXT)


def write_as(kind):
    if kind == "npz":
        obs = {name: ["" if cell is None else cell for cell in cells] for name, cells in COLUMNS.items()}
        np.savez("t.npz", X=np.array(obs.pop("age"))[:, None], feature_names=["age"], **obs)
    elif kind == "parquet":
        write_table("t.parquet", COLUMNS)
    elif kind in ("xlsx", "h5ad"):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(COLUMNS)
        if kind == "xlsx":
            frame.to_excel("t.xlsx", index=False)
        else:
            anndata = pytest.importorskip("anndata")
            var = pandas.DataFrame(index=["age"])
            obs = frame[["smokes", "code", "region"]].set_index(np.array(list("abcd"), dtype=object))
            anndata.AnnData(frame[["age"]].to_numpy(), obs=obs, var=var).write_h5ad("t.h5ad")


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx", "npz", "h5ad"])
def test_each_answer_is_a_column_and_an_empty_cell_is_missing_in_all(kind):
    write_as(kind)
    drop = [] if kind in ("npz", "h5ad") else ["region"]
    found = read_table(f"t.{kind}", categorical=["smokes", "code"], drop=drop)
    assert found.feature_names == NAMES
    assert_array_equal(found.X, ROWS)
    known = {"smokes": ["maybe", "yes"], "code": ["2", "10"]}
    again = read_table(f"t.{kind}", categorical=known, drop=drop)
    assert_array_equal(again.X[:, 1:3], [[nan, nan], [0, 1], [nan, nan], [nan, nan]])
    assert_array_equal(again.X[:, 3:], [[nan, nan], [1, 0], [0, 1], [0, 1]])
    assert again.unseen == {"smokes": ["no"], "code": ["1"]}


@pytest.mark.parametrize("cell", [1, 1.0, "1", " 01 ", np.int64(1), np.float32(1)])
def test_a_number_is_one_answer_however_it_is_written(cell):
    assert answer_of(cell) == "1"


@pytest.mark.parametrize(
    "cell, answer",
    [(True, "true"), ("TRUE", "true"), ("0.50", "0.5"), ("inf", "inf"), ("1_0", "1_0"), (" a b ", "a b")]
    + [(cell, None) for cell in ("", " ", "NA", "nan", None, np.nan)],
)  # fmt: skip
def test_what_an_answer_is(cell, answer):
    assert answer_of(cell) == answer


def test_a_table_may_have_answers_alone():
    found = read_table("t.csv", categorical=["smokes", "region"], drop=["age", "code"])
    assert found.feature_names == ["smokes=no", "smokes=yes", "region=north", "region=south"]
    assert found.X.dtype == np.float64
    write_as("parquet")
    parquet = read_table("t.parquet", categorical=["smokes", "region"], drop=["age", "code"])
    assert_array_equal(parquet.X, found.X)
    assert parquet.X.dtype == np.float64


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_marks_for_nothing_are_no_answers(suffix):
    columns = {"a": [1.0, 2, 3, 4], "q": ["yes", "no", "?", "no"], "code": [1, 2, -9, 1]}
    write_table(f"t.{suffix}", columns, replace=True)
    found = read_table(f"t.{suffix}", categorical=["q", "code"], missing=["?", "-9"])
    assert found.feature_names == ["a", "q=no", "q=yes", "code=1", "code=2"]
    assert np.isnan(found.X[2, 1:]).all()


@pytest.mark.parametrize(
    "asked, said",
    [
        ({"categorical": ["smoke"]}, "no column 'smoke' for --categorical. Did you mean 'smokes'?"),
        ({"categorical": ["age"], "targets": ["age"]}, "column 'age' is named for --target and for --categorical"),
        ({"categorical": ["age", "smokes"], "drop": ["region"]}, "column 'age': no two rows have the same of its 4 "
         "answers, so --categorical learns nothing from it; leave the column out with --drop age, or name it with --id "
         "age."),
        ({"categorical": ["region"], "drop": ["smokes"], "missing": ["north", "south"]}, "column 'region': no row has "
         "a value"),
    ],
)  # fmt: skip
def test_what_makes_no_columns_is_refused(asked, said):
    with pytest.raises(TableError, match=r"t\.csv") as caught:
        read_table("t.csv", **asked)
    assert said in str(caught.value)


def test_names_that_meet_are_refused():
    write_table("t.csv", {"q": ["a", "b", "a"], "q=a": [1, 2, 3]})
    with pytest.raises(TableError, match="makes a second column 'q=a'"):
        read_table("t.csv", categorical=["q"])


def test_answers_of_sparse_tables_stay_sparse_and_matrices_have_none():
    C = sparse.csr_matrix(np.eye(3))
    parts = {"data": C.data, "indices": C.indices, "indptr": C.indptr, "shape": C.shape}
    np.savez("s.npz", **parts, q=["a", "b", "a"])
    found = read_table("s.npz", categorical=["q"])
    assert sparse.issparse(found.X)
    assert found.feature_names[-2:] == ["q=a", "q=b"]
    assert_array_equal(found.X.toarray()[:, -2:], [[1, 0], [0, 1], [1, 0]])
    np.savez("s.npz", **parts, q=["a", "", "a"])
    with pytest.raises(TableError, match="no answer of the fit, and a sparse table has no empty cells"):
        read_table("s.npz", categorical=["q"])
    np.save("m.npy", np.eye(3))
    with pytest.raises(TableError, match=r"a \.npy file has numbers alone"):
        read_table("m.npy", categorical=["q"])


def test_rows_without_a_known_answer_are_missing():
    X, unseen = indicators(["b", "c", None, "a"], ["a", "b"])
    assert_array_equal(X, [[0, 1], [nan, nan], [nan, nan], [1, 0]])
    assert unseen == ["c"]
    assert answers_module.said_of_unseen("q", ["c"]) == "'c' in 'q' is no answer of the fit, and counts as empty"
