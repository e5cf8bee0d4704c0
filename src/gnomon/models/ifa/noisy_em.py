"""EM for independent factors in isotropic noise: one read of the rows an iteration, dense or sparse."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._types import Array, BoolArray, IntArray, Result
from ...numerics.normalize import normalized
from ...rows.contract import Step, View, add
from ...rows.standard import StandardRows
from ...solvers.em import Packing, run_em
from .likelihood import FLOOR, LEAST_LOGIT
from .noisy_factors import (
    LatentMoments,
    Noisy,
    StateMaps,
    all_states,
    condition_states,
    latent_moments,
    maximize,
    state_maps,
)

BLOCK = 1 << 20  # numbers z of rows, states and latents held at once
NOISE_FLOOR = 1e-6  # of the variance of x


class Sums(NamedTuple):
    """Moments of the latents and their products with the rows."""

    latent: LatentMoments
    xz: Array  # (p, k)


def state_plausibilities(log_pl: Array, states: IntArray) -> Array:
    """Log-plausibilities (m, q) of products of components, given those of the components of each latent (m, k, c)."""
    return np.asarray(log_pl[:, np.arange(states.shape[1]), states].sum(axis=2))


def in_parts(maps: StateMaps, view: View) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Responsibilities, latent means given the state and given the row, and log-densities, some rows at a time."""
    size, log_pl = max(1, BLOCK // maps.states.size), view.aligned.get("log_pl")
    for start in range(0, len(view.T), size):
        part = slice(start, start + size)
        pl = np.zeros((1, len(maps.states))) if log_pl is None else state_plausibilities(log_pl[part], maps.states)
        resp, z, density = condition_states(maps, view.T[part], view.aligned["length"][part], pl)
        yield resp, z, np.einsum("nq,nqi->ni", resp, z), density


@dataclass(frozen=True)
class Expect:
    """The E-step on some rows: products with E[z], and the moments of the latents."""

    maps: StateMaps
    n_components: int

    def __call__(self, view: View) -> Step:
        means, total = [], None
        for resp, z, mean, density in in_parts(self.maps, view):
            means.append(mean)
            total = add(total, latent_moments(self.maps, resp, z, density, self.n_components))
        return Step(np.concatenate(means), total)


class NoisyEM:
    """E- and M-steps over rows with their lengths and log-plausibilities (n, k, c) of the components aligned."""

    def __init__(self, rows: StandardRows, log_pl: Array, sizes: tuple[int, ...]) -> None:
        self.rows = rows.measured().with_columns(log_pl=np.ascontiguousarray(log_pl.transpose(2, 0, 1)))
        self.states = all_states(sizes)

    def e_step(self, params: Noisy) -> Sums:
        """Posterior moments of the latents of all rows."""
        swept = self.rows.sweep(params.A, Expect(state_maps(params, self.states), params.means.shape[1]))
        return Sums(swept.sums, swept.product)

    def m_step(self, sums: Sums, params: Noisy) -> Noisy:
        """Maximize, with variances above their floors."""
        (n, p), energy = self.rows.shape, self.rows.energy
        return maximize(sums.latent, sums.xz, energy, n, params, (NOISE_FLOOR * energy / (n * p), FLOOR))

    def residual(self, sums: Sums, params: Noisy, after: Noisy) -> float:
        """Length of the step in units that do not depend on the scale of x: per row about its gain in nats."""
        weights = np.exp(params.log_weights)
        present = weights > 0
        moves = [
            np.sum((after.A - params.A) ** 2) / params.noise_var,
            self.rows.shape[1] * (np.log(after.noise_var / params.noise_var)) ** 2,
            np.sum(((after.means - params.means) ** 2 / params.variances * weights)[present]),
            np.sum((np.log(after.variances / params.variances) ** 2 * weights)[present]),
            np.sum((np.exp(after.log_weights) - weights)[present] ** 2 / weights[present]),
        ]
        return float(np.sqrt(sum(float(m) for m in moves)))


class NoisyVector(Packing):
    """Parameters as a vector; weights of components that are present come back with the sum one."""

    def __init__(self, present: BoolArray) -> None:
        super().__init__(noise_var=0.0, variances=FLOOR)
        self.present = present

    def pack(self, params: Noisy) -> Array:
        """As in `Packing`."""
        return super().pack(params._replace(log_weights=np.maximum(params.log_weights, LEAST_LOGIT)))

    def unpack(self, vector: Array, like: Noisy) -> Noisy:
        """As in `Packing`."""
        found: Noisy = super().unpack(vector, like)
        logits = np.where(self.present, found.log_weights, -np.inf)
        return found._replace(log_weights=logits - normalized(logits)[1][:, None])


def maximize_noisy(em: NoisyEM, start: Noisy, *, tol: float, max_iter: int) -> Result[tuple[Noisy, Sums]]:
    """Maximize from a start until a step is shorter than `tol`; every other step is extrapolated."""
    return run_em(
        em.e_step,
        em.m_step,
        start,
        log_likelihood=lambda sums: sums.latent.log_likelihood,
        residual=em.residual,
        tol=tol,
        max_iter=max_iter,
        packing=NoisyVector(np.isfinite(start.log_weights)),
        acceleration="alternating",
    )
