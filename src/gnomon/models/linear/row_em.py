"""EM over the rows, one read of the data an iteration: algorithms 1 and 2 of Yu et al. 2006, corrected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, Result, Status
from ...numerics.linalg import orthonormal_columns, symmetrize, top_eigh
from ...numerics.linear_gaussian import (
    LOG_2PI,
    LatentSums,
    Limits,
    Params,
    apply_by_row,
    m_step,
    set_posteriors,
)
from ...numerics.moments import output_sets
from ...rows.contract import Step, View
from ...rows.standard import StandardRows
from ...solvers.em import run_em
from .in_basis import TRIAL_ITERATIONS, ParamsVector, em_residual, obey, with_prior
from .patterns import Outputs


class _Sums(NamedTuple):
    zz: Array
    z: Array
    y_zz: Array
    y_zy: Array
    fit: float


class Schedule(NamedTuple):
    """How EM over the rows starts, runs and stops."""

    tol: float
    max_iter: int
    init: str = "pca"
    n_init: int = 0
    noise_init: tuple[float, Array | float] | None = None  # of x and y, in standard units
    acceleration: str | None = "alternating"


@dataclass(frozen=True)
class _EStep:
    """Posterior of the latent variables of some rows, and its sums."""

    params: Params
    cov: Array  # (s, k, k), of every set of observed outputs

    def __call__(self, view: View) -> Step:
        params, w, observed = self.params, view.weights, view.aligned["observed"]
        offset = params.m_x @ params.W_x / params.x_noise_var
        dy = np.where(observed, view.aligned["y"] - params.m_y, 0.0)
        b = view.T / params.x_noise_var - offset + (dy / params.y_noise_var) @ params.W_y
        Z = apply_by_row(self.cov, view.aligned["set"], b)
        z1 = np.column_stack([Z, np.ones(len(Z))])
        wZ = Z * w[:, None]
        y_zz = np.einsum("ij,ia,ib->jab", observed * w[:, None], z1, z1, optimize=True)
        sums = _Sums(wZ.T @ Z, w @ Z, y_zz, (dy * w[:, None]).T @ z1, float(w @ (b * Z).sum(axis=1)))
        return Step(wZ, sums)


class RowEM:
    """E-step over rows; every distinct set of observed outputs has its own posterior covariance."""

    def __init__(self, rows: StandardRows, outputs: Outputs) -> None:
        o = self.outputs = outputs
        self.sets, of_row = output_sets(o.observed)
        self.set_weight = np.bincount(of_row, weights=o.weights, minlength=len(self.sets))
        self.rows: StandardRows = rows.with_columns(y=o.Y, observed=o.observed, set=of_row)

    def e_step(self, params: Params) -> LatentSums:
        """Read the rows once and return the expected statistics; x loadings are in the full space."""
        o, k = self.outputs, params.W_x.shape[1]
        cov, log_det = set_posteriors(params, self.sets)
        found = self.rows.sweep(params.W_x, _EStep(params, cov))
        xz, s = found.product, found.sums
        dy = np.where(o.observed, o.Y - params.m_y, 0.0)
        weights = self.set_weight
        y_zz = s.y_zz
        y_zz[:, :k, :k] += np.einsum("s,sj,sab->jab", weights, self.sets.astype(float), cov)
        n, p = self.rows.weight, self.rows.shape[1]
        y_count = np.asarray(weights @ self.sets, dtype=np.float64)
        y_energy = o.weights @ dy**2
        x_energy = self.rows.energy + n * float(params.m_x @ params.m_x)
        logs = (
            n * p * (LOG_2PI + np.log(params.x_noise_var)) + x_energy / params.x_noise_var + weights @ log_det - s.fit
        )
        logs += float((y_count * (LOG_2PI + np.log(params.y_noise_var)) + y_energy / params.y_noise_var).sum())
        zz = symmetrize(s.zz + np.einsum("s,sab->ab", weights, cov))
        xz = xz - np.outer(params.m_x, s.z)
        return LatentSums(
            float(-0.5 * logs), n, zz, s.z, xz, -n * params.m_x, x_energy, y_zz, s.y_zy, y_energy, y_count
        )

    def m_step(self, sums: LatentSums, params: Params, limits: Limits, *, expand: bool) -> Params:
        """Maximize the expected log-likelihood."""
        return m_step(sums, params, self.rows.shape[1], limits, expand=expand)

    def residual(self, sums: LatentSums, params: Params, after: Params, limits: Limits) -> float:
        """Relative distance from stationarity."""
        return em_residual(sums, params, after, limits)

    def start(
        self, k: int, init: str, noise_init: tuple[float, Array | float] | None, generator: np.random.Generator
    ) -> Params:
        """Starting point: random loadings, or PCA of all rows by a few power steps and almost no y.

        `noise_init` holds the noise variances of x and y in standard units, or None to derive them.
        """
        o, (_, p) = self.outputs, self.rows.shape
        q = o.Y.shape[1]
        W_x = generator.standard_normal((p, k))
        W_y = generator.standard_normal((q, k))
        x_noise, y_noise = (0.5, 1.0) if noise_init is None else noise_init
        if init == "pca":
            for _ in range(3):
                W_x = np.linalg.qr(self.rows.gram_product(W_x))[0]  # k columns even where X varies least
            G = self.rows.gram_product(W_x)
            values, R = top_eigh(symmetrize(W_x.T @ G) / self.rows.weight, k)
            level = max((p - float(values.sum())) / (p - k), 1e-6)
            # a column that starts far below the noise would shrink to nothing before the noise has come down
            W_x = W_x @ R * np.sqrt(np.maximum(values - level, 0.1 * np.maximum(values, level)))
            x_noise = level if noise_init is None else x_noise
            W_y = np.zeros((q, k)) + 1e-3 * generator.standard_normal((q, k))
        return Params(W_x, np.zeros(p), x_noise, W_y, np.zeros(q), np.zeros(q) + y_noise)


def fit_by_rows(
    rows: RowEM, k: int, schedule: Schedule, limits: Limits, generator: np.random.Generator
) -> Result[Params]:
    """Fit by EM over the rows; one pass an iteration, plus those of the starts.

    From "pca", `n_init` random starts are tried as well, for a few iterations each, and the best two go on.
    """
    starts = [rows.start(k, schedule.init, schedule.noise_init, generator)]
    if schedule.init == "pca":
        starts += [rows.start(k, "random", schedule.noise_init, generator) for _ in range(schedule.n_init)]
    given = schedule.noise_init is not None
    starts = [obey(start, limits, keep_noise=given) for start in starts]
    if len(starts) == 1:
        result = _climb(rows, starts[0], schedule, limits)
        return Result(result.value[0], result.status, result.path, result.stats)
    trials = [_climb(rows, start, schedule._replace(max_iter=TRIAL_ITERATIONS), limits) for start in starts]
    trials.sort(key=lambda r: -float(r.path[-1]))
    finished = []
    for trial in trials[:2]:  # after so few iterations the order of the first two may still change
        result = _climb(rows, trial.value[0], schedule, limits)
        path = np.concatenate([trial.path, result.path[1:]])
        finished.append(Result(result.value[0], result.status, path, {**result.stats, "n_iter": len(path) - 1}))
    return max(finished, key=lambda r: float(r.path[-1]))


def _climb(rows: RowEM, start: Params, schedule: Schedule, limits: Limits) -> Result[tuple[Params, Any]]:
    """Run EM; where it ends with dead dimensions although X varies outside the live ones, revive them and go on."""
    result = _run(rows, start, schedule, limits)
    for _ in range(start.W_x.shape[1]):
        left = schedule.max_iter - result.stats["n_iter"]
        revived = _revived(rows, result.value[0]) if result.status is Status.CONVERGED and left > 0 else None
        if revived is None:
            break
        further = _run(rows, obey(revived, limits, keep_noise=True), schedule._replace(max_iter=left), limits)
        if further.path[-1] <= result.path[-1]:
            break
        path = np.concatenate([result.path, further.path])
        result = further._replace(path=path, stats={**further.stats, "n_iter": len(path) - 1})
    return result


def _revived(rows: RowEM, params: Params) -> Params | None:
    """A saddle's way out: put the directions of largest variance outside W in place of columns that shrank to nothing.

    A column that starts below the noise shrinks before the noise has come down, and no step brings it back.
    """
    U, size, Vt = np.linalg.svd(params.W_x, full_matrices=False)
    dead = size**2 < 1e-6 * params.x_noise_var
    if not dead.any():
        return None
    live, n_dead = U[:, ~dead], int(dead.sum())
    Q = np.random.default_rng(0).standard_normal((len(U), min(n_dead + 5, len(U) - live.shape[1])))
    for _ in range(3):
        Q = orthonormal_columns(rows.rows.gram_product(Q), live)
    values, R = top_eigh(symmetrize(Q.T @ rows.rows.gram_product(Q)) / rows.rows.weight, n_dead)
    gain = np.maximum(values - params.x_noise_var, 0.0)
    if Q.shape[1] == 0 or gain[0] < 1e-3 * params.x_noise_var:
        return None
    columns = (Q @ R) * np.sqrt(gain)
    return params._replace(W_x=params.W_x + columns @ Vt[dead][: columns.shape[1]])


def _run(rows: RowEM, start: Params, schedule: Schedule, limits: Limits) -> Result[tuple[Params, Any]]:
    return run_em(
        lambda params: with_prior(rows.e_step(params), params, limits),
        lambda sums, params: rows.m_step(sums, params, limits, expand=schedule.acceleration is not None),
        start,
        log_likelihood=lambda sums: float(sums.log_likelihood),
        residual=lambda sums, params, after: rows.residual(sums, params, after, limits),
        tol=schedule.tol,
        max_iter=schedule.max_iter,
        packing=ParamsVector(limits),
        acceleration=schedule.acceleration,
    )
