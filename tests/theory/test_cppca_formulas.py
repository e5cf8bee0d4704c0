"""Cheng and Li 2011, eq. (28): what happens when its expectation is read as a delta, and what the library does."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gnomon import CPPCA, PPCA
from oracles import cppca as oracle


def few_labels(seed):
    """120 rows of which 40 have a label, centered, and the loadings and noise of PPCA."""
    rng = np.random.default_rng(seed)
    X, Z = oracle.draw(rng, 120, 5, 1.0)
    y = (rng.random(120) < 1 / (1 + np.exp(-2 * Z[:, 0]))).astype(float)
    y[40:] = np.nan
    start = PPCA(2).fit(X)
    return X - X.mean(axis=0), y, start.components_.T, start.noise_variance_


def test_eq_28_as_a_delta_makes_v_grow_and_the_likelihood_fall(seed):
    X, y, W, s2 = few_labels(seed)
    with np.errstate(over="ignore"):
        path = list(oracle.printed_em(X, y, W, s2, np.full(2, 0.5), 8))
    lengths = [np.linalg.norm(v) for _, _, v in path[:5]]
    logs = [oracle.log_likelihood(X, y, *step) for step in path[:6]]
    assert (np.diff(lengths) > 0).all()
    assert max(np.linalg.norm(v) for _, _, v in path) > 2.4 * lengths[1]
    assert (np.diff(logs[1:]) < 0).all()


@pytest.mark.slow
def test_eq_28_to_first_order_stops_below_the_largest_laplace_evidence(seed):
    """The corrected iteration converges, near the fitted model; no point around that has a larger evidence."""
    X, y, W, s2 = few_labels(seed)
    model = CPPCA(2, inference="laplace", tol=1e-9).fit(X, y)
    fitted = [model.components_.T, model.noise_variance_, model.y_loadings_[0], model.y_intercept_[0]]
    *_, last, (W, s2, v) = oracle.printed_em(X, y, W, s2, np.zeros(3), 400, correction=True, ridge=0.1)
    assert_allclose(v, last[2], atol=1e-6)

    def evidence(W, s2, v, b):
        return oracle.laplace_evidence(X, y, W, s2, v, b) - 0.05 * v @ v

    best = evidence(*fitted)
    assert_allclose(model.objective_, best, rtol=1e-9)
    assert evidence(W, s2, v[:2], v[2]) < best - 1e-4
    rng = np.random.default_rng(seed)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(10):
            near = [part * (1.0 + size * rng.normal(size=np.shape(part))) for part in fitted]
            assert evidence(*near) <= best


def test_quadrature_is_above_laplace(seed):
    X, y, _, _ = few_labels(seed)
    logs = []
    for inference in ("quadrature", "laplace"):
        model = CPPCA(2, inference=inference, tol=1e-8).fit(X, y)
        v, b = model.y_loadings_[0], model.y_intercept_[0]
        logs.append(oracle.log_likelihood(X, y, model.components_.T, model.noise_variance_, v, b) - 0.05 * v @ v)
        if inference == "quadrature":
            assert_allclose(model.objective_, logs[0], rtol=1e-9)
    assert logs[0] > logs[1]
