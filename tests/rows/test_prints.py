"""Numbers of rows: alike for the same entries, and for no others."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from gnomon.rows.local import read
from gnomon.rows.prints import prints
from rows.copied import copied_rows


@pytest.fixture
def X(rng):
    X = rng.normal(size=(60, 40))
    return np.where(np.abs(X) > 0.5, X, 0.0)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_a_row_has_one_number_in_any_company_place_and_precision(X, form, rng):
    columns, some = np.arange(0, 40, 3), rng.permutation(60)[:20]
    found = prints(read(form(X)), columns, 1.0)
    assert len(np.unique(found)) == 60
    assert_array_equal(prints(copied_rows(form(X)), columns, 1.0), found)
    assert_array_equal(prints(read(form(X[some])), columns, 1.0), found[some])
    assert_array_equal(prints(read(form(X.astype(np.float32))), columns, 1.0), found)
    assert_array_equal(
        prints(read(form(1e200 * X)), columns, 2.0**700), prints(read(form(1e200 * X)), columns, 1.1 * 2.0**700)
    )


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_another_entry_or_the_same_in_another_column_is_another_row(X, form):
    moved = np.roll(X, 1, axis=1)
    nudged = X + 1e-5 * (X != 0)
    columns = np.arange(40)
    found = [prints(read(form(table)), columns, 1.0) for table in (X, moved, nudged)]
    assert len(np.unique(found)) == 180


def test_reading_for_them_is_not_counted_as_a_pass_of_the_fit(X):
    rows = read(X)
    prints(rows, np.arange(3), 1.0)
    assert rows.reads == 0.0
