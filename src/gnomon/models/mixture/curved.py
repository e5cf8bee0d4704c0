"""The likelihood of a mixture as a landscape: slopes by EM's identity, and the metric that EM steps over.

Where components overlap much, EM crawls: what it takes for known, the component of each row and its latent variables,
says far more of the parameters than rows do. Quasi-Newton steps learn the difference.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array
from ...numerics.linalg import batch_inverse
from ...solvers.em import ROUNDING, Packing
from ...solvers.quasi_newton import Place
from .local_gaussians import EMPTY, LocalSums, MaskedSums, Mixture, Shape, step_length

LONGEST = 1.0  # change of the logarithm of a noise variance or weight in one step


class Slopes(NamedTuple):
    """Slopes in the logarithms of weights and noise variances, means and loadings, and EM's way from these to steps."""

    of: Mixture
    steps: Callable[[Mixture], Mixture]


def slopes_of_complete(sums: LocalSums, params: Mixture, shape: Shape, *, moments: bool) -> Slopes:
    """From local covariances: the likelihood of rows with known components, without latent variables."""
    k, W, noise = params.W.shape[2], params.W, params.noise_vars[:, None, None]
    counts = np.maximum(sums.counts, EMPTY)
    n, means = counts[:, None, None], sums.sums / counts[:, None]
    off = (means - params.means)[:, :, None]
    products, back = sums.products @ W if moments else sums.products, W.swapaxes(1, 2)
    SW = products / n - means[:, :, None] * (means[:, None, :] @ W) + off * (off.swapaxes(1, 2) @ W)
    inverse = batch_inverse(back @ W + noise * np.eye(k)).inverse
    z = SW @ inverse  # of each row x - m times E[z]', a mean
    energy = sums.energies / counts - np.einsum("sp,sp->s", means, means) + np.einsum("spo,spo->s", off, off)
    zz = noise * inverse + inverse @ (back @ z)
    left = energy - 2.0 * np.einsum("spk,spk->s", W, z) + np.einsum("skl,skl->s", back @ W, zz)
    slope = Mixture(
        sums.counts - sums.counts.sum() * params.mix_weights,
        (n * (off - W @ (inverse @ (back @ off))) / noise)[:, :, 0],
        n * (z - W @ zz) / noise,
        0.5 * counts * (left / params.noise_vars - shape.ambient),
    )
    to_z = batch_inverse(0.5 * (zz + zz.swapaxes(1, 2))).inverse

    def steps(slope: Mixture) -> Mixture:
        of_mean = slope.means[:, :, None]
        return Mixture(
            slope.mix_weights / np.maximum(sums.counts.sum() * params.mix_weights, EMPTY),
            ((W @ (back @ of_mean) + noise * of_mean) / n)[:, :, 0],
            slope.W @ to_z * (noise / n),
            2.0 * slope.noise_vars / (counts * shape.ambient),
        )

    return Slopes(_shared(slope, shape), steps)


def slopes_of_masked(sums: MaskedSums, params: Mixture, shape: Shape) -> Slopes:
    """From expected moments of latent variables, feature by feature."""
    beta = np.concatenate([params.W, params.means[:, :, None]], axis=2)  # (s, p, k + 1)
    noise, entries = params.noise_vars[:, None, None], np.maximum(sums.entries, EMPTY)
    fitted = (sums.zz @ beta[:, :, :, None])[..., 0]
    left = sums.energies - np.einsum("spk,spk->s", beta, 2.0 * sums.xz - fitted)
    of_beta = (sums.xz - fitted) / noise
    slope = Mixture(
        sums.counts - sums.counts.sum() * params.mix_weights,
        of_beta[:, :, -1],
        of_beta[:, :, :-1],
        0.5 * (left / params.noise_vars - sums.entries),
    )
    k = params.W.shape[2]
    seen = np.maximum(sums.zz[:, :, k, k], EMPTY)
    of_z, counts = sums.zz[:, :, :k, :k] + EMPTY * np.eye(k), np.maximum(sums.counts, EMPTY)[:, None]

    def steps(slope: Mixture) -> Mixture:
        along = (params.W @ (params.W.swapaxes(1, 2) @ slope.means[:, :, None]))[:, :, 0] / counts
        return Mixture(
            slope.mix_weights / np.maximum(sums.counts.sum() * params.mix_weights, EMPTY),
            along + noise[:, :, 0] * slope.means / seen,
            np.linalg.solve(of_z, slope.W[..., None])[..., 0] * noise,
            2.0 * slope.noise_vars / entries,
        )

    return Slopes(_shared(slope, shape), steps)


def _shared(of: Mixture, shape: Shape) -> Mixture:
    """One noise variance moves as one: each component has an equal share of its slope, and of its step."""
    if not shape.shared:
        return of
    return of._replace(noise_vars=np.full(len(of.noise_vars), of.noise_vars.mean()))


class Held(NamedTuple):
    """What is known at a place, with an axis for it."""

    params: Mixture
    sums: Any


class Landscape:
    """The likelihood of the rows of an engine, of parameters packed as a vector; see `ascend`."""

    def __init__(self, rows: Any, packing: Packing) -> None:
        self.rows, self.packing, self.shape = rows, packing, rows.shape

    def at(self, vector: Array, near: Place) -> Place:
        """The place at a vector (1, d)."""
        params: Mixture = self.packing.unpack(vector[0], one(near.held.params))
        return self.place(params, self.rows.e_step(params))

    def place(self, params: Mixture, sums: Any) -> Place:
        """The place at parameters whose statistics are known."""
        slope, after = self.slopes(params, sums).of, self.rows.m_step(sums, params)
        resting = (params.noise_vars <= self.shape.floor) & (slope.noise_vars < 0.0)
        slope = slope._replace(noise_vars=np.where(resting, 0.0, slope.noise_vars))
        value = np.array([float(sums.log_likelihood)])
        return Place(
            self.packing.pack(params)[None],
            value,
            ROUNDING * (1.0 + np.abs(value)),
            flat(slope)[None],
            np.array([step_length(params, after, self.shape.ambient)]),
            Held(_as_first(params), _as_first(sums)),
        )

    def slopes(self, params: Mixture, sums: Any) -> Slopes:
        """Those of the kind of statistics."""
        if isinstance(sums, MaskedSums):
            return slopes_of_masked(sums, params, self.shape)
        return slopes_of_complete(sums, params, self.shape, moments=self.rows.moments)

    def metric(self, place: Place) -> Callable[[Array], Array]:
        """From slopes to EM's steps."""
        params = one(place.held.params)
        steps = self.slopes(params, one(place.held.sums)).steps
        ends = np.cumsum([part.size for part in params])[:-1]

        def of(slope: Array) -> Array:
            parts = zip(np.split(slope[0], ends), params, strict=True)
            found = steps(Mixture(*(part.reshape(like.shape) for part, like in parts)))
            return flat(_shared(found, self.shape))[None]

        return of

    def longest(self, place: Place, step: Array) -> Array:
        """The share of a step that changes no weight or noise variance by a large factor."""
        s = len(one(place.held.params).noise_vars)
        far = max(np.abs(step[0, :s]).max(), np.abs(step[0, -s:]).max())
        return np.array([min(1.0, LONGEST / max(float(far), 1e-300))])


def flat(parts: Mixture) -> Array:
    """Slopes or steps as a vector."""
    return np.concatenate([part.ravel() for part in parts])


def one(held: Any) -> Any:
    """What belongs to the only place."""
    return type(held)(*(part[0] for part in held))


def _as_first(held: Any) -> Any:
    return type(held)(*(np.asarray(part)[None] for part in held))
