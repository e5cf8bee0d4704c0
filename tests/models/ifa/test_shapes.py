"""One-dimensional mixtures: slopes, Hessians and fits to histograms, beside the density itself."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.stats import norm

from gnomon.models.ifa.shapes import (
    POWERS,
    Mixtures,
    Moments,
    damped_inverse,
    fill_powers,
    fit_shapes,
    histograms,
    information,
    slopes,
    sum_moments,
)


def log_density(vector, z):
    """Of one mixture given by logits, means and log-variances (3 c), typed from the definition."""
    logits, means, log_variances = vector.reshape(3, -1)
    weights = np.exp(logits) / np.exp(logits).sum()
    return np.log(sum(w * norm.pdf(z, m, np.exp(0.5 * v)) for w, m, v in zip(weights, means, log_variances)))


def moments_of(vector, z):
    logits, means, log_variances = vector.reshape(3, -1)
    log_weights = logits - np.log(np.exp(logits).sum())
    joint = np.exp(log_weights)[:, None] * norm.pdf(z, means[:, None], np.exp(0.5 * log_variances)[:, None])
    powers = np.ones((1, POWERS, len(z)))
    powers[:, 1] = z
    fill_powers(powers)
    found = sum_moments((joint / joint.sum(axis=0))[None], powers)
    mixtures = Mixtures(log_weights[None], means[None], np.exp(log_variances)[None])
    return mixtures, Moments(found.one / len(z), found.two / len(z))


def mean_at(vector, z, *steps):
    return log_density(vector + sum(steps, np.zeros(len(vector))), z).mean()


def test_slopes_and_information_are_those_of_finite_differences(rng):
    z, vector = rng.normal(size=60), np.concatenate([rng.normal(size=6), rng.uniform(-1.0, 0.5, 3)])
    mixtures, moments = moments_of(vector, z)
    E = 1e-4 * np.eye(9)
    gradient = [(mean_at(vector, z, e) - mean_at(vector, z, -e)) / 2e-4 for e in E]
    assert_allclose(slopes(mixtures, moments.one).ravel(), gradient, atol=1e-6)
    H = [
        [
            (
                mean_at(vector, z, a, b) - mean_at(vector, z, a, -b)
                - mean_at(vector, z, -a, b) + mean_at(vector, z, -a, -b)
            )
            / 4e-8
            for b in E
        ]
        for a in E
    ]  # fmt: skip
    assert_allclose(-information(mixtures, moments).reshape(9, 9), H, atol=1e-6)


def test_the_damped_inverse_is_the_inverse_where_the_information_is_positive(rng):
    z = np.concatenate([rng.normal(-2.0, 0.5, 400), rng.normal(2.0, 0.7, 400)])
    vector = np.array([0.0, 0.0, -2.0, 2.0, np.log(0.25), np.log(0.49)])
    mixtures, moments = moments_of(vector, z)
    H = information(mixtures, moments).reshape(6, 6)
    free = np.ones((1, 3, 2), dtype=bool)
    step = damped_inverse(mixtures, moments, free)[0] @ slopes(mixtures, moments.one).ravel()
    assert_allclose(H @ step, slopes(mixtures, moments.one).ravel(), atol=1e-10)
    free[0, 2, 1] = False
    assert_allclose(damped_inverse(mixtures, moments, free)[0][5], 0.0)


def test_histograms_keep_shares_and_means(rng):
    Z = rng.standard_t(3, size=(3, 500))
    found = histograms(Z)
    assert_allclose(found.shares.sum(axis=1), 1.0)
    assert_allclose((found.places * found.shares).sum(axis=1), Z.mean(axis=1), atol=1e-12)


def test_mixtures_of_histograms_are_those_of_the_rows(rng):
    n = 40_000
    apart = np.where(rng.random(n) < 0.3, rng.normal(-1.5, 0.4, n), rng.normal(1.0, 0.6, n))
    within = np.where(rng.random(n) < 0.5, rng.normal(0.0, 0.3, n), rng.normal(0.0, 1.4, n))  # means do not tell
    mixtures, values = fit_shapes(histograms(np.stack([apart, within])), 2)
    order = mixtures.means[0].argsort()
    assert_allclose(np.exp(mixtures.log_weights[0, order]), [0.3, 0.7], atol=0.02)
    assert_allclose(mixtures.means[0, order], [-1.5, 1.0], atol=0.03)
    assert_allclose(np.sort(mixtures.variances[1]), [0.09, 1.96], rtol=0.08)
    for s, z in enumerate((apart, within)):
        vector = np.concatenate([mixtures.log_weights[s], mixtures.means[s], np.log(mixtures.variances[s])])
        assert_allclose(log_density(vector, z).mean(), values[s], atol=2e-3)
