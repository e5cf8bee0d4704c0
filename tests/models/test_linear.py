"""The family of linear models: one `fit` for Gaussian outputs and for outputs of any kind."""

import numpy as np
from numpy.testing import assert_allclose

from gnomon.likelihoods.layout import Layout
from gnomon.models import linear
from gnomon.models.linear import cppca, sppca
from gnomon.rows import read


def test_without_outputs_the_fit_is_that_of_eigenvectors(rng):
    X = rng.normal(size=(80, 6)) @ rng.normal(size=(6, 6))
    found = linear.fit(read(X), np.zeros((80, 0)), sppca.Options(2, "auto", 1e-6, 500), rng).value.params
    values = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    assert_allclose(found.x_noise_var, values[2:].mean())
    assert_allclose(np.linalg.eigvalsh(found.W_x.T @ found.W_x)[::-1], values[:2] - values[2:].mean())
    assert_allclose(found.m_x, X.mean(axis=0), atol=1e-12)


def test_gaussian_outputs_are_one_model_by_either_options(rng):
    Z = rng.normal(size=(90, 2))
    X = Z @ rng.normal(size=(2, 7)) + 0.5 * rng.normal(size=(90, 7))
    Y = Z + 0.3 * rng.normal(size=(90, 2))
    Y[::3] = np.nan
    own = sppca.Options(2, "auto", 1e-9, 5000, output_noise="per_output")
    sites = cppca.Options(2, tol=1e-9, max_iter=5000, ridge=0.0)
    a = linear.fit(read(X), Y, own, rng).value.params
    b = linear.fit(read(X), Y, sites, rng, Layout(("gaussian",) * 2, (0, 0))).value.params
    of_both = [linear.log_density(params, read(X), Y).sum() for params in (a, b)]
    assert_allclose(of_both[0], of_both[1], atol=1e-6)
