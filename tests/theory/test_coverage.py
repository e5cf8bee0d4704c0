"""Posterior regions of planted latent vectors, and intervals of outputs and missing entries, hold what they promise."""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import chi2, norm

from gnomon import SPPCA
from oracles import gaussian

K, N_FIT, N_NEW = 2, 20_000, 2000  # so many rows to fit that errors of the parameters are far below the noise
RATES = (0.5, 0.8, 0.95)


class Case(NamedTuple):
    """A fitted model, the truth, and new rows with their latent vectors."""

    model: SPPCA
    truth: gaussian.Model
    Z: np.ndarray
    X: np.ndarray
    Y: np.ndarray
    holes: np.ndarray  # X with entries missing


@cache
def planted(seed, share):
    """Fit rows with a share of the entries of x missing and most targets hidden; return new rows of the same kind."""
    rng, N = np.random.default_rng(seed), N_FIT + N_NEW
    model = gaussian.random_model(rng, 8, K, 2, s2_x=0.4)._replace(s2_y=np.full(2, 0.25))
    Z = rng.normal(size=(N, K))
    X = Z @ model.W_x.T + model.m_x + np.sqrt(model.s2_x) * rng.normal(size=(N, 8))
    Y = Z @ model.W_y.T + model.m_y + np.sqrt(model.s2_y) * rng.normal(size=(N, 2))
    holes = np.where(rng.random(X.shape) < share, np.nan, X)
    seen = np.where((np.arange(N) < N_FIT // 3)[:, None], Y, np.nan)
    fitted = SPPCA(K, tol=1e-6, output_noise="per_output").fit(holes[:N_FIT], seen[:N_FIT])
    return Case(fitted, model, *(A[N_FIT:] for A in (Z, X, Y, holes)))


def assert_rates(inside, rate):
    """Share of rows within four standard errors of the rate; a row counts once."""
    assert abs(inside.mean() - rate) < 4 * np.sqrt(rate * (1 - rate) / len(inside))


@pytest.mark.parametrize("share", [0.0, 0.3], ids=["complete", "missing"])
@pytest.mark.parametrize("with_y", [False, True])
def test_posterior_regions_hold_the_latent_vectors(seed, share, with_y):
    model, truth, Z, _, Y, holes = planted(seed, share)
    mean, cov = model.posterior(holes, Y if with_y else None, uncertainty="plug-in")
    stacked = np.vstack([truth.W_x / np.sqrt(0.4), truth.W_y / np.sqrt(0.25)])
    found = np.vstack([model.components_.T / np.sqrt(0.4), model.y_loadings_ / np.sqrt(0.25)])
    left, _, right = np.linalg.svd(stacked.T @ found)
    gap = Z @ (left @ right) - mean  # the likelihood leaves the rotation open
    covs = np.broadcast_to(cov, (len(gap), K, K))
    distances = np.einsum("na,na->n", gap, np.linalg.solve(covs, gap[:, :, None])[:, :, 0])
    for rate in RATES:
        assert_rates(distances < chi2.ppf(rate, K), rate)


@pytest.mark.parametrize("share", [0.0, 0.3], ids=["complete", "missing"])
def test_intervals_hold_outputs_and_missing_entries(seed, share):
    model, _, _, X, Y, holes = planted(seed, share)
    predicted, std = model.predict(holes, return_std=True)
    W, (mean, cov) = model.components_, model.posterior(holes, uncertainty="plug-in")
    covs = np.broadcast_to(cov, (len(holes), K, K))
    spread = np.sqrt(np.einsum("ap,nab,bp->np", W, covs, W) + model.noise_variance_)
    lost = np.isnan(holes)
    for rate in RATES:
        width = norm.ppf(0.5 + rate / 2)
        for j in range(2):
            assert_rates(np.abs(predicted - Y)[:, j] < width * std[:, j], rate)
        inside = np.abs(mean @ W + model.mean_ - X) < width * spread
        for j in range(8 if share else 0):
            assert_rates(inside[lost[:, j], j], rate)
