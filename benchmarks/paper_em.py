"""The EM of semi-supervised PPCA as Yu et al. (2006) print it, one real output, over dense or sparse rows."""

import numpy as np


def paper_em(X, y, k, n_iter, noise=1e-5, seed=0):
    """Log-likelihood in nats after `n_iter` steps from random loadings; y is NaN where not observed.

    Means are held at those of the sample. Each step takes the posterior of z of every row, with y where there is one,
    then the loadings by regression and both noise variances from what they leave: two products with X a step.
    """
    n, p = X.shape
    seen = ~np.isnan(y)
    m, t = int(seen.sum()), y[seen] - y[seen].mean()
    mean = np.asarray(X.mean(axis=0)).ravel()
    energy = float((X.multiply(X) if hasattr(X, "multiply") else X * X).sum()) - n * float(mean @ mean)
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((p, k)) * np.sqrt(energy / (n * p * k))  # random, in the units of the data
    v, x_noise, y_noise = rng.standard_normal(k) * t.std() / np.sqrt(k), noise, noise
    for _ in range(n_iter):
        inner = np.eye(k) + W.T @ W / x_noise
        of_x, of_both = np.linalg.inv(inner), np.linalg.inv(inner + np.outer(v, v) / y_noise)
        b = (X @ W - mean @ W) / x_noise
        Z = b @ of_x
        Z[seen] = (b[seen] + np.outer(t, v) / y_noise) @ of_both
        seen_zz = Z[seen].T @ Z[seen] + m * of_both
        zz = Z[~seen].T @ Z[~seen] + (n - m) * of_x + seen_zz
        xz = X.T @ Z - np.outer(mean, Z.sum(axis=0))
        W, v = np.linalg.solve(zz, xz.T).T, np.linalg.solve(seen_zz, Z[seen].T @ t)
        x_noise = (energy - float(np.vdot(W, xz))) / (n * p)
        y_noise = float(t @ t - v @ (Z[seen].T @ t)) / m
    return _log_likelihood(X @ W - mean @ W, energy, p, W, x_noise, t, seen, v, y_noise)


def _log_likelihood(XW, energy, p, W, x_noise, t, seen, v, y_noise):
    inner = np.eye(len(v)) + W.T @ W / x_noise
    cov = np.linalg.inv(inner)
    b = XW / x_noise
    log_det = p * np.log(x_noise) + np.linalg.slogdet(inner)[1]
    of_x = len(XW) * (p * np.log(2 * np.pi) + log_det) + energy / x_noise - float(((b @ cov) * b).sum())
    variance, left = float(v @ cov @ v) + y_noise, t - b[seen] @ cov @ v
    of_y = len(t) * np.log(2 * np.pi * variance) + float(left @ left) / variance
    return -0.5 * (of_x + of_y)
