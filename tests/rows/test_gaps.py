"""How many components fill gaps: what is held out, planted truth, and tables without any."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gnomon import PPCA, GuidedProjection
from gnomon.export import GapFiller
from gnomon.rows.gaps import held_out, n_foretelling, parts_together
from gnomon.rows.spare import units_of_columns


def planted(n, p, k, seed, share=0.4):
    """Rows of k factors, and the same with a share of their entries missing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, k)) @ rng.standard_normal((k, p)) + 0.7 * rng.standard_normal((n, p))
    return X, np.where(rng.random(X.shape) < share, np.nan, X)


def fill(X, k):
    return PPCA(k, tol=1e-3).fit(X).impute(X)


def error(filled, X, holes):
    gone = np.isnan(holes)
    return np.sqrt(((filled - X)[gone] ** 2).mean())


def test_held_out_entries_follow_from_values_not_from_their_order(rng):
    _, holes = planted(30, 12, 2, 0)
    holes[:, 5] = 4.0  # does not vary
    rows, columns = rng.permutation(30), rng.permutation(12)
    X, held = held_out(holes)
    again, moved = held_out(holes[np.ix_(rows, columns)] * (1.0 + 1e-13))
    assert X.shape == (30, 11)
    assert_allclose(np.sort(X[held]), np.sort(again[moved]), rtol=1e-9)
    assert not np.isnan(X[held]).any()
    assert 0.08 < held.sum() / np.count_nonzero(~np.isnan(X)) < 0.12
    assert ((~np.isnan(X) & ~held).sum(axis=0) >= 2).all()


def test_no_column_is_left_with_less_than_two_entries():
    holes = np.full((20, 3), np.nan)
    holes[np.arange(20), np.arange(20) % 2] = np.arange(20.0) ** 2
    holes[:2, 2] = 1.0, 3.0
    assert not held_out(holes)[1][:, np.isnan(held_out(holes)[0]).sum(axis=0) == 18].any()


def test_wide_tables_are_judged_by_some_columns():
    X, held = held_out(planted(12, 1500, 2, 0)[1])
    assert X.shape == held.shape == (12, 1000)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n, p", [(60, 20), (60, 150), (300, 50)])
def test_planted_factors_are_found(n, p, seed):
    X, holes = planted(n, p, 3, seed)
    assert n_foretelling(holes, 10, fill) == 3
    filler = GapFiller().fit(holes)
    assert filler.model_.n_components_ == 3
    assert error(filler.transform(holes), X, holes) < error(PPCA(10).fit(holes).impute(holes), X, holes)


def test_many_rows_bear_all_components():
    assert n_foretelling(planted(1500, 6, 2, 0, share=0.2)[1], 4, fill) == 4
    assert n_foretelling(planted(1500, 6, 2, 0, share=0.6)[1], 4, fill) == 2


def test_complete_rows_are_fitted_as_asked():
    assert GapFiller().fit(planted(60, 20, 3, 0)[0]).model_.n_components_ == 10


def test_columns_that_rows_observe_together_are_one_part():
    seen = np.zeros((40, 7), dtype=bool)
    seen[:20, :2] = seen[12:30, 1:4] = True  # a chain of the first four
    seen[30:, 4:6] = seen[:7, 6] = True  # seven rows are too few
    assert [part.tolist() for part in parts_together(seen)] == [[0, 1, 2, 3], [4, 5], [6]]
    assert [part.tolist() for part in parts_together(np.ones((3, 5), dtype=bool))] == [[0, 1, 2, 3, 4]]


def test_units_are_deviations_where_columns_vary():
    X = np.array([[1.0, 3.0, 1.0], [3.0, 3.0, np.nan], [np.nan, 3.0, 5.0]])
    for unit in (1.0, 1e250, 1e-250):
        assert_allclose(units_of_columns(unit * X), [unit, 1.0, 2.0 * unit])


def test_filled_entries_come_in_the_units_of_their_columns():
    X, holes = planted(60, 20, 3, 1)
    y, units = np.where(np.arange(60) % 3, -1, X[:, 0] > 0), 10.0 ** np.linspace(-3.0, 3.0, 20)
    filled = GuidedProjection(2).fit(holes, y).impute(holes)
    assert_allclose(GuidedProjection(2).fit(holes * units, y).impute(holes * units), filled * units, rtol=1e-6)
    assert error(filled, X, holes) < 0.9 * error(PPCA(10).fit(holes).impute(holes), X, holes)
    assert_array_equal(filled[~np.isnan(holes)], X[~np.isnan(holes)])


def test_noise_alone_is_filled_about_as_well_as_by_means():
    X, holes = planted(60, 100, 0, 0)
    found = error(GapFiller().fit(holes).transform(holes), X, holes)
    assert found < 1.05 * error(np.zeros_like(X), X, holes)
    assert error(PPCA(10).fit(holes).impute(holes), X, holes) > 1.15 * found
