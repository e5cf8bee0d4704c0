"""Independent factor analysis with isotropic noise (Attias 1999) and labels per latent variable."""

from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from ..._types import Array, IntArray, Result
from ...numerics.linalg import canonical_rotation, sign_of_columns
from ...rows.contract import Kept, Step, View
from ...rows.contract import Rows as TableRows
from ...rows.threads import one_thread
from .components import draw_components, order_of, sort_components
from .likelihood import RowPosterior, complement, excluded, floors, padded_mixtures
from .noisy_em import NOISE_FLOOR, NoisyEM, in_parts, maximize_noisy
from .noisy_factors import Noisy, StateMaps, all_states, state_maps
from .profile import COARSE, best_of, maximize_all
from .starts import draw_starts
from .whitening import Whitened, whiten_rows

MAX_STATES = 4096


class Options(NamedTuple):
    """How to fit; see `gnomon.IFA` for the meaning."""

    n_latents: int  # mixtures and Gaussian ones
    init: str = "both"
    n_init: int = 5
    tol: float = 1e-6
    max_iter: int = 1000


class Fitted(NamedTuple):
    """A local maximum in the units of X, in canonical order and with canonical signs; the last latents are Gaussian."""

    params: Noisy
    sizes: tuple[int, ...]
    mean: Array  # (p,)


def fit(
    rows: TableRows, log_pl: Array, sizes: tuple[int, ...], options: Options, generator: np.random.Generator
) -> Result[Fitted]:
    """Fit by maximum likelihood, with log-plausibilities (S, c, n).

    Returns
    -------
    Result(Fitted, status, log-likelihood path in nats, stats) with stats as of the noiseless model; "optima" are those
    of its starts, in nats per row of the principal components.
    """
    (n, p), k = rows.shape, options.n_latents
    _check_sizes(sizes, k, p)
    white = whiten_rows(rows, k, generator)
    sizes = (*sizes, *(1,) * (k - len(sizes)))
    log_pl = _padded(log_pl, k)
    with one_thread():
        start, optima = _start(white, log_pl, sizes, options, generator)
        em = NoisyEM(white.rows, log_pl, sizes)
        result = maximize_noisy(em, start, tol=options.tol, max_iter=options.max_iter)
    params = result.value[0]
    path = result.path - n * p * np.log(white.scale)
    stats = {"n_iter": result.stats["n_iter"], "residual": result.stats["residual"], "n_passes": rows.reads}
    stats |= {"log_likelihood": float(path[-1]), "optima": optima, "floors": floors(params.variances)}
    ordered = _canonical(params, sizes, log_pl)
    ordered = ordered._replace(A=ordered.A * white.scale, noise_var=ordered.noise_var * white.scale**2)
    return Result(Fitted(ordered, sizes, white.rows.mean), result.status, path, stats)


def _check_sizes(sizes: tuple[int, ...], k: int, p: int) -> None:
    if not len(sizes) <= k < p:
        raise ValueError(
            f"noise='isotropic' has {k} latents (pca_components, else one for each class variable); at least "
            f"{len(sizes)}, for the class variables, and fewer than the {p} columns of X are wanted."
        )
    n_states = list(accumulate(sizes, lambda a, b: a * b))[-1]
    if n_states > MAX_STATES:
        raise ValueError(
            f"noise='isotropic' sums over all {n_states} products of components, and at most {MAX_STATES} can be; "
            "ask for fewer latents or components, or for noise='none'."
        )


def _padded(logs: Array, k: int) -> Array:
    """Add Gaussian latents to log-plausibilities (S, c, n) or log-weights (S, c): one component, always plausible."""
    extra = np.full((k - len(logs), *logs.shape[1:]), -np.inf)
    extra[:, 0] = 0.0
    return np.concatenate([logs, extra])


def _with_gaussians(log_weights: Array, means: Array, variances: Array, k: int) -> tuple[Array, Array, Array]:
    more = (0, k - len(means)), (0, 0)
    return _padded(log_weights, k), np.pad(means, more), np.pad(variances, more, constant_values=1.0)


def _start(
    white: Whitened,
    log_pl: Array,
    sizes: tuple[int, ...],
    options: Options,
    generator: np.random.Generator,
) -> tuple[Noisy, list[float]]:
    """The noiseless model of the principal components; the noise is what they leave, per remaining dimension."""
    mixtures = tuple(size for size in sizes if size > 1)
    S, (n, p) = len(mixtures), white.rows.shape
    energy = white.rows.energy
    rows = white.labeled(log_pl[:S])
    starts = draw_starts(rows, options.init, options.n_init, generator)
    found = maximize_all(starts.params, rows, tol=COARSE, max_iter=options.max_iter, n_sweeps=starts.n_sweeps)
    best = best_of(found).value
    B = np.vstack([best.V, complement(best.V, white.unwhiten)])
    A = np.asarray(np.linalg.solve(B.T, white.unwhiten.T).T)
    left = energy / n - float(np.sum(white.unwhiten**2))
    noise = max(left / (p - len(sizes)), NOISE_FLOOR * energy / (n * p))
    mixtures_of_all = _with_gaussians(*best[1:], len(sizes))
    return Noisy(A, noise, *mixtures_of_all), [float(r.path[-1]) for r in found]


def _canonical(params: Noisy, sizes: tuple[int, ...], log_pl: Array) -> Noisy:
    """Signs by the largest entry of each column; free latents by what they explain, their components by the means."""
    A, rest = params.A.copy(), np.array(sizes) == 1
    A[:, rest] = A[:, rest] @ canonical_rotation(A[:, rest])
    signs = sign_of_columns(A)
    A, means = A * signs, params.means * signs[:, None]
    order, S = np.arange(len(sizes)), int((~rest).sum())
    order[:S] = order_of(log_pl[:S], -(A**2).sum(axis=0)[:S])
    log_weights, means, variances = (M[order] for M in (params.log_weights, means, params.variances))
    sort_components(log_pl[:S], (log_weights, means, variances))
    return Noisy(A[:, order], params.noise_var, log_weights, means, variances)


def restore(
    mean: Array, A: Array, noise_var: float, weights: list[Array], means: list[Array], variances: list[Array]
) -> Fitted:
    """Put a fitted model together again; latents without a mixture are Gaussian."""
    k, sizes = A.shape[1], tuple(map(len, weights))
    params = Noisy(A, noise_var, *_with_gaussians(*padded_mixtures(weights, means, variances), k))
    return Fitted(params, (*sizes, *(1,) * (k - len(sizes))), mean)


# -- new rows --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Condition:
    """Condition some rows, and their labels where these are aligned, on the fitted model in units of the noise."""

    maps: StateMaps
    sizes: tuple[int, ...]

    def __call__(self, view: View) -> Step:
        found = []
        for resp, _, mean, density in in_parts(self.maps, view):
            proba = [resp @ np.eye(k)[self.maps.states[:, s]] for s, k in enumerate(self.sizes) if k > 1]
            found.append((mean, density, *proba))
        return Step(keep=Kept.of(view, *map(np.concatenate, zip(*found, strict=True))))


def posterior(fitted: Fitted, rows: TableRows, log_pl: Array | None = None) -> RowPosterior:
    """Condition new rows, and labels (S, c, n) of the class variables if they are passed, on the fitted model."""
    params = fitted.params
    scale = float(np.sqrt(params.noise_var))
    A = params.A / scale
    here = rows.in_units(fitted.mean, scale).measured()
    impossible = np.zeros(rows.shape[0], dtype=bool)
    if log_pl is not None:
        by_latent = excluded(params.log_weights[: len(log_pl)], log_pl)
        impossible = np.asarray(by_latent.any(axis=0))
        known = _padded(np.where(by_latent[:, None], 0.0, log_pl), A.shape[1])
        here = here.with_columns(log_pl=known.transpose(2, 0, 1))
    maps = state_maps(params._replace(A=A, noise_var=1.0), all_states(fitted.sizes))
    z, density, *proba = here.sweep(A, Condition(maps, fitted.sizes)).kept.of_rows()
    return RowPosterior(z, proba, np.where(impossible, -np.inf, density - len(A) * np.log(scale)))


def sample(fitted: Fitted, n: int, generator: np.random.Generator) -> tuple[Array, IntArray]:
    """Draw n rows (n, p) and the components (n, S) of the latents that have any."""
    params = fitted.params
    p, k = params.A.shape
    labels = draw_components(params.log_weights, n, generator)
    at = np.arange(k), labels
    Z = params.means[at] + np.sqrt(params.variances[at]) * generator.standard_normal((n, k))
    noise = np.sqrt(params.noise_var) * generator.standard_normal((n, p))
    return fitted.mean + Z @ params.A.T + noise, labels[:, : sum(size > 1 for size in fitted.sizes)]
