"""EM over rows that may miss entries, one read a step; every row is conditioned on what it observes.

With entries missing the optimum leaves the space that the rows span, so no basis holds it. The sites are those of
complete rows, with a covariance of the predictors for each row.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..._types import Array, Result, Status
from ...likelihoods.sites import ACCURACY, Sites
from ...numerics.batches import bordered_triangle, from_triangle, inverse_there, masked_precisions, triangle_of_outer
from ...numerics.linalg import orthonormal_columns, symmetrize
from ...numerics.linear_gaussian import LOG_2PI, Params
from ...numerics.scramble import random_rows
from ...rows.contract import Kept, Step, View
from ...rows.namespace import Place, namespace, replaced, rows_home
from ...rows.standard import StandardRows
from .basis import SPARE_DIRECTIONS
from .curvature import MOST_SUMMED, Curvature, curvature_of_rows
from .evidence import noise_sums, noisy_predictors
from .in_basis import gaussian_starts
from .ratio import JointMoments
from .sites_em import Rules, SitesEM, Sums

POWER_STEPS = 3
START_LOG_RATIOS = np.log(10.0) * np.array([4.0, -1.0, -3.0])  # noise of coded y over that of x: ignored to decisive
TRIAL_ITERATIONS = 25
TRIAL_ACCURACY = 1e-3
SAME = 1e-3  # nats per row by which starts differ that come to the same
FEW_ROWS, FEW_A_COLUMN, LARGE = 2000, 4, 3  # so many rows, or times the columns, of more than three times as many


class LabelSums(NamedTuple):
    """What the outputs of some rows add to the statistics."""

    log_z: float
    gap: float
    gradient: Array  # (h, k + 1)
    curvature: Curvature  # nothing but sums
    noise: Array  # (3, q)
    total: Array  # (h, h)   curvatures
    second: Array  # (h, h)   squares of slopes less curvatures
    cov: Array  # (k, k)   of z given x


class RowTotals(NamedTuple):
    """Sums over rows, of which only the last needs outputs."""

    fit: float
    total: Array  # (k + 1, k + 1)
    labels: LabelSums


@dataclass(frozen=True)
class Condition:
    """z of every row given what it observes of x: mean and covariance, by pattern."""

    x_noise_var: float
    WW: Array  # (k, k)   W'W
    mW: Array  # (k,)   W'm

    def __call__(self, view: View) -> tuple[Any, Any, Any]:
        """Means (m, k), covariances (m, k, k) or (k, k), and twice the log-density of x but for its own length.

        All are where the view is.
        """
        k, noise, place = len(self.mW), self.x_noise_var, Place(view.T)
        if view.mask is None:
            post = inverse_there(place.put(np.eye(k)[None] + self.WW[None] / noise))
            b = (view.T - place.put(self.mW)) / noise
            z = b @ post.inverse[0, :, :]
            return z, post.inverse[0, :, :], place.xp.sum(b * z, axis=1) - post.log_det
        corner = k * (k + 1) // 2
        b = (view.T - view.mask.by_row(view.mask.T[:, corner:])) / noise
        post = inverse_there(masked_precisions(view.mask.T[:, :corner] / noise, k))
        cov = view.mask.by_row(post.inverse)
        z = (cov @ b[:, :, None])[:, :, 0] if place.foreign else np.einsum("mab,mb->ma", cov, b)
        return z, cov, place.xp.sum(b * z, axis=1) - view.mask.by_row(post.log_det)


@dataclass(frozen=True)
class SitesStep:
    """One E-step of a block of rows: conditioned on x, then on their outputs."""

    condition: Condition
    sites: Sites
    V: Array
    b: Array
    noise: Array
    noisy: tuple[tuple[int, int], ...]  # outputs with noise, and their predictors
    accuracy: float
    n_near: int
    there: ClassVar[bool] = True

    def __call__(self, view: View) -> Step:
        """Statistics of the rows, and what their sites start from next."""
        z, cov, fit = self.condition(view)
        some = np.flatnonzero(~np.isnan(view.aligned["y"]).all(axis=1))
        if Place(z).foreign:
            return self._there(view, some, z, cov, fit)
        by_row = cov if cov.ndim == 2 else cov[some]
        labels, change, less, near = self._outputs(view, some, z[some], by_row)
        z[some] += change
        z1 = np.column_stack([z, np.ones(len(z))])
        second = triangle_of_outer(z1)
        second[some] -= bordered_triangle(less)
        total, U_mask = self._second(view, second, cov)
        totals = RowTotals(0.5 * float(view.weights @ fit), total, labels)
        return Step(view.weights[:, None] * z1, totals, None, U_mask, near)

    def _there(self, view: View, some: Any, z: Any, cov: Any, fit: Any) -> Step:
        """The same where the rows are; those with outputs alone come to the host, to be conditioned on them."""
        place, xp, k1 = Place(z), namespace(z), z.shape[1] + 1
        mean, w = rows_home(z, some), place.put(view.weights)[:, None]
        by_row = place.host(cov) if cov.ndim == 2 else rows_home(cov, some)
        labels, change, less, near = self._outputs(view, some, mean, by_row)
        z = replaced(z, some, place.put(mean + change))
        z1 = xp.concat([z, xp.ones_like(z[:, :1])], axis=1)
        second = triangle_of_outer(z1)
        second = replaced(second, some, place.put(rows_home(second, some) - bordered_triangle(less)))
        by_pattern = (second + bordered_triangle(cov if cov.ndim == 3 else cov[None, :, :])) * w
        total = from_triangle(place.host(xp.sum(by_pattern, axis=0))[None], k1)[0]
        totals = RowTotals(0.5 * float(xp.sum(w[:, 0] * fit)), total, labels)
        return Step(w * z1, totals, None, None if view.mask is None else by_pattern, near)

    def _second(self, view: View, second: Array, cov: Array) -> tuple[Array, Array | None]:
        """Second moments of (z, 1) over all rows and, where entries are missing, by pattern."""
        k1 = len(self.condition.mW) + 1
        if view.mask is None:
            summed = view.weights @ second + bordered_triangle(cov[None])[0] * view.weights.sum()
            return from_triangle(summed[None], k1)[0], None
        by_pattern = view.mask.sums(second, view.weights)
        by_pattern += bordered_triangle(cov[view.mask.first]) * by_pattern[:, -1:]
        return from_triangle(by_pattern.sum(axis=0, keepdims=True), k1)[0], by_pattern

    def _outputs(self, view: View, some: Any, z: Array, cov: Array) -> tuple[LabelSums, Array, Array, Any]:
        """Sums over labeled rows, how their means move, what their covariances lose, and starts of the next sites."""
        Y, w, V = view.aligned["y"][some], view.weights[some], self.V
        start = tuple(view.aligned[f"near{i}"][some] for i in range(self.n_near)) or None
        VS = V @ cov  # (h, k) or (m, h, k)
        fit = self.sites(Y, z @ V.T + self.b, VS @ V.T, self.noise, start, self.accuracy)
        change = np.matmul(fit.slope[:, None, :], VS)[:, 0]
        weighted = w[:, None] * fit.slope
        total = fit.total_curvature(w)
        second = weighted.T @ fit.slope - total
        if cov.ndim == 2:
            in_V = second @ VS
        else:
            by_row = fit.slope[:, :, None] * fit.slope[:, None, :] - fit.by_row
            in_V = np.tensordot(w, np.matmul(by_row, VS), axes=1)
        gradient = np.column_stack([weighted.T @ z + in_V, weighted.sum(axis=0)])
        z1 = np.column_stack([z, np.ones(len(z))])
        gap = 0.0 if fit.gap is None else float(w @ fit.gap)
        curvature = curvature_of_rows(fit, z1, w, total, MOST_SUMMED)._replace(terms=())
        noise = noise_sums(self.noisy, Y, w, fit)
        of_z = w.sum() * cov if cov.ndim == 2 else np.tensordot(w, cov, axes=1)
        sums = LabelSums(float(w @ fit.log_z), gap, gradient, curvature, noise, total, second, of_z)
        return sums, change, fit.through(VS), self._near(view, some, fit.near)

    @staticmethod
    def _near(view: View, some: Any, near: Any) -> dict[str, Array]:
        out = {}
        for i, part in enumerate(near or ()):
            whole = np.zeros((len(view.at), *part.shape[1:]))
            whole[some] = part
            out[f"near{i}"] = whole
        return out


@dataclass(frozen=True)
class KeepLabeled:
    """What x says of z, of the rows with outputs."""

    condition: Condition

    def __call__(self, view: View) -> Step:
        """Means and covariances, brought home."""
        z, cov, fit = self.condition(view)
        cov = np.broadcast_to(cov, (len(z), *cov.shape[-2:]))
        some = ~np.isnan(view.aligned["y"]).all(axis=1)
        return Step(sums=0.5 * float(view.weights @ fit), keep=Kept.some(view, some, z, cov))


def condition_of(params: Params) -> Condition:
    """How rows are conditioned on x."""
    return Condition(params.x_noise_var, params.W_x.T @ params.W_x, params.m_x @ params.W_x)


def mask_factors(params: Params) -> Array:
    """What the mask is multiplied by: triangles of w w' and m w of every feature."""
    return np.hstack([triangle_of_outer(params.W_x), params.m_x[:, None] * params.W_x])


class RowsEM(SitesEM):
    """EM over rows with the column "y" beside them."""

    shares = tuple(0.25 ** np.arange(1, 7))  # a trial costs a read

    def __init__(self, rows: StandardRows, rules: Rules, sites: Sites) -> None:
        Y = rows.rows.gather("y")
        w = np.ones(len(Y)) if rows.weights is None else rows.weights
        super().__init__(rules, float(w[~np.isnan(Y).all(axis=1)].sum()), rows.energy, rows.n_entries)
        self.rows, self.sites = rows, sites
        self.free_x_mean, self.observed = rules.free_means and rows.rows.masked, rows.observed_weight

    def e_step(self, params: Params, near: Sums | None = None, accuracy: float = ACCURACY) -> Sums:
        """As in `SitesEM`; one read."""
        rows, layout = self.rows if near is None else near.held[0], self.rules.layout
        n_near = sum(name.startswith("near") for name in getattr(rows.rows, "aligned", {}))
        step = SitesStep(
            condition_of(params), self.sites, params.W_y, params.m_y, params.y_noise_var,
            noisy_predictors(layout), accuracy, n_near,
        )  # fmt: skip
        V_mask = mask_factors(params) if rows.rows.masked else None
        swept = rows.sweep(params.W_x, step, V_mask=V_mask, aligned=True)
        totals: RowTotals = swept.sums
        labels, k = totals.labels, params.W_x.shape[1]
        zz1 = totals.total[None] if swept.mask_product is None else from_triangle(swept.mask_product, k + 1)
        objective = self.x_part(params, swept.product[:, k]) + totals.fit + labels.log_z
        objective, gradient = self._penalized(params, objective, labels.gradient)
        weight = self.label_weight
        cov = labels.cov / weight
        curvature = labels.curvature.with_covariance(labels.second, cov, weight)
        curvature = curvature.with_turning(labels.total, params.W_y @ cov, weight)
        held, gap = (swept.rows, curvature), labels.gap / weight  # rows with what their sites start from next
        return Sums(objective, swept.product, zz1, totals.total, gradient, labels.noise, gap, held, accuracy)

    def newton(self, sums: Sums, params: Params) -> Curvature:
        curvature: Curvature = sums.held[1]
        return curvature

    def x_part(self, params: Params, x_sum: Array) -> float:
        """The part of the log-density of x that is alike in all rows; `x_sum` (p,) is the sum of observed entries."""
        rows, noise = self.rows, params.x_noise_var
        energy = rows.energy + float(rows.observed_weight @ params.m_x**2 - 2.0 * params.m_x @ x_sum)
        return -0.5 * (rows.n_entries * (LOG_2PI + float(np.log(noise))) + energy / noise)


def starts(rows: StandardRows, codes: Array, base: Array, noise: Array, k: int, rules: Rules,
           generator: np.random.Generator) -> list[Params]:  # fmt: skip
    """Loadings from the Gaussian model of x and coded outputs over a few noise ratios, missing entries at their mean.

    Found among leading directions of x and those of the outputs (n, c), zero where not observed.
    """
    p = rows.shape[1]
    block = generator.standard_normal((p, min(k + SPARE_DIRECTIONS, p)))
    for _ in range(POWER_STEPS):
        block = np.linalg.qr(rows.gram_product(block))[0]
    xy = rows.back(codes)
    B = np.hstack([block, orthonormal_columns(xy, block)])
    xx = symmetrize(B.T @ rows.gram_product(B))
    outside = max(rows.energy - float(np.trace(xx)), 0.0)
    w = np.ones(len(codes)) if rows.weights is None else rows.weights
    weight = float(w[codes.any(axis=1)].sum()) or 1.0
    yy = (codes * w[:, None]).T @ codes / weight
    joint = JointMoments(xx / rows.weight, B.T @ xy / weight, yy, outside / rows.weight, rows.weight, p)
    h, found = len(base), gaussian_starts(joint, k, rules, START_LOG_RATIOS)
    return [
        at._replace(W_x=B @ at.W_x, m_x=np.zeros(p), W_y=np.zeros((h, k)), m_y=base, y_noise_var=noise) for at in found
    ]


def random_start(p: int, h: int, noise: Array, k: int, rules: Rules, generator: np.random.Generator) -> Params:
    """Random loadings of standard real outputs, about as large as the noise."""
    W, V = generator.standard_normal((p, k)), generator.standard_normal((h, k))
    V[:, rules.n_guided :] = 0.0
    return Params(W, np.zeros(p), 0.5, V, np.zeros(h), noise)


def _of_few(em: RowsEM) -> RowsEM:
    """The same of a part of the rows, if they are many: as many with outputs and without, each for those like it."""
    rows = em.rows.rows
    n, p = rows.shape
    labeled, most = ~np.isnan(rows.gather("y")).all(axis=1), max(FEW_ROWS, FEW_A_COLUMN * p)
    large = [group for group in map(np.flatnonzero, (labeled, ~labeled)) if len(group) > LARGE * most]
    if not large:
        return em
    weights = np.ones(n) if rows.weights is None else rows.weights
    lengths, kept = em.rows.lengths() / p, weights.copy()
    for group in large:
        some = group[random_rows(most, lengths[group], np.random.default_rng(0))]
        kept[group] = 0.0
        kept[some] = weights[some] * (weights[group].sum() / weights[some].sum())
    part = rows.anew(weights=kept).take(np.flatnonzero(kept))
    return RowsEM(part.standard(part.summarize()), em.rules, em.sites)


def maximize(em: RowsEM, candidates: list[Params], tol: float, max_iter: int,
             acceleration: str | None) -> Result[tuple[Params, Sums]]:  # fmt: skip
    """A few iterations from each start, then all from the best; the path is that of the best.

    Of many rows, a part chooses the start.
    """
    few = _of_few(em)
    trials = [
        few.maximize(start, TRIAL_ACCURACY, min(TRIAL_ITERATIONS, max_iter), acceleration) for start in candidates
    ]
    reached = np.array([trial.path[-1] for trial in trials])
    alike = reached >= reached.max() - SAME * few.rows.weight
    place = min(np.flatnonzero(alike), key=lambda i: trials[i].stats["n_iter"])
    if few is not em:  # its start by all rows is nearer to leading directions of all than where a part of them ends
        em.rows.rows.counter.total += few.rows.reads * few.rows.shape[0] / em.rows.shape[0]
        return em.maximize(candidates[place], tol, max_iter, acceleration)
    best = trials[int(reached.argmax())]
    params, sums = best.value
    left = max_iter - best.stats["n_iter"]
    if left <= 0:
        return best._replace(status=Status.MAX_ITER)
    found = em.maximize(params, tol, left, acceleration, sums, max(sums.accuracy * 0.1, ACCURACY))
    path = np.concatenate([best.path, found.path[1:]])
    return found._replace(path=path, stats={**found.stats, "n_iter": len(path) - 1})
