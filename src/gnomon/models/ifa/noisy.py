"""Independent factor analysis with isotropic noise (Attias 1999) and labels per latent variable."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, IntArray, Result
from ...numerics.linalg import canonical_rotation, sign_of_columns
from ...rows import RowSource, row_source
from ...rows.products import project, squared_lengths
from ...rows.threads import one_thread
from .likelihood import Params, Rows
from .noisy_em import NOISE_FLOOR, NoisyEM, climb_noisy
from .noisy_factors import Noisy, StateMaps, all_states, condition_states, state_maps
from .profile import climb
from .starts import label_weights, labelled_start, random_start
from .whitening import Whitened, whiten_rows

MAX_STATES = 4096
BLOCK = 1 << 20  # numbers held at once for new rows


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
    X: Any, log_pl: Array, sizes: tuple[int, ...], options: Options, generator: np.random.Generator
) -> Result[Fitted]:
    """Fit by maximum likelihood to rows X (n, p), dense or scipy sparse, with log-plausibilities (S, c, n).

    Returns
    -------
    Result(Fitted, status, log-likelihood path in nats, stats) with stats as of the noiseless model; "optima" are those
    of its starts, in nats per row of the principal components.
    """
    n, p = X.shape
    k = options.n_latents
    _refuse(sizes, k, p)
    source = row_source(X)
    white = whiten_rows(source, k, generator)
    sizes = (*sizes, *(1,) * (k - len(sizes)))
    log_pl = _padded(log_pl, k)
    present = np.arange(max(sizes)) < np.array(sizes)[:, None]
    with one_thread():
        start, optima = _start(source, white, log_pl, sizes, options, generator)
        em = NoisyEM(source, squared_lengths(X, source.mean, source.scale), log_pl, sizes)
        result = climb_noisy(em, start, present, tol=options.tol, max_iter=options.max_iter)
    params = result.value[0]
    path = result.path - n * p * np.log(source.scale)
    variances = np.where(present, params.variances, np.inf)
    floors = [(int(s), int(c)) for s, c in np.argwhere(variances <= 1.0001e-4)]
    stats = {"n_iter": result.stats["n_iter"], "residual": result.stats["residual"], "n_passes": source.n_passes}
    stats |= {"log_likelihood": float(path[-1]), "optima": optima, "floors": floors}
    ordered = _canonical(params, sizes, log_pl)
    ordered = ordered._replace(A=ordered.A * source.scale, noise_var=ordered.noise_var * source.scale**2)
    return Result(Fitted(ordered, sizes, source.mean), result.status, path, stats)


def _refuse(sizes: tuple[int, ...], k: int, p: int) -> None:
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


def _padded(log_pl: Array, k: int) -> Array:
    """Add Gaussian latents: one component, always plausible."""
    S, c, n = log_pl.shape
    extra = np.full((k - S, c, n), -np.inf)
    extra[:, 0] = 0.0
    return np.concatenate([log_pl, extra])


def _start(
    source: RowSource,
    white: Whitened,
    log_pl: Array,
    sizes: tuple[int, ...],
    options: Options,
    generator: np.random.Generator,
) -> tuple[Noisy, list[float]]:
    """The noiseless model of the principal components; the noise is what they leave, per remaining dimension."""
    mixtures = tuple(size for size in sizes if size > 1)
    S, (n, p) = len(mixtures), source.shape
    rows = Rows(white.U, log_pl[:S])
    present = np.arange(max(sizes)) < np.array(mixtures)[:, None]
    starts = [] if options.init == "random" else [labelled_start(rows, mixtures, generator, tied=False)]
    n_random = 0 if options.init == "labels" else options.n_init - len(starts)
    starts += [random_start(rows, mixtures, generator, tied=False) for _ in range(n_random)]
    found = [climb(s, rows, present, tied=False, tol=1e-4, max_iter=options.max_iter) for s in starts]
    best: Params = max(found, key=lambda r: float(r.path[-1])).value
    B = np.vstack([best.V, np.linalg.svd(best.V)[2][S:]])
    A = np.linalg.solve(B.T, white.colour.T).T / source.scale
    left = source.energy / n - float(np.sum((white.colour / source.scale) ** 2))
    noise = max(left / (p - len(sizes)), NOISE_FLOOR * source.energy / (n * p))
    rest, c = len(sizes) - S, max(sizes)
    log_weights = np.vstack([best.log_weights, np.full((rest, c), -np.inf)])
    log_weights[S:, 0] = 0.0
    means, variances = (np.vstack([A_, np.full((rest, c), v)]) for A_, v in ((best.means, 0.0), (best.variances, 1.0)))
    return Noisy(A, noise, log_weights, means, variances), [float(r.path[-1]) for r in found]


def _canonical(params: Noisy, sizes: tuple[int, ...], log_pl: Array) -> Noisy:
    """Signs by the largest entry of each column; free latents by what they explain, their components by the means."""
    A, rest = params.A.copy(), np.array(sizes) == 1
    A[:, rest] = A[:, rest] @ canonical_rotation(A[:, rest])
    signs = sign_of_columns(A)
    A, means = A * signs, params.means * signs[:, None]
    free = np.array([not label_weights(pl).any() for pl in log_pl]) & ~rest
    order, explained = np.arange(len(sizes)), (A**2).sum(axis=0)
    for size in {sizes[s] for s in np.flatnonzero(free)}:
        places = np.flatnonzero(free & (np.array(sizes) == size))
        order[places] = places[np.argsort(-explained[places], kind="stable")]
    log_weights, means, variances = (M[order].copy() for M in (params.log_weights, means, params.variances))
    for s in np.flatnonzero(free):
        by_mean = np.argsort(means[s, : sizes[s]], kind="stable")
        for M in (log_weights, means, variances):
            M[s, : sizes[s]] = M[s, by_mean]
    return Noisy(A[:, order], params.noise_var, log_weights, means, variances)


def restore(
    mean: Array, A: Array, noise_var: float, weights: list[Array], means: list[Array], variances: list[Array]
) -> Fitted:
    """Put a fitted model together again; latents without a mixture are Gaussian."""
    k, S, c = A.shape[1], len(weights), max(map(len, weights))
    log_weights, full_means, full_variances = np.full((k, c), -np.inf), np.zeros((k, c)), np.ones((k, c))
    log_weights[S:, 0] = 0.0
    for s, w in enumerate(weights):
        log_weights[s, : len(w)] = np.log(w)
        full_means[s, : len(w)], full_variances[s, : len(w)] = means[s], variances[s]
    sizes = (*map(len, weights), *(1,) * (k - S))
    return Fitted(Noisy(A, noise_var, log_weights, full_means, full_variances), sizes, mean)


# -- new rows --------------------------------------------------------------------------------------------------------


class RowPosterior(NamedTuple):
    """New rows under a fitted model."""

    z: Array  # (n, k)    posterior means
    log_density: Array  # (n,)
    proba: list[Array]  # S arrays (n, K_s)


def row_posterior(fitted: Fitted, X: Any, log_pl: Array | None = None) -> RowPosterior:
    """Condition new rows, and labels (S, c, n) of the class variables if they are passed, on the fitted model."""
    params, sizes = fitted.params, fitted.sizes
    scale = float(np.sqrt(params.noise_var))
    maps = state_maps(params._replace(A=params.A / scale, noise_var=1.0), all_states(sizes))
    T = np.asarray(project(X, fitted.mean, params.A / scale), dtype=np.float64) / scale
    energy = squared_lengths(X, fitted.mean, scale)
    n, k = T.shape
    out = RowPosterior(np.empty((n, k)), np.empty(n), [np.empty((n, size)) for size in sizes if size > 1])
    size = max(1, BLOCK // maps.states.size)
    for start in range(0, n, size):
        part = slice(start, start + size)
        resp, z, density = condition_states(maps, T[part], energy[part], _state_pl(log_pl, maps, part))
        out.z[part] = np.einsum("nq,nqi->ni", resp, z)
        out.log_density[part] = density - len(fitted.mean) * np.log(scale)
        for s, table in enumerate(out.proba):
            table[part] = resp @ np.eye(sizes[s])[maps.states[:, s]]
    return out


def _state_pl(log_pl: Array | None, maps: StateMaps, part: slice) -> Array:
    if log_pl is None:
        return np.zeros((1, len(maps.states)))
    return np.asarray(sum(pl[:, part].T[:, maps.states[:, s]] for s, pl in enumerate(log_pl)))


def sample(fitted: Fitted, n: int, generator: np.random.Generator) -> tuple[Array, IntArray]:
    """Draw n rows (n, p) and the components (n, S) of the latents that have any."""
    params = fitted.params
    p, k = params.A.shape
    labels = np.empty((n, k), dtype=np.intp)
    for s in range(k):
        labels[:, s] = generator.choice(params.means.shape[1], size=n, p=np.exp(params.log_weights[s]))
    columns = np.arange(k)
    Z = params.means[columns, labels] + np.sqrt(params.variances[columns, labels]) * generator.standard_normal((n, k))
    noise = np.sqrt(params.noise_var) * generator.standard_normal((n, p))
    return fitted.mean + Z @ params.A.T + noise, labels[:, : sum(size > 1 for size in fitted.sizes)]
