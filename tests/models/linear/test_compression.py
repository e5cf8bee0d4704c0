"""Second moments taken at once: both sides of the table and coordinates of a kernel see the same likelihood."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.models.linear.basis import group_outputs
from gnomon.models.linear.compression import compress, coordinate_basis
from gnomon.numerics.linear_gaussian import e_step
from numerics import build
from oracles import gaussian
from rows.copied import copied_rows


def case(rng, n, p, targets="semi"):
    """Rows in standard units, their source, outputs and weights."""
    _, X, Y = build.draw(rng, n=n, p=p, targets=targets)
    w = rng.uniform(0.5, 2.0, n)
    centered = X - w @ X / w.sum()
    scale = np.sqrt(w @ (centered**2).sum(axis=1) / (w.sum() * p))
    return centered / scale, copied_rows(X, w), Y, w


@pytest.mark.parametrize("targets", ["labeled", "semi", "none"])
@pytest.mark.parametrize("shape", [(30, 6), (10, 25)], ids=["tall", "wide"])
def test_the_likelihood_through_all_coordinates_is_that_of_the_rows(rng, shape, targets):
    X, source, Y, w = case(rng, *shape, targets)
    basis, _, expand = compress(source, group_outputs(Y, w), 30)
    d = basis.vectors.shape[0]
    assert d == min(shape[1], shape[0] - 1)
    basis.expand(np.eye(d))
    E = expand(np.eye(d))
    assert_allclose(E.T @ E, np.eye(d), atol=1e-9)
    assert_allclose(X @ E @ E.T, X, atol=1e-8)  # the rows lie in what the coordinates span
    params = build.params(gaussian.random_model(rng, d, 2, Y.shape[1]))
    found = e_step(params, basis.moments()).log_likelihood
    assert_allclose(found, w @ gaussian.log_density(build.model(params, E), X, Y), rtol=1e-8)


def test_coordinates_of_inner_products_are_as_good_as_the_rows(rng):
    """From the kernel matrix alone, the loose rows with them: no feature is seen."""
    X, source, Y, w = case(rng, 10, 25, "entries")
    values, U = np.linalg.eigh(X @ X.T)
    kept = values > 1e-9 * values[-1]
    T = U[:, kept] * np.sqrt(values[kept])
    by_kernel = coordinate_basis(T, group_outputs(Y, w), 25, float(w @ (X**2).sum(axis=1)), 30)
    by_kernel.expand(np.eye(T.shape[1]))
    E = X.T @ U[:, kept] / np.sqrt(values[kept])  # the features that the coordinates stand for
    params = build.params(gaussian.random_model(rng, T.shape[1], 2, Y.shape[1]))
    found = e_step(params, by_kernel.moments()).log_likelihood
    assert_allclose(found, w @ gaussian.log_density(build.model(params, E), X, Y), rtol=1e-8)
