"""EM over the rows, one read of the data an iteration: algorithms 1 and 2 of Yu et al. 2006, corrected."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._types import Array, IntArray, Result
from ..numerics.linalg import symmetrise, top_eigh
from ..numerics.linear_gaussian import (
    LOG_2PI,
    LatentSums,
    Limits,
    Params,
    apply_by_row,
    m_step,
    set_posteriors,
)
from ..numerics.moments import output_sets
from ..rows import RowSource
from .basis import Outputs
from .em import run_em
from .rank import refuse_full_rank_of_rows
from .restricted import ParamsVector, em_residual


class _Sums(NamedTuple):
    zz: Array
    z: Array
    y_zz: Array
    y_zy: Array
    fit: float


class RowEM:
    """E-step over a row source; every distinct set of observed outputs has its own posterior covariance."""

    def __init__(self, source: RowSource, outputs: Outputs) -> None:
        self.source, self.outputs = source, outputs
        o = outputs
        self.sets, self.of_row = output_sets(o.observed)
        self.set_weight = np.bincount(self.of_row, weights=o.weights, minlength=len(self.sets))

    def e_step(self, params: Params) -> LatentSums:
        """Read the rows once and return the expected statistics; x loadings are in the full space."""
        o, k = self.outputs, params.W_x.shape[1]
        cov, log_det = set_posteriors(params, self.sets)
        offset = params.m_x @ params.W_x / params.x_noise_var
        dy = np.where(o.observed, o.Y - params.m_y, 0.0)

        def step(T: Array, index: IntArray) -> tuple[Array, Any]:
            b = T / params.x_noise_var - offset + (dy[index] / params.y_noise_var) @ params.W_y
            Z = apply_by_row(cov, self.of_row[index], b)
            w = o.weights[index]
            z1 = np.column_stack([Z, np.ones(len(Z))])
            seen = o.observed[index] * w[:, None]
            y_zz = np.einsum("ij,ia,ib->jab", seen, z1, z1, optimize=True)
            return Z, _Sums(
                (Z * w[:, None]).T @ Z,
                w @ Z,
                y_zz,
                (dy[index] * w[:, None]).T @ z1,
                float(w @ (b * Z).sum(axis=1)),
            )

        xz, s = self.source.sweep(params.W_x, step)
        weights = self.set_weight
        y_zz = s.y_zz
        y_zz[:, :k, :k] += np.einsum("s,sj,sab->jab", weights, self.sets.astype(float), cov)
        n, p = self.source.count, self.source.shape[1]
        y_count = np.asarray(weights @ self.sets, dtype=np.float64)
        y_energy = o.weights @ dy**2
        x_energy = self.source.energy + n * float(params.m_x @ params.m_x)
        logs = (
            n * p * (LOG_2PI + np.log(params.x_noise_var)) + x_energy / params.x_noise_var + weights @ log_det - s.fit
        )
        logs += float((y_count * (LOG_2PI + np.log(params.y_noise_var)) + y_energy / params.y_noise_var).sum())
        zz = symmetrise(s.zz + np.einsum("s,sab->ab", weights, cov))
        xz = xz - np.outer(params.m_x, s.z)
        return LatentSums(
            float(-0.5 * logs), n, zz, s.z, xz, -n * params.m_x, x_energy, y_zz, s.y_zy, y_energy, y_count
        )

    def start(
        self, k: int, init: str, noise_init: tuple[float, float] | None, generator: np.random.Generator
    ) -> Params:
        """Starting point: random loadings, or PCA of all rows by a few power steps and almost no y.

        `noise_init` holds the noise variances of x and y in standard units, or None to derive them.
        """
        o, (_, p) = self.outputs, self.source.shape
        q = o.Y.shape[1]
        W_x = generator.standard_normal((p, k))
        W_y = generator.standard_normal((q, k))
        x_noise, y_noise = (0.5, 1.0) if noise_init is None else noise_init
        if init == "pca":
            for _ in range(3):
                W_x = np.linalg.qr(self.source.gram_product(W_x))[0]  # k columns even where X varies least
            G = self.source.gram_product(W_x)
            values, R = top_eigh(symmetrise(W_x.T @ G) / self.source.count, k)
            level = max((p - float(values.sum())) / (p - k), 1e-3)
            W_x = W_x @ R * np.sqrt(np.maximum(values - level, 1e-3))
            x_noise = level if noise_init is None else x_noise
            W_y = np.zeros((q, k)) + 1e-3 * generator.standard_normal((q, k))
        return Params(W_x, np.zeros(p), x_noise, W_y, np.zeros(q), np.full(q, y_noise))


def fit_by_row_em(
    source: RowSource, outputs: Outputs, options: Any, floors: Limits, y_scale: float, generator: np.random.Generator
) -> tuple[Params, Result[Params]]:
    """Fit by EM over the rows; one pass an iteration, plus the start's."""
    source.first_pass(np.zeros((source.shape[0], 0)))
    source.energy  # noqa: B018  (read now: the scale must be known before the first product)
    source.standardise()
    refuse_full_rank_of_rows(source, options.n_components, generator)
    rows = RowEM(source, outputs)
    noise = options.noise_init
    noise = None if noise is None else (noise / source.scale**2, noise / y_scale**2)
    start = rows.start(options.n_components, options.init, noise, generator)
    p = source.shape[1]
    result = run_em(
        rows.e_step,
        lambda sums, params: m_step(sums, params, p, floors, expand=options.acceleration is not None),
        start,
        log_likelihood=lambda sums: sums.log_likelihood,
        residual=em_residual,
        tol=options.tol,
        max_iter=options.max_iter,
        packing=ParamsVector(floors),
        acceleration=options.acceleration,
    )
    params = result.value[0]
    return params, Result(params, result.status, result.path, result.stats)
