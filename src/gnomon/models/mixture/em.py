"""EM for mixtures of local linear-Gaussian models, one read of the rows an iteration."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._types import Array, Result, Status
from ...numerics.batches import bordered_triangle, from_triangle, masked_precisions, triangle_of_outer
from ...numerics.linalg import batch_inverse, symmetrize, top_eigh
from ...numerics.linear_gaussian import LOG_2PI
from ...numerics.normalize import normalized
from ...rows.contract import Step, Swept, View
from ...rows.patterns import MaskView
from ...rows.standard import ScaledRows
from ...solvers.em import Packing, run_em
from ...solvers.quasi_newton import ascend
from .curved import Landscape, one
from .local_gaussians import (
    EMPTY,
    LocalMaps,
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
    side_by_side,
    step_length,
)

SMOOTHED = 0.05  # share of every row that the start spreads over all components, so that none begins degenerate
START_STEPS = 3
TURN = 50  # steps of EM after which it crawls; then twice as many, after quasi-Newton steps that found no way
BEGUN, NEAR = 0.2, 0.03  # root nats per row: a start has begun to settle; is within the basin of a maximum


@dataclass(frozen=True)
class _EStep:
    """Responsibilities of some rows, and their products with the loadings or with the rows themselves."""

    maps: LocalMaps
    ambient: int
    size: int  # k
    moments: bool

    def __call__(self, view: View) -> Step:
        T = view.T @ self.maps.directions if self.moments else view.T
        r, density = normalized(condition(self.maps, T, view.aligned["length"], self.ambient)[0])
        s = r.shape[1]
        right = view.T[:, None, :] if self.moments else T[:, : s * self.size].reshape(-1, s, self.size)
        return _step_of(view, r, right, float(view.weights @ density))


def _step_of(view: View, r: Array, right: Array, log_likelihood: float) -> Step:
    """Sums over rows of responsibilities r (n, s), and of their products with `right` (n, s or 1, any)."""
    w, out = view.weights, np.empty((*r.shape, right.shape[2] + 1))
    np.multiply(w[:, None], r, out=out[:, :, 0])
    np.multiply(out[:, :, :1], right, out=out[:, :, 1:])
    return Step(out.reshape(len(r), -1), (log_likelihood, w @ r, (w * view.aligned["length"]) @ r))


def _local_sums(swept: Swept) -> LocalSums:
    """The sums of a sweep with `_step_of`."""
    (log_likelihood, counts, energies), out = swept.sums, swept.product
    by_component = out.reshape(len(out), len(counts), -1).transpose(1, 0, 2)
    return LocalSums(log_likelihood, counts, energies, by_component[:, :, 0], by_component[:, :, 1:])


class CompleteRows:
    """E-steps over complete rows, dense or sparse, centered and in standard units.

    With `moments` the sums hold p x p products per component, else products with the loadings.
    """

    def __init__(self, rows: ScaledRows, shape: Shape, *, moments: bool) -> None:
        self.shape, self.moments = shape, moments
        self.rows: ScaledRows = rows.measured()

    def e_step(self, params: Mixture) -> LocalSums:
        """Responsibilities of all rows and the weighted sums that the M-step needs; one read."""
        _, p, k = params.W.shape
        maps = local_maps(params)
        V = np.eye(p) if self.moments else maps.directions
        return _local_sums(self.rows.sweep(V, _EStep(maps, self.shape.ambient, k, self.moments)))

    def m_step(self, sums: LocalSums, params: Mixture) -> Mixture:
        """Maximize in closed form, or take one EM step over the latent variables."""
        return closed_form(sums, params, self.shape) if self.moments else latent_step(sums, params, self.shape)


@dataclass(frozen=True)
class _MaskedEStep:
    """Posterior of component and latent variables of some rows given what each observes, and its sums."""

    params: Mixture

    def __call__(self, view: View) -> Step:
        mask, w = view.mask, view.weights
        assert mask is not None
        lengths, seen = view.aligned["length"], view.aligned["seen"]
        log_joint, z, covs = masked_condition(self.params, view.T, mask, lengths, seen)
        r, density = normalized(log_joint)
        xz, zz, second = [], [], []
        for c in range(r.shape[1]):
            z1 = np.column_stack([z[:, c], np.ones(len(z))])
            sums_c = mask.sums(triangle_of_outer(z1) * r[:, [c]], w)
            sums_c += bordered_triangle(covs[c]) * sums_c[:, [-1]]  # the last entry of z1 counts the rows
            xz.append(z1 * (w * r[:, c])[:, None])
            zz.append(sums_c)
            second.append(sums_c.sum(axis=0))
        sums = (float(w @ density), w @ r, (w * seen) @ r, (w * lengths) @ r, np.array(second))
        return Step(np.hstack(xz), sums, U_mask=np.hstack(zz))


class IncompleteRows:
    """E-steps over rows that miss entries: each is conditioned on what it observes, in batches.

    Rows that observe the same entries share the posterior covariance of each component.
    """

    def __init__(self, rows: ScaledRows, shape: Shape) -> None:
        self.rows, self.shape = rows, shape

    def e_step(self, params: Mixture) -> MaskedSums:
        """Posterior of component and latent variables of all rows, and the sums of the M-step; one read."""
        s, p, k = params.W.shape
        directions, mask_directions = masked_directions(params)
        found = self.rows.sweep(directions, _MaskedEStep(params), V_mask=mask_directions)
        xz, zz = found.product, found.mask_product
        log_likelihood, counts, entries, energies, second = found.sums
        assert zz is not None
        triangles = zz.reshape(p, s, -1).transpose(1, 0, 2)
        return MaskedSums(
            log_likelihood,
            counts,
            entries,
            energies,
            from_triangle(second, k + 1),
            xz.reshape(p, s, k + 1).transpose(1, 0, 2),
            from_triangle(triangles.reshape(s * p, -1), k + 1).reshape(s, p, k + 1, k + 1),
        )

    def m_step(self, sums: MaskedSums, params: Mixture) -> Mixture:
        """Regress features on latent variables, component by component."""
        return masked_step(sums, params, self.shape)


def masked_directions(params: Mixture) -> tuple[Array, Array]:
    """What incomplete rows and their masks are multiplied by."""
    W, means = params.W, params.means
    triangles = np.hstack([triangle_of_outer(W_c) for W_c in W])
    return np.hstack([side_by_side(W), means.T]), np.hstack(
        [triangles, side_by_side(means[:, :, None] * W), means.T**2]
    )


def masked_condition(
    params: Mixture, T: Array, mask: MaskView, lengths: Array, seen: Array
) -> tuple[Array, Array, list[Array]]:
    """Joint log-densities (n, s) and posterior means (n, s, k) given the observed entries, and covariances [(u, k, k)].

    The covariances are those of the u patterns of observed entries.
    """
    s, p, k = params.W.shape
    n_tri = k * (k + 1) // 2
    of_means = mask.by_row(mask.T[:, s * n_tri :])
    b = (T[:, : s * k] - of_means[:, : s * k]).reshape(-1, s, k)
    distances = np.maximum(lengths[:, None] - 2.0 * T[:, s * k :] + of_means[:, s * k :], 0.0)
    log_joint, z, covs = np.empty((len(T), s)), np.empty((len(T), s, k)), []
    weights = log_weights(params.mix_weights)
    for c, noise in enumerate(params.noise_vars):
        post = batch_inverse(masked_precisions(mask.T[:, c * n_tri : (c + 1) * n_tri] / noise, k))
        z[:, c] = np.einsum("mab,mb->ma", mask.by_row(post.inverse), b[:, c] / noise)
        log_det = mask.by_row(post.log_det)
        quadratic = np.maximum((distances[:, c] - np.einsum("ma,ma->m", b[:, c], z[:, c])) / noise, 0.0)
        log_joint[:, c] = weights[c] - 0.5 * (seen * (LOG_2PI + np.log(noise)) + log_det + quadratic)
        covs.append(post.inverse)
    return log_joint, z, covs


@dataclass(frozen=True)
class _NearestStep:
    """Sums over rows that belong to their nearest center but for a small share."""

    own: Array  # (s,) squared lengths of the centers
    size: int  # k

    def __call__(self, view: View) -> Step:
        T, s = view.T, len(self.own)
        r = np.full((len(T), s), SMOOTHED / s)
        r[np.arange(len(T)), (self.own - 2.0 * T[:, s * self.size :]).argmin(axis=1)] += 1.0 - SMOOTHED
        return _step_of(view, r, T[:, : s * self.size].reshape(-1, s, self.size), 0.0)


def local_pca(rows: ScaledRows, centers: Array, blocks: Array, shape: Shape) -> Mixture:
    """Starting point: rows belong to their nearest center but for a small share, then a few power steps of local PCA.

    Missing entries are at the mean of their column. Clusters are ordered by falling size, so the first number of
    dimensions goes to the largest.
    """
    step = _NearestStep(np.einsum("sp,sp->s", centers, centers), blocks.shape[2])
    blocks = np.linalg.qr(blocks)[0]
    for last in [False] * (START_STEPS - 1) + [True]:
        found = _local_sums(rows.sweep(np.hstack([side_by_side(blocks), centers.T]), step))
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
        values, R = top_eigh(symmetrize(blocks[c].T @ products[c]), size)
        trace = max(float(found.energies[c] / found.counts[c] - means[c] @ means[c]), EMPTY)
        level = max((trace - float(values.sum())) / (shape.ambient - size), 1e-3 * trace / shape.ambient, shape.floor)
        W[place, :, :size] = blocks[c] @ R * np.sqrt(np.maximum(values - level, 1e-3 * level))
        noise[place] = level
    if shape.shared:
        noise[:] = found.counts[order] @ noise / found.counts.sum()
    return Mixture(found.counts[order] / found.counts.sum(), means[order], W, noise)


Near = tuple[Mixture, LocalSums | MaskedSums]


class MixtureVector(Packing):
    """Parameters as a vector; weights come back with the sum one."""

    def unpack(self, vector: Array, like: Mixture) -> Mixture:
        """As in `Packing`."""
        found: Mixture = super().unpack(vector, like)
        return found._replace(mix_weights=found.mix_weights / found.mix_weights.sum())


def begin(rows: CompleteRows | IncompleteRows, start: Mixture, tol: float, max_iter: int) -> Result[Near]:
    """Run EM from a starting point by plain steps, to where hopeless starts are seen to be so."""
    return _run(rows, (start, None), max(tol, BEGUN), max_iter, None)


def approach(rows: CompleteRows | IncompleteRows, begun: Result[Near], tol: float, max_iter: int) -> Result[Near]:
    """Run EM on into the basin of a maximum, by plain steps.

    Extrapolation from afar may land in the basin of a worse maximum, from nearby it does not.
    """
    left = max_iter - begun.stats["n_iter"]
    if begun.status is not Status.CONVERGED or begun.stats["residual"] <= max(tol, NEAR) or left == 0:
        return begun
    near = _run(rows, begun.value, max(tol, NEAR), left, None)
    stats = {**near.stats, "n_iter": begun.stats["n_iter"] + near.stats["n_iter"]}
    return Result(near.value, near.status, np.concatenate([begun.path, near.path[1:]]), stats)


def finish(
    rows: CompleteRows | IncompleteRows, near: Result[Near], tol: float, max_iter: int, acceleration: str | None
) -> Result[Near]:
    """Run EM on to the maximum; where it crawls, quasi-Newton steps go on, and EM again where these find none."""
    left = max_iter - near.stats["n_iter"]
    if near.status is not Status.CONVERGED or near.stats["residual"] <= tol:
        return near
    if left == 0:
        return near._replace(status=Status.MAX_ITER)
    climb, path, refused = acceleration is not None, [near.path], 0
    end, turn = near._replace(status=Status.MAX_ITER), TURN
    while end.status is Status.MAX_ITER and left > 0:
        end = _run(rows, end.value, tol, min(left, turn) if climb else left, acceleration)
        left, refused = left - end.stats["n_iter"], refused + end.stats["n_refused"]
        path.append(end.path[1:])
        if end.status is Status.MAX_ITER and left > 0:
            end, turn = _climb(rows, end.value, tol, left), 2 * turn
            left -= end.stats["n_iter"]
            path.append(end.path[1:])
    whole = np.concatenate(path)
    return Result(end.value, end.status, whole, {**end.stats, "n_iter": len(whole) - 1, "n_refused": refused})


def _climb(rows: CompleteRows | IncompleteRows, start: Near, tol: float, max_iter: int) -> Result[Near]:
    """Quasi-Newton steps; where they find none, status `MAX_ITER` says that EM is to go on."""
    landscape = Landscape(rows, _packing(rows))
    found = ascend(landscape, landscape.place(*start), tol, max_iter)
    status = Status.MAX_ITER if found.status is Status.STALLED else found.status
    return Result((one(found.value.held.params), one(found.value.held.sums)), status, found.path, found.stats)


def _packing(rows: CompleteRows | IncompleteRows) -> MixtureVector:
    return MixtureVector(mix_weights=0.0, noise_vars=rows.shape.floor)


def _run(
    rows: CompleteRows | IncompleteRows, start: tuple[Mixture, Any], tol: float, max_iter: int, acceleration: str | None
) -> Result[Any]:
    first, known = start
    return run_em(
        lambda params: known if params is first and known is not None else rows.e_step(params),
        rows.m_step,
        first,
        log_likelihood=lambda sums: sums.log_likelihood,
        residual=lambda sums, before, after: step_length(before, after, rows.shape.ambient),
        tol=tol,
        max_iter=max_iter,
        packing=_packing(rows),
        acceleration=acceleration,
    )
