"""The two-view Gaussian model, straight from its joint density: dense, row by row, any entries of x and y missing."""

from typing import NamedTuple

import numpy as np
from scipy.stats import multivariate_normal


class Model(NamedTuple):
    """z ~ N(0, I), x = W_x z + m_x + N(0, s2_x I), y = W_y z + m_y + N(0, diag(s2_y))."""

    W_x: np.ndarray  # (p, k)
    m_x: np.ndarray  # (p,)
    s2_x: float
    W_y: np.ndarray  # (q, k)
    m_y: np.ndarray  # (q,)
    s2_y: np.ndarray  # (q,)


def random_model(rng, p, k, q, s2_x=0.3, s2_y=0.2):
    """Draw the parameters of a model."""
    s2_y = s2_y * rng.uniform(0.5, 2.0, q)
    return Model(rng.normal(size=(p, k)), rng.normal(size=p), s2_x, rng.normal(size=(q, k)), rng.normal(size=q), s2_y)


def draw(rng, model, n):
    """Draw n rows of (x, y)."""
    Z = rng.normal(size=(n, model.W_x.shape[1]))
    X = Z @ model.W_x.T + model.m_x + np.sqrt(model.s2_x) * rng.normal(size=(n, len(model.m_x)))
    Y = Z @ model.W_y.T + model.m_y + np.sqrt(model.s2_y) * rng.normal(size=(n, len(model.m_y)))
    return X, Y


def joint(model):
    """Mean and covariance of (z, x, y)."""
    k = model.W_x.shape[1]
    W = np.vstack([np.eye(k), model.W_x, model.W_y])
    noise = np.concatenate([np.zeros(k), np.full(len(model.m_x), model.s2_x), model.s2_y])
    return np.concatenate([np.zeros(k), model.m_x, model.m_y]), W @ W.T + np.diag(noise)


def _condition(mean, cov, seen, values, n_wanted):
    """Mean and covariance of the first entries, given the seen ones."""
    wanted = np.arange(n_wanted)
    gain = np.linalg.solve(cov[np.ix_(seen, seen)], cov[np.ix_(seen, wanted)]).T
    return mean[wanted] + gain @ (values - mean[seen]), cov[np.ix_(wanted, wanted)] - gain @ cov[np.ix_(seen, wanted)]


def _seen_entries(model, x, y):
    """Which entries of (z, x, y) are known, and their values."""
    k = model.W_x.shape[1]
    y = np.full(len(model.m_y), np.nan) if y is None else y
    values = np.concatenate([x, y])
    observed = np.flatnonzero(~np.isnan(values))
    return k + observed, values[observed]


def log_density(model, X, Y=None):
    """Log p(x, observed y) of every row, in nats."""
    mean, cov = joint(model)
    out, densities = [], {}
    for i, x in enumerate(X):
        seen, values = _seen_entries(model, x, None if Y is None else Y[i])
        if tuple(seen) not in densities:
            densities[tuple(seen)] = multivariate_normal(mean[seen], cov[np.ix_(seen, seen)])
        out.append(densities[tuple(seen)].logpdf(values))
    return np.array(out)


def posterior(model, X, Y=None):
    """Mean (n, k) and covariance (n, k, k) of z given x and the observed y."""
    mean, cov = joint(model)
    k = model.W_x.shape[1]
    rows = [_condition(mean, cov, *_seen_entries(model, x, None if Y is None else Y[i]), k) for i, x in enumerate(X)]
    return np.array([m for m, _ in rows]), np.array([c for _, c in rows])


def predictive(model, X):
    """Mean (n, q) and covariance (n, q, q) of y given the observed x."""
    k, p, q = model.W_x.shape[1], len(model.m_x), len(model.m_y)
    mean, cov = joint(model)
    order = np.concatenate([k + p + np.arange(q), k + np.arange(p)])
    mean, cov = mean[order], cov[np.ix_(order, order)]
    seen = [np.flatnonzero(~np.isnan(x)) for x in X]
    rows = [_condition(mean, cov, q + s, x[s], q) for s, x in zip(seen, X, strict=True)]
    return np.array([m for m, _ in rows]), np.array([c for _, c in rows])


def expected_x(model, X, Y=None):
    """X with every missing entry replaced by its expectation given the rest of the row."""
    Z, _ = posterior(model, X, Y)
    return np.where(np.isnan(X), model.m_x + Z @ model.W_x.T, X)
