"""The likelihood of a mixture as a landscape: slopes by differences, and what quasi-Newton steps are for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from gnomon import MixturePPCA
from gnomon.models.mixture.curved import Landscape, flat
from gnomon.models.mixture.em import CompleteRows, IncompleteRows, MixtureVector
from gnomon.models.mixture.local_gaussians import Shape
from gnomon.solvers.em import ROUNDING
from models.mixture.planted import SIZES, params_of, planted
from rows.copied import copied_rows


def landscape_of(rng, kind, shared):
    """Rows of overlapping components, and the place at parameters that are not quite theirs."""
    truth, X, _ = planted(rng, n=60, spread=0.7)
    _, p = X.shape
    shape = Shape(SIZES, p, 1e-9, shared)
    if kind == "masked":
        X[rng.random(X.shape) < 0.2] = np.nan
        rows = IncompleteRows(copied_rows(X, masked=True).in_units(np.zeros(p), 1.0), shape)
    else:
        rows = CompleteRows(copied_rows(X).in_units(np.zeros(p), 1.0), shape, moments=kind == "moments")
    params = params_of(truth)
    params = params._replace(means=params.means + 0.1 * rng.standard_normal(params.means.shape))
    if shared:
        params = params._replace(noise_vars=np.full(len(SIZES), params.noise_vars.mean()))
    found = Landscape(rows, MixtureVector(mix_weights=0.0, noise_vars=shape.floor))
    return found, found.place(params, rows.e_step(params)), params


def directions(rng, params, shared):
    """One along each part of the parameters, where they may go."""
    for i, part in enumerate(params):
        along = [np.zeros_like(other) for other in params]
        along[i] = np.ones_like(part) if shared and i == 3 else rng.standard_normal(part.shape)
        along[2] = np.where(params.W == 0.0, 0.0, along[2])
        yield flat(type(params)(*along))


kinds = pytest.mark.parametrize("kind", ["moments", "latent", "masked"])
shared_or_not = pytest.mark.parametrize("shared", [False, True])


@kinds
@shared_or_not
def test_slopes_are_differences(rng, kind, shared):
    landscape, place, params = landscape_of(rng, kind, shared)
    for along in directions(rng, params, shared):
        step = 1e-5 * along[None]
        up, down = (landscape.at(place.vector + sign * step, place).value[0] for sign in (1.0, -1.0))
        assert_allclose(place.slope[0] @ step[0], 0.5 * (up - down), rtol=1e-5, atol=1e-9)


@kinds
@shared_or_not
def test_steps_are_a_positive_symmetric_map_of_slopes(rng, kind, shared):
    landscape, place, params = landscape_of(rng, kind, shared)
    metric = landscape.metric(place)
    slopes = np.array(list(directions(rng, params, shared)))
    products = np.array([[metric(a[None])[0] @ b for a in slopes] for b in slopes])
    assert_allclose(products, products.T, rtol=1e-9, atol=1e-12)
    assert (np.linalg.eigvalsh(products) > 0.0).all()
    assert place.rounding[0] == ROUNDING * (1.0 + abs(place.value[0]))


def test_a_step_changes_no_noise_by_much(rng):
    landscape, place, params = landscape_of(rng, "moments", False)
    step = flat(params._replace(mix_weights=np.zeros(3), noise_vars=np.array([0.0, -4.0, 1.0])))[None]
    assert_allclose(landscape.longest(place, step), [0.25])
    assert_allclose(landscape.longest(place, 0.0 * step), [1.0])


def test_a_noise_on_its_floor_stays_there(rng):
    landscape, place, params = landscape_of(rng, "moments", False)
    floor = 10.0 * params.noise_vars.max()
    landscape.shape = landscape.rows.shape = landscape.shape._replace(floor=floor)
    params = params._replace(noise_vars=np.full(3, floor))
    found = landscape.place(params, landscape.rows.e_step(params))
    assert (found.slope[0, -3:] == 0.0).all()
    assert (place.slope[0, -3:] != 0.0).all()


def overlapping(n, seed):
    """Rows of three classes that lie on one another."""
    g = np.random.default_rng(seed)
    latent = g.normal(size=(n, 2)) + 2.0 * np.eye(3)[g.integers(0, 3, n)][:, :2]
    return latent @ g.normal(size=(2, 12)) + g.normal(size=(n, 12))


def test_components_that_overlap_do_not_crawl():
    model = MixturePPCA(3, 2, n_init=1).fit(overlapping(2000, 3))
    assert model.converged_
    assert model.objective_residual_ <= model.tol
    assert model.n_iter_ <= 250


def test_a_climb_keeps_to_the_iterations_that_are_left():
    X = overlapping(500, 5)
    for max_iter in (60, 90):
        model = MixturePPCA(3, 2, n_init=1, max_iter=max_iter)
        with pytest.warns(ConvergenceWarning):
            model.fit(X)
        assert model.n_iter_ == max_iter
        assert not model.converged_
        assert model.objective_residual_ > model.tol
        path = model.objective_path_
        assert (np.diff(path) >= -1e-9 * (1.0 + np.abs(path[1:]))).all()
