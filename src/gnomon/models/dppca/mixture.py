"""Classes with means of their own that share within-class factors: densities, from coordinates of the rows.

Class c has weight pi_c and mean m_c, and x | c ~ N(m_c, V V' + s2 I) with V (p, P).
"""

from typing import NamedTuple

import numpy as np

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
    by, offsets = multipliers(params)
    return joint_of_products(params, T @ by, offsets, squares, n_features)


def multipliers(params: Params) -> tuple[Array, Array]:
    """What rows are multiplied by (r, c + m + 1) for `log_joint`: one product is all there is to read; and offsets."""
    slopes, offsets = log_odds(params)
    return np.concatenate([slopes.T, params.within.Q, (params.prior @ params.means)[:, None]], axis=1), offsets


def joint_of_products(params: Params, products: Array, offsets: Array, squares: Array, n_features: int) -> Array:
    """`log_joint` of rows from their products with `multipliers`."""
    center, (Q, _, noise), n_classes = params.prior @ params.means, params.within, len(offsets)
    along = products[:, n_classes:-1] - center @ Q
    distance = squares - 2.0 * products[:, -1] + float(center @ center) - (along * along) @ params.within.shrink
    shared = np.maximum(distance, 0.0) / noise + params.within.logdet(n_features) + n_features * LOG_2PI
    return np.asarray(products[:, :n_classes] + offsets - 0.5 * shared[:, None])


def odds_and_distances(params: Params, joint: Array, n_features: int) -> tuple[Array, Array]:
    """Of `log_joint`: log-odds (n, c), zero of the most probable class, and squared distances (n,) from the nearest.

    Distances are in within-class deviations.
    """
    with np.errstate(divide="ignore"):
        density = np.where(params.prior > 0.0, joint - np.log(params.prior), -np.inf).max(axis=1)
    distances = -2.0 * density - params.within.logdet(n_features) - n_features * LOG_2PI
    return joint - joint.max(axis=1, keepdims=True), np.maximum(distances, 0.0)


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
