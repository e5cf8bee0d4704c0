"""Evidence of classes at fixed points: the integral over the latent plane, its gradient by differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from scipy.special import log_softmax, logsumexp
from scipy.stats import multivariate_normal

from gnomon.likelihoods import class_evidence as file
from gnomon.likelihoods.bernoulli import logit_evidence
from gnomon.likelihoods.categorical import logit_contrasts
from gnomon.likelihoods.class_evidence import class_evidence, class_rows


def problem(rng, k, n_classes, n=9, one_each=False, size=2.0):
    """Latent means and covariances of rows, classes, weights, V and b."""
    B = rng.normal(size=(n, k, k) if one_each else (k, k))
    cov = 0.3 * B @ np.swapaxes(B, -1, -2) + 0.1 * np.eye(k)
    V, b = size * rng.normal(size=(n_classes - 1, k)), rng.normal(size=n_classes - 1)
    return rng.normal(size=(n, k)), cov, rng.integers(0, n_classes, n), rng.uniform(0.5, 2.0, n), V, b


@pytest.mark.parametrize("one_each", [False, True])
@pytest.mark.parametrize("n_points, close", [(512, 2e-3), (1 << 14, 5e-5)])
def test_it_is_the_integral_over_the_latent_plane(rng, one_each, n_points, close):
    latent, cov, classes, weights, V, b = problem(rng, 2, 4, one_each=one_each)
    axis = np.linspace(-9.0, 9.0, 401)
    z = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    logs = log_softmax((z @ V.T + b) @ logit_contrasts(4).T, axis=1)
    expected = [
        logsumexp(multivariate_normal(m, S).logpdf(z) + logs[:, c]) + 2 * np.log(axis[1] - axis[0])
        for m, S, c in zip(latent, np.broadcast_to(cov, (9, 2, 2)), classes, strict=True)
    ]
    log_z = class_evidence(class_rows(latent, cov, classes, weights, V, n_points), V, b)[0]
    assert_allclose(np.exp(log_z), np.exp(expected), atol=close)
    assert_allclose(log_z, expected, atol=0.1)


@pytest.mark.parametrize("one_each", [False, True])
@pytest.mark.parametrize("k, n_classes", [(2, 3), (4, 3), (1, 5)])
def test_gradient_by_differences(rng, one_each, k, n_classes):
    latent, cov, classes, weights, V, b = problem(rng, k, n_classes, one_each=one_each)
    blocks = class_rows(latent, cov, classes, weights, V, 32)

    def value(vector):
        table = vector.reshape(n_classes - 1, k + 1)
        return float(weights @ class_evidence(blocks, table[:, :-1], table[:, -1])[0])

    gradient = class_evidence(blocks, V, b)[1]
    at = np.column_stack([V, b]).ravel()
    assert_allclose(gradient.ravel(), approx_fprime(at, value, 1e-6), atol=1e-4)
    assert np.abs(gradient).max() > 0.1


@pytest.mark.parametrize("one_each", [False, True])
def test_rows_may_come_in_blocks(rng, monkeypatch, one_each):
    latent, cov, classes, weights, V, b = problem(rng, 3, 4, one_each=one_each)
    whole = class_evidence(class_rows(latent, cov, classes, weights, V, 32), V, b)
    monkeypatch.setattr(file, "CHUNK", 64)
    blocks = class_rows(latent, cov, classes, weights, V, 32)
    assert len(blocks) == 5
    for part, other in zip(class_evidence(blocks, V, b), whole, strict=True):
        assert_allclose(part, other, rtol=1e-12)


def test_logits_thousands_apart_stay_finite(rng):
    latent, cov, classes, weights, V, b = problem(rng, 2, 4, n=40, size=3000.0)
    log_z, gradient = class_evidence(class_rows(latent, cov, classes, weights, V, 32), V, b)
    assert np.isfinite(log_z).all()
    assert np.isfinite(gradient).all()
    assert (log_z <= 0).all()


def test_two_classes_are_one_label(rng):
    latent, cov, classes, weights, V, b = problem(rng, 3, 2)
    log_z = class_evidence(class_rows(latent, cov, classes, weights, V, 1 << 12), V, b)[0]
    sign = logit_contrasts(2)[classes, 0]
    expected = logit_evidence(latent @ V[0] + b[0], (V @ cov @ V.T)[0, 0], 2.0 * sign).log_z
    assert_allclose(np.exp(log_z), np.exp(expected), atol=1e-3)
