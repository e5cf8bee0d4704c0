"""Rows of several domains: which row is of which, and features put side by side."""

import numpy as np
import scipy.sparse as sp

from ._targets import _is_missing, _to_numpy


def read_domains(domain, labelled):
    """Return the domain of each row as a number (n,); None takes labelled rows as one, unlabelled ones as another."""
    if domain is None:
        return np.unique(labelled, return_inverse=True)[1]
    values = _to_numpy(domain)
    if values.ndim != 1 or len(values) != len(labelled):
        raise ValueError(
            f"domain has shape {values.shape}; one value for each of the {len(labelled)} rows of X is wanted."
        )
    missing = np.flatnonzero([_is_missing(value) for value in values.tolist()])
    if len(missing):
        raise ValueError(f"domain is missing in row {missing[0]}; every row is of some domain.")
    return np.unique(values.astype(str) if values.dtype.kind == "O" else values, return_inverse=True)[1]


def side_by_side(X, Z):
    """Features X and projections Z (n, k) in one table, sparse when X is."""
    if hasattr(X, "tocsr"):
        stack = sp.hstack([X, (sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix)(Z)], format="csr")
        return stack.astype(X.dtype, copy=False)
    return np.hstack([X, np.asarray(Z, dtype=X.dtype)])


def block_scale(scale, x_variance, z_variance):
    """Factor that gives the projections `scale` squared times the total variance of the features."""
    return scale * float(np.sqrt(x_variance / z_variance)) if z_variance > 0 else scale
