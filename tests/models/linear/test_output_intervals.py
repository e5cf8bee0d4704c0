"""Intervals of numbers beside the t-interval typed from the textbook, and how often they hold planted values."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import t

from gnomon import CPPCA, SPPCA, KernelSPPCA
from gnomon.estimators import _number_intervals
from gnomon.experiments import breadth_numbers
from gnomon.models.linear.output_intervals import Labels, deviations, learn, taken_over, variances
from oracles import t_interval

Z95 = 1.959964


def drawn(rng, n, k=3, q=2):
    """Labeled rows with covariances of their own, one value missing; and loadings and noise of the outputs."""
    roots = rng.normal(size=(n, k, 2 * k))
    covs = roots @ np.swapaxes(roots, 1, 2) / (8 * k)
    Z, W, noise = rng.normal(size=(n, k)), rng.normal(size=(q, k)), rng.uniform(0.2, 0.6, size=q)
    mean = 0.4 + Z @ W.T
    Y = mean + rng.normal(size=(n, q))
    Y[1, 0] = np.nan
    return covs, W, noise, Z, Y, mean, rng.integers(1, 4, size=n).astype(float)


@pytest.mark.parametrize("n", [3, 30])
def test_they_are_those_typed_from_the_definition(rng, n):
    covs, W, noise, Z, Y, mean, weights = drawn(rng, n)
    var, pull = variances(covs, W, noise), rng.uniform(0.1, 0.5, size=n)
    share = taken_over(covs, W, var, pull)
    new_Z, new_var = rng.normal(size=(7, 3)), rng.uniform(0.5, 2.0, size=(7, 2))
    weights = weights if n > 4 else np.ones(n)
    found = Z95 * deviations(learn(Labels(Z, Y, mean, var, share, weights)), new_Z, new_var)
    for j in range(2):
        seen = ~np.isnan(Y[:, j])
        assert_allclose(share[:, j], t_interval.shares(covs, W[j], var[:, j], pull), rtol=1e-9)
        known = (Z[seen], Y[seen, j], mean[seen, j], var[seen, j], share[seen, j], weights[seen])
        assert_allclose(found[:, j], t_interval.half_widths(*known, new_Z, new_var[:, j]), rtol=1e-6)


def test_of_complete_rows_it_is_the_interval_of_the_textbook(rng):
    n, k = 25, 2
    Z = rng.normal(size=(n, k))
    A = np.column_stack([np.ones(n), Z])
    y = A @ [1.0, 2.0, -1.0] + rng.normal(size=n)
    mean = A @ np.linalg.lstsq(A, y, rcond=None)[0]
    var, new = np.full((n, 1), 0.37), rng.normal(size=(5, k))
    known = learn(Labels(Z, y[:, None], mean[:, None], var, np.zeros((n, 1)), np.ones(n)))
    B = np.column_stack([np.ones(5), new])
    leverage = np.einsum("ia,ab,ib->i", B, np.linalg.inv(A.T @ A), B)
    s2 = ((y - mean) ** 2).sum() / (n - k - 1)
    wanted = t.ppf(0.975, n - k - 1) * np.sqrt(s2 * (1 + leverage))
    assert_allclose(Z95 * deviations(known, new, np.full((5, 1), 0.37))[:, 0], wanted, rtol=1e-6)


def test_the_residual_variance_is_at_most_that_of_the_labels(rng):
    Z, y = rng.normal(size=(20, 2)), rng.normal(size=(20, 1))
    known = learn(Labels(Z, y, 0.9 * y, np.ones((20, 1)), np.full((20, 1), 0.99), np.ones(20)))
    assert_allclose(known.scale, y.var(ddof=1), rtol=1e-9)


def test_far_rows_and_directions_that_no_label_shows_give_numbers(rng):
    Z = np.column_stack([rng.normal(size=20), np.zeros(20)])
    y, var = rng.normal(size=(20, 1)), np.ones((20, 1))
    known = learn(Labels(Z, y, 0.0 * y, var, 0.0 * y, np.ones(20)))
    wide = deviations(known, np.array([[1.0, 0.0], [1.0, 1.0], [1e200, 0.0]]), np.ones((3, 1)))[:, 0]
    assert not np.isnan(wide).any()
    assert wide[1] > 100 * wide[0]


def planted(rng, n, p, k=3, noise=0.3):
    W = rng.normal(size=(p, k)) * np.sqrt(12.0 / min(p, 20))
    Z, w = rng.normal(size=(n, k)), rng.normal(size=k)
    return Z @ W.T + rng.normal(size=(n, p)), Z @ w / np.linalg.norm(w) + np.sqrt(noise) * rng.normal(size=n)


def held(model, X, y, n_labeled, **options):
    seen = np.where(np.arange(len(y)) < n_labeled, y, np.nan)
    mean, std = model.fit(X, seen).predict(X, return_std=True, **options)
    return float((np.abs(mean - y) < Z95 * std)[n_labeled:].mean())


@pytest.mark.parametrize("first", [0.5, np.nan])  # of complete rows sums are enough, of others each row is asked
def test_label_weights_are_no_labels_and_sample_weights_are(rng, first):
    X, y = planted(rng, 200, 10)
    X[0, 0] = first
    seen = np.where(np.arange(200) < 12, y, np.nan)
    plain, heavy = (SPPCA(3, label_weight=w).fit(X, seen).predict(X, return_std=True)[1] for w in (1.0, 3.0))
    assert 0.85 < heavy.mean() / plain.mean() < 1.2  # as many labels would make it 0.7
    twice = SPPCA(3).fit(np.repeat(X, 2, axis=0), np.repeat(seen, 2)).predict(X, return_std=True)[1]
    weighted = SPPCA(3).fit(X, seen, sample_weight=np.full(200, 2.0)).predict(X, return_std=True)[1]
    assert_allclose(weighted, twice, rtol=1e-4)
    assert (twice < plain).all()


def test_predictions_are_the_same_and_intervals_are_wider(rng):
    X, y = planted(rng, 150, 12)
    Y = np.column_stack([y, -y + rng.normal(size=150)])
    Y[15:] = np.nan
    Y[0, 1] = np.nan
    for model in (SPPCA(3), CPPCA(3), KernelSPPCA(3)):
        model.fit(X, Y)
        (mean, full), (same, plain) = (model.predict(X, return_std=True, uncertainty=u) for u in ("full", "plug-in"))
        assert_allclose(mean, same)
        assert full.mean() > plain.mean()
    with pytest.raises(ValueError, match="uncertainty='some'"):
        model.predict(X, return_std=True, uncertainty="some")


def test_missing_entries_have_intervals_of_their_own(rng):
    X, y = planted(rng, 150, 12)
    holes = X.copy()
    holes[100:, :9] = np.nan
    std = SPPCA(3).fit(holes, np.where(np.arange(150) < 20, y, np.nan)).predict(holes, return_std=True)[1]
    assert std[100:].mean() > 1.1 * std[:100].mean()


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("options", [{}, {"label_weight": 3.0}, {"n_private": 1}, {"output_noise": "per_output"}])
def test_moments_of_labels_say_what_their_rows_say(rng, monkeypatch, missing, options):
    Z = rng.normal(size=(300, 3))
    X = Z @ rng.normal(size=(3, 8)) + 0.5 * rng.normal(size=(300, 8))
    Y = 5.0 + 2.0 * Z @ rng.normal(size=(3, 2)) + rng.normal(size=(300, 2))
    Y[60:] = np.nan
    Y[rng.random((300, 2)) < missing] = np.nan
    weights = rng.integers(1, 4, size=300).astype(float)
    model = SPPCA(2, **options)
    by_moments = model.fit(X, Y, sample_weight=weights).predict(X, return_std=True)[1]
    learn_from = SPPCA._learn_from_labels
    monkeypatch.setattr(SPPCA, "_learn_from_labels", lambda self, *given: learn_from(self, *given[:-1]))
    assert_allclose(model.fit(X, Y, sample_weight=weights).predict(X, return_std=True)[1], by_moments, rtol=1e-8)


CELLS = [(500, 20), (120, 300), (60, 1000)]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p"), CELLS)
@pytest.mark.parametrize("n_labeled", [10, 20, 50])
def test_they_hold_what_they_say_with_few_labels(seed, n, p, n_labeled):
    rng, rates = np.random.default_rng(seed), {3: [], 6: []}
    for _ in range(25):
        X, y = planted(rng, n, p)
        for k, found in rates.items():
            found.append(held(SPPCA(k), X, y, min(n_labeled, n - 10)))
    assert 0.88 < np.mean(rates[3]) < 0.99
    assert np.mean(rates[6]) > 0.86  # three dimensions too many


@pytest.mark.slow
@pytest.mark.realdata
@pytest.mark.parametrize("k", [2, 5])
def test_they_hold_what_they_say_of_spectra(k):
    rates = []
    for name, (_, _, sizes) in breadth_numbers.SETS.items():
        X, Y, _ = breadth_numbers.load(name)
        for y, n in product(Y.T, sizes[:2]):
            known = np.random.default_rng(0).permutation(np.flatnonzero(~np.isnan(y)))
            rates.append(held(SPPCA(k, target="real"), X[known], y[known], n))
    assert 0.93 < np.mean(rates) < 0.98


@pytest.mark.parametrize("digits", [9, 0])
def test_of_many_labels_enough_are_asked_the_same_in_any_order(rng, monkeypatch, digits):
    Z = rng.normal(size=(400, 2))
    X = Z @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(400, 6))
    Y = Z @ rng.normal(size=(2, 2)) + rng.normal(size=(400, 2))
    Y = np.round(Y, digits)
    Y[rng.random((400, 2)) < 0.2] = np.nan
    X[0, 0] = np.nan  # so that rows are asked one by one
    whole = SPPCA(2, target="real").fit(X, Y).predict(X, return_std=True)[1]
    monkeypatch.setattr(_number_intervals, "ENOUGH", 150)
    order = rng.permutation(400)
    some, other = SPPCA(2, target="real").fit(X, Y), SPPCA(2, target="real").fit(X[order], Y[order])
    assert_allclose(other.predict(X, return_std=True)[1], some.predict(X, return_std=True)[1], rtol=1e-6)
    assert_allclose(some.predict(X, return_std=True)[1], whole, rtol=0.15)
