"""Gaussian-process read-outs from the definition: dense matrices, one noise ratio and one left-out row at a time.

y = m + f + e, f ~ N(0, s K), e ~ N(0, s r I), m and log s flat.
"""

import numpy as np
from scipy.special import gammaln, logsumexp


def kernel(rows, others, length):
    """Linear, or squared-exponential of height length squared."""
    if np.isinf(length):
        return np.array([[a @ b for b in others] for a in rows])
    return np.array([[length**2 * np.exp(-((a - b) ** 2).sum() / (2.0 * length**2)) for b in others] for a in rows])


def evidence(K, y, ratio):
    """log p(y | r) with s integrated out against 1/s, over the n - 1 contrasts of y that have no mean."""
    n = len(y)
    A = np.linalg.svd(np.ones((1, n)))[2][1:].T  # orthonormal columns, orthogonal to ones
    S = A.T @ (K + ratio * np.eye(n)) @ A
    squares = (A.T @ y) @ np.linalg.solve(S, A.T @ y)
    m = n - 1
    return gammaln(m / 2) - m / 2 * np.log(np.pi) - 0.5 * np.linalg.slogdet(S)[1] - m / 2 * np.log(squares)


def predict(K, y, ratio, across, own):
    """Mean and variance of one new row: kriging with an unknown mean, s by its unbiased estimate."""
    n = len(y)
    C, one = K + ratio * np.eye(n), np.ones(n)
    mean = (one @ np.linalg.solve(C, y)) / (one @ np.linalg.solve(C, one))
    s = (y - mean) @ np.linalg.solve(C, y - mean) / (n - 1)
    found = mean + across @ np.linalg.solve(C, y - mean)
    lack = 1.0 - one @ np.linalg.solve(C, across)
    var = own + ratio - across @ np.linalg.solve(C, across) + lack**2 / (one @ np.linalg.solve(C, one))
    return found, s * var


def left_out(K, y, ratio):
    """Every row predicted from the others, refitted without it: means and variances."""
    found = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        found.append(predict(K[np.ix_(rest, rest)], y[rest], ratio, K[i, rest], K[i, i]))
    return np.array(found).T


def shares(K, y, ratios):
    """Posterior probability of every noise ratio, and the log-evidence of all with the same prior probability."""
    logs = np.array([evidence(K, y, ratio) for ratio in ratios])
    return np.exp(logs - logsumexp(logs)), logsumexp(logs) - np.log(len(ratios))
