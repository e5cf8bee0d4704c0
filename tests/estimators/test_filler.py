"""What fills gaps: parts that no row joins, and columns that few rows observe."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.estimators.test_noise_of_map import share_within

from gnomon import PPCA, GuidedProjection
from gnomon.estimators._filler import filler_of_gaps
from gnomon.rows.spare import units_of_columns


def planted(n, p, seed=0, k=3):
    """Rows of some factors in columns of unequal scale, those without noise, and numbers."""
    rng = np.random.default_rng(seed)
    Z, scale = rng.standard_normal((n, k)), np.exp(rng.standard_normal(p))
    clean = 2.0 * Z @ rng.standard_normal((k, p)) * scale
    return clean + rng.standard_normal((n, p)) * scale, clean, Z[:, 0] + 0.3 * rng.standard_normal(n)


def halves(X, joining=0):
    """The same rows, of which every other one lacks every other column, but for the first few."""
    rows, columns = np.arange(len(X)), np.arange(X.shape[1])
    apart = ((rows[:, None] + columns) % 2 == 0) & (rows[:, None] >= joining)
    return np.where(apart, np.nan, X)


def filled(X, most=10):
    filler, units, _ = filler_of_gaps(X, most)
    return np.where(np.isnan(X), filler.impute(X / units) * units, X)


@pytest.mark.parametrize("joining", [0, 4])
def test_parts_that_no_row_joins_are_filled_by_their_own_means(joining):
    X = halves(planted(80, 20)[0], joining)
    assert_allclose(filled(X)[joining:], np.where(np.isnan(X), np.nanmean(X, axis=0), X)[joining:], rtol=1e-6)


def test_many_rows_join_parts():
    X = planted(80, 20)[0]
    holes = halves(X, 30)
    gone = np.isnan(holes)
    away = (filled(holes) - X)[gone] / X.std(axis=0)[np.nonzero(gone)[1]]
    assert filler_of_gaps(holes, 10).ppca.n_components_ == 3
    assert np.sqrt((away**2).mean()) < 0.7


def test_a_part_is_filled_as_if_it_were_alone(rng):
    X = halves(planted(80, 20)[0])
    X[rng.random(X.shape) < 0.1] = np.nan
    whole, part = filled(X), X[::2, 1::2]
    k = filler_of_gaps(part, 10).ppca.n_components_
    units = units_of_columns(part)
    assert_allclose(whole[::2, 1::2], PPCA(k).fit(part / units).impute(part / units) * units, rtol=1e-6)


def test_a_column_that_few_rows_observe_is_regressed_on_factors_of_the_others():
    X = planted(80, 20)[0]
    X[6:, 3] = np.nan
    others, own = np.delete(X, 3, axis=1), X[:6, 3] / X[:6, 3].std()
    ppca = PPCA(3).fit(others / others.std(axis=0))
    T, cov = ppca.posterior(others / others.std(axis=0), uncertainty="plug-in")
    T1, second = np.column_stack([T, np.ones(80)]), np.zeros((4, 4))
    second[:3, :3] = 6.0 * cov + np.diag(19.0 * ppca.noise_variance_ / (ppca.components_**2).sum(axis=1))
    second += T1[:6].T @ T1[:6]
    by_hand = np.linalg.solve(second, T1[:6].T @ own)
    assert_allclose(filled(X)[6:, 3], (T1 @ by_hand)[6:] * X[:6, 3].std(), rtol=1e-3)
    wanted = (1.0 - (by_hand[:3] ** 2).sum()) * (1.0 + np.trace(np.linalg.inv(second)))
    assert_allclose(filler_of_gaps(X, 10).left_open, np.eye(20)[3] * wanted, rtol=1e-2)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n, p", [(40, 5), (60, 20)])
def test_columns_that_few_rows_observe_are_filled_no_worse_than_by_means(n, p, seed):
    X = planted(n, p, seed)[0]
    holes = X.copy()
    holes[5:, : p // 3] = np.nan
    gone, mean = np.isnan(holes), np.nanmean(holes, axis=0)
    away, of_means = (((A - X) / X.std(axis=0))[gone] for A in (filled(holes), np.broadcast_to(mean, X.shape)))
    assert (away**2).mean() < (of_means**2).mean()


def test_columns_of_which_none_has_any_to_spare():
    X = np.full((12, 3), np.nan)
    X[np.arange(12), np.arange(12) % 3] = np.arange(12.0)
    assert filler_of_gaps(X, 10).ppca is None


@pytest.mark.parametrize("kind", ["halves", "few"])
def test_regions_and_predictions_of_rows_in_parts(kind):
    (X, clean, number), rows = planted(300, 20), np.arange(300)
    holes = halves(X)
    if kind == "few":
        holes = X.copy()
        holes[5:100, :6] = holes[110:, :6] = np.nan
        holes[:5, 6] = np.nan
    model = GuidedProjection(2, target="real").fit(holes[:100], np.where(rows[:100] % 3, np.nan, number[:100]))
    assert share_within(model, holes[:100], clean[:100]) >= 0.85
    assert share_within(model, holes[100:], clean[100:]) >= 0.85
    assert (model.typicality(holes) < 0.01).mean() <= 0.03
    assert np.corrcoef(model.predict(holes[100:]), number[100:])[0, 1] > 0.5
