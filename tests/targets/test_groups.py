"""Which rows belong together, whatever says so."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from gnomon.targets import groups_among, read_groups

NAMES = ["b", "a", "b", None, float("nan"), "a"]


@pytest.mark.parametrize("of", [list, tuple, pd.Series, lambda names: np.array(names, dtype=object)])
def test_rows_without_a_group_are_groups_of_their_own(of):
    assert_array_equal(read_groups(of(NAMES), 6), [0, 1, 0, 2, 3, 1])


@pytest.mark.parametrize("of", [list, np.array, pd.Series, pl.Series, pd.Categorical])
def test_groups_are_numbers_or_text(of):
    assert_array_equal(read_groups(of([7, 3, 7]), 3), [0, 1, 0])
    assert_array_equal(read_groups(of(["x", "y", "x"]), 3), [0, 1, 0])


def test_marks_of_pandas_are_no_group():
    assert_array_equal(read_groups(pd.Series([1, 1, None, None], dtype="Int64"), 4), [0, 0, 1, 2])


def test_none_and_groups_of_one_row_are_no_groups():
    assert read_groups(None, 3) is None
    assert read_groups(["a", "b", None], 3) is None


@pytest.mark.parametrize(
    "groups, error, match",
    [
        (["a", "b"], ValueError, r"groups has 2 entries and X 3 rows; give one for each row\."),
        ("site", TypeError, r"groups='site' is no list of groups; give one entry for each row of X\."),
        (3, TypeError, r"groups=3 is no list of groups"),
        (np.zeros((3, 2)), ValueError, "groups holds entries of several values; one column"),
    ],
)
def test_errors_say_what_came_and_what_is_wanted(groups, error, match):
    with pytest.raises(error, match=match):
        read_groups(groups, 3)


def test_groups_of_some_rows_are_numbered_as_they_come():
    groups = np.array([5, 2, 5, 0, 2])
    assert_array_equal(groups_among(groups, np.array([4, 0, 1, 2])), [0, 1, 0, 1])
    assert groups_among(groups, np.array([3, 0, 1])) is None
    assert groups_among(None, np.arange(3)) is None
