"""Labels in every form that fit takes are read back as the fitted model reads them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from gnomon import SPPCA
from gnomon.describe import Target, check_lengths, describe

CATS = Target("classes", np.array(["cat", "dog"]))


@pytest.mark.parametrize(
    "y",
    [
        ["dog", None, "cat", np.nan],
        np.array(["dog", None, "cat", None], dtype=object),
        pd.Series(["dog", pd.NA, "cat", pd.NA], dtype="string"),
        pd.Categorical(["dog", None, "cat", None]),
        pl.Series(["dog", None, "cat", None]),
        pd.DataFrame({"animal": ["dog", None, "cat", None]}),
    ],
    ids=["list", "object", "string", "categorical", "polars", "frame"],
)
def test_class_codes(y):
    assert_array_equal(CATS.codes(y), [1, -1, 0, -1])


def test_minus_one_is_a_class_only_where_the_model_says_so():
    assert_array_equal(Target("classes", np.array([0, 2])).codes([-1, 2, 0]), [-1, 1, 0])
    assert_array_equal(Target("classes", np.array([-1, 1])).codes([-1, 1, 1]), [0, 1, 1])


@pytest.mark.parametrize(
    "y",
    [[1.5, np.nan, 3.0], pd.Series([1.5, pd.NA, 3.0], dtype="Float64"), pl.Series([1.5, None, 3.0])],
    ids=["list", "nullable", "polars"],
)
def test_numbers_are_columns_with_nan(y):
    assert_array_equal(Target("real").values(y), [1.5, np.nan, 3.0])


def test_a_row_with_one_of_two_outputs_counts_as_labeled():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 5)), rng.normal(size=(40, 2))
    said = describe(SPPCA(2).fit(X, Y))
    assert_array_equal(said.labeled([[1.0, np.nan], [np.nan, np.nan]], 2), [True, False])
    assert not said.labeled(None, 3).any()


def test_the_mask_counts_what_the_model_counted():
    rng = np.random.default_rng(0)
    y = pd.Series(rng.choice(["cat", "dog", None], 40))
    model = SPPCA(2).fit(rng.normal(size=(40, 5)), y)
    assert describe(model).labeled(y, 40).sum() == model.n_labeled_


def test_what_is_given_of_rows_is_of_all_of_them():
    check_lengths(
        3, y=None, ids="abc", table=np.zeros((3, 2)), columns=[np.zeros(3), np.zeros(3)], frame=pd.Series([1, 2, 3])
    )
    with pytest.raises(ValueError, match="ids has 2 rows, X has 3; one for each row of X is wanted"):
        check_lengths(3, y=[1, 2, 3], ids=["a", "b"])
    with pytest.raises(ValueError, match="y has 2 rows, X has 3"):
        check_lengths(3, y=[[1, 2], [3, 4]])
