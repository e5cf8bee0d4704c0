"""Conditioning on components beside their Gaussian densities, and one maximization beside the closed form."""

import numpy as np
from numpy.testing import assert_allclose

from gnomon.models.mixture import local_gaussians as local
from gnomon.numerics.normalize import normalized
from models.mixture.planted import SIZES, params_of, planted
from oracles import mixture as oracle


def test_noise_level_is_the_best_of_a_grid(rng):
    kept, weights = rng.uniform(0.1, 3.0, 6), rng.uniform(0.2, 1.0, 6)
    rest, n_rest = 4.0, 5.0

    def objective(v):
        above = weights @ (np.log(np.maximum(kept, v)) + np.minimum(kept / v, 1.0))
        return above + n_rest * np.log(v) + rest / v

    found = local.noise_level(kept, weights, rest, n_rest, 1e-6)
    grid = np.linspace(0.05, 3.0, 4000)
    assert objective(found) <= min(objective(v) for v in grid) + 1e-12
    assert local.noise_level(kept, weights, rest, n_rest, 2.5) == 2.5


def test_conditioning_is_that_of_the_densities(rng):
    truth, X, _ = planted(rng, n=20, spread=0.7)
    maps = local.local_maps(params_of(truth))
    log_joint, latent = local.condition(maps, X @ maps.directions, (X**2).sum(axis=1), 7)
    assert_allclose(log_joint, oracle.log_joint(truth, X), rtol=1e-9)
    resp, density = normalized(log_joint)
    assert_allclose(resp, oracle.responsibilities(truth, X), rtol=1e-8, atol=1e-12)
    assert_allclose(density, oracle.log_density(truth, X), rtol=1e-10)
    for i, x in enumerate(X):
        for c, k in enumerate(SIZES):
            mean, cov = oracle.latent(truth, x, c)
            assert_allclose(latent[i, c, :k], mean, rtol=1e-8, atol=1e-10)
            assert_allclose(maps.covs[c, :k, :k], cov, rtol=1e-8, atol=1e-10)


def test_directions_outside_the_coordinates_carry_noise_alone(rng):
    """Rows of a larger space that lie in the first seven coordinates, as the density of the whole has it."""
    truth, X, _ = planted(rng, n=10, spread=0.7)
    wide = truth._replace(
        means=np.hstack([truth.means, np.zeros((3, 2))]), W=[np.vstack([w, np.zeros((2, w.shape[1]))]) for w in truth.W]
    )
    maps = local.local_maps(params_of(truth))
    found = local.condition(maps, X @ maps.directions, (X**2).sum(axis=1), 9)[0]
    assert_allclose(found, oracle.log_joint(wide, np.hstack([X, np.zeros((10, 2))])), rtol=1e-9)


def sums_of(truth, X, products):
    """Weighted sums at the responsibilities of the truth; `products` takes a local second moment and its loadings."""
    R, W = oracle.responsibilities(truth, X), params_of(truth).W
    seconds = np.array([products((X * r[:, None]).T @ X, w) for r, w in zip(R.T, W)])
    total = oracle.log_density(truth, X).sum()
    return local.LocalSums(total, R.sum(axis=0), R.T @ (X**2).sum(axis=1), R.T @ X, seconds)


def expected_complete(truth, X, params):
    """Expected log-density of rows and components, z integrated out, at the responsibilities of the truth."""
    W = [params.W[c, :, :k] for c, k in enumerate(SIZES)]
    joint = oracle.log_joint(oracle.Model(params.mix_weights, params.means, W, params.noise_vars), X)
    return (oracle.responsibilities(truth, X) * joint).sum()


def test_the_closed_form_is_that_of_the_paper_and_beats_a_step_over_z(rng):
    truth, X, _ = planted(rng, n=100, spread=1.0)
    before, shape = params_of(truth), local.Shape(SIZES, 7, 1e-9, False)
    best = local.closed_form(sums_of(truth, X, lambda S, W: S), before, shape)
    wanted = oracle.em_step(truth, X)
    assert_allclose(best.means, wanted.means, rtol=1e-8, atol=1e-9)
    assert_allclose(best.noise_vars, wanted.s2, rtol=1e-8)
    for c in range(3):
        assert_allclose(best.W[c] @ best.W[c].T, wanted.W[c] @ wanted.W[c].T, rtol=1e-7, atol=1e-8)
    step = local.latent_step(sums_of(truth, X, lambda S, W: S @ W), before, shape)
    values = [expected_complete(truth, X, params) for params in (before, step, best)]
    assert values[0] + 1e-3 < values[1] < values[2] + 1e-9


def test_steps_over_z_end_at_the_closed_form(rng):
    truth, X, _ = planted(rng, n=100, spread=1.0)
    params, shape = params_of(truth), local.Shape(SIZES, 7, 1e-9, True)
    best = local.closed_form(sums_of(truth, X, lambda S, W: S), params, shape)
    seconds = sums_of(truth, X, lambda S, W: S)
    for _ in range(200):
        products = np.array([S @ W for S, W in zip(seconds.products, params.W)])
        params = local.latent_step(seconds._replace(products=products), params, shape)
    assert_allclose(params.noise_vars, best.noise_vars, rtol=1e-6)
    for c in range(3):
        assert_allclose(params.W[c] @ params.W[c].T, best.W[c] @ best.W[c].T, atol=1e-4)


def test_order_and_rotation_of_components_are_no_distance(rng):
    params = params_of(planted(rng, n=5)[0])
    s, p, k = params.W.shape
    order, R = rng.permutation(s), np.linalg.qr(rng.normal(size=(s, k, k)))[0]
    turned = local.Mixture(*(part[order] for part in params._replace(W=params.W @ R)))
    assert local.apart(turned, params, p) < 1e-6
    step = params._replace(means=params.means + 1e-3 * rng.normal(size=(s, p)), noise_vars=1.01 * params.noise_vars)
    assert_allclose(local.apart(turned, step, p), local.step_length(params, step, p), rtol=1e-3)
