"""T2, SPE and their limits against the definitions, and against what new rows do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from gnomon.models.linear.monitor import (
    Monitor,
    learn,
    left_out,
    limits,
    limits_by_rows,
    rows_left_out,
    scores,
    statistics,
)
from gnomon.rows import read
from oracles import monitor as oracle


def loadings_of(X, k):
    """Loadings (p, k) and noise variance of probabilistic PCA, and the eigenvalues that it leaves."""
    S = np.cov(X, rowvar=False, bias=True)
    values, vectors = np.linalg.eigh(S)
    values, vectors = values[::-1], vectors[:, ::-1]
    noise = values[k:].mean()
    return vectors[:, :k] * np.sqrt(values[:k] - noise), noise, values[k:]


def planted(n, p, k, seed=0):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(k, p)) * np.linspace(2.0, 0.8, k)[:, None]
    return lambda m: rng.normal(size=(m, k)) @ W + rng.normal(size=(m, p)) + 3.0, n


@pytest.mark.parametrize("n, p, k", [(60, 8, 2), (300, 30, 5), (40, 39, 1)])
@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.5])
def test_all_is_as_defined(n, p, k, alpha):
    draw, _ = planted(n, p, k)
    X, new = draw(n), draw(7)
    W, noise, left = loadings_of(X, k)
    found = learn(W, noise, n, left[left > noise * 0.0])
    t2, spe = statistics(found, read(new), X.mean(axis=0))
    assert found.unit == pytest.approx(np.sqrt(noise))
    assert_allclose((t2, spe * found.unit**2), oracle.monitor(X, k, new), rtol=1e-8)
    assert_allclose(limits(found, alpha)[0], oracle.limits(X, k, alpha)[0], rtol=1e-10)
    assert_allclose(
        limits(found, alpha)[1] * found.unit**2, oracle.limits(X, k, alpha)[1], rtol=0.03
    )  # the least eigenvalue is shared


def test_equal_eigenvalues_have_nearly_the_limit_of_chi_squared():
    found = Monitor(np.eye(40)[:, :2], np.ones(2), 1e9, 38.0 * 2.0 ** np.arange(1, 4))
    for alpha in (0.2, 0.05, 0.01):
        assert limits(found, alpha).spe == pytest.approx(2.0 * stats.chi2.isf(alpha, 38), rel=2e-3)
        assert limits(found, alpha).t2 == pytest.approx(stats.chi2.isf(alpha, 2), rel=1e-6)


def test_one_large_eigenvalue_has_the_limit_of_box():
    left = np.array([(np.array([100.0] + [1.0] * 2000) ** i).sum() for i in (1, 2, 3)])
    assert 1.0 - 2.0 * left[0] * left[2] / (3.0 * left[1] ** 2) < 0.0
    found = Monitor(np.eye(5)[:, :1], np.ones(1), 100.0, left)
    assert limits(found, 0.05).spe == pytest.approx(left[1] / left[0] * stats.chi2.isf(0.05, left[0] ** 2 / left[1]))


@pytest.mark.parametrize("n, p, k", [(100, 20, 3), (1000, 50, 5), (50, 10, 2)])
def test_new_rows_pass_the_limits_as_often_as_said(n, p, k):
    shares = []
    for seed in range(20):
        draw, _ = planted(n, p, k, seed)
        X, new = draw(n), draw(500)
        W, noise, left = loadings_of(X, k)
        found = learn(W, noise, n, left)
        beyond = limits(found, 0.05)
        t2, spe = statistics(found, read(new), X.mean(axis=0))
        shares.append([(t2 > beyond.t2).mean(), (spe > beyond.spe).mean()])
    t2, spe = np.mean(shares, axis=0)
    assert t2 == pytest.approx(0.05, abs=0.01)
    assert spe == pytest.approx(0.05, abs=0.04)


def test_nothing_left_has_a_limit_of_nothing():
    assert limits(learn(np.eye(3)[:, :2], 0.0, 10.0), 0.05).spe == 0.0


def test_rows_are_as_if_left_out(rng):
    """By hand: the axes stay, while the covariance of the scores and the regression on them are of the other rows."""
    X = rng.standard_t(4, size=(25, 6)) @ rng.normal(size=(6, 6))
    X -= X.mean(axis=0)
    Q = np.linalg.svd(X)[2][:2].T
    Z, t2, spe = X @ Q, [], []
    for i in range(25):
        rest, own = np.delete(Z, i, axis=0), np.delete(X, i, axis=0)
        d = Z[i] - rest.mean(axis=0)
        t2.append(d @ np.linalg.solve(np.cov(rest, rowvar=False), d))
        B = np.linalg.lstsq(np.c_[np.ones(24), rest], own, rcond=None)[0]
        spe.append(((X[i] - np.r_[1.0, Z[i]] @ B) ** 2).sum())
    found = left_out(*oracle.monitor(X, 2, X), 25)
    assert_allclose(found, (t2, spe), rtol=1e-8)


@pytest.mark.parametrize("k", [2, 12])
def test_rows_are_as_in_refits_without_them(rng, k):
    """Two directions stand out of thirty, so that ten of twelve axes are noise, which a row turns towards itself."""
    X = rng.normal(size=(120, 2)) @ rng.normal(size=(2, 30)) * 3.0 + rng.normal(size=(120, 30))
    W, noise, left = loadings_of(X, k)
    found = learn(W, noise, 120, left)
    T, spe = scores(found, read(X), X.mean(axis=0))
    refits = [oracle.monitor(np.delete(X, i, axis=0), k, X[[i]])[1][0] / found.unit**2 for i in range(120)]
    off = [abs(np.mean(one) / np.mean(refits) - 1.0) for one in (rows_left_out(found, T, spe)[1], spe)]
    assert off[0] < 0.05
    assert off[0] < 0.4 * off[1]


def test_limits_by_rows_are_those_of_the_rows():
    t2, spe = np.arange(1.0, 1001.0), np.zeros(1000)
    assert limits_by_rows(t2, spe, 0.05) == (951.0, 0.0)  # 49 of 1,000 are beyond, 50 of 1,001 with the next
    assert limits_by_rows(t2, t2 + 1.0, 0.2).spe == 802.0
    assert 1000.0 < limits_by_rows(t2, t2, 1e-4).t2 < 1400.0


def test_limits_by_rows_hold_where_normal_ones_do_not(rng):
    shares = []
    for _ in range(20):
        A = np.linspace(2.0, 1.0, 12)[:, None] * rng.normal(size=(12, 12))
        X, new = (rng.standard_t(3, size=(n, 12)) @ A for n in (200, 2000))
        W, noise, left = loadings_of(X, 3)
        found = learn(W, noise, 200, left)
        of_new = statistics(found, read(new), X.mean(axis=0))
        own = (np.sort(one) for one in left_out(*statistics(found, read(X), X.mean(axis=0)), 200))
        both = limits_by_rows(*own, 0.01), limits(found, 0.01)
        shares.append([[(one > limit).mean() for one, limit in zip(of_new, some, strict=True)] for some in both])
    by_rows, normal = np.mean(shares, axis=0)
    assert normal.min() > 0.025
    assert by_rows.max() < 0.018
