"""Regions hold planted latent vectors of rows of the fit and of new ones, where columns are many and where few."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.stats import chi2

from gnomon import CPPCA, PPCA, SPPCA
from gnomon.models.linear.positions import NEW, SEEN, _spikes, learn, place

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
        mean, cov = model.posterior(X)
        full_mean, full_cov = model.posterior(X, uncertainty="full")
        assert_allclose(full_mean, mean, atol=0.02)
        assert_allclose(full_cov, np.broadcast_to(cov, full_cov.shape), atol=0.02)


def test_rows_of_the_fit_are_known_in_any_order_storage_and_precision(rng):
    n, p = 60, 500
    X, _, _ = planted(rng, n, p)
    model = SPPCA(2).fit(X[:n], np.where(np.arange(n) < 9, np.arange(n) % 3, -1))
    mean, cov = model.posterior(X, uncertainty="full")
    plain = model.transform(X)
    known = learn(model.components_.T, model.noise_variance_, n)
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


def test_what_it_does_not_cover_is_refused(rng):
    X, _, _ = planted(rng, 40, 30)
    y = np.arange(len(X)) % 2
    model = SPPCA(2).fit(X, y)
    with pytest.raises(ValueError, match="y was passed"):
        model.posterior(X, y, uncertainty="full")
    holes = X.copy()
    holes[0, 0] = np.nan
    with pytest.raises(ValueError, match="missing entries"):
        model.posterior(holes, uncertainty="full")
    with pytest.raises(ValueError, match="uncertainty='some'"):
        model.posterior(X, uncertainty="some")
