"""Classes with means of their own that share within-class factors: densities, from coordinates of the rows.

Class c has weight pi_c and mean m_c, and x | c ~ N(m_c, V V' + s2 I) with V (p, P).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from ..._types import Array, IntArray
from ...numerics.linalg import symmetrize
from ...numerics.linear_gaussian import LOG_2PI
from ...numerics.normalize import normalized


class Within(NamedTuple):
    """Covariance Q diag(values) Q' + noise_var (I - Q Q') of a class, in p dimensions."""

    Q: Array  # (r, m) orthonormal
    values: Array  # (m,) falling, at least noise_var
    noise_var: float

    @property
    def shrink(self) -> Array:
        """Of the inverse (I - Q diag(shrink) Q') / noise_var (m,)."""
        return 1.0 - self.noise_var / self.values

    def logdet(self, n_features: int) -> float:
        """Logarithm of the determinant."""
        return float(np.log(self.values).sum() + (n_features - len(self.values)) * np.log(self.noise_var))


class Params(NamedTuple):
    """A mixture in r coordinates of the rows."""

    prior: Array  # (c,)
    means: Array  # (c, r)
    within: Within


def log_odds(params: Params) -> tuple[Array, Array]:
    """Slopes (c, r) and offsets (c,) of `log_joint` less what all classes share, which is linear in a row."""
    center, (Q, _, noise) = params.prior @ params.means, params.within
    M = params.means - center
    slopes = (M - ((M @ Q) * params.within.shrink) @ Q.T) / noise
    with np.errstate(divide="ignore"):
        log_prior = np.log(params.prior)
    return slopes, log_prior - 0.5 * np.einsum("cr,cr->c", M, slopes) - slopes @ center


def log_joint(params: Params, T: Array, squares: Array, n_features: int) -> Array:
    """Log pi_c + log N(x; m_c, Sigma) (n, c) of rows: coordinates T (n, r), squared length of the whole row (n,)."""
    together = multipliers([params], n_features)
    return together.log_joint(T @ together.by, squares)[:, 0]


class Multipliers(NamedTuple):
    """What rows are multiplied by for `log_joint` of s mixtures: one product is all there is to read; and the rest."""

    by: Array  # (r, s c + m + s) slopes, within-class factors and centers, those of all mixtures beside one another
    offsets: Array  # (s, c)
    ends: Array  # (m,) of the centers along their factors
    shrink: Array  # (m, s) of a mixture zero along factors of others
    middles: Array  # (s,) squared lengths of the centers
    noise_vars: Array  # (s,)
    heights: Array  # (s,) of density at a center: twice its logarithm, less than zero
    log_prior: Array  # (s, c) zero for a class that is never there

    def log_joint(self, products: Array, squares: Array) -> Array:
        """`log_joint` (n, s, c) of rows from their products with `by` and squared lengths (n,)."""
        n, (s, c) = len(products), self.offsets.shape
        along = products[:, s * c : -s] - self.ends
        along *= along
        away = squares[:, None] - 2.0 * products[:, -s:] + self.middles - along @ self.shrink
        shared = np.maximum(away, 0.0) / self.noise_vars + self.heights
        return np.asarray(products[:, : s * c].reshape(n, s, c) + self.offsets - 0.5 * shared[:, :, None])

    def odds_and_distances(self, joint: Array) -> tuple[Array, Array]:
        """The same of `log_joint` (n, s, c) of them all: odds (n, s, c) and distances (n, s)."""
        density = (joint - self.log_prior).max(axis=2)
        return joint - joint.max(axis=2, keepdims=True), np.maximum(-2.0 * density - self.heights, 0.0)


def multipliers(mixtures: Sequence[Params], n_features: int) -> Multipliers:
    """Of mixtures in the same coordinates, with as many classes each."""
    slopes, offsets = zip(*map(log_odds, mixtures), strict=True)
    centers = np.array([one.prior @ one.means for one in mixtures])
    axes = [one.within.Q for one in mixtures]
    return Multipliers(
        by=np.hstack([*(one.T for one in slopes), *axes, centers.T]),
        offsets=np.array(offsets),
        ends=np.concatenate([center @ Q for center, Q in zip(centers, axes, strict=True)]),
        shrink=block_diag(*(one.within.shrink[:, None] for one in mixtures)),
        middles=np.einsum("sr,sr->s", centers, centers),
        noise_vars=np.array([one.within.noise_var for one in mixtures]),
        heights=np.array([one.within.logdet(n_features) for one in mixtures]) + n_features * LOG_2PI,
        log_prior=np.log([np.where(one.prior > 0.0, one.prior, 1.0) for one in mixtures]),
    )


def odds_and_distances(params: Params, joint: Array, n_features: int) -> tuple[Array, Array]:
    """Of `log_joint`: log-odds (n, c), zero of the most probable class, and squared distances (n,) from the nearest.

    Distances are in within-class deviations.
    """
    odds, distances = multipliers([params], n_features).odds_and_distances(joint[:, None])
    return odds[:, 0], distances[:, 0]


def responsibilities(joint: Array, index: IntArray | None) -> Array:
    """Posterior of the class (n, c) from `log_joint`; one-hot where `index` names the class."""
    resp = normalized(joint)[0]
    if index is not None:
        known = np.flatnonzero(index >= 0)
        resp[known] = np.eye(resp.shape[1])[index[known]]
    return resp


class NoiseFree(NamedTuple):
    """The projection of a row without its noise, given x: in class c its mean is gain'x + shift_c."""

    gain: Array  # (r, k)
    shift: Array  # (c, k)
    cov: Array  # (k, k) within a class

    def moments(self, T: Array, resp: Array) -> tuple[Array, Array]:
        """Mean (n, k) and covariance (n, k, k) over the classes, from coordinates T (n, r)."""
        away = resp @ self.shift
        between = np.einsum("nc,ck,cl->nkl", resp, self.shift, self.shift, optimize=True)
        return T @ self.gain + away, np.asarray(self.cov + between - away[:, :, None] * away[:, None, :])


def noise_free(params: Params, D: Array) -> NoiseFree:
    """Condition D'(m_c + V z) on x, D (r, k), for rows and means centered alike.

    m_c + V z = x - e, and e given x and c has mean s2 Sigma^-1 (x - m_c) and covariance s2 I - s2^2 Sigma^-1.
    """
    Q, _, noise = params.within
    lost = D - Q @ (params.within.shrink[:, None] * (Q.T @ D))  # s2 Sigma^-1 D
    return NoiseFree(D - lost, params.means @ lost, noise * symmetrize(D.T @ (D - lost)))
