"""What displays ask of the columns of a table: their names, their means, and how they go with other numbers."""

import numpy as np

from gnomon.rows.frames import as_frame, as_table
from gnomon.rows.kind import is_sparse

EPS, TINY = float(np.finfo(np.float64).eps), 1e-300


def table_of(X):
    """X (n, p) as floats, dense or csr."""
    X = as_table(X)
    return X.tocsr().astype(np.float64) if is_sparse(X) else np.asarray(X, dtype=np.float64)


def own_columns(X, said):
    """X, and of a frame the columns that the model was fitted to, in its order."""
    frame = as_frame(X)
    if frame is not None and said.feature_names and set(said.feature_names) <= set(frame.columns):
        return frame.select(list(said.feature_names)).to_native()
    return X


def names_of(X, said, given):
    """Names of the columns of X: those given, of a frame, of the fit, or x0, x1, ..."""
    p = X.shape[1] if hasattr(X, "shape") else len(X[0])
    names = given
    if names is None and hasattr(X, "columns"):
        names = list(X.columns)
    if names is None:
        known = said.column_names()
        names = known if len(known) == p else [f"x{j}" for j in range(p)]
    if len(names) != p:
        raise ValueError(f"feature_names has {len(names)} names; X has {p} columns.")
    return [str(name) for name in names]


def column_means(X):
    """Means (p,) of a table, over the entries that are there; zero of a column that has none."""
    if is_sparse(X):
        return np.asarray(X.mean(axis=0)).ravel()
    seen = np.isfinite(X)
    return np.where(seen, X, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)


def column_deviations(X, mean):
    """Standard deviations (p,) of a table about its means, over the entries that are there."""
    if is_sparse(X):
        squares = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        return np.sqrt(np.maximum(squares - mean**2, 0.0))
    seen = np.isfinite(X)
    return np.sqrt((np.where(seen, X - mean, 0.0) ** 2).sum(axis=0) / np.maximum(seen.sum(axis=0), 1))


def correlations(X, Z):
    """Correlations (p, k) of the columns of X with numbers Z (n, k); zero of a constant column, gaps at its mean.

    A column is constant where it varies by rounding alone, whatever the units of the others.
    """
    X = table_of(X)
    mean, C = column_means(X), Z - Z.mean(axis=0)
    if is_sparse(X):
        cross = np.asarray(X.T @ C)
        raw = np.asarray(X.multiply(X).sum(axis=0)).ravel()
        squares, least = raw - len(Z) * mean**2, len(Z) * EPS * raw
    else:
        D = np.where(np.isfinite(X), X - mean, 0.0)
        cross, squares = D.T @ C, np.einsum("ij,ij->j", D, D)
        least = len(Z) * (len(Z) * EPS * mean) ** 2
    of_x, of_z = np.sqrt(np.maximum(squares, 0.0)), np.sqrt((C**2).sum(axis=0))
    size = of_x[:, None] * of_z
    known = (squares > least)[:, None] & (of_z > 1e-9 * of_z.max(initial=0.0)) & (size > TINY)
    return np.where(known, cross / np.where(known, size, 1.0), 0.0)
