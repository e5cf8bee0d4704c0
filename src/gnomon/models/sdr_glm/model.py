"""Supervised dimension reduction with generalized linear models (Rish et al. 2008): one score vector, two tables.

J = alpha (NLL_x(U V_x + b_x) + ridge/2 (|V_x|^2 + |b_x - b0_x|^2)) + NLL_y(U V_y + b_y)
    + ridge/2 (|V_y|^2 + |b_y - b0_y|^2) + ridge/2 |U|^2

is minimized over U, V_x, V_y and the intercepts; b0 is the link of the (smoothed) column means, so that columns that
never vary have finite intercepts. Only the product U [sqrt(alpha) V_x, V_y] matters to the likelihoods; among its
factorizations the ridge is least for the balanced one, U'U = alpha V_x V_x' + V_y V_y'.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from ..._types import Array, Result, Status
from ...numerics.linalg import canonical_rotation, rotation_toward
from ...solvers.em import ROUNDING, Packing, run_em
from .factors import (
    FAMILIES,
    HALVINGS,
    Loadings,
    Params,
    View,
    loadings_step,
    loadings_terms,
    objective,
    penalty,
    row_nll,
    scores_step,
)
from .newton import newton_step

OVERSAMPLING, SWEEPS = 10, 8  # of the block iteration that starts the fit of large tables
EXACT = 5e8  # operations up to which the start is computed without iteration
STEPS = 2000  # of the regression on projected scores
NEAR = 1e-4  # length of a sweep, relative, from which Newton steps are tried
SETTLED = 1e-7  # length of the last of them: what a next one would do is rounding
NEWTON_STEPS = 50
WORST = 1e300  # stands for an objective that is not finite


class Options(NamedTuple):
    """How to fit; see `gnomon.SDRGLM` for the meaning."""

    n_components: int
    alpha: float
    penalty: float
    tol: float = 1e-6
    max_iter: int = 1000


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


def init(views: tuple[View, View], k: int, ridge: float, generator: np.random.Generator) -> Params:
    """Start on the link scale: intercepts at the link of the means, scores from the leading residuals of both tables.

    Residuals are divided by their standard deviations under the intercepts alone, which makes their soft-thresholded
    singular value decomposition the minimizer of the second-order expansion of J there.
    """
    n = views[0].values.shape[0]
    left, sizes = _leading([_Residuals(view) for view in views], n, k, generator)
    used = min(k, len(sizes))
    U = np.zeros((n, k))
    shrunk = np.maximum(sizes - ridge, 0.1 * sizes)[:used]
    U[:, :used] = left[:, :used] * np.sqrt(shrunk)
    first, second = (Loadings(np.zeros((k, len(view.prior))), view.prior.copy()) for view in views)
    return Params(U, first, second)


class _Residuals:
    """Standardized residuals of a table under its intercepts alone, times sqrt(strength); a sparse table stays so."""

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


def _leading(residuals: list[_Residuals], n: int, k: int, generator: np.random.Generator) -> tuple[Array, Array]:
    """Leading left singular vectors (n, r) of all residuals side by side, r >= k where there are as many, and values.

    Of tables that are not large they are exact, so that neither order of rows nor the generator moves them.
    """
    m = sum(r.scale.shape[0] for r in residuals)
    if float(n) * m * min(n, m) <= EXACT:
        whole = [r.transposed(np.eye(n)).T if n < m else r.times(np.eye(r.scale.shape[0])) for r in residuals]
        left, sizes, _ = np.linalg.svd(np.hstack(whole), full_matrices=False)
        return left, sizes
    Q = generator.standard_normal((n, min(k + OVERSAMPLING, n, m)))
    for _ in range(SWEEPS):
        Q = np.linalg.qr(Q)[0]
        parts = [r.transposed(Q) for r in residuals]
        Q = sum((r.times(part) for r, part in zip(residuals, parts, strict=True)), np.zeros_like(Q))
    Q = np.linalg.qr(Q)[0]
    _, sizes, turn = np.linalg.svd(np.vstack([r.transposed(Q) for r in residuals]), full_matrices=False)
    return Q @ turn.T, sizes


def balanced(params: Params, alpha: float, like: Array | None = None) -> Params:
    """The factorization of the same natural parameters with the least ridge, turned to lie close to scores `like`."""
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
        turn = rotation_toward(U, like)
        U, W = U @ turn, turn.T @ W
    x = Loadings(W[:, :p] / root, params.x.b)
    return Params(U, x, Loadings(W[:, p:], params.y.b))


def m_step(params: Params, views: tuple[View, View], options: Options) -> Params:
    """One sweep: loadings of both tables, scores, balance; J does not rise."""
    x = loadings_step(views[0], params.U, params.x, options.penalty)
    y = loadings_step(views[1], params.U, params.y, options.penalty)
    U = scores_step(list(views), [x, y], params.U, options.penalty)
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


def solve(views: tuple[View, View], options: Options, generator: np.random.Generator) -> Result[Params]:
    """Minimize J by accelerated alternating steps, and by Newton steps once these are short.

    Where Newton finds J bent downward the minimum is not near yet: sweeps go on, to a tenth of their length.

    Returns
    -------
    Result(Params, status, path, stats): the path holds -J, which never falls; scores are rotated so that their
    columns are orthogonal with falling lengths, and signed by the loadings of x.
    """
    start = init(views, options.n_components, options.penalty, generator)
    found = Result(start, Status.CONVERGED, np.array([-_value(start, views, options.penalty)]), {})
    short, settled = max(NEAR, options.tol), options.tol > NEAR
    while found.status is Status.CONVERGED:
        found = _sweeps(found, views, options, options.tol if settled else short)
        if settled or found.status is not Status.CONVERGED:
            break
        found, settled = _newton(found, views, options, far=short > options.tol)
        settled, short = settled or short <= options.tol, max(0.1 * short, options.tol)
    params = balanced(found.value, options.alpha)
    R = canonical_rotation(np.hstack([np.sqrt(options.alpha) * params.x.V, params.y.V]).T, params.x.V.T)
    rotated = [Loadings(R.T @ part.V, part.b) for part in (params.x, params.y)]
    return Result(Params(params.U @ R, *rotated), found.status, found.path, found.stats)


def _value(params: Params, views: tuple[View, View], ridge: float) -> float:
    """J, infinite where it is no number."""
    with np.errstate(over="ignore", invalid="ignore"):
        value = objective(params, views, ridge)
    return value if np.isfinite(value) else np.inf


def _sweeps(found: Result[Params], views: tuple[View, View], options: Options, tol: float) -> Result[Params]:
    """Go on with accelerated sweeps until one is at most `tol` long."""
    more = run_em(
        lambda params: _value(params, views, options.penalty),
        lambda _, params: m_step(params, views, options),
        found.value,
        log_likelihood=lambda value: -value,
        residual=lambda _, params, after: distance(after, params, options.alpha),
        tol=tol,
        max_iter=options.max_iter + 1 - len(found.path),
        packing=Packing(),
        acceleration="anderson",
    )
    path = np.append(found.path[:-1], more.path)
    return Result(more.value[0], more.status, path, {**more.stats, "n_iter": len(path) - 1})


def _newton(
    found: Result[Params], views: tuple[View, View], options: Options, *, far: bool
) -> tuple[Result[Params], bool]:
    """Go on with Newton steps, and whether they end at a minimum; if `far`, they end where J is bent downward."""
    params, path = found.value, found.path.tolist()
    settled = False
    while not settled and len(path) < min(options.max_iter, len(found.path) + NEWTON_STEPS):  # one sweep is left
        step = newton_step(params, views, options.penalty)
        if step.bent and far:
            break
        for length in 0.5 ** np.arange(HALVINGS):
            moved = balanced(step.taken(params, length), options.alpha)
            value = -_value(moved, views, options.penalty)
            if value >= path[-1] - ROUNDING * (1.0 + abs(path[-1])):
                break
        else:
            break
        path.append(value)
        settled = not step.bent and distance(moved, params, options.alpha) <= SETTLED
        params = moved
    return Result(params, found.status, np.array(path), found.stats), settled


def regress(view: View, U: Array, ridge: float = 1.0, steps: int = STEPS) -> tuple[Loadings, float]:
    """Regression of the targets on projected scores U (n, k), theta_y = u V + b, ridge for scores of unit variance.

    Beside it a bound on what the objective is short of its minimum, relative to its size.

    Scores of the fit know the targets; projections from x alone, which is all there is of a new row, do not, and are
    shorter. So the loadings of y are not the way from projections to targets, and this regression is.
    """
    k, q = U.shape[1], len(view.prior)
    size = U.std(axis=0)
    size[size <= 1e-12 * size.max(initial=0.0)] = 1.0
    scaled = U / size

    def cost(v: Array) -> tuple[float, Array]:
        part = Loadings(v[: k * q].reshape(k, q), v[k * q :])
        with np.errstate(over="ignore", invalid="ignore"):
            value = float(row_nll(view, scaled, part).sum()) + penalty(view, part, ridge)
            gradient, _ = loadings_terms(view, scaled, part, ridge)
        return (value, gradient.ravel()) if np.isfinite(value) else (WORST, np.zeros(len(v)))

    start = np.concatenate([np.zeros(k * q), view.prior])
    options = {"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 20}
    found = minimize(cost, start, jac=True, method="L-BFGS-B", options=options)
    rest = float(found.jac @ found.jac) / (2.0 * ridge) / max(abs(float(found.fun)), 1.0 * len(U))
    return Loadings(found.x[: k * q].reshape(k, q) / size[:, None], found.x[k * q :]), rest
