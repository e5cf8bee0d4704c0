"""Algorithms 1 and 2 of Yu et al. 2006 with a loop over rows; formula (12) corrected, means estimated with W.

Rows are (x, y); a row whose y is NaN throughout is unlabeled. One noise variance for all outputs, as in the paper.
"""

import numpy as np

from .gaussian import Model, log_density


def expectations(model, X, Y):
    """E-step: <z> (n, k) and <zz'> (n, k, k) of every row, eqs. 5, 6, 11, 12."""
    k = model.W_x.shape[1]
    Ez, Ezz = [], []
    for x, y in zip(X, Y, strict=True):
        if np.isnan(y).all():
            C = model.W_x.T @ model.W_x + model.s2_x * np.eye(k)
            z = np.linalg.solve(C, model.W_x.T @ (x - model.m_x))
            cov = model.s2_x * np.linalg.inv(C)  # the printed (12) lacks the factor
        else:
            precision = (
                model.W_x.T @ model.W_x / model.s2_x + model.W_y.T @ (model.W_y / model.s2_y[:, None]) + np.eye(k)
            )
            b = model.W_x.T @ (x - model.m_x) / model.s2_x + model.W_y.T @ ((y - model.m_y) / model.s2_y)
            cov = np.linalg.inv(precision)
            z = cov @ b
        Ez.append(z)
        Ezz.append(cov + np.outer(z, z))
    return np.array(Ez), np.array(Ezz)


def _regress(V, Ez, Ezz):
    """Maximize the expected log-density of v = W z + m + noise: W, m and the sum of squared residuals."""
    k = Ez.shape[1]
    left, right = np.zeros((k + 1, k + 1)), np.zeros((k + 1, V.shape[1]))
    for v, z, zz in zip(V, Ez, Ezz, strict=True):
        left += np.block([[zz, z[:, None]], [z[None, :], np.ones((1, 1))]])
        right += np.outer(np.append(z, 1.0), v)
    beta = np.linalg.solve(left, right)
    W, m = beta[:k].T, beta[k]
    squares = 0.0
    for v, z, zz in zip(V, Ez, Ezz, strict=True):
        squares += (v - m) @ (v - m) - 2.0 * (v - m) @ W @ z + np.trace(W.T @ W @ zz)
    return W, m, squares


def m_step(Ez, Ezz, X, Y):
    """Eqs. 13-16 (8-10 when every row is labeled), the means estimated together with the loadings."""
    labeled = ~np.isnan(Y).all(axis=1)
    W_x, m_x, squares = _regress(X, Ez, Ezz)
    s2_x = squares / X.size
    W_y, m_y, squares = _regress(Y[labeled], Ez[labeled], Ezz[labeled])
    s2_y = np.full(Y.shape[1], squares / Y[labeled].size)
    return Model(W_x, m_x, s2_x, W_y, m_y, s2_y)


def em_step(model, X, Y):
    """One iteration."""
    return m_step(*expectations(model, X, Y), X, Y)


def fit(model, X, Y, n_iter):
    """Run EM from `model`; return the model and the log-likelihood (nats) before each iteration and at the end."""
    path = [log_density(model, X, Y).sum()]
    for _ in range(n_iter):
        model = em_step(model, X, Y)
        path.append(log_density(model, X, Y).sum())
    return model, np.array(path)


def start(rng, X, Y, k):
    """Random loadings and unit noise around the sample means."""
    p, q = X.shape[1], Y.shape[1]
    return Model(
        rng.normal(size=(p, k)), X.mean(axis=0), 1.0, rng.normal(size=(q, k)), np.nanmean(Y, axis=0), np.ones(q)
    )
