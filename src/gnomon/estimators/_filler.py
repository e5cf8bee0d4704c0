"""What fills missing entries of rows: a PPCA of columns in units of their deviations.

Columns that hardly any row observes together have nothing to say of each other: no row tells how the factors of some
are turned against those of the others, and a PPCA of all of them takes any turn for known. Each part has its own.
"""

from typing import Any, NamedTuple

import numpy as np

from .._types import Array
from ..rows.gaps import ROUGH, n_foretelling, parts_together
from ..rows.spare import spare_rank, units_of_columns
from .ppca import PPCA, part_of_model

LEAST = 1e-12  # noise of a column in units of its variance


class Filler(NamedTuple):
    """A `PPCA` that fills rows in `units` of their columns, None where no column has any components to spare."""

    ppca: Any
    units: Array  # (p,)
    left_open: Array  # (p,)   variance of columns that the others hardly foretell; zero of those of the PPCA's own


def filler_of_gaps(X: Array, most: int, random_state: Any = 0) -> Filler:
    """What fills rows X (n, p), by at most so many components each part; of complete rows by as many."""
    units = units_of_columns(X)
    Z, seen = X / units, ~np.isnan(X)
    parts, choose = parts_together(seen), not seen.all()
    found = [_of_part(Z if len(parts) == 1 else Z[:, part], most, random_state, choose) for part in parts]
    if len(parts) == 1 or not any(found):
        return Filler(found[0], units, np.zeros(len(units)))
    return _joined(found, parts, Z, units)


def filled(X: Array, ppca: Any, units: Any) -> Array:
    """Rows, of which missing entries have their mean given the others."""
    return np.where(np.isnan(X), (ppca.impute(X / units) * units).astype(X.dtype, copy=False), X)


def _of_part(Z: Array, most: int, random_state: Any, choose: bool) -> Any:
    some = ~np.isnan(Z).all(axis=1)
    Z, k = Z if some.all() else Z[some], spare_rank(Z, most)
    how = {"random_state": random_state}
    if choose:
        k = n_foretelling(Z, k, lambda X, k: part_of_model(X, k, tol=ROUGH, **how).impute(X))
    return part_of_model(Z, k, **how) if k > 0 else None


def _joined(found: list[Any], parts: list[Array], Z: Array, units: Array) -> Filler:
    """The PPCA of all columns that is the one of each part, in units in which the noise of all is one."""
    p, k = len(units), sum(0 if one is None else one.n_components_ for one in found)
    std, mean, components, at = np.ones(p), np.nanmean(Z, axis=0), np.zeros((k, p)), 0
    for one, part in zip(found, parts, strict=True):
        if one is not None:
            std[part], mean[part] = np.sqrt(max(one.noise_variance_, LEAST)), one.mean_
            components[at : at + one.n_components_, part] = one.components_ / std[part]
            at += one.n_components_
    joined, first = PPCA(k), next(one for one in found if one is not None)
    vars(joined).update({name: value for name, value in vars(first).items() if name.endswith("_")})
    joined.components_, joined.mean_, joined.noise_variance_ = components, mean / std, 1.0
    joined.n_components_, joined.n_features_in_ = k, p
    few = np.flatnonzero(~components.any(axis=0))
    left_open = np.zeros(p)
    if len(few):
        W, joined.mean_[few], left_open[few] = _of_few_entries(joined, Z / std, few)
        components[:, few] = W.T
    return Filler(joined, units * std, left_open)


def _of_few_entries(joined: PPCA, Z: Array, few: Array) -> tuple[Array, Array, Array]:
    """Loadings and means of columns by ridge regression on what the other columns of a row say of its factors.

    Each factor is held to have the share in their variance that it has in that of the others, in whose noise it counts.
    Last comes the variance of an entry that they foretell: its own, and that of what so few entries tell of them.
    """
    rows = np.flatnonzero(~np.isnan(Z[:, few]).all(axis=1))
    T, cov = joined.posterior(Z[rows], uncertainty="plug-in")
    T1, k = np.column_stack([T, np.ones(len(T))]), T.shape[1]
    second = T1[:, :, None] * T1[:, None, :]
    second[:, :k, :k] += cov
    seen = ~np.isnan(Z[np.ix_(rows, few)])
    sums = (seen.T.astype(float) @ second.reshape(len(rows), -1)).reshape(len(few), k + 1, k + 1)
    shares = (joined.components_**2).sum(axis=1) / (joined.n_features_in_ - len(few))
    sums[:, :k, :k] += np.diag(1.0 / shares)
    inverse = np.linalg.inv(sums)
    found = np.matmul(inverse, (np.where(seen, Z[np.ix_(rows, few)], 0.0).T @ T1)[:, :, None])[:, :, 0]
    noise = np.maximum(1.0 - (found[:, :k] ** 2).sum(axis=1), 0.0)
    return found[:, :k], found[:, k], noise * (1.0 + np.trace(inverse, axis1=1, axis2=2))
