"""Independent directions: found where rows are independent latents mixed, and doubted where they are not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ortho_group

from gnomon.models.ifa import pursuit
from gnomon.models.ifa.pursuit import independent_directions


def white(Z):
    return np.linalg.solve(np.linalg.cholesky(np.cov(Z, bias=True)), Z - Z.mean(axis=1, keepdims=True))


def sources(rng, d=6, n=4000):
    Z = rng.laplace(size=(d, n))
    Z[: d // 2] = rng.uniform(size=(d // 2, n))
    return white(Z)


@pytest.mark.parametrize("most", [1500, 10_000])
def test_planted_directions_are_found_and_beyond_doubt(rng, monkeypatch, most):
    monkeypatch.setattr(pursuit, "MOST_ROWS", most)
    U, R = sources(rng), ortho_group.rvs(6, random_state=1)
    found = independent_directions(R @ U, ortho_group.rvs(6, random_state=2), rng)
    assert found.separated
    assert_allclose(found.V @ found.V.T, np.eye(6), atol=1e-10)
    assert np.sort(np.abs(found.V @ R).argmax(axis=1)).tolist() == list(range(6))
    assert np.abs(found.V @ R).max(axis=1).min() > 0.97


def test_rows_without_independent_latents_are_doubted(rng):
    Gaussian = white(rng.normal(size=(6, 2000)))
    radial = white(rng.normal(size=(6, 2000)) * rng.exponential(size=2000))  # any rotation is as good as any other
    for U in (Gaussian, radial):
        assert not independent_directions(U, np.eye(6), rng).separated


def test_the_order_of_rows_does_not_matter(rng, monkeypatch):
    monkeypatch.setattr(pursuit, "MOST_ROWS", 1000)
    U, order = sources(rng), rng.permutation(4000)
    one, other = (independent_directions(A, np.eye(6), np.random.default_rng(0)).V for A in (U, U[:, order]))
    assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_where_directions_wander_rounding_does_not_choose_them(seed):
    """Gaussian rows: no direction is better than another, and two runs part a little more with every step."""
    rng = np.random.default_rng(seed)
    U = white(rng.normal(size=(12, 120)))
    one, other = (independent_directions(A, np.eye(12), rng).V for A in (U, U * (1.0 + 1e-13)))
    assert_allclose(other, one, atol=1e-9)


def test_directions_that_have_almost_settled_are_kept(rng, monkeypatch):
    U = ortho_group.rvs(12, random_state=1) @ white(rng.uniform(size=(12, 1500)))
    settled = independent_directions(U, np.eye(12), rng).V
    monkeypatch.setattr(pursuit, "SETTLED", -1.0)
    assert_allclose(independent_directions(U, np.eye(12), rng).V, settled, atol=0.01)


def test_few_rows_are_made_white_again(rng, monkeypatch):
    """Latents that are almost Gaussian: what the chosen rows are short of being white would lead elsewhere."""
    monkeypatch.setattr(pursuit, "MOST_ROWS", 5000)
    U = white(2.0 * rng.integers(0, 2, (12, 20_000)) + rng.normal(size=(12, 20_000)))
    found = independent_directions(ortho_group.rvs(12, random_state=1) @ U, np.eye(12), rng)
    assert found.separated
