"""How far noise moves projections that no linear map of the rows gives: what is linear after all, and planted truth."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.estimators.test_noise_of_map import share_within

from gnomon import GuidedProjection
from gnomon.estimators._noise_of_map import noise_of_rows
from gnomon.estimators._noise_of_preparations import PreparedNoise, moved_prepared, noise_of_preparations
from gnomon.estimators.guided_projection import ALL
from gnomon.rows import read

KINDS = ("plain", "lengths", "scales", "rare")


def planted(n, p, kind, seed, new=200):
    """Rows of classes in four directions, those without noise, and labels of a quarter; `new` more rows."""
    rng = np.random.default_rng(500 + seed)
    W = rng.standard_normal((4, p)) * np.array([5.0, 4.0, 3.5, 2.5])[:, None] * np.sqrt(max(p / n, 1.0) / p)
    total = n + new
    classes = (rng.random(total) < 0.1).astype(int) if kind == "rare" else rng.integers(0, 3, total)
    classes[:6] = [0, 1, 2, 0, 1, 2] if kind != "rare" else [0, 1, 0, 1, 0, 1]
    clean = (1.8 * rng.standard_normal((3, 4))[classes] + 0.8 * rng.standard_normal((total, 4))) @ W
    noise = rng.standard_normal((total, p)) * np.sqrt(rng.uniform(0.5, 1.6, p))
    if kind == "lengths":
        clean = (clean + 3.0 * np.abs(rng.standard_normal(p))) * np.exp(0.5 * rng.standard_normal(total))[:, None]
    if kind == "scales":
        scale = np.exp(2.0 * rng.standard_normal(p))
        clean, noise = (clean - clean.min(axis=0) + 1.0) * scale, noise * scale
    y = np.where((np.arange(total) % 4 == 0) | (np.arange(total) < 6), classes, -1)
    X = clean + noise
    return (X[:n], clean[:n], y[:n]), (X[n:], clean[n:])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n, p", [(60, 150), (90, 2000), (300, 50), (2000, 20)])
def test_regions_hold_planted_positions(kind, n, p):
    found = []
    for seed in range(3 if n < 1000 else 1):
        (X, clean, y), new = planted(n, p, kind, seed)
        model = GuidedProjection(2).fit(X, y)
        found.append((share_within(model, X, clean), share_within(model, *new)))
    assert np.mean(found, axis=0).min() >= 0.85


def test_regions_of_all_preparations_hold_planted_positions():
    (X, clean, y), new = planted(60, 150, "lengths", 0)
    model = GuidedProjection(2).fit(X, y)
    assert model.projection_ == ALL
    assert 0.9 <= share_within(model, *new) <= 0.99
    assert share_within(model, X, clean) >= 0.9


@pytest.fixture
def linear(rng):
    """Noise of rows, a preparation that is linear in them, and a map."""
    X = 5.0 * rng.standard_normal((200, 2)) @ rng.standard_normal((2, 30)) + rng.standard_normal((200, 30))
    X -= X.mean(axis=0)
    return X, noise_of_rows(read(X)), rng.standard_normal((30, 12)), rng.standard_normal((12, 2))


def test_of_a_linear_preparation_it_is_what_noise_does_to_the_map(linear):
    X, noise, B, D = linear
    found = noise_of_preparations(noise, X, lambda rows: rows @ B, X @ B, D)
    assert_allclose(found.cov, ((B @ D).T * noise.variances) @ B @ D, rtol=0.25, atol=20.0)


def test_a_row_of_the_fit_is_moved_farther(linear):
    X, noise, B, D = linear
    found = noise_of_preparations(noise, X, lambda rows: rows @ B, X @ B, D)
    covs = moved_prepared(found, 3, np.array([1]), X[:1] @ B)
    assert_allclose(covs[[0, 2]], np.stack([found.cov] * 2))
    more = X[0] @ B @ found.pull
    assert np.linalg.norm(more) > 0.0
    assert_allclose(covs[1] - found.cov, np.outer(more, more), rtol=1e-6, atol=1e-9)


def test_rows_moved_unequally_far_are_held_as_well(linear):
    X, noise, B, D = linear

    X[:, 0], B[0] = np.where(np.arange(200) % 4, -1e3, 1e3), 0.0

    def brought(rows):
        return rows @ B * np.exp(1.5 * np.sign(rows[:, :1]))  # a quarter is moved 20 times as far

    cov = noise_of_preparations(noise, X, brought, X @ B, D).cov
    far = np.exp(3.0) * ((B @ D).T * noise.variances) @ B @ D
    assert np.trace(cov) > 0.4 * np.trace(far)  # the mean is a quarter of it


def test_the_order_of_rows_and_units_of_x_change_nothing():
    (X, _, y), (new, _) = planted(60, 40, "lengths", 1)
    model = GuidedProjection(2).fit(X, y)
    turned = GuidedProjection(2).fit(2.0**20 * X[::-1], y[::-1])
    assert model.projection_ == turned.projection_ == ALL
    covs = model.transform(new, return_cov=True)[1]
    assert_allclose(turned.transform(2.0**20 * new, return_cov=True)[1], covs, rtol=1e-4)


def test_what_is_kept_is_plain(linear):
    X, noise, B, D = linear
    found = noise_of_preparations(noise, X, lambda rows: rows @ B, X @ B, D)
    assert moved_prepared(PreparedNoise(*tuple(found)), 2, np.zeros(0, dtype=int), None).shape == (2, 2, 2)
