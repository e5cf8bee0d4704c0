"""Mixtures of probabilistic PCA, straight from their Gaussian densities: row by row, any entries of x missing."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal


class Model(NamedTuple):
    """x | c ~ N(m_c, W_c W_c' + s2_c I), c with probability weights_c."""

    weights: np.ndarray  # (s,)
    means: np.ndarray  # (s, p)
    W: list  # s arrays (p, k_c)
    s2: np.ndarray  # (s,)


def random_model(rng, p, sizes, spread=3.0):
    """Draw the parameters of a mixture; `spread` is the size of the means beside loadings of unit variance."""
    s = len(sizes)
    weights = rng.dirichlet(np.full(s, 20.0))
    return Model(
        weights, spread * rng.normal(size=(s, p)), [rng.normal(size=(p, k)) for k in sizes], rng.uniform(0.1, 0.3, s)
    )


def draw(rng, model, n):
    """Draw n rows and the components they come from."""
    labels = rng.choice(len(model.weights), size=n, p=model.weights)
    X = np.array([rng.multivariate_normal(model.means[c], covariance(model, c)) for c in labels])
    return X, labels


def covariance(model, c):
    """Covariance of x in a component."""
    return model.W[c] @ model.W[c].T + model.s2[c] * np.eye(model.means.shape[1])


def log_joint(model, X):
    """Log p(component) + log p(observed x | component), (n, s)."""
    out = np.empty((len(X), len(model.weights)))
    for i, x in enumerate(X):
        o = ~np.isnan(x)
        for c in range(len(model.weights)):
            density = 0.0
            if o.any():
                density = multivariate_normal(model.means[c][o], covariance(model, c)[np.ix_(o, o)]).logpdf(x[o])
            out[i, c] = np.log(model.weights[c]) + density
    return out


def log_density(model, X):
    """Log p(observed x) of every row, in nats."""
    return logsumexp(log_joint(model, X), axis=1)


def responsibilities(model, X):
    """Probability of each component given the observed entries."""
    return np.exp(log_joint(model, X) - log_density(model, X)[:, None])


def latent(model, x, c):
    """Mean and covariance of z given the observed entries of one row and its component."""
    o = ~np.isnan(x)
    W, k = model.W[c][o], model.W[c].shape[1]
    gain = np.linalg.solve(covariance(model, c)[np.ix_(o, o)], W).T
    return gain @ (x[o] - model.means[c][o]), np.eye(k) - gain @ W


def impute(model, X):
    """Missing entries replaced by their conditional expectations."""
    out, R = X.copy(), responsibilities(model, X)
    for i, x in enumerate(X):
        m, o = np.isnan(x), ~np.isnan(x)
        out[i, m] = 0.0
        for c in range(len(model.weights)):
            C = covariance(model, c)
            inside = np.linalg.solve(C[np.ix_(o, o)], x[o] - model.means[c][o])
            out[i, m] += R[i, c] * (model.means[c][m] + C[np.ix_(m, o)] @ inside)
    return out


def em_step(model, X):
    """One EM step on complete rows, components and their eigenvectors in closed form (Tipping and Bishop 1999)."""
    R = responsibilities(model, X)
    counts, p = R.sum(axis=0), X.shape[1]
    means = (R.T @ X) / counts[:, None]
    W, s2 = [], []
    for c, W_c in enumerate(model.W):
        k = W_c.shape[1]
        D = X - means[c]
        values, vectors = np.linalg.eigh((D * R[:, [c]]).T @ D / counts[c])
        s2.append(values[: p - k].mean())
        W.append(vectors[:, p - k :] * np.sqrt(values[p - k :] - s2[-1]))
    return Model(counts / len(X), means, W, np.array(s2))
