"""The linear map of the columns that is nearest to a projection which is not linear, by ridge regression."""

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import RidgeCV

from gnomon.graphs.neighbors import unit_rows
from gnomon.rows.kind import is_sparse

N_ROWS, FEWEST = 2000, 20  # rows that it is learned from
N_DIRECTIONS = 50  # leading ones of the rows, along which it may vary
RIDGES = 10.0 ** np.arange(-5, 4)  # in units of the largest squared singular value
NEAR = 0.5  # share of the variance of every component, of rows left out, from which it says something


def nearest_linear(table, Z, middle):
    """Return a function from rows to their parts, its slopes (p, k), and which components (k,) it comes near.

    Rows are taken as they are or at unit length, whichever comes nearer to the places Z (n, k) of rows left out. The
    parts of a row are what it has beyond the `middle` (p,), an entry that is missing none.
    """
    if len(Z) < FEWEST:
        return _as_they_are, np.zeros((table.shape[1], Z.shape[1])), np.zeros(Z.shape[1], dtype=bool)
    some = np.linspace(0, len(Z) - 1, min(N_ROWS, len(Z))).astype(int)
    rows = _filled(table[some], middle)
    found = [(prepared, *_ridge(prepared(rows), Z[some])) for prepared in (_as_they_are, unit_rows)]
    prepared, slopes, shares = max(found, key=lambda one: one[2].clip(0.0).sum())
    origin = 0.0 if is_sparse(table) else prepared(middle[None])

    def parts(rows):
        if is_sparse(rows):
            return prepared(rows).tocsr()
        return np.where(np.isfinite(rows), prepared(_filled(rows, middle)) - origin, 0.0)

    return parts, slopes, shares >= NEAR


def _as_they_are(rows):
    return rows


def _filled(rows, middle):
    return rows if is_sparse(rows) else np.where(np.isfinite(rows), rows, middle)


def _ridge(rows, Z):
    """Slopes (p, k), and the share of the variance of Z (n, k) that they tell of rows left out."""
    size = float(abs(rows).max()) or 1.0
    rows = rows / size if is_sparse(rows) else (rows - rows.mean(axis=0)) / size
    leading = TruncatedSVD(max(1, min(N_DIRECTIONS, *(size - 1 for size in rows.shape))), random_state=0).fit(rows)
    T = rows @ leading.components_.T
    unit = float(np.sqrt((T**2).sum(axis=0).max())) or 1.0
    found = RidgeCV(RIDGES, store_cv_results=True).fit(T / unit, Z)
    errors = found.cv_results_[:, :, np.flatnonzero(found.alpha_ == RIDGES)[0]].mean(axis=0)
    told = 1.0 - errors / np.maximum(Z.var(axis=0), np.finfo(float).tiny)
    return leading.components_.T @ (np.reshape(found.coef_, (Z.shape[1], -1)).T / (unit * size)), told
