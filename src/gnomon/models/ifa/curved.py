"""The likelihood of independent latents as a landscape, with a metric near the inverse of minus its Hessian.

Where latents are independent the Hessian falls into small blocks (Ablin, Cardoso and Gramfort 2018): one of two numbers
for each pair of latents, how far row i of V turns toward row j and j toward i; one number for turns toward Gaussian
latents; and one block for every mixture, which is exact. For latents with class variables of their own.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._types import Array, BoolArray
from ...numerics.linear_gaussian import LOG_2PI
from ...numerics.normalize import normalized
from ...solvers.quasi_newton import Place
from .likelihood import Packing, Params, Rows, log_volume_slope
from .shapes import (
    POWERS,
    Mixtures,
    Moments,
    damped_inverse,
    fill_powers,
    log_joint_terms,
    slopes,
    sum_moments,
)

LEAST_CURVATURE = 1e-2  # of turns; zero where a latent is Gaussian
FARTHEST = 1.0  # that a log-variance, or a row of V, changes in one step
ROUNDING = 1e-15  # of the terms that add up to the log-density of a row
ON_BOUND = 1e-6  # log-variances nearer than this rest on their bound
ENTRIES = 1 << 16  # rows times latents times components at a time: they stay in the cache
FEWEST = 256  # rows at a time
FAINT = 1e-280  # densities from which logarithms are taken as they are


class Known(NamedTuple):
    """What is known at a place beside its value and slope; every array has a first axis of one, that of the start."""

    params: Params
    moments: Moments


class Sums(NamedTuple):
    """Sums over rows."""

    log_density: float
    scores: Array  # (S, d)     of minus the slope of the log-density of each latent, times u
    one: Array  # (S, c, 5)     as in `Moments`
    two: Array  # (S, c, c, 5)


class Landscape:
    """Log-likelihood per row of whitened rows, see `likelihood.log_likelihood`, of `Packing`'s vector."""

    def __init__(self, rows: Rows, packing: Packing) -> None:
        self.rows, self.packing = rows, packing
        self.lower = packing.bounds()[0]
        S, c = rows.present.shape
        self.labeled = bool(np.any(rows.log_pl))
        self.part = min(rows.U.shape[1], max(FEWEST, ENTRIES // (S * c)))
        self.powers = np.ones((S, POWERS, self.part))
        self.logs = np.empty((S, c, self.part))

    def place(self, params: Params) -> Place:
        """What is known at parameters."""
        sums, n, (S, d) = self._read(params), self.rows.U.shape[1], params.V.shape
        moments = Moments(sums.one / n, sums.two / n)
        volume, of_volume = log_volume_slope(params.V)
        value = volume - 0.5 * (d - S) * (1.0 + LOG_2PI) + sums.log_density / n
        of_V = of_volume - sums.scores / n
        of_V -= np.einsum("sd,sd->s", of_V, params.V)[:, None] * params.V
        vector = self.packing.pack(params)
        slope = self.packing.join(of_V, slopes(Mixtures(*params[1:]), moments.one))
        slope[(vector <= self.lower + ON_BOUND) & (slope < 0.0)] = 0.0
        terms = 1.0 + abs(value) + float((moments.one[:, :, 2] / params.variances).sum())
        residual = float(np.abs(slope * self.packing.units(params)).max())
        known = Known(Params(*(A[None] for A in params)), Moments(*(A[None] for A in moments)))
        numbers = np.array([[value], [ROUNDING * terms], [residual]])
        return Place(vector[None], numbers[0], numbers[1], slope[None], numbers[2], known)

    def _read(self, params: Params) -> Sums:
        """One read of the rows."""
        terms = log_joint_terms(Mixtures(*params[1:]))
        of_z = np.stack([-params.means / params.variances, 1.0 / params.variances], axis=1)
        total = Sums(0.0, *(np.zeros(1) for _ in Sums._fields[1:]))
        for start in range(0, self.rows.U.shape[1], self.part):
            U = self.rows.U[:, start : start + self.part]
            powers = self.powers[:, :, : U.shape[1]]
            np.matmul(params.V, U, out=powers[:, 1])
            fill_powers(powers)
            resp, log_density = self._responsibilities(terms, powers, start)
            inner = np.matmul(of_z, resp)
            scores = (inner[:, 1] * powers[:, 1] + inner[:, 0]) @ U.T
            one, two = sum_moments(resp, powers)
            total = Sums(total.log_density + log_density, total.scores + scores, total.one + one, total.two + two)
        return total

    def _responsibilities(self, terms: Array, powers: Array, start: int) -> tuple[Array, float]:
        """Responsibilities (S, c, m) of a part of the rows, and the sum of the log-densities."""
        size = powers.shape[2]
        logs = np.matmul(terms, powers[:, :3], out=self.logs[:, :, :size])
        if self.labeled:
            logs += self.rows.log_pl[:, :, start : start + size]
        resp = np.exp(logs)
        total = resp.sum(axis=1)
        if total.min() < FAINT:
            resp, log_density = normalized(logs)
            return resp, float(log_density.sum())
        resp /= total[:, None]
        return resp, float(np.log(total).sum())

    def at(self, vector: Array, near: Place) -> Place:
        """The place at a vector, or at the nearest one within bounds; rows of V get unit length."""
        return self.place(self.packing.unpack(np.where(vector <= self.lower + ON_BOUND, self.lower, vector)[0]))

    def longest(self, place: Place, step: Array) -> Array:
        """The share of a step that is trusted."""
        of_V = np.linalg.norm(step[0, : self.packing.edges[0]].reshape(-1, self.packing.d), axis=1)
        largest = max(float(of_V.max()), float(np.abs(step[0, self.packing.edges[2] :]).max()))
        return np.array([min(1.0, FARTHEST / max(largest, 1e-300))])

    def metric(self, place: Place) -> Callable[[Array], Array]:
        """See `Metric`."""
        known, slope = first_of(place), place.slope[0]
        above, units = place.vector[0] - self.lower, self.packing.units(known.params)
        crossing = (slope < 0.0) & (above < -slope * units**2)
        onto_bound = np.divide(above, -slope, out=units**2, where=crossing)
        return Metric(known, self.packing, onto_bound, crossing | (above <= ON_BOUND) & (slope == 0.0))


def first_of(place: Place) -> Known:
    """What is known at the place of the only start."""
    params, moments = place.held
    return Known(Params(*(A[0] for A in params)), Moments(*(A[0] for A in moments)))


class Metric:
    """From slopes to steps, symmetric and positive; log-variances that would cross their bound go onto it alone."""

    def __init__(self, known: Known, packing: Packing, alone: Array, is_alone: BoolArray) -> None:
        self.params, self.packing = known.params, packing
        turn = turn_curvatures(known.params, known.moments)
        self.outward = np.maximum(np.abs(turn - 1.0), LEAST_CURVATURE)
        mean, half = 0.5 * (turn[:, None] + turn), 0.5 * (turn[:, None] - turn)
        lift = np.maximum(LEAST_CURVATURE - mean + np.sqrt(half**2 + 1.0), 0.0)
        self.own, self.other = mean + half + lift, mean - half + lift  # of i toward j, and of j toward i
        self.span = np.linalg.qr(known.params.V.T)[0]
        self.alone = alone * is_alone
        free = packing.split(np.where(is_alone, 0.0, 1.0))[1] > 0.0
        self.of_mixtures = damped_inverse(Mixtures(*known.params[1:]), known.moments, free)

    def __call__(self, slope: Array) -> Array:
        """The step (1, d) of a slope."""
        V, first, slope = self.params.V, self.packing.edges[0], slope[0]
        of_V = slope[:first].reshape(V.shape)
        inside = of_V @ V.T
        outside = (of_V - of_V @ self.span @ self.span.T) / self.outward[:, None]
        inside = (self.other * inside - inside.T) / (self.own * self.other - 1.0)
        np.fill_diagonal(inside, 0.0)
        step_of_V = inside @ V + outside
        shapes = self.packing.split(slope)[1]
        moved = (self.of_mixtures @ shapes.reshape(len(V), -1, 1)).reshape(shapes.shape)
        return (self.packing.join(step_of_V, moved) + self.alone * slope)[None]


def turn_curvatures(params: Params, moments: Moments) -> Array:
    """Curvatures (S,) of turns of each row of V toward an independent latent of variance one, the volume aside.

    E[psi'] + 1 - E[psi z] with psi the slope of minus the log-density, sum_k r_k (z - mu_k) / nu_k.
    """
    nu = params.variances
    of_z = np.stack([-params.means / nu, 1.0 / nu], axis=2)  # (S, c, 2)
    shifts = np.arange(2)[:, None] + np.arange(2)
    squares = np.einsum("skm,skp,skmp->s", of_z, of_z, moments.one[..., shifts])
    products = np.einsum("skm,slp,sklmp->s", of_z, of_z, moments.two[..., shifts])
    along = np.einsum("skm,skm->s", of_z, moments.one[:, :, 1:3])
    return np.asarray((moments.one[:, :, 0] / nu).sum(axis=1) - squares + products + 1.0 - along)
