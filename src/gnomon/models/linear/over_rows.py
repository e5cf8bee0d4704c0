"""EM over rows that may miss entries, one read a step; every row is conditioned on what it observes.

z ~ N(0, I), x = W z + m + e with e ~ N(0, x_noise_var I), and outputs given a = V z + b. With entries missing the
optimum leaves the space that the rows span, so no basis holds it. The sites are those of complete rows, with a
covariance of the predictors for each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, Result, Status
from ...likelihoods.sites import ACCURACY, Sites
from ...numerics.linalg import kronecker_sum, orthonormal_columns, symmetrize
from ...numerics.linear_gaussian import LOG_2PI, Limits, Params, regress
from ...numerics.masked import batch_inverse, bordered_triangle, from_triangle, masked_precisions, triangle_of_outer
from ...rows.contract import Kept, Step, View
from ...rows.standard import StandardRows
from ...solvers.em import run_em
from .basis import SPARE_DIRECTIONS
from .outputs_em import (
    COARSEST,
    HALVINGS,
    MOST_UNKNOWNS,
    X_FLOOR,
    Y_FLOOR,
    Rules,
    Schedule,
    Steps,
    expansion,
    first_length,
)
from .ratio import JointMoments, params_at

POWER_STEPS = 3
START_LOG_RATIOS = np.log(10.0) * np.array([4.0, -1.0, -3.0])  # noise of coded y over that of x: ignored to decisive
TRIAL_ITERATIONS = 25
TRIAL_ACCURACY = 1e-3


class RowParams(NamedTuple):
    """Parameters of the model in standard units."""

    W: Array  # (p, k)
    m: Array  # (p,)
    x_noise_var: float
    V: Array  # (h, k)
    b: Array  # (h,)
    noise: Array  # (q,)   noise variances of real outputs, one for the others


class RowSums(NamedTuple):
    """Expected statistics of an E-step; the first moments of (z, 1) are kept feature by feature."""

    objective: float
    xz1: Array  # (p, k + 1)   sum of x E[(z, 1)] over the rows that observe the feature
    zz1: Array  # (p, k + 1, k + 1)   sum of E[(z, 1)(z, 1)'] over the same rows
    total: Array  # (k + 1, k + 1)   the same over all rows
    gradient: Array  # (h, k + 1)   of the objective in (V, b)
    direction: Array  # (h, k + 1)   a Newton step of them
    log_noise: Array  # (q,)   a step of the logarithms of the noise variances
    gap: float  # of the sites, a mean over labeled rows
    rows: StandardRows  # with what the sites of the next step start from beside them
    accuracy: float


class LabelSums(NamedTuple):
    """What the outputs of some rows add to the statistics."""

    log_z: float
    gap: float
    gradient: Array  # (h, k + 1)
    curvature: Array  # (h m, h m), or (h, h) where that is too large
    z1z1: Array  # (m, m)   of predictors of guided dimensions and one
    noise_gain: Array  # (q,)
    noise_curvature: Array  # (q,)
    noise_weight: Array  # (q,)


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

    def __call__(self, view: View) -> tuple[Array, Array, Array]:
        """Means (m, k), covariances (m, k, k) or (k, k), and twice the log-density of x but for its own length."""
        k, noise = len(self.mW), self.x_noise_var
        if view.mask is None:
            post = batch_inverse(np.eye(k)[None] + self.WW[None] / noise)
            b = (view.T - self.mW) / noise
            z = b @ post.inverse[0]
            return z, post.inverse[0], (b * z).sum(axis=1) - post.log_det
        corner = k * (k + 1) // 2
        b = (view.T - view.mask.by_row(view.mask.T[:, corner:])) / noise
        post = batch_inverse(masked_precisions(view.mask.T[:, :corner] / noise, k))
        cov = view.mask.by_row(post.inverse)
        z = np.einsum("mab,mb->ma", cov, b)
        return z, cov, (b * z).sum(axis=1) - view.mask.by_row(post.log_det)


@dataclass(frozen=True)
class SitesStep:
    """One E-step of a block of rows: conditioned on x, then on their outputs."""

    condition: Condition
    sites: Sites
    V: Array
    b: Array
    noise: Array
    n_guided: int
    noisy: tuple[tuple[int, int], ...]  # outputs with noise, and their predictors
    accuracy: float
    n_near: int

    def __call__(self, view: View) -> Step:
        """Statistics of the rows, and what their sites start from next."""
        z, cov, fit = self.condition(view)
        some = np.flatnonzero(~np.isnan(view.aligned["y"]).all(axis=1))
        by_row = cov if cov.ndim == 2 else cov[some]
        labels, change, less, near = self._outputs(view, some, z[some], by_row)
        z[some] += change
        z1 = np.column_stack([z, np.ones(len(z))])
        second = triangle_of_outer(z1)
        second[some] -= bordered_triangle(less)
        total, U_mask = self._second(view, second, cov)
        totals = RowTotals(0.5 * float(view.weights @ fit), total, labels)
        return Step(view.weights[:, None] * z1, totals, None, U_mask, near)

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
        less = np.matmul(np.swapaxes(VS, -1, -2), np.matmul(fit.curvature, VS))
        spread = fit.slope[:, :, None] * fit.slope[:, None, :] - fit.curvature
        weighted = w[:, None] * fit.slope
        in_V = weighted.T @ z + np.tensordot(w, np.matmul(spread, VS), axes=1)
        gradient = np.column_stack([in_V, weighted.sum(axis=0)])
        z1 = np.column_stack([z[:, : self.n_guided], np.ones(len(z))])
        C = w[:, None, None] * fit.curvature
        small = len(V) * z1.shape[1] <= MOST_UNKNOWNS
        curvature = kronecker_sum(C, z1) if small else C.sum(axis=0)
        gap = 0.0 if fit.gap is None else float(w @ fit.gap)
        moments = (z1 * w[:, None]).T @ z1
        sums = LabelSums(float(w @ fit.log_z), gap, gradient, curvature, moments, *self._noise(Y, w, fit))
        return sums, change, less, self._near(view, some, fit.near)

    def _noise(self, Y: Array, w: Array, fit: Any) -> tuple[Array, Array, Array]:
        gain, curvature, count = np.zeros((3, Y.shape[1]))
        for j, i in self.noisy:
            rows = np.flatnonzero(~np.isnan(Y[:, j]))
            second = fit.curvature[rows, i, i]
            gain[j] = w[rows] @ (fit.slope[rows, i] ** 2 - second)
            curvature[j] = w[rows] @ second**2
            count[j] = w[rows].sum()
        return gain, curvature, count

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


def condition_of(params: RowParams) -> Condition:
    """How rows are conditioned on x."""
    return Condition(params.x_noise_var, params.W.T @ params.W, params.m @ params.W)


def mask_factors(params: RowParams) -> Array:
    """What the mask is multiplied by: triangles of w w' and m w of every feature."""
    return np.hstack([triangle_of_outer(params.W), params.m[:, None] * params.W])


class RowsEM:
    """The steps of EM over rows with the column "y" beside them; each is pure in its arguments."""

    def __init__(self, rows: StandardRows, rules: Rules, sites: Sites) -> None:
        self.rows, self.rules, self.sites = rows, rules, sites
        Y = rows.rows.gather("y")
        w = np.ones(len(Y)) if rows.weights is None else rows.weights
        self.label_weight = max(float(w[~np.isnan(Y).all(axis=1)].sum()), 1e-300)
        self.penalty = rules.penalty

    def e_step(self, params: RowParams, near: RowSums | None = None, accuracy: float = ACCURACY) -> RowSums:
        """Expected statistics and the objective; one read."""
        rows, layout = self.rows if near is None else near.rows, self.rules.layout
        n_near = sum(name.startswith("near") for name in getattr(rows.rows, "aligned", {}))
        noisy = tuple((j, at.start) for j, (family, at) in enumerate(layout.parts) if family.noisy)
        step = SitesStep(
            condition_of(params), self.sites, params.V, params.b, params.noise, self.rules.n_guided, noisy, accuracy,
            n_near,
        )  # fmt: skip
        V_mask = mask_factors(params) if rows.rows.masked else None
        swept = rows.sweep(params.W, step, V_mask=V_mask, aligned=True)
        totals: RowTotals = swept.sums
        k = params.W.shape[1]
        zz1 = totals.total[None] if swept.mask_product is None else from_triangle(swept.mask_product, k + 1)
        objective = self.x_part(params, swept.product[:, k]) + totals.fit + totals.labels.log_z
        gradient, direction = self._newton(params, totals.labels)
        log_noise = self._noise_steps(params, totals.labels)
        gap = totals.labels.gap / self.label_weight
        return RowSums(
            objective - self.penalty_of(params), swept.product, zz1, totals.total, gradient, direction, log_noise, gap,
            swept.rows, accuracy,
        )  # fmt: skip

    def x_part(self, params: RowParams, x_sum: Array) -> float:
        """The part of the log-density of x that is alike in all rows; `x_sum` (p,) is the sum of observed entries."""
        rows, noise = self.rows, params.x_noise_var
        energy = rows.energy + float(rows.observed_weight @ params.m**2 - 2.0 * params.m @ x_sum)
        return -0.5 * (rows.n_entries * (LOG_2PI + float(np.log(noise))) + energy / noise)

    def penalty_of(self, params: RowParams) -> float:
        """What the priors take off the log-likelihood."""
        of_W = self.rules.prior_precision * float((params.W**2).sum())
        return 0.5 * (of_W + float(self.penalty @ (params.V**2).sum(axis=1)))

    def _newton(self, params: RowParams, labels: LabelSums) -> tuple[Array, Array]:
        """Gradient in (V, b), and an ascent direction: over the curvature, the covariance of z held."""
        (h, k), g = params.V.shape, self.rules.n_guided
        gradient = labels.gradient.copy()
        gradient[:, :k] -= self.penalty[:, None] * params.V
        gradient[:, g:k] = 0.0
        gradient[:, k] *= self.rules.free_b
        direction = np.zeros_like(gradient)
        if h == 0 or self.label_weight <= 1e-300:
            return gradient, direction
        used, m = np.append(np.arange(g), k), g + 1
        held = np.zeros((h, m), dtype=bool)
        held[:, -1] = self.rules.free_b == 0.0
        ridge = np.repeat(self.penalty[:, None], m, axis=1)
        ridge[:, -1] = 0.0
        if h * m > MOST_UNKNOWNS:  # as if curvatures and predictors varied independently
            small = 1e-9 * self.label_weight * np.eye(h)
            by_output = labels.curvature + np.diag(self.penalty) + small
            by_input = labels.z1z1 / self.label_weight + 1e-9 * np.eye(m)
            found = np.linalg.solve(by_output, np.linalg.solve(by_input, gradient[:, used].T).T)
            direction[:, used] = np.where(held, 0.0, found)
            return gradient, direction
        H = labels.curvature.copy()
        smallest = 1e-9 * (float(H.diagonal().max()) + 1e-12 * self.label_weight)
        H.flat[:: len(H) + 1] += ridge.ravel() + smallest
        H[held.ravel()] = 0.0
        H[:, held.ravel()] = 0.0
        H.flat[:: len(H) + 1] += held.ravel()
        direction[:, used] = np.linalg.solve(H, gradient[:, used].ravel()).reshape(h, m)
        return gradient, direction

    def _noise_steps(self, params: RowParams, labels: LabelSums) -> Array:
        """Steps (q,) of the logarithms of the noise variances, as for complete rows."""
        return self.rules.noise_steps(params.noise, labels.noise_gain, labels.noise_curvature, labels.noise_weight)

    def m_step(self, sums: RowSums, params: RowParams) -> RowParams:
        """Regress every feature on (z, 1) over the rows that observe it; Newton steps of all else with it."""
        x, fold = self._of_x(sums, params)
        steps = Steps(sums.direction, sums.log_noise)
        return _moved(x, params, fold, steps, first_length(steps, params.V))

    def safeguard(
        self, sums: RowSums, params: RowParams, plain: RowParams, accuracy: float = ACCURACY
    ) -> tuple[RowParams, RowSums]:
        """Shorten the Newton steps of `m_step` until the objective does not fall below the one before."""
        found = self.e_step(plain, sums, accuracy)
        if not self.rules.guarded or found.objective >= sums.objective:
            return plain, found
        x, fold = self._of_x(sums, params)
        steps = Steps(sums.direction, sums.log_noise)
        length = 0.25 * first_length(steps, params.V)
        for _ in range(HALVINGS // 2):  # a trial costs a read
            trial = _moved(x, params, fold, steps, length)
            found = self.e_step(trial, sums, accuracy)
            if found.objective >= sums.objective:
                return trial, found
            length *= 0.25
        still = _moved(x, params, fold, steps, 0.0)
        return still, self.e_step(still, sums, accuracy)

    def _of_x(self, sums: RowSums, params: RowParams) -> tuple[RowParams, tuple[Array, Array]]:
        """New W, m and noise of x; the mean and the triangular root of the law of z, which V and b take up as well."""
        k, rules, rows = params.W.shape[1], self.rules, self.rows
        ridge = rules.prior_precision * params.x_noise_var
        free = rules.free_means and rows.rows.masked  # the mean of complete rows is that of the sample
        shift = np.zeros_like(params.m) if free else params.m
        right = sums.xz1 - shift[:, None] * sums.zz1[:, k]
        if len(sums.zz1) == 1:
            beta = regress(sums.zz1[0], right.T, ridge, free).T
            fitted = beta @ sums.zz1[0]
        else:
            beta = regress(sums.zz1, right[:, :, None], ridge, free)[:, :, 0]
            fitted = np.matmul(sums.zz1, beta[:, :, None])[:, :, 0]
        energy = rows.energy + float(rows.observed_weight @ shift**2 - 2.0 * shift @ sums.xz1[:, k])
        left = energy - float((beta * (2.0 * right - fitted)).sum())
        W, m = beta[:, :k], shift + beta[:, k]
        found = params._replace(W=W, m=m, x_noise_var=max(left / rows.n_entries, X_FLOOR))
        weight = float(sums.total[k, k])
        mean = sums.total[:k, k] / weight if free else np.zeros(k)
        if ridge:  # the prior holds z to its unit: nothing is folded
            return found, (np.zeros(k), np.eye(k))
        cov = symmetrize(sums.total[:k, :k] / weight - mean[:, None] * mean)
        L = expansion(cov, params.V, self.penalty / weight)
        return found._replace(W=W @ L, m=m + W @ mean), (mean, L)

    def residual(self, sums: RowSums, params: RowParams, after: RowParams) -> float:
        """Relative distance from stationarity of loadings, noise variances, label parameters and sites."""
        k = params.W.shape[1]
        right = sums.xz1[:, :k] - params.m[:, None] * sums.zz1[:, k, :k]
        left = np.matmul(sums.zz1[:, :k, :k], params.W[:, :, None])[:, :, 0]
        left = left + self.rules.prior_precision * params.x_noise_var * params.W
        size = float(np.linalg.norm(right))
        loadings = float(np.linalg.norm(right - left)) / size if size > 0 else 0.0
        noises = [after.x_noise_var / params.x_noise_var, *(after.noise / params.noise)]
        moves = float(np.abs(np.log(noises)).max())
        return max(loadings, moves, sums.gap, float(np.linalg.norm(sums.gradient)) / self.label_weight)

    def maximize(
        self, start: RowParams, tol: float, max_iter: int, acceleration: str | None, near: RowSums | None = None,
        coarsest: float = COARSEST,
    ) -> Result[tuple[RowParams, RowSums]]:  # fmt: skip
        """Run EM from `start`; sites are found the more accurately the smaller the residual is."""
        schedule = Schedule.for_tolerance(coarsest, tol)
        return run_em(
            lambda params, last: self.e_step(params, near if last is None else last, schedule.accuracy),
            self.m_step,
            start,
            log_likelihood=lambda sums: sums.objective,
            residual=lambda sums, params, after: schedule.follow(self.residual(sums, params, after), sums.accuracy),
            tol=tol,
            max_iter=max_iter,
            packing=RowVector(self.rules),
            acceleration=acceleration if self.rules.guarded else None,
            monotone=self.rules.monotone,
            safeguard=lambda sums, params, plain: self.safeguard(sums, params, plain, schedule.accuracy),
            warm=True,
        )


def _moved(x: RowParams, params: RowParams, fold: tuple[Array, Array], steps: Steps, length: float) -> RowParams:
    """Newton steps of some length of V, b and the noise of outputs; V and b take up the law of z."""
    mean, L = fold
    change = length * steps.direction
    V = params.V + change[:, :-1]
    b = params.b + change[:, -1] + V @ mean
    return x._replace(V=V @ L, b=b, noise=params.noise * np.exp(length * steps.log_noise))


class RowVector:
    """Parameters as one unconstrained vector."""

    def __init__(self, rules: Rules) -> None:
        self.free = rules.free_noise

    def pack(self, params: RowParams) -> Array:
        """Return the vector."""
        logs = np.log(np.append(params.noise[self.free], params.x_noise_var))
        return np.concatenate([logs, params.V.ravel(), params.b, params.m, params.W.ravel()])

    def unpack(self, vector: Array, like: RowParams) -> RowParams:
        """Return parameters shaped like `like`, noise variances at or above their floors."""
        n, (h, k), p = int(self.free.sum()), like.V.shape, len(like.m)
        logs = np.exp(np.clip(vector[: n + 1], -60.0, 60.0))
        noise = like.noise.copy()
        noise[self.free] = np.maximum(logs[:n], Y_FLOOR)
        ends = np.cumsum([h * k, h, p])
        V, b, m, W = np.split(vector[n + 1 :], ends)
        return RowParams(W.reshape(p, k), m, max(float(logs[n]), X_FLOOR), V.reshape(h, k), b, noise)


def gaussian_starts(joint: JointMoments, k: int, rules: Rules) -> list[Params]:
    """The Gaussian model of x and coded outputs over a few noise ratios; what the outputs share comes first."""
    found = []
    for log_ratio in START_LOG_RATIOS[: None if len(joint.yy) else 1]:
        at = params_at(joint, k, float(log_ratio), Limits(X_FLOOR, Y_FLOOR))
        if len(joint.yy) and rules.n_guided < k:
            at = at._replace(W_x=at.W_x @ np.linalg.svd(at.W_y)[2].T)
        found.append(at)
    return found


def starts(rows: StandardRows, codes: Array, base: Array, noise: Array, k: int, rules: Rules,
           generator: np.random.Generator) -> list[RowParams]:  # fmt: skip
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
    found, h = [], len(base)
    for at in gaussian_starts(joint, k, rules):
        W = B @ at.W_x
        lengths = np.linalg.eigvalsh(at.W_x.T @ at.W_x)
        smallest = min(
            1e-3 * float(lengths.sum()), float(lengths.min())
        )  # a column below the noise would shrink to none
        found.append(RowParams(W, np.zeros(p), max(at.x_noise_var, smallest), np.zeros((h, k)), base, noise))
    return found


def random_start(p: int, h: int, noise: Array, k: int, rules: Rules, generator: np.random.Generator) -> RowParams:
    """Random loadings of standard real outputs, about as large as the noise."""
    W, V = generator.standard_normal((p, k)), generator.standard_normal((h, k))
    V[:, rules.n_guided :] = 0.0
    return RowParams(W, np.zeros(p), 0.5, V, np.zeros(h), noise)


def maximize(em: RowsEM, candidates: list[RowParams], tol: float, max_iter: int,
             acceleration: str | None) -> Result[tuple[RowParams, RowSums]]:  # fmt: skip
    """A few iterations from each start, then all from the best; the path is that of the best."""
    trials = [em.maximize(start, TRIAL_ACCURACY, min(TRIAL_ITERATIONS, max_iter), acceleration) for start in candidates]
    best = max(trials, key=lambda trial: float(trial.path[-1]))
    left = max_iter - best.stats["n_iter"]
    if left <= 0:
        return best._replace(status=Status.MAX_ITER)
    params, sums = best.value
    found = em.maximize(params, tol, left, acceleration, sums, max(sums.accuracy * 0.1, ACCURACY))
    path = np.concatenate([best.path, found.path[1:]])
    return found._replace(path=path, stats={**found.stats, "n_iter": len(path) - 1})
