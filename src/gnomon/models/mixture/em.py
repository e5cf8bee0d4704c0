"""EM for mixtures of local linear-Gaussian models, one read of the rows an iteration."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..._types import Array, IntArray, Result, Status
from ...numerics.linalg import symmetrise, top_eigh
from ...numerics.linear_gaussian import LOG_2PI
from ...numerics.masked import batch_inverse, bordered_triangle, from_triangle, masked_precisions, triangle_of_outer
from ...rows import DenseRows, MaskedRows, SparseRows
from ...rows.masked import MaskedBlock, Patterns
from ...rows.products import squared_lengths
from ...rows.source import Step
from ...solvers.em import run_em
from .local_gaussians import (
    EMPTY,
    LocalSums,
    MaskedSums,
    Mixture,
    Shape,
    closed_form,
    condition,
    latent_step,
    local_maps,
    log_weights,
    masked_step,
    responsibilities,
    side_by_side,
    step_length,
)

Rows: TypeAlias = DenseRows | SparseRows
SMOOTHED = 0.05  # share of every row that the start spreads over all components, so that none begins degenerate
START_STEPS = 3
NEAR = 0.03  # root nats per row; shorter steps are within the basin of a maximum


class Control(NamedTuple):
    """When to stop, and whether steps are extrapolated."""

    tol: float
    max_iter: int
    acceleration: str | None


class _Block(NamedTuple):
    log_likelihood: float
    counts: Array
    energies: Array


class _MaskedBlock(NamedTuple):
    log_likelihood: float
    counts: Array
    entries: Array
    energies: Array
    second: Array


class CompleteRows:
    """E-steps over complete rows, dense or sparse, centred and in standard units.

    With `moments` the sums hold p x p products per component (dense rows only), else products with the loadings.
    """

    def __init__(self, source: Rows, shape: Shape, *, moments: bool) -> None:
        self.source, self.shape, self.moments = source, shape, moments
        self.lengths = squared_lengths(source.X, source.mean, source.scale)
        source.n_passes += 1
        self.weights = np.ones(source.shape[0]) if source.weights is None else source.weights

    def e_step(self, params: Mixture) -> LocalSums:
        """Responsibilities of all rows and the weighted sums that the M-step needs; one read."""
        maps, ambient = local_maps(params), self.shape.ambient
        s, p, k = params.W.shape

        def step(T: Array, index: IntArray) -> tuple[Array, _Block]:
            block: Array | None = None
            if self.moments:
                block = (np.asarray(self.source.X[index], dtype=np.float64) - self.source.mean) / self.source.scale
                T = block @ maps.directions
            lengths = self.lengths[index]
            r, density = responsibilities(condition(maps, T, lengths, ambient).log_joint)
            w = self.weights[index]
            right = T[:, : s * k].reshape(-1, s, k) if block is None else block[:, None, :]
            products = (r[:, :, None] * right).reshape(len(T), -1)
            return np.hstack([r, products]), _Block(float(w @ density), w @ r, (w * lengths) @ r)

        out, block = self.source.sweep(None if self.moments else maps.directions, step)
        products = out[:, s:].reshape(p, s, -1).transpose(1, 0, 2)
        return LocalSums(block.log_likelihood, block.counts, block.energies, out[:, :s].T, products)

    def m_step(self, sums: LocalSums, params: Mixture) -> Mixture:
        """Maximise in closed form, or take one EM step over the latent variables."""
        return closed_form(sums, params, self.shape) if self.moments else latent_step(sums, params, self.shape)

    def start(self, centres: Array, blocks: Array) -> Mixture:
        """Local PCA around the centres, by a few power steps from the blocks (s, p, k)."""
        return local_pca(self.source, centres, blocks, self.lengths, self.weights, self.shape)


class IncompleteRows:
    """E-steps over rows that miss entries: each is conditioned on what it observes, in batches.

    Rows that observe the same entries share the posterior covariance of each component.
    """

    def __init__(self, source: MaskedRows, shape: Shape) -> None:
        self.source, self.shape = source, shape
        self.lengths, self.seen = np.empty(source.shape[0]), np.empty(source.shape[0])
        for rows in _slices(source.shape):
            block = (np.asarray(source.X[rows], dtype=np.float64) - source.mean) / source.scale
            self.seen[rows] = (~np.isnan(block)).sum(axis=1)
            self.lengths[rows] = np.einsum("ij,ij->i", np.nan_to_num(block), np.nan_to_num(block))
        source.n_passes += 1
        self.weights = source.weights

    def e_step(self, params: Mixture) -> MaskedSums:
        """Posterior of component and latent variables of all rows, and the sums of the M-step; one read."""
        s, p, k = params.W.shape
        directions, mask_directions = masked_directions(params)

        def step(block: MaskedBlock) -> tuple[Array, Array, _MaskedBlock]:
            index, w = block.rows, block.weights
            lengths, seen = self.lengths[index], self.seen[index]
            log_joint, z, covs = masked_condition(params, block.T, block.TM, block.patterns, lengths, seen)
            r, density = responsibilities(log_joint)
            xz, zz, second = [], [], []
            for c in range(s):
                z1 = np.column_stack([z[:, c], np.ones(len(z))])
                sums_c = block.sums(triangle_of_outer(z1) * r[:, [c]])
                sums_c += bordered_triangle(covs[c]) * sums_c[:, [-1]]  # the last entry of z1 counts the rows
                xz.append(z1 * r[:, [c]])
                zz.append(sums_c)
                second.append(sums_c.sum(axis=0))
            sums = _MaskedBlock(float(w @ density), w @ r, (w * seen) @ r, (w * lengths) @ r, np.array(second))
            return np.hstack(xz), np.hstack(zz), sums

        xz, zz, block = self.source.sweep(directions, mask_directions, step)
        triangles = zz.reshape(p, s, -1).transpose(1, 0, 2)
        return MaskedSums(
            block.log_likelihood,
            block.counts,
            block.entries,
            block.energies,
            from_triangle(block.second, k + 1),
            xz.reshape(p, s, k + 1).transpose(1, 0, 2),
            from_triangle(triangles.reshape(s * p, -1), k + 1).reshape(s, p, k + 1, k + 1),
        )

    def m_step(self, sums: MaskedSums, params: Mixture) -> Mixture:
        """Regress features on latent variables, component by component."""
        return masked_step(sums, params, self.shape)

    def start(self, centres: Array, blocks: Array) -> Mixture:
        """Local PCA around the centres with missing entries at the mean of their column."""
        return local_pca(_Filled(self.source), centres, blocks, self.lengths, self.weights, self.shape)


class _Filled:
    """Rows with missing entries at their column means, read like complete ones."""

    def __init__(self, source: MaskedRows) -> None:
        self.source = source

    def sweep(self, V: Array, step: Step) -> tuple[Array, Any]:
        """As in `RowSource`."""
        none = np.zeros((self.source.shape[1], 0))

        def masked(block: MaskedBlock) -> tuple[Array, Array, Any]:
            U, stats = step(block.T, block.rows)
            return U, block.TM, stats

        out, _, stats = self.source.sweep(V, none, masked)
        return out, stats


def masked_directions(params: Mixture) -> tuple[Array, Array]:
    """What incomplete rows and their masks are multiplied by."""
    W, means = params.W, params.means
    triangles = np.hstack([triangle_of_outer(W_c) for W_c in W])
    return np.hstack([side_by_side(W), means.T]), np.hstack(
        [triangles, side_by_side(means[:, :, None] * W), means.T**2]
    )


def masked_condition(
    params: Mixture, T: Array, TM: Array, patterns: Patterns, lengths: Array, seen: Array
) -> tuple[Array, Array, list[Array]]:
    """Joint log-densities (n, s) and posterior means (n, s, k) given the observed entries, and covariances [(u, k, k)].

    `TM` (u, ...) and the covariances are those of the u patterns of observed entries.
    """
    s, p, k = params.W.shape
    n_tri = k * (k + 1) // 2
    of_means = patterns.by_row(TM[:, s * n_tri :])
    b = (T[:, : s * k] - of_means[:, : s * k]).reshape(-1, s, k)
    distances = np.maximum(lengths[:, None] - 2.0 * T[:, s * k :] + of_means[:, s * k :], 0.0)
    log_joint, z, covs = np.empty((len(T), s)), np.empty((len(T), s, k)), []
    weights = log_weights(params.mix_weights)
    for c, noise in enumerate(params.noise_vars):
        post = batch_inverse(masked_precisions(TM[:, c * n_tri : (c + 1) * n_tri] / noise, k))
        z[:, c] = np.einsum("mab,mb->ma", patterns.by_row(post.inverse), b[:, c] / noise)
        log_det = patterns.by_row(post.log_det)
        quadratic = np.maximum((distances[:, c] - np.einsum("ma,ma->m", b[:, c], z[:, c])) / noise, 0.0)
        log_joint[:, c] = weights[c] - 0.5 * (seen * (LOG_2PI + np.log(noise)) + log_det + quadratic)
        covs.append(post.inverse)
    return log_joint, z, covs


def local_pca(
    source: Rows | _Filled, centres: Array, blocks: Array, lengths: Array, weights: Array, shape: Shape
) -> Mixture:
    """Starting point: rows belong to their nearest centre but for a small share, then a few power steps of local PCA.

    Clusters are ordered by falling size, so the first number of dimensions goes to the largest.
    """
    s, p = centres.shape
    k = blocks.shape[2]
    own = np.einsum("sp,sp->s", centres, centres)
    blocks = np.linalg.qr(blocks)[0]

    def sums(blocks: Array) -> LocalSums:
        def step(T: Array, index: IntArray) -> tuple[Array, _Block]:
            r = np.full((len(T), s), SMOOTHED / s)
            r[np.arange(len(T)), (own - 2.0 * T[:, s * k :]).argmin(axis=1)] += 1.0 - SMOOTHED
            w = weights[index]
            right = (r[:, :, None] * T[:, : s * k].reshape(-1, s, k)).reshape(len(T), -1)
            return np.hstack([r, right]), _Block(0.0, w @ r, (w * lengths[index]) @ r)

        out, block = source.sweep(np.hstack([side_by_side(blocks), centres.T]), step)
        products = out[:, s:].reshape(p, s, k).transpose(1, 0, 2)
        return LocalSums(0.0, block.counts, block.energies, out[:, :s].T, products)

    for last in [False] * (START_STEPS - 1) + [True]:
        found = sums(blocks)
        means = found.sums / found.counts[:, None]
        along = np.einsum("sp,spk->sk", means, blocks)
        products = found.products / found.counts[:, None, None] - means[:, :, None] * along[:, None, :]
        if not last:
            blocks = np.linalg.qr(products)[0]
    return _loadings_in_blocks(blocks, products, means, found, shape)


def _loadings_in_blocks(blocks: Array, products: Array, means: Array, found: LocalSums, shape: Shape) -> Mixture:
    """Leading directions inside the blocks, scaled as in the closed form but never to nothing."""
    order = np.argsort(-found.counts, kind="stable")
    W, noise = np.zeros_like(blocks), np.empty(len(order))
    for place, c in enumerate(order):
        size = shape.sizes[place]
        values, R = top_eigh(symmetrise(blocks[c].T @ products[c]), size)
        trace = max(float(found.energies[c] / found.counts[c] - means[c] @ means[c]), EMPTY)
        level = max((trace - float(values.sum())) / (shape.ambient - size), 1e-3 * trace / shape.ambient, shape.floor)
        W[place, :, :size] = blocks[c] @ R * np.sqrt(np.maximum(values - level, 1e-3 * level))
        noise[place] = level
    if shape.shared:
        noise[:] = found.counts[order] @ noise / found.counts.sum()
    return Mixture(found.counts[order] / found.counts.sum(), means[order], W, noise)


class MixtureVector:
    """Parameters as one vector without constraints: logarithms of weights and noise, means and loadings."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    def pack(self, params: Mixture) -> Array:
        """Return the vector."""
        logs = [log_weights(params.mix_weights), np.log(params.noise_vars)]
        return np.concatenate([*logs, params.means.ravel(), params.W.ravel()])

    def unpack(self, vector: Array, like: Mixture) -> Mixture:
        """Return the parameters; the noise keeps to its floor."""
        s, p, k = like.W.shape
        logits, log_noise, means, W = np.split(vector, [s, 2 * s, 2 * s + s * p])
        shares = np.exp(logits - logits.max())
        noise = np.maximum(np.exp(np.clip(log_noise, -700.0, 700.0)), self.shape.floor)
        return Mixture(shares / shares.sum(), means.reshape(s, p), W.reshape(s, p, k), noise)


def climb(
    rows: CompleteRows | IncompleteRows, start: Mixture, control: Control
) -> Result[tuple[Mixture, LocalSums | MaskedSums]]:
    """Run EM from a starting point to its maximum.

    Plain steps first: extrapolation from afar may land in the basin of a worse maximum, from nearby it does not.
    """
    shape = rows.shape

    def run(params: Mixture, tol: float, max_iter: int, acceleration: str | None) -> Result[tuple[Mixture, Any]]:
        return run_em(
            rows.e_step,
            rows.m_step,
            params,
            log_likelihood=lambda sums: sums.log_likelihood,
            residual=lambda sums, before, after: step_length(before, after, shape.ambient),
            tol=tol,
            max_iter=max_iter,
            packing=MixtureVector(shape),
            acceleration=acceleration,
        )

    if control.acceleration is None:
        return run(start, control.tol, control.max_iter, None)
    near = run(start, max(control.tol, NEAR), control.max_iter, None)
    left = control.max_iter - near.stats["n_iter"]
    if near.status is not Status.CONVERGED or control.tol >= NEAR or left == 0:
        return near
    end = run(near.value[0], control.tol, left, control.acceleration)
    stats = {**end.stats, "n_iter": near.stats["n_iter"] + end.stats["n_iter"]}
    return Result(end.value, end.status, np.concatenate([near.path, end.path[1:]]), stats)


def _slices(shape: tuple[int, int]) -> list[slice]:
    size = max(16, (1 << 19) // max(1, shape[1]))
    return [slice(start, start + size) for start in range(0, shape[0], size)]
