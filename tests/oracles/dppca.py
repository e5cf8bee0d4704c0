"""Classes with means of their own and one covariance V V' + s2 I, straight from the densities."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal


class Model(NamedTuple):
    """x | c ~ N(m_c, V V' + s2 I), c with probability prior_c."""

    prior: np.ndarray  # (c,)
    means: np.ndarray  # (c, p)
    V: np.ndarray  # (p, P)
    s2: float


def of(model):
    """The estimator, fitted to one target, in the form of the oracle."""
    return Model(model.class_prior_, model.class_means_, model.factors_.T, model.noise_variance_)


def of_table(model):
    """The models of all targets of an estimator that is fitted to a table."""
    parts = (model.class_prior_, model.class_means_, (V.T for V in model.factors_), model.noise_variance_)
    return [Model(*one) for one in zip(*parts, strict=True)]


def covariance(model):
    """Within-class covariance."""
    return model.V @ model.V.T + model.s2 * np.eye(len(model.V))


def log_joint(model, X):
    """Log p(x, class), (n, c)."""
    S = covariance(model)
    columns = [np.log(pi) + multivariate_normal(m, S).logpdf(X) for pi, m in zip(model.prior, model.means, strict=True)]
    return np.column_stack([np.atleast_1d(c) for c in columns])


def responsibilities(model, X, index):
    """Posterior of the class; one-hot where it is known."""
    joint = log_joint(model, X)
    out = np.exp(joint - logsumexp(joint, axis=1)[:, None])
    for i, c in enumerate(index):
        if c >= 0:
            out[i] = np.arange(len(model.prior)) == c
    return out


def log_likelihood(model, X, index, weight):
    """Labeled rows count log p(x, class), the others `weight` times log p(x)."""
    joint, total = log_joint(model, X), 0.0
    for i, c in enumerate(index):
        total += joint[i, c] if c >= 0 else weight * logsumexp(joint[i])
    return total


def within_scatter(X, resp, weights):
    """Counts, means and within-class covariance, one row and class at a time."""
    R = resp * weights[:, None]
    counts = R.sum(axis=0)
    means = (R.T @ X) / counts[:, None]
    S = np.zeros((X.shape[1], X.shape[1]))
    for i in range(len(X)):
        for c in range(len(means)):
            S += R[i, c] * np.outer(X[i] - means[c], X[i] - means[c])
    return counts, means, S / counts.sum()


def em_step(model, X, index, weight, *, s2=None, n_factors, shrinkage=0.0, target=0.0):
    """One EM step: closed-form PPCA of the within-class covariance, at a given noise variance or its own."""
    weights = np.where(index >= 0, 1.0, weight)
    counts, means, S = within_scatter(X, responsibilities(model, X, index), weights)
    S = (1 - shrinkage) * S + shrinkage * target * np.eye(len(S))
    values, vectors = np.linalg.eigh(S)
    values, vectors = values[::-1], vectors[:, ::-1]
    if s2 is None:
        s2 = values[n_factors:].mean()
    V = vectors[:, :n_factors] * np.sqrt(np.maximum(values[:n_factors] - s2, 0.0))
    return Model(counts / counts.sum(), means, V, s2)


def noise_free_moments(model, D, center, x, resp):
    """Mean and covariance of D'(m_c + V z - center) given x, by the joint Gaussian of (z, x) in each class."""
    S, k = covariance(model), model.V.shape[1]
    first, second = np.zeros(D.shape[1]), np.zeros((D.shape[1], D.shape[1]))
    for r, m in zip(resp, model.means, strict=True):
        z = model.V.T @ np.linalg.solve(S, x - m)
        cov_z = np.eye(k) - model.V.T @ np.linalg.solve(S, model.V)
        u = D.T @ (m + model.V @ z - center)
        first += r * u
        second += r * (D.T @ model.V @ cov_z @ model.V.T @ D + np.outer(u, u))
    return first, second - np.outer(first, first)


def draw(rng, model, n):
    """Draw n rows and their classes."""
    index = rng.choice(len(model.prior), size=n, p=model.prior)
    p, k = model.V.shape
    noise = np.sqrt(model.s2) * rng.normal(size=(n, p))
    return model.means[index] + rng.normal(size=(n, k)) @ model.V.T + noise, index


def random_model(rng, p=8, n_classes=3, n_factors=3, spread=1.5):
    """Draw the parameters."""
    prior = rng.dirichlet(np.full(n_classes, 20.0))
    return Model(prior, spread * rng.normal(size=(n_classes, p)), rng.normal(size=(p, n_factors)), 0.5)
