"""Colored maximum variance unfolding, from the definition: objective, program, spanning tree by search."""

import itertools

import numpy as np


def objective(K, X, L, edges, penalty):
    """The objective at an n-by-n kernel matrix, edge by edge."""
    n = len(X)
    H = np.eye(n) - 1 / n
    squared = np.array([((X[i] - X[j]) ** 2).sum() for i, j in edges])
    unit = np.trace(H @ L @ H) * np.trace(H @ X @ X.T @ H) / n
    kept = np.array([K[i, i] + K[j, j] - 2 * K[i, j] for i, j in edges])
    return np.trace(H @ K @ H @ L) / unit - penalty * np.mean(((kept - squared) / squared.mean()) ** 2)


def maximize(X, L, edges, penalty, Q):
    """The program as written, by cvxpy over Y in K = Q Y Q'; returns K and the value."""
    import cvxpy

    n, m = Q.shape
    H = np.eye(n) - 1 / n
    squared = np.array([((X[i] - X[j]) ** 2).sum() for i, j in edges])
    unit = np.trace(H @ L @ H) * np.trace(H @ X @ X.T @ H) / n
    Y = cvxpy.Variable((m, m), PSD=True)
    K = Q @ Y @ Q.T
    kept = cvxpy.hstack([K[i, i] + K[j, j] - 2 * K[i, j] for i, j in edges])
    loss = cvxpy.sum_squares((kept - squared) / squared.mean()) / len(edges)
    problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.trace(H @ K @ H @ L) / unit - penalty * loss))
    problem.solve(solver="CLARABEL")
    return Q @ Y.value @ Q.T, problem.value


def spanning_tree_length(squared):
    """Least total squared length over all spanning trees of a few points, by trying every set of edges."""
    n = len(squared)
    best = np.inf
    for edges in itertools.combinations(list(itertools.combinations(range(n), 2)), n - 1):
        part = list(range(n))
        for i, j in edges:
            old, new = part[i], part[j]
            part = [new if p == old else p for p in part]
        if len(set(part)) == 1:
            best = min(best, sum(squared[i, j] for i, j in edges))
    return best


def label_kernel(labels):
    """1 for two labeled rows of one class and for a row with itself, else 0; None is unlabeled."""
    n = len(labels)
    return np.array(
        [[float(i == j or (labels[i] is not None and labels[i] == labels[j])) for j in range(n)] for i in range(n)]
    )


def leave_one_out_error(K, Z, ridge):
    """Squared error of kernel ridge regression with an intercept, each row left out and the rest refitted."""
    n, total = len(K), 0.0
    for i in range(n):
        rows = np.delete(np.arange(n), i)
        A = np.zeros((n, n))
        A[: n - 1, : n - 1] = K[np.ix_(rows, rows)] + ridge * np.eye(n - 1)
        A[: n - 1, -1] = A[-1, : n - 1] = 1
        solution = np.linalg.solve(A, np.vstack([Z[rows], np.zeros((1, Z.shape[1]))]))
        total += ((K[i, rows] @ solution[:-1] + solution[-1] - Z[i]) ** 2).sum()
    return total
