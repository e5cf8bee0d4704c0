"""Independent factor analysis with labels per latent variable (Oukhellou, Come, Aknin and Denoeux 2010)."""

from typing import NamedTuple

import numpy as np

from ..._types import Array, IntArray, Result, Status
from ...numerics.linalg import sign_of_columns, top_eigh
from ...numerics.linear_gaussian import LOG_2PI
from ...rows.contract import Rows as TableRows
from ...rows.threads import one_thread
from .components import draw_components, order_of, sort_components
from .gem import maximize_gem
from .likelihood import Params, RowPosterior, Rows, complement, condition, excluded, floors, padded_mixtures
from .profile import best_of, maximize_all
from .starts import draw_starts
from .whitening import Whitened, log_volume, whiten_rows

GEM = ("gem", "gem-natural")  # steps along the gradient, or the natural one
SOLVERS = ("profile", *GEM)
FARTHEST = 1e150  # latents whose squares over the least variance are numbers still
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


def fit(rows: TableRows, labels: Labels, options: Options, generator: np.random.Generator) -> Result[Fitted]:
    """Fit by maximum likelihood.

    Returns
    -------
    Result(Fitted, status, log-likelihood path in nats, stats) with stats "n_iter", "residual", "n_passes",
    "log_likelihood", "optima" (of every start) and "floors": (latent, component) at the least variance.
    """
    with one_thread(when=rows.shape[0] * rows.shape[1] <= SMALL):
        return _fit(rows, labels, options, generator)


def _fit(table: TableRows, labels: Labels, options: Options, generator: np.random.Generator) -> Result[Fitted]:
    white = whiten_rows(table, options.n_kept, generator)
    n_latents = len(labels.sizes)
    _check_count(n_latents, len(white.U))
    rows = white.labeled(labels.log_pl, n_latents if labels.tied else 0)
    with one_thread():
        starts = draw_starts(rows, options.init, options.n_init, generator)
        if options.solver in GEM:
            how = white.unwhiten, options.tol, options.max_iter, options.solver == "gem-natural"
            results = [maximize_gem(start, rows, *how) for start in starts.params]
        else:
            results = maximize_all(
                starts.params, rows, tol=options.tol, max_iter=options.max_iter, n_sweeps=starts.n_sweeps
            )
    best = best_of(results)
    n = rows.U.shape[1]
    path = n * (best.path - white.log_volume)
    residual = max(best.stats["residual"], white.residual)
    fitted = _in_units_of_x(best.value, white, rows, labels)
    stats = {
        **best.stats,
        "residual": residual,
        "log_likelihood": float(path[-1]),
        "n_passes": table.reads,
        "optima": [n * (float(r.path[-1]) - white.log_volume) for r in results],
        "floors": floors(fitted.params.variances),
    }
    status = best.status if residual <= options.tol or best.status is not Status.CONVERGED else Status.STALLED
    return Result(fitted, status, path, stats)


def _check_count(n_latents: int, rank: int) -> None:
    if n_latents > rank:
        raise ValueError(
            f"{n_latents} latent variables need as many directions in which X varies, and it has {rank}; ask for fewer "
            "latents (columns of y, or n_components_per_latent), or keep more pca_components."
        )


# -- from whitened coordinates to the units of X, in canonical order -------------------------------------------------


def _in_units_of_x(params: Params, white: Whitened, rows: Rows, labels: Labels) -> Fitted:
    params = _tied_axes(params) if labels.tied else params
    B = np.vstack([params.V, complement(params.V, white.unwhiten, rows)])
    mixing = np.asarray(np.linalg.solve(B.T, white.unwhiten.T).T)
    signs = sign_of_columns(mixing)
    S, d = params.V.shape
    params = params._replace(V=params.V * signs[:S, None], means=params.means * signs[:S, None])
    order = np.arange(d)
    if not labels.tied:
        order[:S] = order_of(labels.log_pl, -np.einsum("ps,ps->s", mixing, mixing)[:S])
    params = Params(*(A if len(A) < S else A[order[:S]] for A in params))
    sort_components(labels.log_pl, params[1:], tied=labels.tied)
    unmixing = signs[order, None] * (B[order] @ white.whiten.T) / white.scale
    return Fitted(params, labels.sizes, white.mean, mixing[:, order] * signs[order] * white.scale, unmixing)


def _tied_axes(params: Params) -> Params:
    """Discriminant axes: any rotation of the rows over their standard deviations is the same model.

    The eigenvectors of V' diag(1/nu) V are the orthonormal ones, most discriminating first.
    """
    S, d = params.V.shape
    values, vectors = top_eigh((params.V.T / params.variances[:, 0]) @ params.V, S)
    means = vectors.T @ np.linalg.pinv(params.V) @ params.means
    variances = np.repeat(1.0 / values[:, None], params.means.shape[1], axis=1)
    return params._replace(V=vectors.T, means=means, variances=variances)


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
    log_weights, *moments = padded_mixtures(weights, means, variances)
    params = Params(unmixing[: len(weights)], log_weights[:1] if tied else log_weights, *moments)
    return Fitted(params, tuple(map(len, weights)), mean, mixing, unmixing)


# -- new rows --------------------------------------------------------------------------------------------------------


def posterior(fitted: Fitted, rows: TableRows, log_pl: Array | None = None) -> RowPosterior:
    """Latents of new rows, probabilities of components given them, and densities, jointly with labels (b, c, n).

    With fewer latents than columns densities are on the affine space that the model spans. A label of a component of
    weight zero has the density zero.
    """
    params, d = fitted.params, fitted.mixing.shape[1]
    S, b, c = len(params.V), len(params.log_weights), params.means.shape[1]
    scale = float(np.abs(fitted.mixing).max())
    with np.errstate(over="ignore"):  # a row far enough away has infinite latents
        Z = rows.in_units(fitted.mean, scale).times(fitted.unmixing.T * scale)
    log_pl = np.zeros((b, c, len(Z))) if log_pl is None else log_pl
    impossible = excluded(params.log_weights, log_pl)
    near = np.clip(Z, -FARTHEST, FARTHEST)
    post = condition(params, np.ascontiguousarray(near[:, :S].T), np.where(impossible[:, None], 0.0, log_pl))
    rest = np.einsum("ij,ij->i", near[:, S:], near[:, S:])
    density = post.log_density.sum(axis=0) - 0.5 * (rest + (d - S) * LOG_2PI) - log_volume(fitted.mixing)
    proba = [table[: fitted.sizes[i]].T for i, table in enumerate(post.resp)]
    return RowPosterior(Z, proba, np.where(impossible.any(axis=0), -np.inf, density))


def sample(fitted: Fitted, n: int, generator: np.random.Generator) -> tuple[Array, IntArray]:
    """Draw n rows (n, p) and the components (n, b) that they come from."""
    params, S = fitted.params, len(fitted.params.V)
    Z = generator.standard_normal((n, fitted.mixing.shape[1]))
    labels = draw_components(params.log_weights, n, generator)
    at = np.arange(S), np.broadcast_to(labels, (n, S))
    Z[:, :S] = params.means[at] + np.sqrt(params.variances[at]) * Z[:, :S]
    return fitted.mean + Z @ fitted.mixing.T, labels
