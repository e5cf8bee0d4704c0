"""Mixtures of local linear-Gaussian models (Tipping and Bishop 1999): conditioning, and one maximization.

Component c: z ~ N(0, I), x = W_c z + m_c + e, e ~ N(0, noise_c I). x may be given in an orthonormal basis of a subspace
that holds every row; the `ambient` - p directions outside it then carry noise of known (zero) energy.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..._types import Array, BoolArray
from ...numerics.linalg import batch_inverse, inverse_logdet, rotation_toward, symmetrize, top_eigh
from ...numerics.linear_gaussian import LOG_2PI

EMPTY = 1e-10  # rows; a component that answers for fewer keeps its place, so that nothing divides by zero
TINY = 1e-300


class Mixture(NamedTuple):
    """Parameters; a component with fewer than k dimensions carries zero columns at the end."""

    mix_weights: Array  # (s,)
    means: Array  # (s, p)
    W: Array  # (s, p, k)
    noise_vars: Array  # (s,)


class Shape(NamedTuple):
    """What a maximization keeps to."""

    sizes: tuple[int, ...]  # (s,) latent dimensions of the components
    ambient: int  # number of features
    floor: float  # smallest noise variance
    shared: bool  # one noise variance for all components


class LocalMaps(NamedTuple):
    """What the conditioning of complete rows needs, for all components."""

    directions: Array  # (p, s k + s)   loadings side by side, then means: rows are multiplied by these
    offsets: Array  # (s, k)            W_c' m_c
    lengths: Array  # (s,)              |m_c|^2
    covs: Array  # (s, k, k)            posterior covariances
    log_dets: Array  # (s,)             of the posterior precisions
    log_weights: Array  # (s,)
    noise_vars: Array  # (s,)


class LocalSums(NamedTuple):
    """Weighted sums over rows; r are responsibilities times row weights."""

    log_likelihood: float
    counts: Array  # (s,)          sum of r
    energies: Array  # (s,)        sum of r |x|^2
    sums: Array  # (s, p)          sum of r x
    products: Array  # (s, p, p)   sum of r x x', or (s, p, k): the same times W_c


class MaskedSums(NamedTuple):
    """The same for rows that miss entries; sums over the rows that observe the feature."""

    log_likelihood: float
    counts: Array  # (s,)               sum of r
    entries: Array  # (s,)              sum of r times the number of observed entries
    energies: Array  # (s,)             sum of r x^2 over observed entries
    second: Array  # (s, k + 1, k + 1)  sum of r E[(z, 1)(z, 1)']
    xz: Array  # (s, p, k + 1)          sum of r x E[(z, 1)]
    zz: Array  # (s, p, k + 1, k + 1)   sum of r E[(z, 1)(z, 1)']


def log_weights(mix_weights: Array) -> Array:
    """Logarithms of the mixture weights; an empty component gets a very small one."""
    return np.asarray(np.log(np.maximum(mix_weights, TINY)))


def side_by_side(W: Array) -> Array:
    """Loadings (s, p, k) as the columns (p, s k) of one matrix."""
    return W.transpose(1, 0, 2).reshape(W.shape[1], -1)


def local_maps(params: Mixture) -> LocalMaps:
    """Posterior precisions I + W_c'W_c / noise_c and the directions that rows are multiplied by."""
    W, k = params.W, params.W.shape[2]
    covs, log_dets = batch_inverse(np.eye(k) + np.swapaxes(W, 1, 2) @ W / params.noise_vars[:, None, None])
    return LocalMaps(
        np.hstack([side_by_side(W), params.means.T]),
        np.einsum("spk,sp->sk", W, params.means),
        np.einsum("sp,sp->s", params.means, params.means),
        covs,
        log_dets,
        log_weights(params.mix_weights),
        params.noise_vars,
    )


def condition(maps: LocalMaps, T: Array, lengths: Array, ambient: int) -> tuple[Array, Array]:
    """Joint log-densities (n, s) in nats and posterior means (n, s, k) of rows.

    These are known by T = X directions (n, s k + s) and lengths |x|^2 (n,).

    Equivalent to s multivariate normal densities with covariance W_c W_c' + noise_c I; no p x p matrix is formed.
    """
    s, k = maps.offsets.shape
    b = (T[:, : s * k].reshape(-1, s, k) - maps.offsets) / maps.noise_vars[:, None]
    z = np.matmul(b.transpose(1, 0, 2), maps.covs).transpose(1, 0, 2)
    distances = np.maximum(lengths[:, None] - 2.0 * T[:, s * k :] + maps.lengths, 0.0)
    quadratic = np.maximum(distances / maps.noise_vars - np.einsum("nsk,nsk->ns", b, z), 0.0)
    constants = ambient * (LOG_2PI + np.log(maps.noise_vars)) + maps.log_dets
    return maps.log_weights - 0.5 * (constants + quadratic), z


def noise_level(kept: Array, weights: Array, rest: float, n_rest: float, floor: float) -> float:
    """Noise variance that maximizes the likelihood when directions below the noise carry nothing else.

    `kept` are the leading eigenvalues with the `weights` of their components, `rest` and `n_rest` the weighted sum and
    number of all others. The root of a convex increasing function, piecewise linear, by Newton from the right: it ends
    in at most len(kept) steps.
    """
    level = rest / n_rest
    for _ in range(len(kept)):
        inside = kept < level
        lower = (rest + weights[inside] @ kept[inside]) / (n_rest + weights[inside].sum())
        if lower >= level:
            break
        level = float(lower)
    return max(level, floor)


def closed_form(sums: LocalSums, params: Mixture, shape: Shape) -> Mixture:
    """Maximize over means, loadings and noise at given responsibilities: local covariances and their eigenvectors.

    Tipping and Bishop 1999, eqs. 3.12, 3.13 and the eigenvector solution of section 3.2. Needs p x p products.
    Loadings are rotated to agree with those before, so that a path of parameters is smooth.
    """
    mix_weights, means, live = _weights_and_means(sums.counts, sums.sums, params)
    values = [np.zeros(0)] * len(live)
    vectors = [np.zeros((means.shape[1], 0))] * len(live)
    rest = np.zeros(len(live))
    for c in np.flatnonzero(live):
        S = sums.products[c] / sums.counts[c] - np.outer(means[c], means[c])
        values[c], vectors[c] = top_eigh(symmetrize(S), shape.sizes[c])
        rest[c] = _trace(sums, means, c) - values[c].sum()
    noise = _noise_of_eigenvalues(values, rest, sums.counts, live, params, shape)
    W = params.W.copy()
    for c in np.flatnonzero(live):
        found = vectors[c] * np.sqrt(np.maximum(values[c] - noise[c], 0.0))
        W[c, :, : found.shape[1]] = found @ rotation_toward(found, params.W[c, :, : found.shape[1]])
    return Mixture(mix_weights, means, W, noise)


def latent_step(sums: LocalSums, params: Mixture, shape: Shape) -> Mixture:
    """Raise the same likelihood by one EM step over z in each component, with the latent covariance free (PX-EM).

    Needs only the products of the local covariances with the old loadings. Tipping and Bishop 1999, eqs. C.14, C.15.
    """
    mix_weights, means, live = _weights_and_means(sums.counts, sums.sums, params)
    W, noise = params.W.copy(), params.noise_vars.copy()
    k = W.shape[2]
    for c in np.flatnonzero(live):
        SW = sums.products[c] / sums.counts[c] - np.outer(means[c], means[c] @ W[c])
        inverse, _ = inverse_logdet(W[c].T @ W[c] + noise[c] * np.eye(k))
        xz = SW @ inverse
        zz = symmetrize(noise[c] * inverse + inverse @ (W[c].T @ xz))
        root = np.linalg.cholesky(zz)
        found = np.linalg.solve(root, xz.T).T  # the regression of x on z, times the root of the latent covariance
        left = _trace(sums, means, c) - float((found * found).sum())
        W[c], noise[c] = found, left / shape.ambient
    return Mixture(mix_weights, means, W, _floored(noise, sums.counts, live, shape))


def masked_step(sums: MaskedSums, params: Mixture, shape: Shape) -> Mixture:
    """Regress every feature on (z, 1) over the rows that observe it, component by component (PX-EM).

    A feature that no row of a component observes gets the mean zero (of all rows) and no loading there.
    """
    s, p, k = params.W.shape
    live = sums.counts > EMPTY
    means, W, noise = params.means.copy(), params.W.copy(), params.noise_vars.copy()
    for c in np.flatnonzero(live):
        seen = sums.zz[c, :, k, k] > EMPTY
        zz = np.where(seen[:, None, None], sums.zz[c], np.eye(k + 1))
        xz = np.where(seen[:, None], sums.xz[c], 0.0)
        zz[:, np.arange(k + 1), np.arange(k + 1)] *= 1.0 + 1e-13  # relative to each: keeps the factor at full rank
        beta = np.linalg.solve(zz, xz[:, :, None])[:, :, 0]
        left = sums.energies[c] - float((beta * xz).sum())
        noise[c] = left / max(float(sums.entries[c]), TINY)
        second = sums.second[c] / sums.counts[c]
        z = second[k, :k]
        root = np.linalg.cholesky(symmetrize(second[:k, :k] - np.outer(z, z)))
        means[c], W[c] = beta[:, k] + beta[:, :k] @ z, beta[:, :k] @ root
    mix_weights = sums.counts / sums.counts.sum()
    return Mixture(mix_weights, means, W, _floored(noise, sums.entries, live, shape))


def step_length(before: Mixture, after: Mixture, ambient: int) -> float:
    """Distance of two parameter values whose square is about twice the gain of an EM step in nats per row."""
    w = after.mix_weights
    moved = ((after.means - before.means) ** 2).sum(axis=1) + ((after.W - before.W) ** 2).sum(axis=(1, 2))
    noise = 0.5 * ambient * np.log(after.noise_vars / before.noise_vars) ** 2
    shares = (after.mix_weights - before.mix_weights) ** 2 / np.maximum(w, TINY)
    return float(np.sqrt(w @ (moved / after.noise_vars + noise) + shares[w > 0].sum()))


def apart(one: Mixture, other: Mixture, ambient: int) -> float:
    """`step_length` between two values whatever the order of components and the rotation of each."""
    U, _, Vt = np.linalg.svd(one.W.swapaxes(1, 2)[:, None] @ other.W)  # (s, s, k, k)
    turned = one.W[:, None] @ (U @ Vt)
    moved = ((other.means - one.means[:, None]) ** 2).sum(axis=2) + ((turned - other.W) ** 2).sum(axis=(2, 3))
    noise = 0.5 * ambient * np.log(other.noise_vars / one.noise_vars[:, None]) ** 2
    a, b = linear_sum_assignment(other.mix_weights * (moved / other.noise_vars + noise))
    before = Mixture(one.mix_weights[a], one.means[a], turned[a, b], one.noise_vars[a])
    return step_length(before, Mixture(*(part[b] for part in other)), ambient)


def _weights_and_means(counts: Array, sums: Array, params: Mixture) -> tuple[Array, Array, BoolArray]:
    live = counts > EMPTY
    means = np.where(live[:, None], sums / np.maximum(counts, EMPTY)[:, None], params.means)
    return counts / counts.sum(), means, live


def _trace(sums: LocalSums, means: Array, c: np.intp) -> float:
    """Trace of the local covariance."""
    return float(sums.energies[c] / sums.counts[c] - means[c] @ means[c])


def _noise_of_eigenvalues(
    values: list[Array], rest: Array, counts: Array, live: BoolArray, params: Mixture, shape: Shape
) -> Array:
    n_rest = np.array([shape.ambient - len(v) for v in values], dtype=np.float64)
    if not shape.shared:
        noise = params.noise_vars.copy()
        for c in np.flatnonzero(live):
            noise[c] = noise_level(values[c], np.ones(len(values[c])), rest[c], n_rest[c], shape.floor)
        return noise
    w = np.where(live, counts, 0.0) / counts.sum()
    weights = np.concatenate([np.full(len(v), w[c]) for c, v in enumerate(values)])
    level = noise_level(np.concatenate(values), weights, float(w @ rest), float(w @ n_rest), shape.floor)
    return np.full(len(values), level)


def _floored(noise: Array, weights: Array, live: BoolArray, shape: Shape) -> Array:
    if shape.shared:
        w = np.where(live, weights, 0.0)
        noise = np.full(len(noise), float(w @ noise / w.sum()))
    return np.maximum(noise, shape.floor)
