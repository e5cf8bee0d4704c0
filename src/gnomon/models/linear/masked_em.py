"""EM for rows with missing features and missing outputs: every row is conditioned on what it observes, in batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._types import Array, BoolArray
from ...numerics.linalg import top_eigh
from ...numerics.linear_gaussian import (
    LOG_2PI,
    Limits,
    Params,
    fold_latent,
    output_precisions,
    output_residual,
    outputs_m_step,
    regress,
)
from ...numerics.masked import batch_inverse, bordered_triangle, from_triangle, masked_precisions, triangle_of_outer
from ...numerics.moments import output_sets
from ...rows.contract import Step, View
from ...rows.standard import StandardRows
from .basis import Outputs
from .in_basis import noise_move


class MaskedSums(NamedTuple):
    """Expected sufficient statistics; the first moments of (z, 1) are kept feature by feature."""

    log_likelihood: float
    weight: float
    zz: Array  # (k, k)
    z: Array  # (k,)
    xz1: Array  # (p, k + 1)          sum of x E[(z, 1)] over the rows that observe the feature
    zz1: Array  # (p, k + 1, k + 1)   sum of E[(z, 1)(z, 1)'] over the same rows
    y_zz: Array  # (q, k + 1, k + 1)
    y_zy: Array  # (q, k + 1)
    y_energy: Array  # (q,)
    y_count: Array  # (q,)


class _Block(NamedTuple):
    fit: float
    log_det: float
    zz: Array
    z: Array
    y_zz: Array
    y_zy: Array


@dataclass(frozen=True)
class _EStep:
    """Posterior of the latent variables of some rows given what each observes, and its sums."""

    params: Params
    of_sets: Array  # (s, k, k) precisions of every set of observed outputs
    sets: BoolArray  # (s, q)

    def __call__(self, view: View) -> Step:
        params, mask, k = self.params, view.mask, self.params.W_x.shape[1]
        assert mask is not None
        noise, corner = params.x_noise_var, k * (k + 1) // 2
        dy = np.where(view.aligned["observed"], view.aligned["y"] - params.m_y, 0.0)
        b = (view.T - mask.by_row(mask.T[:, corner:])) / noise + (dy / params.y_noise_var) @ params.W_y
        of_set = view.aligned["set"][mask.first]
        post = batch_inverse(masked_precisions(mask.T[:, :corner] / noise, k) + self.of_sets[of_set])
        Z = np.einsum("mab,mb->ma", mask.by_row(post.inverse), b)
        z1 = np.column_stack([Z, np.ones(len(Z))])
        second = mask.sums(triangle_of_outer(z1), view.weights)
        weight = second[:, -1]  # of every pattern, by the last entry of z1
        second += bordered_triangle(post.inverse) * weight[:, None]
        zz1 = from_triangle(second.sum(axis=0, keepdims=True), k + 1)[0]
        y_zz = from_triangle(self.sets[of_set].T.astype(float) @ second, k + 1)
        fit = float(view.weights @ (b * Z).sum(axis=1))
        y_zy = (dy * view.weights[:, None]).T @ z1
        sums = _Block(fit, float(weight @ post.log_det), zz1[:k, :k], zz1[:k, k], y_zz, y_zy)
        return Step(z1 * view.weights[:, None], sums, U_mask=second)


class MaskedEM:
    """E-step, M-step and start over rows that miss entries; a drop-in for `RowEM`. Memory a block: rows x k^2 numbers.

    Rows that observe the same features and outputs share one posterior covariance.
    """

    def __init__(self, rows: StandardRows, outputs: Outputs) -> None:
        self.outputs = outputs
        self.sets, of_row = output_sets(outputs.observed)
        self.rows: StandardRows = rows.with_columns(y=outputs.Y, observed=outputs.observed, set=of_row)

    def e_step(self, params: Params) -> MaskedSums:
        """Condition every row on its observed features and outputs; one read of the data."""
        o, k, noise = self.outputs, params.W_x.shape[1], params.x_noise_var
        V_mask = np.hstack([triangle_of_outer(params.W_x), params.m_x[:, None] * params.W_x])
        step = _EStep(params, output_precisions(params, self.sets), self.sets)
        found = self.rows.sweep(params.W_x, step, V_mask=V_mask, split="set")
        xz1, zz1, s = found.product, found.mask_product, found.sums
        assert zz1 is not None
        dy = np.where(o.observed, o.Y - params.m_y, 0.0)
        y_count = np.asarray(o.weights @ o.observed, dtype=np.float64)
        y_energy = o.weights @ dy**2
        x_energy = self.rows.energy + float(self.rows.observed_weight @ params.m_x**2)
        x_energy -= 2.0 * float(params.m_x @ xz1[:, k])
        logs = self.rows.n_entries * (LOG_2PI + np.log(noise)) + x_energy / noise + s.log_det - s.fit
        logs += float((y_count * (LOG_2PI + np.log(params.y_noise_var)) + y_energy / params.y_noise_var).sum())
        return MaskedSums(
            -0.5 * float(logs), self.rows.weight, s.zz, s.z, xz1, from_triangle(zz1, k + 1), s.y_zz, s.y_zy, y_energy,
            y_count,
        )  # fmt: skip

    def m_step(self, sums: MaskedSums, params: Params, limits: Limits, *, expand: bool) -> Params:
        """Regress every feature and output on (z, 1) over the rows that observe it."""
        k = len(sums.z)
        ridge = limits.prior_precision * params.x_noise_var
        right = sums.xz1 if limits.free_means else sums.xz1 - params.m_x[:, None] * sums.zz1[:, k]
        beta = regress(sums.zz1, right[:, :, None], ridge, limits.free_means)[:, :, 0]
        fitted = np.matmul(sums.zz1, beta[:, :, None])[:, :, 0]
        energy = self.rows.energy
        if not limits.free_means:
            energy += float(self.rows.observed_weight @ params.m_x**2 - 2.0 * params.m_x @ sums.xz1[:, k])
        left = energy - float((beta * (2.0 * right - fitted)).sum())
        m_x = beta[:, k] if limits.free_means else params.m_x
        x_noise_var = max(left / self.rows.n_entries, limits.x_floor)
        found = Params(beta[:, :k], m_x, x_noise_var, *outputs_m_step(sums, params, limits))
        return fold_latent(found, sums, limits.free_means) if expand and limits.prior_precision == 0.0 else found

    def residual(self, sums: MaskedSums, params: Params, after: Params, limits: Limits) -> float:
        """Relative distance from stationarity: of the loadings, and of the noise variances on the log scale."""
        k = len(sums.z)
        right = sums.xz1[:, :k] - params.m_x[:, None] * sums.zz1[:, k, :k]
        left = np.matmul(sums.zz1[:, :k, :k], params.W_x[:, :, None])[:, :, 0]
        left = left + limits.prior_precision * params.x_noise_var * params.W_x
        size = float(np.linalg.norm(right))
        of_x = float(np.linalg.norm(right - left)) / size if size > 0 else 0.0
        return max(of_x, output_residual(sums, params, limits), noise_move(params, after))

    def start(
        self, k: int, init: str, noise_init: tuple[float, Array | float] | None, generator: np.random.Generator
    ) -> Params:
        """Starting point: random loadings, or PCA of the rows with missing entries at their mean."""
        p, q = self.rows.shape[1], self.outputs.Y.shape[1]
        W_x, W_y = generator.standard_normal((p, k)), 1e-3 * generator.standard_normal((q, k))
        x_noise, y_noise = (0.5, 1.0) if noise_init is None else noise_init
        if init == "pca":
            for _ in range(3):
                W_x = np.linalg.qr(self.rows.gram_product(W_x))[0]
            values, R = top_eigh(W_x.T @ self.rows.gram_product(W_x) / self.rows.weight, k)
            W_x = W_x @ R * np.sqrt(np.maximum(values - 0.5, 1e-3))
        else:
            W_y = generator.standard_normal((q, k))
        return Params(W_x, np.zeros(p), x_noise, W_y, np.zeros(q), np.zeros(q) + y_noise)
