"""The discriminant directions in coordinates: the definition, invariances, and what the shrinkage does."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.models import kda
from gnomon.rows import read
from oracles import kda as oracle
from rows.copied import copied_rows


def problem(rng, n=60, r=5, c=4):
    index = np.arange(n) % c
    T = rng.normal(size=(n, r)) @ np.diag(np.arange(1, r + 1)) + 2 * rng.normal(size=(c, r))[index]
    return T - T.mean(axis=0), index


@pytest.mark.parametrize("shrinkage", [0.0, 1e-3, 0.4, 1.0])
def test_directions_are_those_of_the_definition(rng, shrinkage):
    T, index = problem(rng)
    fitted = kda.fit(read(T), index, 4, shrinkage, 7.0)
    directions, ratios = oracle.discriminant(T, index, shrinkage, 7.0)
    assert_allclose(fitted.between, ratios, rtol=1e-9)
    signs = np.sign((directions * fitted.directions).sum(axis=0))
    assert_allclose(fitted.directions, directions * signs, rtol=1e-7, atol=1e-9)
    assert_allclose(kda.posterior(fitted, copied_rows(T))[0], T @ fitted.directions, rtol=1e-12, atol=1e-12)
    logs = oracle.log_posterior(T, index, T, shrinkage, 7.0)
    assert_allclose(kda.predict(fitted, copied_rows(T)), np.exp(logs), rtol=1e-8, atol=1e-12)


def test_a_rotation_of_the_coordinates_changes_nothing(rng):
    T, index = problem(rng)
    rotation = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    Z = T @ kda.fit(read(T), index, 4, 0.1, 5.0).directions
    turned = T @ rotation
    assert_allclose(turned @ kda.fit(read(turned), index, 4, 0.1, 5.0).directions, Z, atol=1e-9)


def test_no_other_direction_separates_more(rng):
    T, index = problem(rng)
    first = kda.fit(read(T), index, 4, 0.1, 5.0).directions[:, 0]
    means = np.stack([T[index == c].mean(axis=0) for c in range(4)])
    within = (T - means[index]).T @ (T - means[index]) / len(T)
    shrunk = 0.9 * within + 0.1 * np.trace(within) / 5 * np.eye(5)

    def ratio(a):
        return np.mean((means[index] @ a) ** 2) / (a @ shrunk @ a)

    others = first + 0.1 * rng.normal(size=(50, 5)) * np.abs(first).max()
    assert all(ratio(a) < ratio(first) for a in others)


def test_a_singular_covariance_needs_a_ridge(rng):
    T, index = problem(rng, n=6, r=5, c=3)
    with pytest.raises(ValueError, match="shrinkage=0 is too small"):
        kda.fit(read(T), index, 3, 0.0, 5.0)
    assert np.isfinite(kda.fit(read(T), index, 3, 1e-3, 5.0).directions).all()


def test_one_row_a_class_gives_the_principal_directions(rng):
    T = rng.normal(size=(4, 6))
    T -= T.mean(axis=0)
    fitted = kda.fit(read(T), np.arange(4), 4, 0.5, 6.0)
    axes = np.linalg.svd(T)[2][:3]
    unit = fitted.directions / np.linalg.norm(fitted.directions, axis=0)
    assert_allclose(np.abs(axes @ unit), np.eye(3), atol=1e-9)
