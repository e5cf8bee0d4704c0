"""Supervised dimension reduction with generalized linear models: the objective, entry by entry, and its gradient."""

import numpy as np


def entry_nll(family, x, theta):
    """Negative log-likelihood of one number (of one row for "multinomial"), terms of x alone left out."""
    if family == "gaussian":
        return 0.5 * theta**2 - x * theta
    if family == "bernoulli":
        return np.log(1 + np.exp(theta)) - x * theta
    if family == "poisson":
        return np.exp(theta) - x * theta
    return np.sum(x) * np.logaddexp.reduce(theta) - np.sum(x * theta)


def table_nll(family, X, theta):
    """Sum over the entries of a table; NaN entries are left out, with "multinomial" their row."""
    total = 0.0
    for i in range(len(X)):
        if family == "multinomial":
            if not np.isnan(X[i]).any():
                total += entry_nll(family, X[i], theta[i])
            continue
        for j in range(X.shape[1]):
            if not np.isnan(X[i, j]):
                total += entry_nll(family, X[i, j], theta[i, j])
    return total


def objective(X, Y, families, U, Vx, bx, Vy, by, priors, alpha, ridge):
    """J of the theory page."""
    x = table_nll(families[0], X, U @ Vx + bx) + ridge / 2 * (np.sum(Vx**2) + np.sum((bx - priors[0]) ** 2))
    y = table_nll(families[1], Y, U @ Vy + by) + ridge / 2 * (np.sum(Vy**2) + np.sum((by - priors[1]) ** 2))
    return alpha * x + y + ridge / 2 * np.sum(U**2)


def numeric_gradient(function, point, size=1e-5):
    """Central differences."""
    out = np.zeros_like(point)
    for i in np.ndindex(point.shape):
        up, down = point.copy(), point.copy()
        up[i] += size
        down[i] -= size
        out[i] = (function(up) - function(down)) / (2 * size)
    return out


def gaussian_projection(X, V, b, ridge):
    """Minimizer of |x - u V - b|^2 / 2 + ridge / 2 |u|^2, row by row."""
    return np.array([np.linalg.solve(V @ V.T + ridge * np.eye(len(V)), V @ (x - b)) for x in X])
