"""How far noise moves the projections of rows by a linear map: brute force, planted truth, and rows of the fit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

from gnomon import DPPCA, GuidedProjection
from gnomon.estimators._noise_of_map import MapNoise, n_signal, noise_of_map
from gnomon.experiments.breadth_numbers import load
from gnomon.rows import read

SHAPES = [(2000, 20), (500, 50), (80, 700), (90, 2000), (200, 200), (60, 30), (300, 8)]
LEAST, MOST_SEEN = 0.92, 0.985  # of rows within regions of 95 %, means over draws


def planted(n, p, kind, seed, new=200, k=3):
    """Rows, those without their noise, and labels of a third; `new` more rows."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((k, p)) * np.array([6.0, 4.2, 3.0])[:, None] * np.sqrt(max(p / n, 1.0) / p)
    labeled = np.arange(n + new) % 3 == 0
    if kind == "classes":
        classes = rng.integers(0, 3, n + new)
        Z = 1.5 * rng.standard_normal((3, k))[classes] + rng.standard_normal((n + new, k))
        y = np.where(labeled, classes, -1)
    else:
        Z = rng.standard_normal((n + new, k))
        y = np.where(labeled, Z[:, 0] + 0.3 * rng.standard_normal(n + new), np.nan)
    clean = Z @ W
    X = clean + rng.standard_normal((n + new, p))
    return (X[:n], clean[:n], y[:n]), (X[n:], clean[n:])


def share_within(model, X, clean):
    """Share of rows whose projection without noise is in the region of 95 % about their projection."""
    Z, covs = model.transform(X, return_cov=True)
    away = Z - model.transform(clean)
    distance = np.einsum("ni,ni->n", away, np.linalg.solve(covs, away[:, :, None])[:, :, 0])
    return float(np.mean(distance <= chi2.ppf(0.95, Z.shape[1])))


@pytest.mark.slow
@pytest.mark.parametrize("n, p", SHAPES)
@pytest.mark.parametrize(
    "model, kind", [(DPPCA(2), "classes"), (GuidedProjection(2, target="real"), "numbers")], ids=["classes", "numbers"]
)
def test_regions_hold_planted_positions(model, kind, n, p):
    within = []
    for seed in range(4):
        (X, clean, y), new = planted(n, p, kind, seed)
        model.fit(X, y)
        within.append((share_within(model, X, clean), share_within(model, *new)))
    of_fit, of_new = np.mean(within, axis=0)
    assert LEAST <= of_new <= MOST_SEEN
    assert of_fit >= LEAST  # with about as many columns as rows a few rows have drawn most of the map


def of_noise(rng, n, p, kind):
    """Noise of variance one, but for `columns`."""
    E = rng.standard_t(4, (n, p)) / np.sqrt(2.0) if kind == "tails" else rng.standard_normal((n, p))
    if kind == "alike":  # each column shares .6 of it with the one before
        for j in range(1, p):
            E[:, j] = 0.6 * E[:, j - 1] + 0.8 * E[:, j]
    return E * np.sqrt(rng.uniform(0.3, 2.0, p)) if kind == "columns" else E


@pytest.mark.slow
@pytest.mark.parametrize("kind, least", [("tails", 0.9), ("columns", 0.9), ("alike", 0.7)])
@pytest.mark.parametrize("n, p", [(1000, 30), (150, 40), (60, 400)])
def test_regions_of_noise_that_is_not_normal_or_not_alike(kind, least, n, p):
    shares = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        W = rng.standard_normal((5, p)) * np.linspace(6.0, 2.0, 5)[:, None] * np.sqrt(max(p / n, 1.0) / p)
        Z = rng.standard_t(4, (n + 200, 5))
        clean, number = Z @ W, Z[:, 0] + np.sin(Z[:, 1])
        classes = np.digitize(number, [-2.0, 0.0, 1.0])
        X, seen = clean + of_noise(rng, n + 200, p, kind), np.arange(n) % 4 == 0
        for model, y, unknown in (
            (DPPCA(2), classes, -1), (GuidedProjection(2, target="real"), number, np.nan)
        ):  # fmt: skip
            model.fit(X[:n], np.where(seen, y[:n], unknown))
            shares.append((share_within(model, X[:n], clean[:n]), share_within(model, X[n:], clean[n:])))
    assert np.mean(shares, axis=0).min() >= least


@pytest.mark.slow
def test_the_posterior_alone_is_far_too_sure_where_columns_are_many():
    (X, clean, y), _ = planted(90, 2000, "classes", 0)
    model = DPPCA(2).fit(X, y)
    mean, cov = model.posterior(X, uncertainty="plug-in")
    away = mean - model.transform(clean)
    distance = np.einsum("ni,ni->n", away, np.linalg.solve(cov, away[:, :, None])[:, :, 0])
    assert np.mean(distance <= chi2.ppf(0.95, 2)) < 0.15


def test_regions_hold_where_columns_are_many_beside_rows():
    (X, clean, y), new = planted(80, 700, "classes", 0)
    model = DPPCA(2, n_factors=5, shrinkage=0.5, unlabeled_weight=0.1).fit(X, y)
    assert share_within(model, *new) >= 0.9
    assert share_within(model, X, clean) >= 0.9
    plug_in = model.posterior(X, uncertainty="plug-in")[1]
    assert np.trace(model.transform(X, return_cov=True)[1].mean(axis=0)) > 1.3 * np.trace(plug_in.mean(axis=0))


def test_regions_hold_where_columns_are_of_very_different_scales():
    (X, clean, y), (new, new_clean) = planted(300, 30, "classes", 0)
    scale = np.exp(2.0 * np.random.default_rng(0).standard_normal(30))
    model = DPPCA(2, n_factors=5, shrinkage=0.0, unlabeled_weight=1.0).fit(X * scale, y)
    assert 0.9 <= share_within(model, new * scale, new_clean * scale) <= 0.985
    assert share_within(model, X * scale, clean * scale) >= 0.9


def test_noise_is_that_of_the_columns_without_the_signal(rng):
    n, p = 400, 30
    psi = rng.uniform(0.7, 1.4, p)
    X = 5.0 * rng.standard_normal((n, 2)) @ rng.standard_normal((2, p)) + rng.standard_normal((n, p)) * np.sqrt(psi)
    D = rng.standard_normal((2, p))
    noise = MapNoise(*noise_of_map(read(X), D))
    assert_allclose(noise.cov, (D * psi) @ D.T, rtol=0.15)
    assert_allclose(noise.total, psi.sum(), rtol=0.08)


@pytest.mark.parametrize("shape", [(60, 12), (12, 60)])
def test_a_row_has_drawn_its_part_of_each_direction(rng, shape):
    X = rng.standard_normal(shape)
    X[:, :3] *= 5.0
    centered = X - X.mean(axis=0)
    D = centered.T @ rng.standard_normal((shape[0], 2))
    noise = MapNoise(*noise_of_map(read(X), D.T))
    _, lengths, directions = np.linalg.svd(centered, full_matrices=False)
    kept = lengths > 1e-9 * lengths[0]
    V, squares = directions[kept].T, lengths[kept] ** 2
    # D = X'A with A = U / length, of which a row's own part is |e|^2 u / length, and the whole score at most
    drawn = V @ (np.minimum(noise.total / squares, 1.0)[:, None] * (V.T @ D))
    assert_allclose(centered @ noise.pull, centered @ drawn, rtol=1e-6, atol=1e-6)


def test_along_no_direction_is_more_noise_than_rows_vary(rng):
    n, p = 40, 200  # noise that is nearly alike in columns beside each other, as of spectra
    smooth = np.exp(-0.5 * (np.subtract.outer(np.arange(p), np.arange(p)) / 8.0) ** 2)
    X = rng.standard_normal((n, p)) @ smooth + 1e-3 * rng.standard_normal((n, p))
    centered = X - X.mean(axis=0)
    _, lengths, directions = np.linalg.svd(centered, full_matrices=False)
    flat = directions[-10:-1]  # directions in which rows hardly vary
    cov = MapNoise(*noise_of_map(read(X), flat)).cov
    assert (np.diagonal(cov) <= lengths[-10:-1] ** 2 / (np.sqrt(p) - np.sqrt(n)) ** 2 * 1.3).all()


def test_signal_is_what_noise_alone_does_not_reach(rng):
    n, p = 300, 40
    noise = rng.standard_normal((n, p))
    for k in (0, 1, 4):
        X = noise + 4.0 * rng.standard_normal((n, k)) @ rng.standard_normal((k, p))
        X -= X.mean(axis=0)
        values = np.linalg.eigvalsh(X.T @ X)[::-1][:10]
        assert n_signal(values, float((X**2).sum()), n, p) == k


def test_rows_of_the_fit_are_told_from_new_ones():
    (X, _, y), (new, _) = planted(60, 300, "classes", 1)
    model = DPPCA(2, n_factors=2, shrinkage=0.5, unlabeled_weight=1.0).fit(X, y)
    covs = model.transform(np.vstack([new[:5], X[:5]]), return_cov=True)[1]
    assert_allclose(covs[:5], np.broadcast_to(covs[0], (5, 2, 2)))
    assert (np.linalg.eigvalsh(covs[5:] - covs[0]).max(axis=1) > 0.0).all()


def test_units_of_x_change_nothing(rng):
    (X, _, y), _ = planted(60, 30, "classes", 2)
    how = {"n_factors": 2, "shrinkage": 0.5, "unlabeled_weight": 1.0}
    plain = DPPCA(2, **how).fit(X, y).transform(X, return_cov=True)[1]
    for unit in (1e-90, 1e90):
        assert_allclose(DPPCA(2, **how).fit(X * unit, y).transform(X * unit, return_cov=True)[1], plain, rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-150, 1e-100, 1e100, 1e150])
def test_squares_of_little_noise_do_not_vanish(rng, unit):
    X = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 20)) + 1e-6 * rng.standard_normal((20, 20))
    D = rng.standard_normal((2, 20))
    found, plain = MapNoise(*noise_of_map(read(unit * X), D / unit)), MapNoise(*noise_of_map(read(X), D))
    assert_allclose(found.cov, plain.cov, rtol=0.01)
    assert_allclose(found.pull * unit, plain.pull, atol=0.02 * np.abs(plain.pull).max())


def test_nothing_is_left_for_noise():
    X = np.arange(12.0)[:, None]
    assert noise_of_map(read(X), np.ones((1, 1))) is None
    line = np.outer(np.arange(12.0), np.ones(3))
    assert noise_of_map(read(line), np.ones((1, 3))) is None


@pytest.mark.slow
@pytest.mark.realdata
@pytest.mark.parametrize(
    "name, target", [("corn m5", 0), ("corn m5", 1), ("gasoline", 0), ("nirsoil", 0), ("nir_glc", 0)]
)
def test_noise_of_spectra_is_about_what_the_measured_number_leaves(name, target):
    X, Y, _ = load(name)
    known = ~np.isnan(Y[:, target])
    X, y = X[known], Y[known, target]
    order = np.random.default_rng(0).permutation(len(y))
    new, fit = np.split(order, [len(y) // 5])
    seen = np.where(np.arange(len(fit)) < 50, y[fit], np.nan)
    model = GuidedProjection(2, target="real").fit(X[fit], seen)
    Z, covs = model.transform(X[new], return_cov=True)
    line = np.polyfit(y[new], Z[:, 0], 1)
    left, stated = (Z[:, 0] - np.polyval(line, y[new])).std(), np.sqrt(covs[0, 0, 0])
    assert 0.15 * left < stated < 2.0 * left
