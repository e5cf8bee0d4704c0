"""Formulas of Yu et al. 2006 exactly as printed, where the print is wrong; only for the tests of the corrections."""

import numpy as np

from . import em
from .gaussian import Model


def covariance_12(W_x, s2_x):
    """Eq. 12: covariance of z given x, without the factor s2_x."""
    return np.linalg.inv(W_x.T @ W_x + s2_x * np.eye(W_x.shape[1]))


def em_step_12(model, X, Y):
    """One iteration of algorithm 2 with eq. 12 for the rows without a target."""
    Ez, Ezz = em.expectations(model, X, Y)
    free = np.isnan(Y).all(axis=1)
    Ezz[free] = covariance_12(model.W_x, model.s2_x) + Ez[free][:, :, None] * Ez[free][:, None, :]
    return em.m_step(Ez, Ezz, X, Y)


def theorem_2(X, Y, k, s2_x, s2_y):
    """Eqs. 17 and 18: the square root of lambda - 1, whatever its sign."""
    V = np.hstack([(X - X.mean(axis=0)) / np.sqrt(s2_x), (Y - Y.mean(axis=0)) / np.sqrt(s2_y)])
    values, vectors = np.linalg.eigh(V.T @ V / len(V))
    with np.errstate(invalid="ignore"):
        W = vectors[:, ::-1][:, :k] * np.sqrt(values[::-1][:k] - 1.0)
    p = X.shape[1]
    return Model(
        np.sqrt(s2_x) * W[:p], X.mean(axis=0), s2_x, np.sqrt(s2_y) * W[p:], Y.mean(axis=0), np.full(Y.shape[1], s2_y)
    )


def theorem_3_ii(K, Y, k, s2_x, s2_y, cross):
    """Theorem 3 (ii): D^-1 without the factor N s2_x, R = I; `cross` (l, n) are inner products of new rows."""
    n = len(K)
    values, V = np.linalg.eigh(K / s2_x + Y @ Y.T / s2_y)
    values, V = values[::-1][:k], V[:, ::-1][:, :k]
    D = np.diag(1.0 - n / values)
    left = V.T @ K @ V + np.linalg.inv(D)
    return np.sqrt(n) * (np.linalg.inv(np.sqrt(D)) @ np.linalg.inv(left) @ V.T @ cross.T).T


def rotation(W_x, W_y):
    """Section 5.1: the rotation that makes W_x'W_x + W_y'W_y diagonal, largest value first."""
    return np.linalg.eigh(W_x.T @ W_x + W_y.T @ W_y)[1][:, ::-1]
