"""Structural correspondence learning (Blitzer, McDonald and Pereira 2006): directions that predict pivot features.

It is a projection: x has no density, and there is nothing to predict.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr, svd

from .._types import Array, IntArray
from ..numerics.folds import ranks
from ..numerics.linalg import rank_of, sign_of_columns, symmetrize
from ..rows.contract import Rows
from ..rows.products import Presence
from ..rows.standard import StandardRows

LARGEST_SIDE = 10_000  # rows or columns, whichever is fewer, of the one matrix that is factorized
DEFAULT_COMPONENTS = 50
DEFAULT_RIDGE = 10.0  # mean variances of a feature; on counts of words smaller ones did worse
TINY = np.finfo(float).tiny
RANK_TOL = 1e-10  # singular values below this times the largest are rounding


class Projection(NamedTuple):
    """theta'(x - mean)."""

    mean: Array  # (p,)
    theta: Array  # (p, k)        orthonormal columns


class Fitted(NamedTuple):
    """Directions shared by the pivot predictors, in the units of the data."""

    projection: Projection
    singular_values: Array  # (k,)
    ridge: float  # squared units of X
    x_variance: float  # total variance of x, squared units of X
    z_variance: float  # total variance of theta'x
    loadings: Array  # (k, p) of x regressed on z, over the rows of the fit
    solver: str


def occurrences(rows: Rows, group: IntArray) -> tuple[Array, Array]:
    """In how many rows of each group (g, p) a feature occurs, which is where it is not zero, and rows by group (g,)."""
    n_groups = int(group.max()) + 1
    counts = rows.fold(Presence(n_groups), columns={"group": group})
    return counts, np.bincount(group[group >= 0], minlength=n_groups).astype(float)


def pivot_frequency(counts: Array, sizes: Array) -> Array:
    """Smallest share of rows, over the domains, in which each feature occurs: (p,) from counts (d, p), sizes (d,)."""
    return np.asarray((counts / sizes[:, None]).min(axis=0))


def mutual_information(counts: Array, sizes: Array) -> Array:
    """Mutual information, in nats, of the class of a row and the occurrence of each feature.

    Parameters
    ----------
    counts : (c, p)     rows of each class in which the feature occurs
    sizes : (c,)        rows of each class

    Returns
    -------
    (p,) sum over classes and both states of P(class, state) log P(class, state) / (P(class) P(state))
    """
    n = sizes.sum()
    total = np.zeros(counts.shape[1])
    for joint in (counts, sizes[:, None] - counts):
        expected = sizes[:, None] / n * joint.sum(axis=0)
        ratio = np.divide(joint, expected, out=np.ones_like(joint), where=joint > 0)
        total += (joint / n * np.log(ratio)).sum(axis=0)
    return total


def variation(rows: Rows) -> tuple[Array, Array]:
    """How much each feature varies (p,), and how it varies with the lengths of rows about their mean; both relative.

    They tell features apart that have one score, whatever the order of rows and columns.
    """
    source = rows.standard(rows.summarize())
    squares = source.summary.squares / max(float(source.summary.squares.max()), TINY)
    products = source.back(source.lengths()[:, None])[:, 0]
    return squares, products / max(float(np.abs(products).max()), TINY)


def choose_pivots(score: Array, n_pivots: int, *then: Array) -> IntArray:
    """The features of highest score, falling; among equals those highest in what else is given, then the first."""
    return np.argsort(ranks(-score, *(-key for key in then)), kind="stable")[:n_pivots]


def predictor_weights(source: StandardRows, second: Array | None, pivots: IntArray, ridge: float) -> Array:
    """Ridge regression of each pivot on all other features, from one Cholesky factorization.

    With Theta = (Cov + ridge I)^-1 the weights that predict feature c from the others are
    w_c = -Theta_c / Theta_cc, zero at c: the block inverse, so no pivot needs a factorization of its own.

    Parameters
    ----------
    source : StandardRows   its units are used throughout
    second : (p, p)         their second moments, whose covariance is factorized; None: their inner products are
    pivots : (m,)
    ridge : float

    Returns
    -------
    (p, m) weights without units
    """
    if second is None:
        theta = _by_gram(source, pivots, ridge)
    else:
        theta = _by_covariance(second / source.weight, pivots, ridge)
    own = (pivots, np.arange(len(pivots)))
    weights = np.divide(theta, -theta[own], out=theta)
    weights[own] = 0.0
    return weights


def shared_directions(weights: Array) -> tuple[Array, Array]:
    """Left singular vectors (p, r) and singular values (r,) of the weights, r their rank; largest entries positive."""
    Q, R = qr(weights, mode="economic", check_finite=False)
    U, s, _ = svd(R, full_matrices=False, check_finite=False)
    rank = rank_of(s, RANK_TOL)
    theta = Q @ U[:, :rank]
    return np.asarray(theta * sign_of_columns(theta)), s[:rank]


def fit(rows: Rows, pivots: IntArray, n_components: int | None, ridge: float | None, solver: str) -> Fitted:
    """Fit pivot predictors and keep the leading directions of their weights.

    "auto" factorizes the smaller matrix. Raises ValueError when that is larger than
    `LARGEST_SIDE`, when nothing predicts the pivots, or when `n_components` exceeds the rank.
    """
    n, p = rows.shape
    if solver == "auto":
        solver = "covariance" if p <= n else "gram"
    _check_side(n, p, solver)
    summary = rows.summarize(second=solver == "covariance")
    source = rows.standard(summary)
    groups = summary.standard_groups()
    unit = source.scale
    relative = DEFAULT_RIDGE if ridge is None else ridge / unit**2  # the mean variance of a feature is one
    weights = predictor_weights(source, groups[0].xx if groups else None, pivots, relative)
    if not weights.any():
        raise ValueError("nothing predicts the pivots: no other feature of X varies with them.")
    theta, s = shared_directions(weights)
    k = min(DEFAULT_COMPONENTS, len(s)) if n_components is None else n_components
    if k > len(s):
        raise ValueError(
            f"n_components={k} must be at most {len(s)}, the rank of the predictors of {len(pivots)} pivots."
        )
    theta = theta[:, :k]
    cross = source.gram_product(theta)  # (p, k) of x and z
    zz = theta.T @ cross
    x_variance, z_variance = source.energy / n * unit**2, float(np.trace(zz)) / n * unit**2
    loadings = np.linalg.pinv(symmetrize(zz), rcond=RANK_TOL, hermitian=True) @ cross.T
    projection = Projection(source.mean, theta)
    return Fitted(projection, s[:k], relative * unit**2, x_variance, z_variance, np.asarray(loadings), solver)


def posterior(projection: Projection, rows: Rows) -> tuple[Any, None]:
    """Projections (n, k) of rows, in their type; they have no covariance."""
    return rows.project(projection.mean, projection.theta), None


def _by_covariance(cov: Array, pivots: IntArray, ridge: float) -> Array:
    """Columns of Theta at the pivots (p, m), by the covariance."""
    cov.flat[:: len(cov) + 1] += ridge
    units = np.zeros((len(cov), len(pivots)))
    units[pivots, np.arange(len(pivots))] = 1.0
    factor = _cholesky(cov)
    return np.asarray(cho_solve(factor, units, overwrite_b=True, check_finite=False))


def _by_gram(source: StandardRows, pivots: IntArray, ridge: float) -> Array:
    """The same by the inner products of rows: Theta = (I - Xc'(n ridge I + Xc Xc')^-1 Xc) / ridge."""
    n, p = source.shape
    units = np.zeros((p, len(pivots)))
    units[pivots, np.arange(len(pivots))] = 1.0
    columns = source.times(units)
    gram = source.gram()
    gram.flat[:: n + 1] += n * ridge
    factor = _cholesky(gram)
    solved = np.asarray(cho_solve(factor, columns, check_finite=False))
    return np.asarray((units - source.back(solved)) / ridge)


def _check_side(n: int, p: int, solver: str) -> None:
    side = p if solver == "covariance" else n
    if side > LARGEST_SIDE:
        raise ValueError(
            f"solver={solver!r} factorizes a matrix of {side} rows and columns for X of shape ({n}, {p}); at most "
            f"{LARGEST_SIDE} are possible: keep the most frequent features, X[:, columns], or fewer unlabeled rows."
        )


def _cholesky(S: Array) -> tuple[Array, bool]:
    try:
        factor: tuple[Array, bool] = cho_factor(S, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        raise ValueError("ridge is too small beside the variance of X to compute with; raise it.") from None
    return factor
