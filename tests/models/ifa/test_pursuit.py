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


def test_few_rows_are_made_white_again(rng, monkeypatch):
    """Latents that are almost Gaussian: what the chosen rows are short of being white would lead elsewhere."""
    monkeypatch.setattr(pursuit, "MOST_ROWS", 5000)
    U = white(2.0 * rng.integers(0, 2, (12, 20_000)) + rng.normal(size=(12, 20_000)))
    found = independent_directions(ortho_group.rvs(12, random_state=1) @ U, np.eye(12), rng)
    assert found.separated
