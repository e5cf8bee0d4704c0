"""Label parameters of classes by the likelihood itself, where the best Gaussian posterior bounds it too loosely.

Given x, and the outputs before it, a row has Gaussian latent variables; the evidence of its class is then an integral
over them. Outputs of classes come one after the other, behind all others.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from ..._types import Array, BoolArray
from ...likelihoods.categorical import covariances, logit_contrasts
from ...likelihoods.class_evidence import ClassRows, class_evidence, class_rows, log_class_evidence
from ...likelihoods.inference import sites_of
from ...likelihoods.layout import Layout
from ...numerics.linalg import kronecker_sum
from ...numerics.normalize import normalized
from .curvature import MOST_SUMMED

POINTS, FEWEST, MOST = 1 << 17, 32, 256  # rows times points, and points for each row, while V and b move
FINAL_POINTS = 512  # of the log-likelihood that is reported
MAX_ITER = 200
ENOUGH = 4000  # rows whose curvature stands for that of all


class LabelParams(NamedTuple):
    """How outputs depend on z."""

    V: Array  # (h, k)
    b: Array  # (h,)
    noise: Array  # (q,)   read for Gaussian outputs


class Labeled(NamedTuple):
    """Rows with outputs, and what x says of their latent variables."""

    Y: Array  # (n, q)   NaN where missing
    latent: Array  # (n, k)
    cov: Array  # (k, k) or (n, k, k)
    weights: Array  # (n,)


def applies(layout: Layout, inference: str) -> bool:
    """Whether the evidence is integrated: outputs of more than two classes under the variational bound."""
    return inference == "variational" and bool(layout.several.any())


def refine_classes(
    layout: Layout, rows: Labeled, params: LabelParams, ridge: float, n_guided: int, tol: float,
    max_iter: int = MAX_ITER,
) -> tuple[LabelParams, float]:  # fmt: skip
    """Maximize the evidence of classes, less the ridge, over their rows of V and b; all else is held.

    Returns the parameters and the largest mean gradient of a row that is left, at most `tol` unless `max_iter` is up.
    """
    n_points = 1 << int(np.log2(np.clip(POINTS / max(len(rows.Y), 1), FEWEST, MOST)))
    out, left = params._replace(V=params.V.copy(), b=params.b.copy()), 0.0
    for j in np.flatnonzero(layout.several):
        at, blocks = layout.parts[j][1], _given_others(layout, rows, out, int(j), n_points)
        out.V[at], out.b[at], gradient = _maximize(blocks, out.V[at], out.b[at], ridge, n_guided, tol, max_iter)
        left = max(left, gradient)
    return out, left


def log_evidence(layout: Layout, rows: Labeled, params: LabelParams) -> Array:
    """Log-evidence (n,) of all outputs given x, in nats: of classes integrated, of the others the bound."""
    out = _without(layout, rows, params, layout.several)[2].copy()
    for j in np.flatnonzero(layout.several):
        seen = ~np.isnan(rows.Y[:, j])
        at = layout.parts[j][1]
        blocks = _given_others(layout, rows, params, int(j), FINAL_POINTS)
        out[seen] += log_class_evidence(blocks, params.V[at], params.b[at])
    return out


def _given_others(layout: Layout, rows: Labeled, params: LabelParams, j: int, n_points: int) -> list[ClassRows]:
    """Points for the rows that have output j, given their outputs without classes and those of classes before j."""
    later = layout.several & (np.arange(len(layout.kinds)) >= j)
    latent, cov, _ = _without(layout, rows, params, later)
    seen = np.flatnonzero(~np.isnan(rows.Y[:, j]))
    classes, at = rows.Y[seen, j].astype(np.intp), layout.parts[j][1]
    cov = cov if cov.ndim == 2 else cov[seen]
    return class_rows(latent[seen], cov, classes, rows.weights[seen], params.V[at], n_points)


def _without(layout: Layout, rows: Labeled, params: LabelParams, masked: BoolArray) -> tuple[Array, Array, Array]:
    """Mean (n, k) and covariance (k, k) or (n, k, k) of z, and log-evidence (n,), given x and outputs not `masked`."""
    Y = np.where(masked, np.nan, rows.Y)
    if np.isnan(Y).all():
        return rows.latent, rows.cov, np.zeros(len(Y))
    VS = params.V @ rows.cov
    means = rows.latent @ params.V.T + params.b
    fit = sites_of(layout, "variational")(Y, means, VS @ params.V.T, params.noise)
    cov = rows.cov - fit.through(VS)
    return rows.latent + np.matmul(fit.slope[:, None, :], VS)[:, 0], cov, fit.log_z


def _maximize(blocks: list[ClassRows], V: Array, b: Array, ridge: float, n_guided: int, tol: float,
           max_iter: int) -> tuple[Array, Array, float]:  # fmt: skip
    """Raise the evidence of one output until the mean gradient of a row is `tol`; V is zero behind `n_guided`."""
    h, k = V.shape
    weights = np.concatenate([rows.weights.ravel() for rows in blocks])
    total = float(weights.sum())

    def spread_out(vector: Array) -> tuple[Array, Array]:
        table = vector.reshape(h, n_guided + 1)
        return np.hstack([table[:, :-1], np.zeros((h, k - n_guided))]), table[:, -1]

    def loss(vector: Array) -> tuple[float, Array]:
        at, bias = spread_out(vector)
        log_z, gradient = class_evidence(blocks, at, bias)
        value = float(weights @ log_z) - 0.5 * ridge * float((at**2).sum())
        slope = np.column_stack([gradient[:, :n_guided] - ridge * at[:, :n_guided], gradient[:, -1]])
        return -value / total, -slope.ravel() / total

    start = np.column_stack([V[:, :n_guided], b]).ravel()
    units = _units(blocks, V, b, ridge, n_guided)

    def scaled(step: Array) -> tuple[float, Array]:
        value, slope = loss(start + units @ step)
        return value, slope @ units

    # the length of the gradient is at most that of the scaled one times the norm of the inverse of the units
    stretch = np.sqrt(len(start)) * float(np.linalg.norm(np.linalg.inv(units), 2))
    options = {"maxiter": max_iter, "gtol": tol / max(1.0, stretch), "ftol": 0.0}
    found = minimize(scaled, np.zeros(len(start)), jac=True, method="L-BFGS-B", options=options)
    end = start + units @ found.x
    return *spread_out(end), float(np.linalg.norm(loss(end)[1]))


def _units(blocks: list[ClassRows], V: Array, b: Array, ridge: float, n_guided: int) -> Array:
    """Steps in which the loss has a curvature of about one, a square matrix: by that of the rows at their means."""
    H, size = logit_contrasts(len(b) + 1), len(b) * (n_guided + 1)
    if size > MOST_SUMMED:
        return np.eye(size)
    latent = np.concatenate([rows.latent.reshape(-1, V.shape[1]) for rows in blocks])
    weights = np.concatenate([rows.weights.ravel() for rows in blocks])
    total, some = float(weights.sum()), slice(None, None, max(1, len(latent) // ENOUGH))
    latent, weights = latent[some], weights[some] / weights[some].sum()
    z1 = np.column_stack([latent[:, :n_guided], np.ones(len(latent))])
    shares, _ = normalized((latent @ V.T + b) @ H.T)
    matrix = kronecker_sum(covariances(shares, H, H), z1[:, :, None] * z1[:, None, :] * weights[:, None, None])
    penalized = np.tile(np.append(np.full(n_guided, ridge / total), 0.0), len(b))
    matrix.flat[:: len(matrix) + 1] += penalized + 1e-9 * float(np.trace(matrix))
    return np.asarray(np.linalg.inv(np.linalg.cholesky(matrix)).T)
