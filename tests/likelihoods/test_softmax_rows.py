"""One label of several classes a row: the same posterior as the general solver's, at any size and spread."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon.likelihoods.gaussian_rows import GaussianRows
from gnomon.likelihoods.inference import sites_of
from gnomon.likelihoods.layout import Layout
from gnomon.likelihoods.softmax_rows import SoftmaxRows


def problem(rng, n_classes, rank, scale, n=30):
    h = n_classes - 1
    B = rng.normal(size=(h, rank)) * np.sqrt(scale / rank)
    Y = rng.integers(0, n_classes, (n, 1)).astype(float)
    Y[::7] = np.nan
    return rng.normal(size=(n, h)), B @ B.T, Y, Layout(("categorical",), (n_classes,))


@pytest.mark.parametrize("n_classes, rank, scale", [(3, 2, 1.0), (3, 1, 0.01), (8, 7, 4.0), (30, 3, 1.0), (5, 4, 0.0)])
def test_it_finds_what_the_general_solver_finds(rng, n_classes, rank, scale):
    mean, cov, Y, layout = problem(rng, n_classes, rank, scale)
    found = sites_of(layout, "variational")
    assert isinstance(found, SoftmaxRows)
    general = GaussianRows(layout, variational=True)(Y, mean, cov, np.ones(1))
    near = found(Y, mean + 1.0, 2.0 * cov, np.ones(1)).near
    by_row = np.tile(cov, (len(Y), 1, 1))
    for fit in (
        found(Y, mean, cov, np.ones(1)),
        found(Y, mean, cov, np.ones(1), near),
        found(Y, mean, by_row, np.ones(1)),
    ):
        assert_allclose(fit.log_z, general.log_z, atol=1e-12)
        assert_allclose(fit.slope, general.slope, atol=1e-7)
        assert_allclose(fit.by_row, general.curvature, atol=1e-7)
        vectors, weights = rng.normal(size=fit.slope.shape), rng.random(len(Y))
        assert_allclose(fit.curvature_times(vectors), np.einsum("nab,nb->na", fit.by_row, vectors), atol=1e-12)
        assert_allclose(fit.total_curvature(weights), np.tensordot(weights, fit.by_row, axes=1), atol=1e-12)
    assert not fit.slope[::7].any()


@pytest.mark.parametrize("n_classes, rank, scale", [((3, 4), 3, 1.0), ((2, 5, 3), 7, 2.0), ((20, 20), 4, 0.5)])
def test_of_several_outputs_it_finds_the_same(rng, n_classes, rank, scale):
    layout, n, h = Layout(("categorical",) * len(n_classes), n_classes), 40, sum(n_classes) - len(n_classes)
    B = rng.normal(size=(h, rank)) * np.sqrt(scale / rank)
    Y = np.column_stack([rng.integers(0, c, n) for c in n_classes]).astype(float)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    mean, cov, noise = rng.normal(size=(n, h)), B @ B.T, np.ones(len(n_classes))
    found = sites_of(layout, "variational")
    assert isinstance(found, SoftmaxRows)
    general = GaussianRows(layout, variational=True)(Y, mean, cov, noise)
    near = found(Y, mean + 0.5, 2.0 * cov, noise).near
    for fit in (found(Y, mean, cov, noise), found(Y, mean, cov, noise, near)):
        assert_allclose(fit.log_z, general.log_z, atol=1e-11)
        assert_allclose(fit.slope, general.slope, atol=1e-7)
        assert_allclose(fit.by_row, general.curvature, atol=1e-7)
        vectors, weights = rng.normal(size=fit.slope.shape), rng.random(n)
        assert_allclose(fit.curvature_times(vectors), np.einsum("nab,nb->na", fit.by_row, vectors), atol=1e-12)
        assert_allclose(fit.total_curvature(weights), np.tensordot(weights, fit.by_row, axes=1), atol=1e-12)


def test_wide_predictors_end_no_lower_than_the_general_solver(rng):
    mean, cov, Y, layout = problem(rng, 5, 4, 200.0)
    ways = SoftmaxRows(layout), GaussianRows(layout, variational=True)
    found, general = (way(Y, mean, cov, np.ones(1)) for way in ways)
    assert np.isfinite(found.by_row).all()
    assert found.log_z.sum() > general.log_z.sum() - 1e-2


def test_a_looser_accuracy_is_off_by_its_square_and_below(rng):
    mean, cov, Y, layout = problem(rng, 6, 3, 2.0)
    exact = SoftmaxRows(layout)(Y, mean, cov, np.ones(1), None, 1e-10).log_z
    for accuracy in (1e-1, 1e-2, 1e-3):
        bound = SoftmaxRows(layout)(Y, mean, cov, np.ones(1), None, accuracy).log_z
        assert (bound <= exact + 1e-12).all()
        assert (exact - bound).max() < 10.0 * accuracy**2
    assert (exact - SoftmaxRows(layout)(Y, mean, cov, np.ones(1), None, 0.1).log_z).max() > 1e-12  # it did stop earlier


def test_where_means_move_the_next_start_is_most_of_the_way(rng):
    mean, cov, Y, layout = problem(rng, 5, 3, 1.0)
    sites, change = SoftmaxRows(layout), rng.normal(size=mean.shape)
    fit = sites(Y, mean, cov, np.ones(1), None, 1e-10)
    wanted = sites(Y, mean + 0.05 * change, cov, np.ones(1), None, 1e-10).near[0]
    left = np.linalg.norm(fit.near_at(0.05 * change)[0] - wanted)
    assert left < 0.15 * np.linalg.norm(fit.near[0] - wanted)
    far = fit.near_at(100.0 * change)[0]
    assert (far >= 0.0).all()
    assert (far == fit.near[0]).all(axis=1).any()


def test_some_rows_are_those_rows(rng):
    mean, cov, Y, layout = problem(rng, 5, 3, 1.0)
    fit, rows = SoftmaxRows(layout)(Y, mean, cov, np.ones(1)), np.array([1, 4, 20])
    some = fit.some(rows)
    assert_allclose(some.by_row, fit.by_row[rows])
    assert_allclose(some.slope, fit.slope[rows])
    assert_allclose(some.near[0], fit.near[0][rows])
