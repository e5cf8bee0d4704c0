"""Independent factor analysis with labels per latent variable (Oukhellou, Come, Aknin and Denoeux 2010)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, IntArray, Result
from ...numerics.linalg import canonical_rotation, sign_of_columns, top_eigh
from ...rows import RowSource, row_source
from ...rows.products import project
from ...rows.threads import one_thread
from .gem import climb_gem
from .likelihood import LOG_2PI, Params, Rows, condition
from .profile import climb_all
from .starts import label_weights, labelled_start, random_start
from .whitening import Whitened, whiten_rows

SOLVERS = ("profile", "gem")
SMALL = 1 << 20  # entries of X up to which one thread is faster than several that wait for one another


class Labels(NamedTuple):
    """What is known of the class variables: one for each latent, or one for all (`tied`)."""

    log_pl: Array  # (b, c, n)      minus infinity for padded and for excluded components
    sizes: tuple[int, ...]  # components of each latent, S numbers
    tied: bool


class Options(NamedTuple):
    """How to fit; see `gnomon.IFA` for the meaning."""

    n_kept: int | None = None
    solver: str = "profile"
    init: str = "both"
    n_init: int = 5
    tol: float = 1e-6
    max_iter: int = 1000


class Fitted(NamedTuple):
    """The best local maximum in the units of X, in canonical order and with canonical signs."""

    params: Params
    sizes: tuple[int, ...]
    mean: Array  # (p,)
    mixing: Array  # (p, d)      x = mean + mixing z on the span of the rows; the first S latents are mixtures
    unmixing: Array  # (d, p)


def fit(X: Any, labels: Labels, options: Options, generator: np.random.Generator) -> Result[Fitted]:
    """Fit by maximum likelihood to rows X (n, p), dense or scipy sparse.

    Returns
    -------
    Result(Fitted, status, log-likelihood path in nats, stats) with stats "n_iter", "residual", "n_passes",
    "log_likelihood", "optima" (of every start) and "floors": (latent, component) at the least variance.
    """
    source = row_source(X)
    with one_thread(when=source.shape[0] * source.shape[1] <= SMALL):
        return _fit(source, labels, options, generator)


def _fit(source: RowSource, labels: Labels, options: Options, generator: np.random.Generator) -> Result[Fitted]:
    white = whiten_rows(source, options.n_kept, generator)
    _refuse_too_many(len(labels.sizes), len(white.U))
    rows = Rows(white.U, labels.log_pl)
    present = np.arange(max(labels.sizes)) < np.array(labels.sizes)[:, None]
    metric = white.colour.T @ white.colour / np.mean(white.colour**2)

    tol, max_iter = options.tol, options.max_iter
    with one_thread():
        starts = _starts(rows, labels, options, generator)
        if options.solver == "gem":
            results = [climb_gem(start, rows, present, metric=metric, tol=tol, max_iter=max_iter) for start in starts]
        else:
            results = climb_all(starts, rows, present, tied=labels.tied, tol=tol, max_iter=max_iter)
    best = max(results, key=lambda r: float(r.path[-1]))
    n = rows.U.shape[1]
    path = n * (best.path - white.log_volume)
    fitted = _in_units_of_x(best.value, white, rows, labels)
    variances = np.where(present, fitted.params.variances, np.inf)
    stats = {
        **best.stats,
        "log_likelihood": float(path[-1]),
        "n_passes": source.n_passes,
        "optima": [n * (float(r.path[-1]) - white.log_volume) for r in results],
        "floors": [(int(s), int(k)) for s, k in np.argwhere(variances <= 1.0001e-4)],
    }
    return Result(fitted, best.status, path, stats)


def _refuse_too_many(n_latents: int, rank: int) -> None:
    if n_latents > rank:
        raise ValueError(
            f"{n_latents} latent variables need as many directions in which X varies, and it has {rank}; ask for fewer "
            "latents (columns of y, or n_components_per_latent), or keep more pca_components."
        )


def _starts(rows: Rows, labels: Labels, options: Options, generator: np.random.Generator) -> list[Params]:
    sizes, tied = labels.sizes, labels.tied
    planned = options.init != "random"
    starts = [labelled_start(rows, sizes, generator, tied=tied)] if planned else []
    n_random = 0 if options.init == "labels" else options.n_init - len(starts)
    return starts + [random_start(rows, sizes, generator, tied=tied) for _ in range(n_random)]


# -- from whitened coordinates to the units of X, in canonical order -------------------------------------------------


def _in_units_of_x(params: Params, white: Whitened, rows: Rows, labels: Labels) -> Fitted:
    params = _tied_axes(params) if labels.tied else _in_order(params, white, rows, labels)
    V = params.V
    complement = np.linalg.svd(V)[2][len(V) :]  # orthonormal and orthogonal to the rows of V
    complement = canonical_rotation(white.colour @ complement.T).T @ complement
    B = np.vstack([V, complement])
    mixing = np.linalg.solve(B.T, white.colour.T).T
    signs = sign_of_columns(mixing)
    S = len(V)
    params = params._replace(V=V * signs[:S, None], means=params.means * signs[:S, None])
    return Fitted(params, labels.sizes, white.mean, mixing * signs, signs[:, None] * (B @ white.whiten.T))


def _tied_axes(params: Params) -> Params:
    """Discriminant axes: any rotation of the rows over their standard deviations is the same model.

    The eigenvectors of V' diag(1/nu) V are the orthonormal ones, most discriminating first.
    """
    S, d = params.V.shape
    values, vectors = top_eigh((params.V.T / params.variances[:, 0]) @ params.V, S)
    means = vectors.T @ np.linalg.pinv(params.V) @ params.means
    variances = np.repeat(1.0 / values[:, None], params.means.shape[1], axis=1)
    return params._replace(V=vectors.T, means=means, variances=variances)


def _in_order(params: Params, white: Whitened, rows: Rows, labels: Labels) -> Params:
    """Order what no label names: latents of equal size by the variance of X they explain, components by their means."""
    free = np.array([not label_weights(log_pl).any() for log_pl in rows.log_pl])
    complement = np.linalg.svd(params.V)[2][len(params.V) :]
    mixing = np.linalg.solve(np.vstack([params.V, complement]).T, white.colour.T).T
    explained = np.einsum("ps,ps->s", mixing, mixing)[: len(params.V)]
    signs = sign_of_columns(mixing)[: len(params.V)]
    order = np.arange(len(params.V))
    for size in set(labels.sizes):
        places = np.flatnonzero(free & (np.array(labels.sizes) == size))
        order[places] = places[np.argsort(-explained[places], kind="stable")]
    V, log_weights, means, variances = (A[order].copy() for A in params)
    for s in np.flatnonzero(free):
        size = labels.sizes[s]
        by_mean = np.argsort(means[s, :size] * signs[order[s]], kind="stable")
        for A in (log_weights, means, variances):
            A[s, :size] = A[s, by_mean]
    return Params(V, log_weights, means, variances)


def restore(
    mean: Array,
    mixing: Array,
    unmixing: Array,
    weights: list[Array],
    means: list[Array],
    variances: list[Array],
    *,
    tied: bool,
) -> Fitted:
    """Put a fitted model together again from lists of weights, means and variances of the components."""
    sizes = tuple(len(w) for w in weights)
    S, c = len(sizes), max(sizes)
    log_weights = np.full((1 if tied else S, c), -np.inf)
    full_means, full_variances = np.zeros((S, c)), np.ones((S, c))
    for s, k in enumerate(sizes):
        log_weights[0 if tied else s, :k] = np.log(weights[s])
        full_means[s, :k], full_variances[s, :k] = means[s], variances[s]
    return Fitted(Params(unmixing[:S], log_weights, full_means, full_variances), sizes, mean, mixing, unmixing)


# -- new rows --------------------------------------------------------------------------------------------------------


def latents(fitted: Fitted, X: Any) -> Array:
    """Latent variables z = unmixing (x - mean) of new rows (n, d)."""
    return np.asarray(project(X, fitted.mean, fitted.unmixing.T), dtype=np.float64)


def class_posteriors(fitted: Fitted, Z: Array) -> list[Array]:
    """Probability of each component given the latents (n, d), one array (n, K) for each class variable."""
    params, sizes = fitted.params, fitted.sizes
    b = len(params.log_weights)
    post = condition(params, np.ascontiguousarray(Z[:, : len(sizes)].T), np.zeros((b, max(sizes), 1)))
    return [post.resp[i, : sizes[i]].T for i in range(b)]


def log_jacobian(mixing: Array) -> float:
    """What to add to the log-density of z for that of x: minus the log-volume of a unit cube of z, in units of X."""
    return -float(np.log(np.abs(np.diag(np.linalg.qr(mixing, mode="r")))).sum())


def log_density(fitted: Fitted, Z: Array, log_pl: Array | None = None) -> Array:
    """Log-density (n,) of rows with latents Z (n, d) in nats, jointly with their labels if these are passed.

    With fewer latents than columns it is the density on the affine space that the model spans.
    """
    params, d = fitted.params, Z.shape[1]
    S, b, c = len(params.V), len(params.log_weights), params.means.shape[1]
    post = condition(params, np.ascontiguousarray(Z[:, :S].T), np.zeros((b, c, 1)) if log_pl is None else log_pl)
    with np.errstate(over="ignore"):
        rest = np.einsum("ij,ij->i", Z[:, S:], Z[:, S:])
    return np.asarray(post.log_density.sum(axis=0) - 0.5 * (rest + (d - S) * LOG_2PI) + log_jacobian(fitted.mixing))


def sample(fitted: Fitted, n: int, generator: np.random.Generator) -> tuple[Array, IntArray]:
    """Draw n rows (n, p) and the components (n, b) that they come from."""
    params = fitted.params
    S, b = len(params.V), len(params.log_weights)
    Z = generator.standard_normal((n, fitted.mixing.shape[1]))
    labels = np.empty((n, b), dtype=np.intp)
    for i in range(b):
        labels[:, i] = generator.choice(params.means.shape[1], size=n, p=np.exp(params.log_weights[i]))
    for s in range(S):
        component = labels[:, s if b > 1 else 0]
        Z[:, s] = params.means[s, component] + np.sqrt(params.variances[s, component]) * Z[:, s]
    return fitted.mean + Z @ fitted.mixing.T, labels
