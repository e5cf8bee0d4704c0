"""What y means: the table of rules, marks of unlabeled rows, new targets like those of fit, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from gnomon.targets import read, read_like
from gnomon.targets.code import check_variation, code, log_plausibilities


def quietly(y, n_samples=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read(y, len(y) if n_samples is None else n_samples, **options)


def outcome(targets):
    (column,) = targets.columns
    classes = None if column.classes is None else column.classes.tolist()
    return column.kind, classes, np.where(column.labeled, np.nan_to_num(column.values), -1).tolist()


def sparse_ids(n):
    """Whole numbers with gaps between them."""
    return np.arange(n) * 3 + 5


CLASSES = {
    "text and None": (["a", None, "b"], ["a", "b"], [0, -1, 1]),
    "text and NaN": (np.array(["a", np.nan, "b"], dtype=object), ["a", "b"], [0, -1, 1]),
    "text and pd.NA": ([pd.NA, "b", "a"], ["a", "b"], [-1, 1, 0]),
    "text and NaT": (np.array([pd.NaT, "b", "a"], dtype=object), ["a", "b"], [-1, 1, 0]),
    "text of NumPy": (np.array(["b", "a"]), ["a", "b"], [1, 0]),
    "bytes that end in NUL": ([b"a\0", b"b"], [b"a\0", b"b"], [0, 1]),
    "text that ends in NUL": (["a\0", "a"], ["a", "a\0"], [1, 0]),
    "bool": (np.array([True, False]), [False, True], [1, 0]),
    "bool and None": ([True, None, False], [False, True], [1, -1, 0]),
    "ints": (np.array([2, 0, 1]), [0, 1, 2], [2, 0, 1]),
    "ints and -1": (np.array([2, -1, 0]), [0, 2], [1, -1, 0]),
    "ints and None": ([2, None, 0], [0, 2], [1, -1, 0]),
    "Int64": (pd.Series([2, None, 0], dtype="Int64"), [0, 2], [1, -1, 0]),
    "nulls of polars": (pl.Series([2, None, 0]), [0, 2], [1, -1, 0]),
    "unsigned": (np.array([2, 0], dtype=np.uint8), [0, 2], [1, 0]),
    "huge ints": ([2**70, 1], [1, 2**70], [1, 0]),
    "categories": (pd.Categorical(["b", None, "a"]), ["a", "b"], [1, -1, 0]),
    "categories of fractions": (pd.Series(pd.Categorical([0.5, None, 1.5])), [0.5, 1.5], [0, -1, 1]),
    "a column": (np.array([[1], [0]]), [0, 1], [1, 0]),
    "a frame": (pd.DataFrame({"kind": ["b", "a"]}), ["a", "b"], [1, 0]),
    "masked": (np.ma.MaskedArray([1, 7, 0], [False, True, False]), [0, 1], [1, -1, 0]),
}


@pytest.mark.parametrize("form", CLASSES)
def test_classes_without_a_word(form):
    y, classes, index = CLASSES[form]
    found = quietly(y)
    assert outcome(found) == ("classes", classes, index)
    assert_array_equal(found.index, index)
    assert (found.kind, found.vector, found.n_labeled) == ("classes", True, sum(i >= 0 for i in index))


def test_numbers_with_fractions_are_real_and_minus_one_is_a_number():
    found = quietly(np.array([0.5, -1.0, np.nan]))
    assert found.kind == "real"
    assert found.classes is None
    assert_array_equal(found.table[:, 0], [0.5, -1.0, np.nan])


@pytest.mark.parametrize("y", [[0.0, 1.0, np.nan, 2.0], [0.0, 1.0, -1.0, 2.0], [0.0, 1.0, None, 2]], ids=str)
def test_whole_floats_are_classes_and_say_so(y):
    with pytest.warns(UserWarning, match="floats, which are read as classes.*target='real'") as said:
        found = read(y, 4)
    assert len(said) == 1
    assert said[0].filename == __file__
    assert outcome(found) == ("classes", [0, 1, 2], [0, 1, -1, 2])
    assert found.classes.dtype.kind == "i"


def test_many_whole_floats_are_real_unless_they_count_the_classes():
    with pytest.warns(UserWarning, match="floats, which are read as real numbers.*target='classes'"):
        found = read(sparse_ids(21).astype(float), 21)
    assert found.kind == "real"
    people = np.where(np.arange(80) % 2, np.nan, np.arange(80) // 2 + 1.0)
    with pytest.warns(UserWarning, match="read as classes"):
        assert read(people, 80).kind == "classes"
    with pytest.warns(UserWarning, match="read as classes"):
        assert read(sparse_ids(20).astype(float), 20).kind == "classes"
    with pytest.warns(UserWarning, match="read as real"):  # a residual: -1 is one number of many
        found = read(np.arange(-30.0, 30.0), 60)
    assert found.n_labeled == 60


def test_many_integers_are_classes_with_a_warning_where_each_has_few_rows():
    with pytest.warns(UserWarning, match="21 different integers in 60 labeled rows.*target='real'"):
        found = read(np.tile(sparse_ids(21), 3)[:60], 60)
    assert found.kind == "classes"
    assert quietly(np.tile(sparse_ids(21), 3)).kind == "classes"
    assert quietly(np.arange(40)).kind == "classes"  # exactly 0..C-1


@pytest.mark.parametrize(
    "y", [[1065, 735, -1, 1480], [25, 31, 40, 31, 67, None], np.array([101, 205, 330, 205])], ids=str
)
def test_few_integers_far_apart_that_mostly_come_once_are_classes_with_a_warning(y):
    with pytest.warns(UserWarning, match="different integers in [345] labeled rows, read as classes.*target='real'"):
        assert read(y, len(y)).kind == "classes"


@pytest.mark.parametrize("y", [[10, 20, 30] * 2, [3, 100], [0, 4, 9, 11], list(range(20))], ids=str)
def test_codes_of_classes_bring_no_warning(y):
    assert quietly(y).kind == "classes"


@pytest.mark.parametrize("mark", ["", "nan", "None", "<NA>", "-1"])
def test_text_of_a_missing_label_is_a_class_with_a_warning(mark):
    y = np.array(["a", mark, "b", mark])
    for given in (y, pd.Categorical(y), list(y)):
        for how in ("auto", "classes"):
            with pytest.warns(UserWarning, match=f"text '{mark}' in 2 of 4 labeled rows.*unlabeled='{mark}'; if not"):
                assert read(given, 4, target=how).classes.tolist() == sorted({"a", "b", mark})
    assert outcome(quietly(y, unlabeled=mark)) == ("classes", ["a", "b"], [0, -1, 1, -1])
    assert quietly(y, unlabeled=None).classes.tolist() == sorted({"a", "b", mark})


@pytest.mark.parametrize("y", [[1, -1, 1], [1.0, -1.0, np.nan], [-2, -1, 0, 1]], ids=str)
def test_minus_one_that_may_be_a_class_is_ambiguous(y):
    for way_out in ("unlabeled=None", "unlabeled=-1", "target='real'"):
        with pytest.raises(ValueError, match=way_out):
            read(y, len(y))


def test_the_ways_out():
    assert outcome(quietly([1, -1, 1], unlabeled=None)) == ("classes", [-1, 1], [1, 0, 1])
    assert outcome(quietly([1, -1, 1], unlabeled=-1)) == ("classes", [1], [0, -1, 0])
    assert quietly([1, -1, 1], target="real").table[:, 0].tolist() == [1.0, -1.0, 1.0]
    assert outcome(quietly([0.0, np.nan, 2.0], target="classes")) == ("classes", [0, 2], [0, -1, 1])
    assert outcome(quietly([0.5, -1.0, 2.0], target="classes")) == ("classes", [0.5, 2.0], [0, -1, 1])
    assert quietly(["1.5", None], target="real").columns[0].values[0] == 1.5
    assert quietly([3, 0, None], target="counts").kind == "counts"


@pytest.mark.parametrize("mark, y", [("?", ["a", "?", "b"]), (99, [0, 99, 1]), (99.0, [0, 99, 1]), ("?", [0, "?", 1])])
def test_a_mark_of_ones_own(mark, y):
    assert outcome(quietly(y, unlabeled=mark))[2] == [0, -1, 1]


def test_a_mark_among_numbers():
    assert_array_equal(quietly([1.5, -999.0], unlabeled=-999).table[:, 0], [1.5, np.nan])
    assert outcome(quietly([True, False], unlabeled=1)) == ("classes", [False, True], [1, 0])


@pytest.mark.parametrize("y", [[None, None], [np.nan, np.nan], [-1, -1], [-1.0, np.nan]], ids=str)
def test_no_row_labeled(y):
    found = quietly(y)
    assert (found.kind, found.n_labeled, found.classes) == ("none", 0, None)
    assert quietly(None, 2).kind == "none"


def test_tables_are_columns_or_numbers_as_the_model_wants():
    frame = pd.DataFrame({"kind": ["a", None, "b"], "size": [0.5, np.nan, 2.0]})
    found = quietly(frame)
    assert [column.kind for column in found.columns] == ["classes", "real"]
    assert (found.kind, found.vector, found.n_labeled) == ("mixed", False, 2)
    assert found.classes[0].tolist() == ["a", "b"]
    assert found.classes[1] is None
    vectors = quietly([np.array(["a", None, "b"], dtype=object), np.array([0.5, np.nan, 2.0])], 3)
    assert_array_equal(vectors.table, found.table)
    flags = np.array([[0, 1], [1, 1], [1, 0]])
    assert quietly(flags).kind == "classes"
    assert quietly(flags, several="real").kind == "real"
    assert quietly(flags, several="real", target="classes").kind == "classes"
    assert [c.kind for c in quietly(flags, target=["real", "classes"]).columns] == ["real", "classes"]
    with pytest.warns(
        UserWarning, match=r"column 0 of y holds whole numbers as floats.*and 1 more column alike"
    ) as said:
        read(flags.astype(float), 3)
    assert len(said) == 1


def test_some_rows_only():
    found = quietly(np.array([5, 0, 1, -1]), rows=np.array([1, 3]))
    assert outcome(found) == ("classes", [0], [0, -1])
    assert quietly(np.array([5, -1, None], dtype=object), rows=np.array([1, 2])).kind == "none"


@pytest.mark.parametrize(
    "error, match, y, options",
    [
        (ValueError, "y has 2 rows, X has 3", [1, 2], {"n_samples": 3}),
        (ValueError, "y is infinite in row 1", [0.5, np.inf], {}),
        (ValueError, "column 1 of y is infinite in row 0", [[0.5, np.inf]], {"n_samples": 1}),
        (TypeError, r"mixes labels of several types \(number, str\)", ["a", 1], {}),
        (TypeError, "Unknown label type: y holds values of type object", [object()] * 3, {}),
        (TypeError, "values of type Timestamp", pd.Series(pd.to_datetime(["2020-01-01", None])), {}),
        (TypeError, "dtype complex128", np.zeros(3, dtype=complex), {}),
        (TypeError, "y is a sparse matrix", sp.csr_array(np.eye(3)), {"n_samples": 3}),
        (ValueError, "shape", np.zeros((3, 2, 2)), {}),
        (ValueError, "at least one column", np.zeros((3, 0)), {}),
        (ValueError, "several lengths", [[1, 2], [1]], {}),
        (ValueError, "several columns named 'a'", pd.DataFrame([[1, 2]], columns=["a", "a"]), {}),
        (TypeError, "column 'k' of y holds 'a'", pd.DataFrame({"k": ["a", "b"], "v": [0.5, 1]}), {"several": "real"}),
        (ValueError, "column 0 of y .* -1, which is ambiguous", np.array([[-1, 0], [1, 2]]), {"several": "real"}),
        (ValueError, "one column for KDA; y has 2 columns", np.zeros((3, 2)), {"several": "one", "model": "KDA"}),
        (ValueError, "Unknown label type: y .*KDA takes class", [0.5, 1.0], {"kinds": ("classes",), "model": "KDA"}),
        (ValueError, "which SPPCA does not take", [1, 2], {"kinds": ("real",), "model": "SPPCA"}),
        (ValueError, "target='number' must be one of 'auto'", [1, 2], {"target": "number"}),
        (ValueError, "target has 1 entries, y has 2 columns", np.zeros((3, 2)), {"target": ["real"]}),
        (ValueError, "is 2.5 in row 1; target='counts'", [1, 2.5], {"target": "counts"}),
        (ValueError, "is -1 in row 0; target='counts'", [-1, 2], {"target": "counts"}),
        (TypeError, "'a', which is not a number", ["1", "a"], {"target": "real"}),
    ],
)
def test_what_is_refused(error, match, y, options):
    n_samples = options.pop("n_samples", None) or len(y)
    with pytest.raises(error, match=match):
        read(y, n_samples, **options)


def test_new_targets_like_those_of_fit():
    frame = pd.DataFrame({"kind": ["a", None, "b"], "size": [0.5, np.nan, 2.0]})
    found = quietly(frame)
    assert_array_equal(read_like(frame, 3, found.form), found.table)
    assert_array_equal(read_like(frame.iloc[[2]], 1, found.form), [[1.0, 2.0]])
    numbers = quietly(np.array([0, 2, 5])).form
    assert_array_equal(read_like([5.0, np.nan, -1.0], 3, numbers)[:, 0], [2, np.nan, np.nan])
    with pytest.raises(ValueError, match="classes that were not in fit: 7"):
        read_like([7], 1, numbers)
    with pytest.raises(ValueError, match="y has 2 columns, but the model was fitted with 1"):
        read_like(np.zeros((1, 2)), 1, numbers)
    with pytest.raises(ValueError, match="fitted without targets"):
        read_like([7], 1, quietly([None]).form)
    signs = quietly([-1, 1], unlabeled=None).form
    with pytest.raises(ValueError, match="ambiguous"):
        read_like([-1, 1], 2, signs)


def test_rows_of_what_was_read():
    found = quietly(np.array([2, -1, 0])).rows(np.array([0, 1]))
    assert (found.n_samples, found.index.tolist(), found.classes.tolist()) == (2, [1, -1], [0, 2])


def test_what_cannot_guide_is_refused():
    for y, match in [
        (np.array([0.5, 0.5]), "y has the single value 0.5 in its 2 labeled rows"),
        (np.array([[0.5, 1.5], [0.7, 1.5]]), "column 1 of y has the single value 1.5"),
        (np.array([[0.5, np.nan], [0.7, np.nan]]), "column 1 of y is never observed"),
        (np.array([["a", "b"], ["b", "b"]]), "column 1 of y has the single value 'b'"),
    ]:
        with pytest.raises(ValueError, match=match):
            check_variation(read(y, len(y)))
    check_variation(read(["a", "a"], 2))


def test_codes_of_a_reading():
    assert code(read(None, 3)).table.shape == (3, 0)
    coded = code(read(["a", None, "b", "c"], 4))
    assert coded.table.shape == (4, 2)
    assert np.isnan(coded.table[1]).all()
    one_of_c = code(read(np.eye(3)[np.arange(12) % 3], 12, several="real"))
    assert one_of_c.table.shape == (12, 2)


def test_plausibilities_of_labels():
    table = log_plausibilities(np.array([1, -1]), 2)
    assert_array_equal(table, [[-np.inf, 0.0], [0.0, 0.0]])
