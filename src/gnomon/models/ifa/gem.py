"""Algorithm 1 of Oukhellou et al. 2010: EM on the mixtures and a gradient step on the square unmixing matrix, in turn.

Kept beside the profile solver as the paper has it, with two corrections: z = W x in (5), where the inverse is printed,
and scores (10) from responsibilities at the updated mixtures. Gradient steps depend on the coordinates, and the paper's
are those of centered rows x = C u: a step along the gradient there is G C'C in whitened ones, in which it is computed.
A step along the natural gradient, G W'W, is the same in all (section 2.2.2).
"""

from typing import NamedTuple

import numpy as np

from ..._types import Array, BoolArray, Result
from ...numerics.linear_gaussian import LOG_2PI
from ...solvers.em import run_em
from .likelihood import FLOOR, Params, Posterior, Rows, complement, condition, log_likelihood

GAIN = 1e-2  # times tol: a step that gains less than this, in nats per row, is the last
SUFFICIENT = 1e-4  # of the gain that the gradient promises
MAX_HALVINGS = 40


class Square(NamedTuple):
    """All latents, mixtures first: W (d, d), mixtures of S of them, the mean and variance of the others."""

    W: Array
    log_weights: Array  # (S, c)
    means: Array  # (S, c)
    variances: Array  # (S, c)
    rest_means: Array  # (d - S,)
    rest_variances: Array  # (d - S,)
    step: float  # length of the last gradient step
    value: float  # log-likelihood per row


class State(NamedTuple):
    """What the E-step finds."""

    Z: Array  # (d, n)
    post: Posterior
    value: float


def evaluate(params: Square, Z: Array, log_pl: Array) -> tuple[Posterior, float]:
    """Posterior of the components, and the log-likelihood per row in nats (eqs. 5, 9)."""
    S, n = len(params.means), Z.shape[1]
    mixtures = Params(params.W[:S], params.log_weights, params.means, params.variances)
    post = condition(mixtures, Z[:S], log_pl)
    deviation = Z[S:] - params.rest_means[:, None]
    energy = np.einsum("sn,sn->s", deviation, deviation) / params.rest_variances
    rest = -0.5 * float(energy.sum() / n + np.sum(LOG_2PI + np.log(params.rest_variances)))
    volume = float(np.linalg.slogdet(params.W)[1])
    return post, volume + float(post.log_density.sum()) / n + rest


def em_part(params: Square, state: State, present: BoolArray) -> Square:
    """M-step of every mixture at fixed W."""
    S = len(params.means)
    resp, Z = state.post.resp, state.Z
    counts = resp.sum(axis=2)
    used = present & (counts > 0)
    safe = np.where(used, counts, 1.0)
    means = np.where(used, np.einsum("skn,sn->sk", resp, Z[:S]) / safe, params.means)
    deviation = Z[:S, None, :] - means[:, :, None]
    variances = np.einsum("skn,skn,skn->sk", resp, deviation, deviation) / safe
    floor = FLOOR * np.var(Z[:S], axis=1)[:, None]
    with np.errstate(divide="ignore"):
        log_weights = np.log(counts / Z.shape[1])
    return params._replace(
        log_weights=log_weights,
        means=means,
        variances=np.where(used, np.maximum(variances, floor), params.variances),
        rest_means=Z[S:].mean(axis=1),
        rest_variances=Z[S:].var(axis=1),
    )


def gradient(params: Square, Z: Array, post: Posterior, U: Array) -> Array:
    """Gradient with respect to W (eqs. 6, 8) from the scores (10)."""
    S = len(params.means)
    mixtures = np.einsum("skn,skn,sk->sn", post.resp, post.deviation, 1.0 / params.variances)
    rest = (Z[S:] - params.rest_means[:, None]) / params.rest_variances[:, None]
    return np.asarray(np.linalg.inv(params.W).T - np.vstack([mixtures, rest]) @ U.T / U.shape[1])


def gradient_part(params: Square, state: State, rows: Rows, metric: Array | None) -> Square:
    """Move W along the gradient G times the metric, W'W if None, by a step that raises the likelihood enough."""
    post, value = evaluate(params, state.Z, rows.log_pl)
    G = gradient(params, state.Z, post, rows.U)
    D = G @ (params.W.T @ params.W if metric is None else metric)
    DU, slope, step = D @ rows.U, float(np.sum(G * D)), 2.0 * params.step
    for _ in range(MAX_HALVINGS):
        moved = params._replace(W=params.W + step * D, step=step)
        found = evaluate(moved, state.Z + step * DU, rows.log_pl)[1]
        if found >= value + SUFFICIENT * step * slope:
            return moved._replace(value=found)
        step *= 0.5
    return params._replace(value=value)


def normalize(params: Square) -> Square:
    """Give every mixture variance one; the likelihood does not change."""
    weights = np.exp(params.log_weights)
    mean = (weights * params.means).sum(axis=1)
    second = (weights * (params.variances + params.means**2)).sum(axis=1)
    size = np.sqrt(second - mean**2)[:, None]
    W = params.W.copy()
    W[: len(size)] /= size
    present = np.isfinite(params.log_weights)
    variances = np.where(present, params.variances / size**2, params.variances)
    return params._replace(W=W, means=params.means / size, variances=variances)


def maximize_gem(
    start: Params, rows: Rows, unwhiten: Array, tol: float, max_iter: int, natural: bool = False
) -> Result[Params]:
    """Maximize from a start until a step gains at most `tol` / 100 nats per row; arguments as in `profile.maximize`.

    Gradient steps are those in coordinates x = unwhiten u, or along the `natural` gradient.

    Returns
    -------
    Result(Params, status, path, {"residual", "n_iter"}); the residual is the last gain times 100, and the last entry of
    the path follows from profiling out the Gaussian latents.
    """
    present = rows.present
    S, d = start.V.shape
    metric = None if natural else unwhiten.T @ unwhiten / np.mean(unwhiten**2)
    rest = complement(start.V, unwhiten)
    ones = np.ones(d - S)
    first = Square(np.vstack([start.V, rest]), *start[1:], 0.0 * ones, ones, 0.5, -np.inf)

    def e_step(params: Square) -> State:
        Z = params.W @ rows.U
        return State(Z, *evaluate(params, Z, rows.log_pl))

    def m_step(state: State, params: Square) -> Square:
        return normalize(gradient_part(em_part(params, state, present), state, rows, metric))

    def residual(state: State, params: Square, after: Square) -> float:
        return max(after.value - state.value, 0.0) / GAIN

    found = run_em(
        e_step, m_step, first, log_likelihood=lambda s: s.value, residual=residual, tol=tol, max_iter=max_iter
    )
    params = found.value[0]
    lengths = np.linalg.norm(params.W[:S], axis=1)[:, None]
    variances = np.where(present, np.maximum(params.variances / lengths**2, FLOOR), 1.0)
    profiled = Params(params.W[:S] / lengths, params.log_weights, params.means / lengths, variances)
    path = np.append(found.path, log_likelihood(profiled, rows))
    stats = {"residual": found.stats["residual"], "n_iter": found.stats["n_iter"]}
    return Result(profiled, found.status, path, stats)
