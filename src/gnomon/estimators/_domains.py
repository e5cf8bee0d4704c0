"""Rows of several domains: which row is of which, and features put side by side."""

from typing import Any, Self

import numpy as np

from ..rows.namespace import to_host
from ..targets.forms import is_missing
from ._estimator import fit_words


class WithDomains:
    """An estimator whose rows are of several domains; `_fit(rows, targets, domain)` is the part of the model."""

    def fit(self, X: Any, y: Any = None, domain: Any = None) -> Self:
        self._fit_rows(X, y, domain=domain)
        return self

    fit.__doc__ = fit_words("""domain : array-like of shape (n_samples,), default=None
            The domain of each row: any labels, usually two. None takes the labeled rows as one domain and the
            unlabeled ones as the other; when all rows are labeled, or none, they are of one domain.""")


def read_domains(domain, labeled):
    """Return the labels of the domains and the number of each row's (n,); None takes labeled and unlabeled rows."""
    if domain is None:
        return np.unique(labeled, return_inverse=True)
    return np.unique(_domain_labels(domain, len(labeled)), return_inverse=True)


def match_domains(domain, known, n_samples):
    """Number of each new row's domain (n,) among the sorted labels `known`."""
    values = _domain_labels(domain, n_samples)
    strange = np.flatnonzero(~np.isin(values, known))
    if len(strange):
        raise ValueError(
            f"domain={values.tolist()[strange[0]]!r} of row {strange[0]} was not in fit; known: {known.tolist()}."
        )
    return np.searchsorted(known, values)


def block_scale(scale, x_variance, z_variance):
    """Factor that gives the projections `scale` squared times the total variance of the features."""
    return scale * float(np.sqrt(x_variance / z_variance)) if z_variance > 0 else scale


def _domain_labels(domain, n_samples):
    values = np.asarray(to_host(domain))
    if values.ndim != 1 or len(values) != n_samples:
        raise ValueError(f"domain has shape {values.shape}; one value for each of the {n_samples} rows of X is wanted.")
    missing = np.flatnonzero([is_missing(value) for value in values.tolist()])
    if len(missing):
        raise ValueError(f"domain is missing in row {missing[0]}; every row is of some domain.")
    return values.astype(str) if values.dtype.kind == "O" else values
