"""The projection of one or more mixtures of the same rows."""

from collections.abc import Sequence

import numpy as np

from ..._types import Array
from ...numerics.linalg import rank_of, sign_of_columns, symmetrize, top_eigh
from .mixture import Params, Within

FILLED_STD = 0.1  # within-class standard deviation of projections that separate no classes; of the others it is one


def directions(params: Sequence[Params], n_components: int) -> tuple[Array, int]:
    """Projection D (r, k) of one or more models of the same rows, and how many of its columns separate classes.

    With Sigma the mean of their within-class covariances, D' Sigma D is diagonal: one for directions that separate
    classes, `FILLED_STD` squared for the others, lest they blur the distances. First come the leading directions of the
    sum of their between-class covariances against Sigma, at most one less than the classes of each model, then factors
    of Sigma by falling variance, made orthogonal to them in its metric, then leading directions of all rows.
    """
    within = mean_within([one.within for one in params])
    Q = within.Q
    between = _whitened(within, np.hstack([_between_root(one) for one in params]))  # (r, sum of c)
    U, sizes, _ = np.linalg.svd(between, full_matrices=False)
    separate = sum(len(one.prior) - 1 for one in params)
    most = min(n_components, separate, rank_of(sizes, 1e-8, 1e-8))
    U = U[:, :most]
    if most < n_components:
        # by falling variance, so that each is orthogonal to the class directions and to the factors before it
        filled, _ = np.linalg.qr(np.hstack([U, Q, np.eye(len(Q))]))
        U = np.hstack([U, filled[:, most:n_components]])
    D = _whitened(within, U)
    if most:
        D[:, most:] *= FILLED_STD
    return np.asarray(D * sign_of_columns(D)), most


def separations(params: Sequence[Params]) -> Array:
    """Variance between classes along each direction that may separate some, that within them being one; falling."""
    within = mean_within([one.within for one in params])
    between = _whitened(within, np.hstack([_between_root(one) for one in params]))
    separate = min(len(between), sum(len(one.prior) - 1 for one in params))
    return np.asarray(np.linalg.svd(between, compute_uv=False)[:separate] ** 2)


def _whitened(within: Within, A: Array) -> Array:
    """Sigma^-1/2 A."""
    Q, values, noise = within
    shift = 1.0 / np.sqrt(values) - 1.0 / np.sqrt(noise)  # Sigma^-1/2 = I / sqrt(noise) + Q diag(shift) Q'
    return np.asarray(A / np.sqrt(noise) + Q @ (shift[:, None] * (Q.T @ A)))


def _between_root(params: Params) -> Array:
    """Means about their mean, each times the root of its prior (r, c): its square is the between-class covariance."""
    return np.asarray((np.sqrt(params.prior)[:, None] * (params.means - params.prior @ params.means)).T)


def mean_within(parts: Sequence[Within]) -> Within:
    """Mean of within-class covariances of the same rows, with factors by falling variance."""
    if len(parts) == 1:
        return parts[0]
    r, noise = len(parts[0].Q), float(np.mean([one.noise_var for one in parts]))
    n_factors = sum(one.Q.shape[1] for one in parts)
    basis = np.eye(r) if n_factors >= r else np.linalg.qr(np.hstack([one.Q for one in parts]))[0]
    above = np.zeros((basis.shape[1], basis.shape[1]))
    for Q, values, own_noise in parts:
        inside = basis.T @ Q
        above += (inside * (values - own_noise)) @ inside.T / len(parts)
    excess, vectors = top_eigh(symmetrize(above), basis.shape[1])
    return Within(basis @ vectors, noise + np.maximum(excess, 0.0), noise)
