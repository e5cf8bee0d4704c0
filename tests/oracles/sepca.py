"""Supervised exponential family PCA typed from Guo 2008, row by row, with the subgradient and the entropy corrected.

Constants log P0 and log t are dropped, as in the library. The kernel matrix is K = rows rows'.
"""

import numpy as np


def entropy(T):
    """Sum of T log T, zero at zero."""
    return sum(v * np.log(v) for v in np.ravel(T) if v > 0)


def objective(T_x, T_y, K, Y, k, beta):
    """The paper's (8): T_x (t, t), T_y (t, q); the maximum over M is the sum of the k largest eigenvalues."""
    t = len(K)
    x_part = (np.eye(t) - T_x) @ K @ (np.eye(t) - T_x).T
    y_part = (Y - T_y) @ (Y - T_y).T
    ones = np.ones((t, t))
    largest = np.linalg.eigvalsh(x_part + y_part)[::-1][:k].sum()
    return entropy(T_x) + entropy(T_y) + (largest + np.trace(y_part @ ones)) / (2 * beta)


def top_projector(T_x, T_y, K, Y, k):
    """The paper's M: projector on the leading eigenvectors."""
    one = np.eye(len(K))
    vectors = np.linalg.eigh((one - T_x) @ K @ (one - T_x).T + (Y - T_y) @ (Y - T_y).T)[1][:, -k:]
    return vectors @ vectors.T


def subgradient(T_x, T_y, K, Y, k, beta):
    """(10), with M + E where M is printed for T_y."""
    t = len(K)
    M = top_projector(T_x, T_y, K, Y, k)
    g_x = np.log(T_x) + 1 - M @ (np.eye(t) - T_x) @ K / beta
    g_y = np.log(T_y) + 1 - (M + np.ones((t, t))) @ (Y - T_y) / beta
    return g_x, g_y


def log_likelihood(S_x, S_y, Y):
    """Of scores S_x (t, t), each row's own base point being the row itself, and S_y (t, q) with one-hot Y."""
    total = 0.0
    for i in range(len(S_x)):
        total += S_x[i, i] - np.log(np.exp(S_x[i]).sum())
        if Y[i].any():
            total += S_y[i] @ Y[i] - np.log(np.exp(S_y[i]).sum())
    return total


def rank_value(Z, W, Omega, b, rows, Y, beta):
    """The paper's (1) on the sample: what is maximized before the relaxation."""
    squares = (W**2).sum() + (Omega**2).sum() + (b**2).sum()
    return log_likelihood(Z @ W @ rows.T, Z @ Omega + b, Y) - beta / 2 * squares


def dual_value(F, b, rows, Y, k, beta, squared_norm):
    """The saddle dual, given the squared norm of F as a function of it and k."""
    r = rows.shape[1]
    penalty = beta / 2 * (squared_norm(F, k) + (b**2).sum())
    return log_likelihood(F[:, :r] @ rows.T, F[:, r:] + b, Y) - penalty


def softmax(S):
    E = np.exp(S - S.max(axis=1, keepdims=True))
    return E / E.sum(axis=1, keepdims=True)
