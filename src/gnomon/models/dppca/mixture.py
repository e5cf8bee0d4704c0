"""Classes with means of their own that share within-class factors: densities, from coordinates of the rows.

Class c has weight pi_c and mean m_c, and x | c ~ N(m_c, V V' + s2 I) with V (p, P).
"""

from __future__ import annotations

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


class Params(NamedTuple):
    """A mixture in r coordinates of the rows."""

    prior: Array  # (c,)
    means: Array  # (c, r)
    within: Within


def log_joint(params: Params, T: Array, squares: Array, n_features: int) -> Array:
    """Log pi_c + log N(x; m_c, Sigma) (n, c) of rows: coordinates T (n, r), squared length of the whole row (n,)."""
    center = params.prior @ params.means
    M = params.means - center
    Q, values, noise = params.within
    c = len(M)
    V = np.column_stack([M.T, Q, center])  # one product with T, which is all there is to read
    products = T @ V
    products -= center @ V
    DM, DQ = products[:, :c], products[:, c:-1]
    shrink = 1.0 - noise / values  # (m,)  Sigma^-1 = (I - Q diag(shrink) Q') / noise
    MQ = M @ Q
    cross = DM - (DQ * shrink) @ MQ.T
    own = squares - 2.0 * products[:, -1] - float(center @ center)
    own -= (DQ * DQ) @ shrink
    fixed = np.einsum("ij,ij->i", M, M) - (MQ * MQ) @ shrink
    distance = np.maximum(own[:, None] - 2.0 * cross + fixed, 0.0) / noise
    logdet = np.log(values).sum() + (n_features - len(values)) * np.log(noise)
    with np.errstate(divide="ignore"):
        log_prior = np.log(params.prior)
    return np.asarray(log_prior - 0.5 * (distance + logdet + n_features * LOG_2PI))


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
    Q, values, noise = params.within
    lost = D - Q @ ((1.0 - noise / values)[:, None] * (Q.T @ D))  # s2 Sigma^-1 D
    return NoiseFree(D - lost, params.means @ lost, noise * symmetrize(D.T @ (D - lost)))
