"""Numbers of frames: of any library, with empty cells, as scikit-learn would have read them where it can."""

import datetime
import decimal

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from gnomon import KDA, PPCA
from gnomon.rows.frames import as_table, framed

pd = pytest.importorskip("pandas")
NAN = np.nan


def columns(kind):
    """Columns of numbers that are held in many ways, and what they are."""
    values = {
        "real": [1.5, None, -2.0],
        "whole": [1, 2, None],
        "truth": [True, False, True],
        "text": ["1.5", "2", None],
    }
    want = np.array([[1.5, 1, 1, 1.5], [NAN, 2, 0, 2], [-2.0, NAN, 1, NAN]])
    if kind == "pandas":
        types = {"real": "float64", "whole": "Int64", "truth": "bool", "text": "object"}
        return pd.DataFrame(values).astype(types), want
    library = pytest.importorskip(kind)
    return (library.DataFrame if kind == "polars" else library.table)(values), want


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_are_read_as_numbers(kind):
    frame, want = columns(kind)
    found = as_table(frame)
    assert found.dtype == np.float64
    assert_array_equal(found, want)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_numbers_become_a_frame_of_the_same_columns(kind):
    frame, _ = columns(kind)
    found = framed(np.arange(8.0).reshape(2, 4), frame)
    assert type(found) is type(frame)
    assert_array_equal(as_table(found), np.arange(8.0).reshape(2, 4))
    names = [list(each.column_names if kind == "pyarrow" else each.columns) for each in (found, frame)]
    assert names[0] == names[1]


def test_numbers_stay_numbers_beside_an_array_and_names_keep_their_type():
    table = np.ones((2, 3))
    assert framed(table, np.zeros((5, 3))) is table
    assert list(framed(table, pd.DataFrame(np.zeros((1, 3)))).columns) == [0, 1, 2]


def test_types_of_frames():
    rows = [[1.0]]
    assert as_table(rows) is rows
    single = pd.DataFrame(np.ones((3, 2), dtype=np.float32))
    assert as_table(single).dtype == np.float32
    assert as_table(single.astype({0: "float64"})).dtype == np.float64
    whole = pd.DataFrame({"a": pd.Categorical([1, 2, 1]), "b": [decimal.Decimal("0.5")] * 3})
    assert_array_equal(as_table(whole), [[1, 0.5], [2, 0.5], [1, 0.5]])
    sparse = pd.DataFrame.sparse.from_spmatrix(sp.eye(3))
    assert sp.issparse(as_table(sparse))
    masked = np.ma.masked_array([[1, 2], [3, 4]], [[False, True], [False, False]])
    assert_array_equal(as_table(masked), [[1, NAN], [3, 4]])


@pytest.mark.parametrize("value", ["red", datetime.date(2020, 1, 1)])
def test_a_cell_that_is_no_number_is_named(value):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, value, 2.0]})
    with pytest.raises((ValueError, TypeError)):
        PPCA(1).fit(frame)
    with pytest.raises(ValueError, match=r"column 'b' of X holds 'red' in row 1"):
        PPCA(1).fit(frame.assign(b=[1.0, "red", 2.0]))


def test_names_stay_with_as_table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20, 4)), columns=list("abcd"))
    y = np.arange(20) % 2
    model = KDA().fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert_array_equal(model.transform(frame), KDA().fit(frame.to_numpy(), y).transform(frame.to_numpy()))
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame[list("abdc")])


def test_tables_of_pyarrow_have_names_and_columns_may_be_alike():
    pa = pytest.importorskip("pyarrow")
    alike = pa.table({"a": [1.0, 2.0], "b": [1.0, 2.0]})
    assert_array_equal(as_table(alike), [[1, 1], [2, 2]])
    with pytest.raises(ValueError, match="column 'b' of X holds 'red' in row 0"):
        PPCA(1).fit(pa.table({"a": [1.0, 2.0], "b": ["red", "2"]}))
    with pytest.raises(ValueError, match="several columns named 'a'"):
        PPCA(1).fit(pa.table([[1.0, 2.0], [1.0, 3.0]], names=["a", "a"]))


def test_frames_that_are_not_computed_yet_are_refused():
    pl = pytest.importorskip("polars")
    lazy = pl.LazyFrame({"a": [1.0, 2.0, 4.0], "b": [1.0, 0.0, 1.0]})
    with pytest.raises(TypeError, match=r"X is a LazyFrame, .* pass what its collect\(\) gives"):
        PPCA(1).fit(lazy)
    PPCA(1).fit(lazy.collect())


def test_missing_entries_in_columns_of_arrow():
    pytest.importorskip("pyarrow")
    values = pd.DataFrame({"a": [1.0, NAN, 3.0], "b": [0.5, 1.5, 2.5]})
    assert_array_equal(as_table(values.astype("double[pyarrow]")), values)
    single = as_table(values.astype("float[pyarrow]"))
    assert_array_equal(single, values)
    assert single.dtype == np.float32
    kinds = pd.DataFrame({"a": pd.array([1, None], "int64[pyarrow]"), "b": pd.array([None, True], "bool[pyarrow]")})
    assert_array_equal(as_table(kinds), [[1, NAN], [NAN, 1]])
