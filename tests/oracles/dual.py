"""Dual form of supervised PPCA, typed from Yu et al. 2006: algorithms 2 and 3 with fixed sample means, theorem 3.

Corrections: the factor s2_x in (12), N s2_x in theorem 3 (ii), and the divisor of (25), which is the dimension of
feature space. The first n_lab rows are the labeled ones, as in the paper.
"""

from typing import NamedTuple

import numpy as np


class Primal(NamedTuple):
    W_x: np.ndarray
    W_y: np.ndarray
    s2_x: float
    s2_y: float


class Dual(NamedTuple):
    Z: np.ndarray
    C: np.ndarray
    C1: np.ndarray
    s2_x: float
    s2_y: float


def primal_start(start, X, Y):
    """The loadings that a dual start stands for."""
    Z1 = start.Z[: len(Y)]
    return Primal(X.T @ start.Z @ np.linalg.inv(start.C), Y.T @ Z1 @ np.linalg.inv(start.C1), start.s2_x, start.s2_y)


def algorithm_2(model, X, Y):
    """One iteration on centered rows; Y holds the labeled ones, which come first."""
    (W_x, W_y, s2_x, s2_y), n_lab, k = model, len(Y), model.W_x.shape[1]
    Z, C, C1 = np.zeros((len(X), k)), np.zeros((k, k)), np.zeros((k, k))
    for i, x in enumerate(X):
        if i < n_lab:
            A = W_x.T @ W_x / s2_x + W_y.T @ W_y / s2_y + np.eye(k)
            Z[i] = np.linalg.solve(A, W_x.T @ x / s2_x + W_y.T @ Y[i] / s2_y)
            zz = np.linalg.inv(A) + np.outer(Z[i], Z[i])
            C1 += zz
        else:
            M = W_x.T @ W_x + s2_x * np.eye(k)
            Z[i] = np.linalg.solve(M, W_x.T @ x)
            zz = s2_x * np.linalg.inv(M) + np.outer(Z[i], Z[i])
        C += zz
    W_x = X.T @ Z @ np.linalg.inv(C)
    W_y = Y.T @ Z[:n_lab] @ np.linalg.inv(C1)
    s2_x = ((X**2).sum() + np.trace(W_x.T @ W_x @ C) - 2 * np.trace(W_x @ Z.T @ X)) / X.size
    s2_y = ((Y**2).sum() + np.trace(W_y.T @ W_y @ C1) - 2 * np.trace(Y @ W_y @ Z[:n_lab].T)) / Y.size
    return Primal(W_x, W_y, s2_x, s2_y)


def algorithm_3(state, K, Y, dimension):
    """One iteration on the centered kernel matrix K, eqs. 21-26."""
    n, (n1, q), k = len(K), Y.shape, state.Z.shape[1]
    K1, K2, Z, Z1 = K[:n1], K[n1:], state.Z, state.Z[:n1]
    Ci, C1i, YY = np.linalg.inv(state.C), np.linalg.inv(state.C1), Y @ Y.T
    A = Ci @ Z.T @ K @ Z @ Ci / state.s2_x + C1i @ Z1.T @ YY @ Z1 @ C1i / state.s2_y + np.eye(k)
    free = np.linalg.inv(Ci @ Z.T @ K @ Z @ Ci / state.s2_x + np.eye(k))
    new1 = (K1 @ Z @ Ci / state.s2_x + YY @ Z1 @ C1i / state.s2_y) @ np.linalg.inv(A)
    new2 = K2 @ Z @ Ci @ free / state.s2_x
    C1 = n1 * np.linalg.inv(A) + new1.T @ new1
    C = C1 + (n - n1) * free + new2.T @ new2
    Z = np.vstack([new1, new2])
    s2_x = (np.trace(K) - np.trace(Z.T @ K @ Z @ np.linalg.inv(C))) / (dimension * n)
    s2_y = (np.trace(YY) - np.trace(new1.T @ YY @ new1 @ np.linalg.inv(C1))) / (q * n1)
    return Dual(Z, C, C1, s2_x, s2_y)


def algorithm_3_projection(state, K, cross):
    """Output line of algorithm 3, for centered kernel values (l, n) of new rows."""
    left = state.Z.T @ K @ state.Z + state.s2_x * state.C @ state.C
    return cross @ state.Z @ np.linalg.inv(left) @ state.C


def theorem_3(K, Y, k, s2_x, s2_y, cross):
    """Projections (i) of the training rows given x and y, and (ii) of new rows given x, with R = I."""
    n = len(K)
    values, V = np.linalg.eigh(K / s2_x + Y @ Y.T / s2_y)
    values, V = values[::-1][:k], V[:, ::-1][:, :k]
    D = np.diag(1.0 - n / values)
    Z = np.sqrt(n) * V @ np.sqrt(D)
    left = V.T @ K @ V + n * s2_x * np.linalg.inv(D)
    return Z, np.sqrt(n) * (np.linalg.inv(np.sqrt(D)) @ np.linalg.inv(left) @ V.T @ cross.T).T


def theorem_3_loadings(K, Y, k, s2_x, s2_y):
    """Combinations A of the rows, W_x = X'A and W_y = Y'A; directions below the noise are dropped."""
    values, V = np.linalg.eigh(K / s2_x + Y @ Y.T / s2_y)
    values, V = values[::-1][:k], V[:, ::-1][:, :k]
    return V * np.sqrt(np.maximum(1.0 / len(K) - 1.0 / values, 0.0))


def project(K, A, s2_x, cross):
    """Projection of new rows given x alone, by the loadings W_x = X'A: (W_x'W_x + s2_x I)^-1 W_x'x."""
    return cross @ A @ np.linalg.inv(A.T @ K @ A + s2_x * np.eye(A.shape[1]))


def centered(phi, phi_new):
    """Inner products about the mean of the training rows, of explicit features: training, and new with training."""
    a, b = phi - phi.mean(axis=0), phi_new - phi.mean(axis=0)
    return a @ a.T, b @ a.T
