"""Independent factor analysis straight from its densities: every latent of every row, in the units of X."""

from itertools import product

import numpy as np
from scipy.stats import multivariate_normal, norm


def log_mixture(z, weights, means, variances, plausibility=None):
    """Log sum_k pl_k pi_k N(z; mu_k, nu_k) of one number."""
    pl = np.ones(len(weights)) if plausibility is None else plausibility
    return np.log(sum(a * w * norm.pdf(z, m, np.sqrt(v)) for a, w, m, v in zip(pl, weights, means, variances)))


def log_likelihood(X, mean, unmixing, mixtures, plausibilities):
    """Equation 9 with soft labels: N log|det W| + sum_i sum_s log sum_k pl pi N((W x_i)_s).

    `mixtures` has (weights, means, variances) for every row of the square W, plain Gaussians as one component;
    `plausibilities` has (n, K_s) for those with class variables.
    """
    total = len(X) * np.log(abs(np.linalg.det(unmixing)))
    for i, x in enumerate(X):
        z = unmixing @ (x - mean)
        for s, mixture in enumerate(mixtures):
            pl = plausibilities[s][i] if s < len(plausibilities) else None
            total += log_mixture(z[s], *mixture, pl)
    return total


def tied_log_likelihood(X, mean, unmixing, weights, means, variances, plausibility):
    """One class variable for the first S latents: means and variances (S, C)."""
    S, total = len(means), 0.0
    for i, x in enumerate(X):
        z = unmixing @ (x - mean)
        density = 0.0
        for c, weight in enumerate(weights):
            density += plausibility[i][c] * weight * np.prod(norm.pdf(z[:S], means[:, c], np.sqrt(variances[:, c])))
        total += np.log(density) + norm.logpdf(z[S:]).sum() + np.log(abs(np.linalg.det(unmixing)))
    return total


def one_of_k(ids, size):
    """Plausibilities (n, size) of component numbers, -1 for none known."""
    return np.array([np.ones(size) if k < 0 else np.eye(size)[k] for k in ids])


def amari_distance(unmixing, mixing):
    """Distance of unmixing @ mixing from a scaled permutation, between 0 and 1 (Amari et al. 1996)."""
    P = np.abs(unmixing @ mixing)
    d = len(P)
    rows = (P / P.max(axis=1, keepdims=True)).sum(axis=1) - 1
    columns = (P / P.max(axis=0, keepdims=True)).sum(axis=0) - 1
    return (rows.sum() + columns.sum()) / (2 * d * (d - 1))


def exactly_one(probabilities):
    """Posterior of the class given that exactly one of independent yes-no variables is yes: by enumeration."""
    S, n = len(probabilities), len(probabilities[0])
    out = np.zeros((n, S))
    for i in range(n):
        for answer in product((0, 1), repeat=S):
            if sum(answer) == 1:
                out[i, answer.index(1)] = np.prod([probabilities[s][i][a] for s, a in enumerate(answer)])
    return out / out.sum(axis=1, keepdims=True)


def noisy_log_density(x, mean, A, noise_var, mixtures, plausibilities=None):
    """Attias' model x = mean + A z + e by the sum over all products of components; one row."""
    total = 0.0
    for state in product(*(range(len(m[0])) for m in mixtures)):
        weight = np.prod([m[0][k] for m, k in zip(mixtures, state)])
        if plausibilities is not None:
            weight *= np.prod([plausibilities[s][k] for s, k in enumerate(state)])
        mu = np.array([m[1][k] for m, k in zip(mixtures, state)])
        nu = np.array([m[2][k] for m, k in zip(mixtures, state)])
        cov = (A * nu) @ A.T + noise_var * np.eye(len(mean))
        total += weight * multivariate_normal(mean + A @ mu, cov).pdf(x)
    return np.log(total)
