"""Supervised dimension reduction with generalised linear models (Rish et al. 2008): one score vector, two tables.

J = alpha (NLL_x(U V_x + b_x) + ridge/2 (|V_x|^2 + |b_x - b0_x|^2)) + NLL_y(U V_y + b_y)
    + ridge/2 (|V_y|^2 + |b_y - b0_y|^2) + ridge/2 |U|^2

is minimised over U, V_x, V_y and the intercepts; b0 is the link of the (smoothed) column means, so that columns that
never vary have finite intercepts. Only the product U [sqrt(alpha) V_x, V_y] matters to the likelihoods; among its
factorisations the ridge is least for the balanced one, U'U = alpha V_x V_x' + V_y V_y'.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, IntArray, Result
from ...numerics.expfamily import FAMILIES
from ...numerics.linalg import canonical_rotation
from ...solvers.em import run_em
from .factors import Loadings, View, loadings_step, penalty, project, row_nll, scores_step

OVERSAMPLING, SWEEPS = 10, 8  # of the block iteration that starts the fit
GRID = np.logspace(2, -6, 17)  # projection ridges tried, in units of the mean eigenvalue of V_x V_x'
SCALES = 2.0 ** np.arange(-3, 10)
FOLDS = 5


class Options(NamedTuple):
    """How to fit; see `gnomon.SDRGLM` for the meaning."""

    n_components: int
    alpha: float
    ridge: float
    tol: float = 1e-6
    max_iter: int = 1000


class Params(NamedTuple):
    """Scores of the training rows, and the loadings of both tables."""

    U: Array  # (n, k)
    x: Loadings
    y: Loadings


def make_view(family: str, values: Any, observed: Array | None, strength: float) -> View:
    """A table as the steps read it.

    Parameters
    ----------
    values : (n, p) dense or csr     zero where not observed
    observed : (n, p), (n, 1) or None    1 where observed, else 0; (n, 1) by row; None when all are
    """
    kind = FAMILIES[family]
    n, p = values.shape
    weight = observed
    if family == "multinomial":
        trials = np.asarray(values.sum(axis=1), dtype=np.float64).reshape(n, 1)
        weight = trials if observed is None else trials * observed
    total = np.asarray(values.sum(axis=0), dtype=np.float64).ravel()
    count = np.full(p, float(n)) if observed is None else np.broadcast_to(observed, (n, p)).sum(axis=0)
    return View(kind, values, weight, strength, kind.link(total, np.maximum(count, 1.0)))


def objective(params: Params, views: tuple[View, View], ridge: float) -> float:
    """J, in nats, terms of the data alone left out."""
    value = 0.5 * ridge * float((params.U**2).sum())
    for view, part in zip(views, (params.x, params.y), strict=True):
        value += view.strength * (float(row_nll(view, params.U, part).sum()) + penalty(view, part, ridge))
    return value


def init(views: tuple[View, View], k: int, ridge: float, generator: np.random.Generator) -> Params:
    """Start on the link scale: intercepts at the link of the means, scores from the leading residuals of both tables.

    Residuals are divided by their standard deviations under the intercepts alone, which makes their soft-thresholded
    singular value decomposition the minimiser of the second-order expansion of J there.
    """
    residuals = [_Residuals(view) for view in views]
    n = views[0].values.shape[0]
    width = min(k + OVERSAMPLING, n, sum(r.scale.shape[0] for r in residuals))
    Q = generator.standard_normal((n, width))
    for _ in range(SWEEPS):
        Q = np.linalg.qr(Q)[0]
        parts = [r.transposed(Q) for r in residuals]
        Q = sum((r.times(part) for r, part in zip(residuals, parts, strict=True)), np.zeros_like(Q))
    Q = np.linalg.qr(Q)[0]
    small = np.vstack([r.transposed(Q) for r in residuals])  # (p + q, width)
    _, sizes, turn = np.linalg.svd(small, full_matrices=False)
    used = min(k, len(sizes))
    U = np.zeros((n, k))
    shrunk = np.maximum(sizes - ridge, 0.1 * sizes)[:used]
    U[:, :used] = (Q @ turn.T[:, :used]) * np.sqrt(shrunk)
    first, second = (Loadings(np.zeros((k, len(view.prior))), view.prior.copy()) for view in views)
    return Params(U, first, second)


class _Residuals:
    """Standardised residuals of a table under its intercepts alone, times sqrt(strength); a sparse table stays so."""

    def __init__(self, view: View) -> None:
        theta = view.prior[None, :]
        mean, variance = view.family.mean(theta)[0], view.family.variance(theta)[0]
        self.values, self.mean = view.values, mean
        self.weight = np.ones((view.values.shape[0], 1)) if view.weight is None else view.weight
        trials = max(float(self.weight.mean()), 1e-12) if self.weight.shape[1] == 1 else 1.0
        self.scale = np.sqrt(view.strength / (np.maximum(variance, 1e-12) * trials))

    def times(self, V: Array) -> Array:
        """Residuals (n, p) times V (p, r)."""
        scaled = self.scale[:, None] * V
        if self.weight.shape[1] == 1:
            return np.asarray(np.asarray(self.values @ scaled) - self.weight * (self.mean @ scaled))
        return np.asarray((self.values - self.weight * self.mean) @ scaled)

    def transposed(self, U: Array) -> Array:
        """Their transpose times U (n, r)."""
        if self.weight.shape[1] == 1:
            product = np.asarray(self.values.T @ U) - np.outer(self.mean, self.weight[:, 0] @ U)
        else:
            product = np.asarray((self.values - self.weight * self.mean).T @ U)
        return np.asarray(self.scale[:, None] * product)


def balanced(params: Params, alpha: float, like: Array | None = None) -> Params:
    """The factorisation of the same natural parameters with the least ridge, turned to lie close to scores `like`."""
    p, root = params.x.V.shape[1], np.sqrt(alpha)
    W = np.hstack([root * params.x.V, params.y.V])
    Q, R = np.linalg.qr(params.U)
    P, S = np.linalg.qr(W.T)
    left, sizes, right = np.linalg.svd(R @ S.T)
    half = np.sqrt(sizes)
    U, W = Q @ (left[:, : len(half)] * half), (half[:, None] * right[: len(half)]) @ P.T
    if len(half) < params.U.shape[1]:
        missing = params.U.shape[1] - len(half)
        U, W = np.pad(U, ((0, 0), (0, missing))), np.pad(W, ((0, missing), (0, 0)))
    if like is not None:
        first, _, second = np.linalg.svd(U.T @ like)
        turn = first @ second
        U, W = U @ turn, turn.T @ W
    x = Loadings(W[:, :p] / root, params.x.b)
    return Params(U, x, Loadings(W[:, p:], params.y.b))


def m_step(params: Params, views: tuple[View, View], options: Options) -> Params:
    """One sweep: loadings of both tables, scores, balance; J does not rise."""
    x = loadings_step(views[0], params.U, params.x, options.ridge)
    y = loadings_step(views[1], params.U, params.y, options.ridge)
    U = scores_step(list(views), [x, y], params.U, options.ridge)
    return balanced(Params(U, x, y), options.alpha, params.U)


def distance(a: Params, b: Params, alpha: float) -> float:
    """Relative change of all natural parameters, those of x times sqrt(alpha), whatever the rotation."""
    one = np.ones((len(a.U), 1))
    left = np.linalg.qr(np.hstack([a.U, -b.U, one]), mode="r")
    first, second = _stacked(a, alpha), _stacked(b, alpha)
    change = np.vstack([first[:-1], second[:-1], first[-1:] - second[-1:]])
    size = np.linalg.norm(np.linalg.qr(np.hstack([b.U, one]), mode="r") @ second)
    return float(np.linalg.norm(left @ change) / max(float(size), 1e-300))


def _stacked(params: Params, alpha: float) -> Array:
    root = np.sqrt(alpha)
    return np.vstack([np.hstack([root * params.x.V, params.y.V]), np.concatenate([root * params.x.b, params.y.b])])


class _Packing:
    """Parameters as one vector, for acceleration."""

    def pack(self, params: Params) -> Array:
        return np.concatenate([a.ravel() for a in (params.U, *params.x, *params.y)])

    def unpack(self, vector: Array, like: Params) -> Params:
        arrays = (like.U, *like.x, *like.y)
        ends = np.cumsum([a.size for a in arrays])
        U, Vx, bx, Vy, by = (v.reshape(a.shape) for v, a in zip(np.split(vector, ends[:-1]), arrays, strict=True))
        return Params(U, Loadings(Vx, bx), Loadings(Vy, by))


def fit(views: tuple[View, View], options: Options, generator: np.random.Generator) -> Result[Params]:
    """Minimise J by accelerated alternating steps.

    Returns
    -------
    Result(Params, status, path, stats): the path holds -J, which never falls; scores are rotated so that their
    columns are orthogonal with falling lengths, and signed by the loadings of x.
    """

    def e_step(params: Params) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            value = objective(params, views, options.ridge)
        return value if np.isfinite(value) else np.inf

    result = run_em(
        e_step,
        lambda _, params: m_step(params, views, options),
        init(views, options.n_components, options.ridge, generator),
        log_likelihood=lambda value: -value,
        residual=lambda _, params, after: distance(after, params, options.alpha),
        tol=options.tol,
        max_iter=options.max_iter,
        packing=_Packing(),
        acceleration="anderson",
    )
    params = balanced(result.value[0], options.alpha)
    R = canonical_rotation(np.hstack([np.sqrt(options.alpha) * params.x.V, params.y.V]).T, params.x.V.T)
    rotated = [Loadings(R.T @ part.V, part.b) for part in (params.x, params.y)]
    return Result(Params(params.U @ R, *rotated), result.status, result.path, result.stats)


class Projection(NamedTuple):
    """How new rows are projected and how y is read off: theta_y = scale U V_y + b_y."""

    ridge: float  # of NLL_x(u V_x + b_x) + ridge / 2 |u|^2
    scale: float


def choose_projection(
    params: Params, views: tuple[View, View], options: Options, labelled: IntArray, ridges: Array,
    generator: np.random.Generator,
) -> Projection:  # fmt: skip
    """The ridge under which projections of held-out rows explain their labels best, and the scale that goes with it.

    The labels of a row decide its scores, so that its own projection tells nothing. For each fold of the labelled
    rows the loadings of x are fitted to the scores of all other rows; the rows of the fold are projected from x alone,
    and the labels of each are read off by the loadings of y, all scores times one scale. The scale makes up for the
    ridge, which shortens projections and would otherwise count against every ridge that is large enough.
    """
    order = generator.permutation(labelled)
    total = np.zeros((len(ridges), len(SCALES)))
    for held in np.array_split(order, min(FOLDS, len(order))):
        kept = np.ones(len(params.U), dtype=bool)
        kept[held] = False
        x = _refitted(views[0].rows(kept), params.U[kept], params.x, options)
        rows, labels = views[0].rows(held)._replace(strength=1.0), views[1].rows(held)
        U = None
        for i, ridge in enumerate(ridges):
            U = project(rows, x, float(ridge), U, tol=1e-5)
            total[i] += [_likely(labels, scale * U, params.y) for scale in SCALES]
    best = divmod(int(total.argmin()), len(SCALES))
    return Projection(float(ridges[best[0]]), float(SCALES[best[1]]))


def _likely(view: View, U: Array, part: Loadings) -> float:
    """Summed negative log-likelihood; infinity where a rate is."""
    with np.errstate(over="ignore", invalid="ignore"):
        value = float(row_nll(view, U, part).sum())
    return value if np.isfinite(value) else np.inf


def ridge_grid(part: Loadings) -> Array:
    """Projection ridges worth a try, falling: from 100 to 1e-6 times the mean eigenvalue of V V'."""
    return np.asarray(GRID * (float((part.V**2).sum()) / len(part.V) or 1.0))


def _refitted(view: View, U: Array, part: Loadings, options: Options) -> Loadings:
    for _ in range(1 if view.family.name == "gaussian" else 50):
        after = loadings_step(view, U, part, options.ridge)
        moved = np.abs(after.V - part.V).max() <= 1e-6 * np.abs(after.V).max()
        part = after
        if moved:
            break
    return part
