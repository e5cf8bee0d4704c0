"""Independent factors seen through isotropic noise (Attias 1999): x = A z + e, each z_s a mixture of Gaussians.

Given one component of every latent (a state), z and x are Gaussian, so all posteriors are exact sums over the product
of the components. Rows are centered; latents have mean zero and variance one.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

from ..._types import Array, IntArray
from ...numerics.linear_gaussian import LOG_2PI
from ...numerics.normalize import normalized

FARTHEST = 1e150  # products with the loadings whose squares are numbers still


class Noisy(NamedTuple):
    """Mixtures are padded to the largest number of components: log-weight minus infinity, mean 0, variance 1."""

    A: Array  # (p, k)
    noise_var: float
    log_weights: Array  # (k, c)
    means: Array  # (k, c)
    variances: Array  # (k, c)


class StateMaps(NamedTuple):
    """What the posterior of every state needs, whatever the rows."""

    states: IntArray  # (q, k)    component of each latent
    covs: Array  # (q, k, k)  posterior covariances
    offsets: Array  # (q, k)    posterior mean = offset + x' A cov / noise_var
    gains: Array  # (q, k, k)  of A'x
    constants: Array  # (q,)     log-weight and log-density, less what depends on x
    noise_var: float


class LatentMoments(NamedTuple):
    """Sums over rows of expectations over states and latents."""

    log_likelihood: float
    zz: Array  # (k, k)
    counts: Array  # (k, c)
    first: Array  # (k, c)
    second: Array  # (k, c)


def all_states(sizes: tuple[int, ...]) -> IntArray:
    """Every product of components (q, k)."""
    return np.array(list(product(*map(range, sizes))), dtype=np.intp)


def state_maps(params: Noisy, states: IntArray) -> StateMaps:
    """Condition z on every state; k x k algebra for each."""
    p, k = params.A.shape
    columns = np.arange(k)
    mu, nu = params.means[columns, states], params.variances[columns, states]  # (q, k)
    G = params.A.T @ params.A / params.noise_var
    precision = G + np.eye(k) / nu[:, None, :]
    covs = np.linalg.inv(precision)
    covs = 0.5 * (covs + covs.transpose(0, 2, 1))
    shifts = mu / nu
    offsets = np.einsum("qij,qj->qi", covs, shifts)
    volume = np.linalg.slogdet(precision)[1] + np.log(nu).sum(axis=1) + p * (LOG_2PI + np.log(params.noise_var))
    energy = (mu * shifts).sum(axis=1) - np.einsum("qi,qi->q", shifts, offsets)
    weights = params.log_weights[columns, states].sum(axis=1)
    constants = weights - 0.5 * (volume + energy)
    return StateMaps(states, covs, offsets, covs / params.noise_var, constants, params.noise_var)


def condition_states(maps: StateMaps, T: Array, energy: Array, log_pl: Array) -> tuple[Array, Array, Array]:
    """Posterior of rows given T = X A (n, k), their squared lengths (n,) and state plausibilities (n, q).

    Returns
    -------
    responsibilities (n, q), latent means given the state (n, q, k), log-density (n,) in nats, minus infinity in rows so
    far away that the square of their distance is no number
    """
    reach = np.minimum(1.0, FARTHEST / np.maximum(np.abs(T).max(axis=1), 1.0))
    far, near = reach < 1.0, T * reach[:, None]
    z = maps.offsets + np.einsum("nj,qij->nqi", near, maps.gains)
    # x'x / s2 - (b + shift)' cov (b + shift) with b = A'x / s2; the part without x is in the constants
    explained = np.einsum("ni,nqi->nq", near, z + maps.offsets) / maps.noise_var
    resp, log_sum = normalized(maps.constants + log_pl + 0.5 * explained)
    density = np.where(far, -np.inf, log_sum - 0.5 * energy / maps.noise_var)
    if far.any():
        z[far] = maps.offsets + (z[far] - maps.offsets) / reach[far, None, None]
    return resp, z, density


def latent_moments(maps: StateMaps, resp: Array, z: Array, log_density: Array, c: int) -> LatentMoments:
    """Sums for the M-step from the posterior of rows."""
    q, k = maps.states.shape
    counts = resp.sum(axis=0)
    weighted = resp[:, :, None] * z
    zz = np.einsum("nqi,nqj->ij", weighted, z) + np.einsum("q,qij->ij", counts, maps.covs)
    firsts = weighted.sum(axis=0)
    seconds = np.einsum("nqi,nqi->qi", weighted, z) + counts[:, None] * np.einsum("qii->qi", maps.covs)
    sums = np.zeros((3, k, c))
    for s in range(k):
        for values, out in zip((counts, firsts[:, s], seconds[:, s]), sums, strict=True):
            out[s] = np.bincount(maps.states[:, s], weights=values, minlength=c)
    return LatentMoments(float(log_density.sum()), zz, *sums)


def maximize(
    sums: LatentMoments, xz: Array, energy: float, n: int, params: Noisy, floors: tuple[float, float]
) -> Noisy:
    """M-step: regress x on (z, 1), the residual is noise; mixtures from their own moments; then unit latents.

    The intercept needs no name: once the latents have mean zero it is the mean of x, which is zero too.

    `xz` (p, k) is the sum of x E[z]', `energy` that of x'x; `floors` are the least noise variance and the least
    variance of a component of a unit latent.
    """
    p = len(xz)
    total = sums.first.sum(axis=1)
    A = np.linalg.solve(sums.zz - np.outer(total, total) / n, xz.T).T
    noise = max((energy - float(np.sum(A * xz))) / (n * p), floors[0])
    used = sums.counts > 0
    safe = np.where(used, sums.counts, 1.0)
    means = np.where(used, sums.first / safe, params.means)
    variances = np.where(used, sums.second / safe - means**2, params.variances)
    with np.errstate(divide="ignore"):
        log_weights = np.log(sums.counts / n)
    weights = sums.counts / n
    center = (weights * means).sum(axis=1)
    std = np.sqrt((weights * (variances + (means - center[:, None]) ** 2)).sum(axis=1))
    present = np.isfinite(params.log_weights)
    means = np.where(present, (means - center[:, None]) / std[:, None], 0.0)
    variances = np.where(present, np.maximum(variances / std[:, None] ** 2, floors[1]), 1.0)
    return Noisy(A * std, noise, log_weights, means, variances)
