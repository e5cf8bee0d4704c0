"""EM for independent factors in isotropic noise: one read of the rows an iteration, dense or sparse."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import Array, BoolArray, IntArray, Result
from ...rows import RowSource
from ...rows.source import add_stats
from ...solvers.em import run_em
from .noisy_factors import (
    LatentMoments,
    Noisy,
    all_states,
    condition_states,
    latent_moments,
    maximise,
    state_maps,
)

BLOCK = 1 << 20  # numbers z of rows, states and latents held at once
NOISE_FLOOR = 1e-6  # of the variance of x
FLOOR = 1e-4  # of the variance of a latent


class Sums(NamedTuple):
    """Moments of the latents and their products with the rows."""

    latent: LatentMoments
    xz: Array  # (p, k)


class NoisyEM:
    """E- and M-steps over a source whose energy is known, with log-plausibilities (k, c, n) of the components."""

    def __init__(self, source: RowSource, lengths: Array, log_pl: Array, sizes: tuple[int, ...]) -> None:
        self.source, self.lengths, self.log_pl = source, lengths, log_pl
        self.states = all_states(sizes)
        self.columns = np.arange(len(sizes))

    def e_step(self, params: Noisy) -> Sums:
        """Posterior moments of the latents of all rows."""
        maps, c = state_maps(params, self.states), params.means.shape[1]

        def step(T: Array, index: IntArray) -> tuple[Array, LatentMoments]:
            U, total = np.empty_like(T), None
            size = max(1, BLOCK // self.states.size)
            for start in range(0, len(index), size):
                part = slice(start, start + size)
                rows = index[part]
                resp, z, density = condition_states(maps, T[part], self.lengths[rows], self._state_pl(rows))
                U[part] = np.einsum("nq,nqi->ni", resp, z)
                total = add_stats(total, latent_moments(maps, resp, z, density, c))
            assert total is not None
            return U, total

        xz, latent = self.source.sweep(params.A, step)
        return Sums(latent, xz)

    def _state_pl(self, rows: IntArray) -> Array:
        pl = np.zeros((len(rows), len(self.states)))
        for s in self.columns:
            pl += self.log_pl[s][:, rows].T[:, self.states[:, s]]
        return pl

    def m_step(self, sums: Sums, params: Noisy) -> Noisy:
        """Maximise, with variances above their floors."""
        n, energy = self.source.shape[0], self.source.energy
        floors = (NOISE_FLOOR * energy / (n * self.source.shape[1]), FLOOR)
        return maximise(sums.latent, sums.xz, energy, n, params, floors)

    def residual(self, sums: Sums, params: Noisy, after: Noisy) -> float:
        """Length of the step in units that do not depend on the scale of x: per row about its gain in nats."""
        weights = np.exp(params.log_weights)
        present = weights > 0
        moves = [
            np.sum((after.A - params.A) ** 2) / params.noise_var,
            self.source.shape[1] * (np.log(after.noise_var / params.noise_var)) ** 2,
            np.sum(((after.means - params.means) ** 2 / params.variances * weights)[present]),
            np.sum((np.log(after.variances / params.variances) ** 2 * weights)[present]),
            np.sum((np.exp(after.log_weights) - weights)[present] ** 2 / weights[present]),
        ]
        return float(np.sqrt(sum(float(m) for m in moves)))


class NoisyVector:
    """Parameters as an unconstrained vector, for acceleration."""

    def __init__(self, present: BoolArray) -> None:
        self.present = present

    def pack(self, params: Noisy) -> Array:
        """Return the vector."""
        logits = np.maximum(params.log_weights[self.present], -30.0)
        variances = np.log(params.variances[self.present])
        parts = (params.A.ravel(), [np.log(params.noise_var)], logits, params.means[self.present], variances)
        return np.concatenate(parts)

    def unpack(self, vector: Array, like: Noisy) -> Noisy:
        """Return the parameters."""
        m = int(self.present.sum())
        A, noise, logits, means, variances = np.split(vector, np.cumsum([like.A.size, 1, m, m]))
        log_weights = np.full(self.present.shape, -np.inf)
        log_weights[self.present] = np.minimum(logits, 30.0)
        log_weights -= np.log(np.exp(log_weights).sum(axis=1, keepdims=True))
        full_means, full_variances = np.zeros(self.present.shape), np.ones(self.present.shape)
        full_means[self.present] = means
        full_variances[self.present] = np.maximum(np.exp(np.minimum(variances, 30.0)), FLOOR)
        noise_var = float(np.exp(min(max(noise[0], -700.0), 700.0)))
        return Noisy(A.reshape(like.A.shape), noise_var, log_weights, full_means, full_variances)


def climb_noisy(
    em: NoisyEM, start: Noisy, present: BoolArray, *, tol: float, max_iter: int
) -> Result[tuple[Noisy, Sums]]:
    """Climb from a start until a step is shorter than `tol`; every other step is extrapolated."""
    return run_em(
        em.e_step,
        em.m_step,
        start,
        log_likelihood=lambda sums: sums.latent.log_likelihood,
        residual=em.residual,
        tol=tol,
        max_iter=max_iter,
        packing=NoisyVector(present),
        acceleration="alternating",
    )
