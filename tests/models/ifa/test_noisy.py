"""Independent factors in noise: brute force over all products of components, EM, recovery, the limits."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA

from gnomon.models.ifa import noisy as model
from gnomon.rows import read
from models.ifa.noisy_draws import SIZES, log_pl_of, planted, random_model
from oracles import ifa as oracle


def fit(X, known, k=2, seed=0, **options):
    return model.fit(read(X), log_pl_of(known), SIZES, model.Options(k, **options), np.random.default_rng(seed))


def test_density_is_the_sum_over_all_products(rng):
    fitted, mixtures = random_model(rng)
    p = fitted.params
    X, ids = model.sample(fitted, 12, rng)
    args = (fitted.mean, p.A, p.noise_var, mixtures)
    found = model.posterior(fitted, read(X)).log_density
    assert_allclose(found, [oracle.noisy_log_density(x, *args) for x in X], rtol=1e-9)
    ids[::2, 0] = -1
    pl = [oracle.one_of_k(ids[:, s], size) for s, size in enumerate(SIZES)]
    joint = model.posterior(fitted, read(X), log_pl_of(ids)).log_density
    want = [oracle.noisy_log_density(x, *args, [table[i] for table in pl]) for i, x in enumerate(X)]
    assert_allclose(joint, want, rtol=1e-9)
    for s, size in enumerate(SIZES):
        for k in range(size):
            one = [np.eye(size)[k] if t == s else np.ones(other) for t, other in enumerate(SIZES)]
            share = [oracle.noisy_log_density(x, *args, one) for x in X]
            assert_allclose(
                model.posterior(fitted, read(X)).proba[s][:, k], np.exp(share - found), rtol=1e-8, atol=1e-12
            )


def test_latent_means_are_those_of_importance_sampling(rng):
    fitted, _ = random_model(rng)
    x = model.sample(fitted, 1, rng)[0]
    n, p = 400_000, fitted.params
    labels = [rng.choice(3, size=n, p=np.exp(w)) for w in p.log_weights]
    Z = np.column_stack([p.means[s, c] + np.sqrt(p.variances[s, c]) * rng.normal(size=n) for s, c in enumerate(labels)])
    weight = np.exp(-0.5 * ((x - fitted.mean - Z @ p.A.T) ** 2).sum(axis=1) / p.noise_var)
    mean = weight @ Z / weight.sum()
    error = np.sqrt(weight**2 @ (Z - mean) ** 2) / weight.sum()
    assert (np.abs(model.posterior(fitted, read(x)).z[0] - mean) < 5 * error).all()


@pytest.mark.parametrize("k", [2, 4])
def test_likelihood_of_the_fit_is_that_of_the_rows(rng, k):
    X, _, known, _ = planted(rng)
    result = fit(X, known, k)
    pl = (
        np.concatenate(
            [
                log_pl_of(known),
                np.where(np.arange(3) == 0, 0.0, -np.inf)[None, :, None].repeat(k - 2, 0) * np.ones((1, 1, 200)),
            ]
        )
        if k > 2
        else log_pl_of(known)
    )
    total = model.posterior(result.value, read(X), pl).log_density.sum()
    assert_allclose(total, result.stats["log_likelihood"], rtol=1e-8)
    assert (np.diff(result.path) >= -1e-8 * np.abs(result.path[:-1])).all()


def test_no_nearby_model_is_better(rng):
    X, _, known, _ = planted(rng)
    found = fit(X, known).value
    best = model.posterior(found, read(X), log_pl_of(known)).log_density.sum()
    for size in (1e-3, 1e-2):
        p = found.params
        moved = p._replace(A=p.A * (1 + size * rng.normal(size=p.A.shape)), noise_var=p.noise_var * (1 + size))
        assert model.posterior(found._replace(params=moved), read(X), log_pl_of(known)).log_density.sum() < best
        moved = p._replace(means=p.means + size * rng.normal(size=p.means.shape))
        assert model.posterior(found._replace(params=moved), read(X), log_pl_of(known)).log_density.sum() < best


def test_mixing_noise_and_components_are_recovered(rng):
    X, ids, known, A = planted(rng, n=2000, p=8, noise=0.5)
    found = fit(X, known).value
    spread = np.array([np.sqrt(1 + 9 * np.var([0, 1])), np.sqrt(1 + 9 * np.var([0, 1, 2]))])
    signs = np.sign((found.params.A * A).sum(axis=0))
    assert_allclose(found.params.A * signs, A * spread, atol=0.15 * np.abs(A).max())
    assert_allclose(found.params.noise_var, 0.25, rtol=0.05)
    predicted = np.column_stack([p.argmax(axis=1) for p in model.posterior(found, read(X)).proba])
    assert (predicted == ids).mean() > 0.9


def test_sparse_rows_are_dense_rows(rng):
    X, _, known, _ = planted(rng)
    X[rng.random(X.shape) < 0.3] = 0.0
    dense, sparse = (fit(A, known, tol=1e-8) for A in (X, sp.csr_array(X)))
    assert_allclose(sparse.value.params.A, dense.value.params.A, atol=1e-4)
    assert_allclose(sparse.stats["log_likelihood"], dense.stats["log_likelihood"], rtol=1e-8)


def test_gaussian_latents_beside_one_useless_mixture_are_probabilistic_pca(rng):
    X = rng.normal(size=(500, 6)) @ np.diag([4.0, 3.0, 2.0, 0.5, 0.5, 0.5])
    result = model.fit(
        read(X), log_pl_of(np.full((500, 1), -1), (2,)), (2,), model.Options(3), np.random.default_rng(0)
    )
    p = result.value.params
    pca = PCA(3, svd_solver="full").fit(X)
    gap = result.stats["log_likelihood"] - pca.score(X) * 500
    assert -1.0 < gap < 15.0  # the mixture has four parameters to spend
    assert_allclose(p.noise_var, pca.noise_variance_, rtol=0.02)


@pytest.mark.parametrize("k, words", [(1, "at least 2"), (6, "fewer than the 6 columns")])
def test_numbers_of_latents_that_cannot_be_are_refused(rng, k, words):
    X, _, known, _ = planted(rng)
    with pytest.raises(ValueError, match=words):
        fit(X, known, k)


def test_too_many_products_are_refused(rng):
    ids = np.full((60, 13), -1)
    with pytest.raises(ValueError, match="8192 products"):
        model.fit(read(rng.normal(size=(60, 20))), log_pl_of(ids, (2,) * 13), (2,) * 13, model.Options(13), rng)
