"""Regions hold planted latent vectors of rows of the fit and of new ones, where columns are many and where few."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.stats import chi2

from gnomon import CPPCA, PPCA, SPPCA
from gnomon.experiments.breadth_numbers import load
from gnomon.models.linear.positions import NEW, SEEN, _spikes, learn, place
from oracles import positions

N_NEW = 100
SHAPES = [(90, 2000), (80, 700), (30, 700), (500, 50), (200, 5)]


def planted(rng, n, p, k=2, variances=(6.0, 2.0)):
    """Rows of strengths that are told from the noise at this shape; and canonical latent vectors."""
    gamma = p / (n - 1)
    U = np.linalg.qr(rng.normal(size=(p, k)))[0]
    W = U * np.sqrt(np.array(variances[:k]) * max(1.0, np.sqrt(gamma)) * 2.0)
    Z = rng.normal(size=(n + N_NEW, k))
    return Z @ W.T + 3.0 + rng.normal(size=(len(Z), p)), Z, U


def held(mean, cov, Z):
    gap = Z - mean
    covs = np.broadcast_to(cov, (len(gap), *np.shape(cov)[-2:]))
    return np.einsum("na,na->n", gap, np.linalg.solve(covs, gap[:, :, None])[:, :, 0]) < chi2.ppf(0.95, Z.shape[1])


def rates(seed, n, p, n_draws, uncertainty):
    """Share of rows of the fit, and of new ones, that 95 % regions hold."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(n_draws):
        X, Z, U = planted(rng, n, p)
        model = PPCA(2).fit(X[:n])
        signs = np.sign(np.diag(U.T @ model.components_.T))
        inside = held(*model.posterior(X, uncertainty=uncertainty), Z * signs)
        found.append([inside[:n].mean(), inside[n:].mean()])
    return np.mean(found, axis=0)


@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_regions_hold_what_they_say_at_every_shape(seed, n, p):
    of_fit, of_new = rates(seed, n, p, 60, "full")
    assert 0.92 < of_fit < 0.985
    assert 0.92 < of_new < 0.985


def test_regions_that_take_parameters_for_known_do_not(seed):
    assert (rates(seed, 30, 700, 10, "plug-in") < 0.7).all()


def test_with_many_rows_the_two_are_one(rng):
    X, _, _ = planted(rng, 5000, 6)
    for model in (PPCA(2).fit(X), CPPCA(2).fit(X, np.where(np.arange(len(X)) < 50, np.arange(len(X)) % 2, -1))):
        mean, cov = model.posterior(X, uncertainty="plug-in")
        full_mean, full_cov = model.posterior(X)
        assert full_cov.shape == (2, 2)
        assert_allclose(full_mean, mean, atol=0.02)
        assert_allclose(full_cov, np.broadcast_to(cov, full_cov.shape), atol=0.02)


def test_rows_of_the_fit_are_known_in_any_order_storage_and_precision(rng):
    n, p = 60, 500
    X, _, _ = planted(rng, n, p)
    model = SPPCA(2).fit(X[:n], np.where(np.arange(n) < 9, np.arange(n) % 3, -1))
    mean, cov = model.posterior(X, uncertainty="full")
    plain = model.transform(X)
    known = learn(model.components_.T, model.noise_variance_, n, model._beyond)
    for kind, rows in ((SEEN, slice(None, n)), (NEW, slice(n, None))):
        want = place(known, plain[rows], np.full(len(plain[rows]), kind == SEEN))
        assert_allclose(mean[rows], want[0], rtol=1e-9)
        assert_allclose(cov[rows], want[1], rtol=1e-9)
    some = rng.permutation(len(X))[:20]
    assert_allclose(model.posterior(X[some], uncertainty="full")[0], mean[some], rtol=1e-9)
    assert_allclose(model.posterior(X.astype(np.float32), uncertainty="full")[0], mean, atol=1e-4)
    sparse = SPPCA(2).fit(csr_array(X[:n]), np.where(np.arange(n) < 9, np.arange(n) % 3, -1))
    assert_allclose(np.abs(sparse.posterior(csr_array(X), uncertainty="full")[0]), np.abs(mean), rtol=1e-5, atol=1e-6)


def test_units_of_x_do_not_matter(rng):
    X, _, _ = planted(rng, 40, 300)
    for a, b in zip(*(PPCA(2).fit(u * X).posterior(u * X, uncertainty="full") for u in (1.0, 1e-6)), strict=True):
        assert_allclose(a, b, rtol=1e-6, atol=1e-8)


def test_a_direction_that_noise_alone_would_show_tells_nothing_of_a_row(rng):
    n, p = 30, 600
    U, edge = np.linalg.qr(rng.normal(size=(p, 2)))[0], (1.0 + np.sqrt(p / (n - 1))) ** 2
    known = learn(U * np.sqrt([5.0 * edge, 0.9 * (edge - 1.0)]), 1.0, n)
    assert (known.factors[:, 0] > 0.5).all()
    assert_allclose(known.factors[:, 1], 0.0, atol=1e-12)
    assert (known.variances[:, 1] >= 1.0).all()


def test_noise_that_leading_directions_took_up_is_given_back(rng):
    n, p, found = 30, 700, []
    for _ in range(20):
        model = PPCA(2).fit(planted(rng, n, p)[0][:n])
        explained = (model.components_**2).sum(axis=1)
        found.append([model.noise_variance_, _spikes(explained, model.noise_variance_, p / (n - 1), p)[1]])
    as_estimated, given_back = np.abs(np.mean(found, axis=0) / ((n - 1) / n) - 1.0)  # the planted noise is one
    assert given_back < 0.02 < as_estimated


def test_weights_count_as_fewer_rows(rng):
    X, _, _ = planted(rng, 60, 300)
    w = np.r_[np.full(10, 10.0), np.full(len(X) - 10, 0.1)]
    even, uneven = PPCA(2).fit(X), PPCA(2).fit(X, sample_weight=w)
    assert uneven.posterior(X, uncertainty="full")[1].mean() > even.posterior(X, uncertainty="full")[1].mean()


def test_they_are_those_typed_from_the_definition(rng):
    n, p = 40, 120
    X, _, _ = planted(rng, n, p)
    model = PPCA(2).fit(X[:n])
    values = np.linalg.eigvalsh(np.cov(X[:n].T, bias=True))[::-1]
    Z, found = model.transform(X), model.posterior(X)
    for i in (0, 3, n, n + 5):
        mean, cov = positions.region(model.components_, model.noise_variance_, n, values, Z[i], i >= n)
        assert_allclose(found[0][i], mean, rtol=1e-6)
        assert_allclose(found[1][i], cov, rtol=1e-6)


def test_directions_that_may_have_mixed_with_others_are_known_less(rng):
    U = np.linalg.qr(rng.normal(size=(20, 2)))[0]
    W = U * np.sqrt([9.0, 3.0])
    alone, near = (learn(W, 1.0, 200, np.array([third, 1.0])).variances for third in (1.0, 3.6))
    assert (near[:, 1] > alone[:, 1] + 0.2).all()  # the third eigenvalue is near the second
    assert_allclose(near[:, 0], alone[:, 0] + (3.6 / 6.4) ** 2 / 200, rtol=1e-9)


def test_the_covariance_of_a_projection_is_about_where_it_is(rng):
    X, _, _ = planted(rng, 40, 300)
    model = PPCA(2).fit(X[:40])
    Z, about = model.transform(X, return_cov=True)
    mean, cov = model.posterior(X)
    assert_allclose(Z, model.transform(X), rtol=0, atol=0)
    assert_allclose(about, cov + (mean - Z)[:, :, None] * (mean - Z)[:, None, :], rtol=1e-9)
    plain, shared = model.transform(X, return_cov=True, uncertainty="plug-in")
    assert shared.shape == (2, 2)
    assert_allclose(plain, Z)


def test_rows_that_miss_entries_are_averaged_over_them(rng):
    n, p = 60, 400
    X, _, _ = planted(rng, n, p)
    model = PPCA(2).fit(X[:n])
    row = X[n].copy()
    row[rng.random(p) < 0.6] = np.nan
    at, wide = model.posterior(row[None], uncertainty="plug-in")
    complete = model.posterior(X[:1], uncertainty="plug-in")[1]
    mean, cov = model.posterior(row[None])
    drawn = rng.multivariate_normal(at[0], wide[0] - complete, 200_000)  # where the row would be were it complete
    known = learn(model.components_.T, model.noise_variance_, n, model._beyond)
    placed, covs = place(known, drawn, np.zeros(len(drawn), dtype=bool))
    assert_allclose(mean[0], placed.mean(axis=0), atol=0.01)
    assert_allclose(cov[0], covs.mean(axis=0) + known.widening * np.cov(placed.T), rtol=0.03, atol=0.003)
    nothing = model.posterior(np.full((1, p), np.nan))
    assert_allclose(nothing[0], 0.0, atol=1e-9)
    assert (np.linalg.eigvalsh(nothing[1][0]) > 0.95).all()


def test_targets_add_what_they_add_under_the_estimates(rng):
    X, Z, _ = planted(rng, 60, 300)
    y = Z @ [1.0, -0.5] + 0.3 * rng.normal(size=len(Z))
    seen = np.where(np.arange(len(y)) < 60, y, np.nan)
    for model in (SPPCA(2).fit(X[:60], seen[:60]), CPPCA(2).fit(X[:60], seen[:60])):
        mean, cov = model.posterior(X)
        w, s2 = model.y_loadings_[0], float(model.y_noise_variance_)
        precision = np.linalg.inv(cov) + np.outer(w, w) / s2
        pull = (y - model.y_intercept_[0])[:, None] * w / s2
        wanted = np.linalg.solve(precision, (np.linalg.solve(cov, mean[:, :, None])[:, :, 0] + pull)[:, :, None])
        told, less = model.posterior(X, y)
        assert_allclose(told, wanted[:, :, 0], rtol=1e-6, atol=1e-8)
        assert_allclose(np.linalg.inv(less), precision, rtol=1e-6, atol=1e-8)
        assert_allclose(model.posterior(X, np.full(len(X), np.nan))[0], mean, atol=1e-9)


def test_unknown_uncertainty_is_refused(rng):
    model = PPCA(2).fit(planted(rng, 40, 30)[0])
    for method in (model.posterior, model.transform):
        with pytest.raises(ValueError, match="uncertainty='some'"):
            method(np.zeros((2, 30)), uncertainty="some")


GRID = [(90, 6000, 2), (80, 700, 2), (500, 50, 2), (2000, 20, 2), (30, 700, 2), (200, 5, 2), (80, 700, 4)]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p", "k"), GRID)
def test_regions_hold_what_they_say_over_the_grid(n, p, k):
    """Training and new rows of planted tables; strengths fall from well above what noise shows to near it."""
    rng, found = np.random.default_rng(7), []
    for _ in range(12 if p > 1000 else 30):
        X, Z, U = planted(rng, n, p, k, (6.0, 3.5, 2.0, 1.2) if k > 2 else (6.0, 2.0))
        model = PPCA(k).fit(X[:n])
        left, _, right = np.linalg.svd(U.T @ model.components_.T)
        turn = left @ right if k > 2 else np.diag(np.sign(np.diag(U.T @ model.components_.T)))
        inside = held(*model.posterior(X), Z @ turn)
        found.append([inside[:n].mean(), inside[n:].mean()])
    of_fit, of_new = np.mean(found, axis=0)
    assert 0.94 < of_fit < 0.977
    assert 0.94 < of_new < 0.977


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["uniform", "t5"])
def test_regions_hold_latent_vectors_that_are_not_gaussian(kind):
    rng, n, p, found = np.random.default_rng(3), 80, 700, []
    for _ in range(30):
        X, Z, U = planted(rng, n, p)
        E = X - 3.0 - Z @ np.linalg.lstsq(Z, X - 3.0, rcond=None)[0]
        W = np.linalg.lstsq(Z, X - 3.0, rcond=None)[0]
        z = rng.uniform(-(3**0.5), 3**0.5, Z.shape) if kind == "uniform" else rng.standard_t(5, Z.shape) * 0.6**0.5
        model = PPCA(2).fit((z @ W + E)[:n])
        inside = held(*model.posterior(z @ W + E), z * np.sign(np.diag(U.T @ model.components_.T)))
        found.append([inside[:n].mean(), inside[n:].mean()])
    assert (np.mean(found, axis=0) > 0.92).all()


@pytest.mark.slow
@pytest.mark.realdata
@pytest.mark.parametrize("name", ["gasoline", "nirsoil", "nir_glc", "corn m5", "corn mp6"])
def test_regions_of_spectra_hold_where_all_rows_place_them(name):
    """The truth is the fit to all rows; 20 and 40 rows are seen."""
    X, found = load(name)[0], []
    for n, k, draw in product((20, 40), (2, 3), (0, 1)):
        if n > 0.7 * len(X):
            continue
        some = np.random.default_rng(draw).permutation(len(X))[:n]
        whole, model = PPCA(k).fit(X), PPCA(k).fit(X[some])
        scores = whole.transform(X)
        left, _, right = np.linalg.svd(whole.components_ @ model.components_.T)
        found.append(held(*model.posterior(X), scores / scores.std(axis=0) @ (left @ right)).mean())
    assert np.mean(found) > 0.9
