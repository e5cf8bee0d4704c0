"""How far gaps and noise move projections of rows that PPCA fills: dense algebra, and planted truth."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.estimators.test_noise_of_map import planted, share_within

from gnomon import PPCA, GuidedProjection
from gnomon.estimators._noise_of_gaps import moved_by_gaps, noise_with_gaps, widened
from gnomon.estimators._noise_of_map import MapNoise, noise_of_rows
from gnomon.rows import read


def test_covariances_are_those_of_dense_algebra(rng):
    X, D, psi = rng.standard_normal((60, 7)) @ rng.standard_normal((7, 7)), rng.standard_normal((7, 2)), rng.random(7)
    ppca = PPCA(3).fit(X)
    W, s2 = ppca.components_.T, ppca.noise_variance_
    missing = rng.random((9, 7)) < 0.4
    missing[0], missing[1] = False, missing[2]
    noise = MapNoise(np.eye(2), psi.sum(), D, np.zeros(0, dtype=np.uint64), psi, D)
    found = moved_by_gaps(noise, D.T, ppca, np.ones(7), missing)
    for row, gaps in enumerate(missing):
        there, P = ~gaps, np.zeros((7, 7))
        P[there, there] = 1.0
        inverse = np.linalg.inv(W[there] @ W[there].T + s2 * np.eye(there.sum()))
        P[np.ix_(gaps, there)] = W[gaps] @ W[there].T @ inverse
        lost = (P - np.eye(7)) @ W  # of the signal, by what the observed entries do not tell
        lost[there] = 0.0
        assert_allclose(found[row], D.T @ (P * psi @ P.T + lost @ lost.T) @ D, rtol=1e-8)


def test_of_a_column_that_others_hardly_foretell_the_variance_is_left_open(rng):
    X, D, open_ = rng.standard_normal((60, 4)), rng.standard_normal((4, 2)), np.array([0.0, 0.0, 0.0, 1.5])
    ppca = PPCA(2).fit(X)
    noise, missing = MapNoise(np.eye(2), 4.0, D, np.zeros(0, dtype=np.uint64), np.ones(4), D), np.eye(4)[1::2] > 0.0
    plain = moved_by_gaps(noise, D.T, ppca, np.ones(4), missing)
    found = moved_by_gaps(noise, D.T, ppca, np.ones(4), missing, open_)
    assert_allclose(found[0], plain[0])
    assert_allclose(found[1], plain[1] + 1.5 * np.outer(D[3], D[3]))


def test_covariances_are_the_same_in_units_of_columns(rng):
    X, D, psi = rng.standard_normal((60, 7)) @ rng.standard_normal((7, 7)), rng.standard_normal((7, 2)), rng.random(7)
    missing, units, known = rng.random((9, 7)) < 0.4, 1.0 + rng.random(7), np.zeros(0, dtype=np.uint64)
    ppca = PPCA(3).fit(X)
    plain = moved_by_gaps(MapNoise(np.eye(2), 1.0, D, known, psi, D), D.T, ppca, np.ones(7), missing)
    D = D / units[:, None]  # of rows that are as many times as large
    noise = MapNoise(np.eye(2), 1.0, D, known, psi * units**2, D)
    assert_allclose(moved_by_gaps(noise, D.T, ppca, units, missing), plain, rtol=1e-10)


def test_rows_with_gaps_are_wider_by_as_much_as_those_of_the_linear_map():
    covs, complete, gaps = np.stack([np.eye(2), 2.0 * np.eye(2)]), np.diag([1.0, 4.0]), np.stack([np.diag([3.0, 4.0])])
    assert_allclose(widened(covs[:1], complete, gaps, linear=True)[0], np.diag([3.0, 1.0]))
    assert_allclose(widened(covs, complete, gaps.repeat(2, axis=0), linear=False), 2.0 * covs)


def held(n, p, seed, target, share=0.2):
    """Shares of rows of the fit and of new ones that are where regions say, some of all entries missing."""
    (X, clean, y), (new, new_clean) = planted(n, p, "numbers" if target == "real" else "classes", seed)
    gaps = np.random.default_rng(seed).random((n + 200, p)) < share
    X, new = np.where(gaps[:n], np.nan, X), np.where(gaps[n:], np.nan, new)
    model = GuidedProjection(2, target=target).fit(X, y)
    return share_within(model, X, clean), share_within(model, new, new_clean)


def test_filled_rows_show_less_noise_than_there_is(rng):
    X = 3.0 * rng.standard_normal((60, 3)) @ rng.standard_normal((3, 20)) + 2.0 * rng.standard_normal((60, 20))
    X[rng.random(X.shape) < 0.2] = np.nan
    ppca, share = PPCA(10).fit(X), 1.0 - np.isnan(X).mean(axis=0)
    shown = noise_of_rows(read(ppca.impute(X)), share)
    found = noise_with_gaps(shown, ppca, lambda k, X: PPCA(k).fit(X), X, np.ones(20))
    assert shown.total < 0.7 * 20 * 4.0
    assert found.total == pytest.approx(20 * 4.0, rel=0.25)
    assert_allclose(found.variances, shown.variances * found.total / shown.total)
    few = np.where(np.arange(60)[:, None] < 5, X, np.nan)  # too few entries to tell how many directions stand out
    assert noise_with_gaps(shown, ppca, lambda k, X: PPCA(k).fit(X), few, np.ones(20)).total == shown.total


def test_regions_hold_rows_with_gaps():
    assert min(held(300, 30, 0, "real")) >= 0.92
    assert np.mean([held(60, 20, seed, "real") for seed in range(2)], axis=0).min() >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("target", ["real", "classes"])
@pytest.mark.parametrize("n, p", [(40, 5), (60, 20), (60, 150), (90, 2000), (300, 50), (2000, 20)])
def test_regions_hold_rows_with_gaps_of_any_shape(n, p, target):
    least = 0.9 if target == "real" else 0.85
    assert np.mean([held(n, p, seed, target) for seed in range(2)], axis=0).min() >= least


@pytest.mark.slow
@pytest.mark.parametrize("target", ["real", "classes"])
@pytest.mark.parametrize("n, p", [(60, 20), (60, 150), (300, 50), (2000, 20)])
def test_regions_hold_rows_with_many_gaps(n, p, target):
    assert np.mean([held(n, p, seed, target, 0.4) for seed in range(4)], axis=0).min() >= 0.8


def test_complete_rows_are_placed_alike_beside_rows_with_gaps():
    (X, _, y), (new, _) = planted(80, 20, "numbers", 0)
    model = GuidedProjection(2).fit(X, y)
    some = new[:6].copy()
    some[3, :5] = np.nan
    Z, covs = model.transform(some, return_cov=True)
    plain, alone = model.transform(new[:6], return_cov=True)
    others = [0, 1, 2, 4, 5]
    assert_allclose(covs[others], alone[others])
    assert_allclose(Z[others], plain[others])
    assert (np.linalg.eigvalsh(covs[3] - alone[3]) > 0.0).any()
