"""Steps that fit theta = U V + b to tables of exponential families: loadings given scores, scores given loadings.

Each step minimizes a quadratic above the objective and tangent to it (Gaussian: the objective itself), so the
objective never rises; Poisson tables have none, and Newton steps are halved, column by column or row by row, until the
objective falls. Natural parameters are formed block by block; a sparse table enters through products only.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, IntArray
from ...likelihoods.bernoulli import Bernoulli
from ...likelihoods.family import Exponential
from ...likelihoods.gaussian import Gaussian
from ...likelihoods.multinomial import Multinomial
from ...likelihoods.poisson import Poisson

FAMILIES: dict[str, Exponential] = {
    "gaussian": Gaussian(),
    "bernoulli": Bernoulli("logit"),
    "multinomial": Multinomial(),
    "poisson": Poisson(),
}
BLOCK = 1 << 20  # natural parameters held at once
HALVINGS = 40
ROUNDING = 1e-13


class View(NamedTuple):
    """One table and how much it counts."""

    family: Exponential
    values: Any  # (n, p) dense or csr, zero where not observed
    weight: Array | None  # (n, p) 1 where observed, else 0; or (n, 1) trials of a row; None: all 1
    strength: float
    prior: Array  # (p,) what the intercepts are drawn to

    @property
    def quadratic(self) -> bool:
        """Whether second moments of scores are all that natural parameters enter through: numbers, by whole rows."""
        return self.family.name == "gaussian" and (self.weight is None or self.weight.shape[1] == 1)

    def rows(self, which: Any) -> "View":
        """The same view of some rows."""
        return self._replace(values=self.values[which], weight=None if self.weight is None else self.weight[which])


class Loadings(NamedTuple):
    """theta = scores V + b."""

    V: Array  # (k, p)
    b: Array  # (p,)


class Params(NamedTuple):
    """Scores of the training rows, and the loadings of both tables."""

    U: Array  # (n, k)
    x: Loadings
    y: Loadings


def blocks(n: int, p: int) -> Iterator[slice]:
    """Slices of rows such that a block has about BLOCK entries."""
    size = max(1, BLOCK // max(1, p))
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def _weighted(view: View, rows: slice, values: Array) -> Array:
    return values if view.weight is None else values * view.weight[rows]


def row_nll(view: View, U: Array, part: Loadings) -> Array:
    """Negative log-likelihood of each row (n,), in nats, terms of the data alone left out."""
    out = -((np.asarray(view.values @ part.V.T) * U).sum(axis=1) + np.asarray(view.values @ part.b))
    if view.quadratic:
        D, C = with_ones(U), _stacked(view, part)[0]
        return np.asarray(out + 0.5 * _weighted(view, slice(None), (D @ (C @ C.T)) * D).sum(axis=1))
    for rows in blocks(len(U), len(part.b)):
        out[rows] += _weighted(view, rows, view.family.partition(U[rows] @ part.V + part.b)).sum(axis=1)
    return np.asarray(out)


def with_ones(U: Array) -> Array:
    return np.column_stack([U, np.ones(len(U))])


def penalty(view: View, part: Loadings, ridge: float) -> float:
    """The ridge of loadings and intercepts, these about their prior."""
    return 0.5 * ridge * float((part.V**2).sum() + ((part.b - view.prior) ** 2).sum())


def objective(params: Params, views: tuple[View, View], ridge: float) -> float:
    """J, in nats, terms of the data alone left out."""
    value = 0.5 * ridge * float((params.U**2).sum())
    for view, part in zip(views, (params.x, params.y), strict=True):
        value += view.strength * (float(row_nll(view, params.U, part).sum()) + penalty(view, part, ridge))
    return value


def _stacked(view: View, part: Loadings) -> tuple[Array, Array]:
    """Loadings above intercepts (k + 1, p), and what the ridge draws them to."""
    C0 = np.zeros((len(part.V) + 1, len(part.b)))
    C0[-1] = view.prior
    return np.vstack([part.V, part.b]), C0


def loadings_terms(view: View, U: Array, part: Loadings, ridge: float) -> tuple[Array, Array]:
    """Gradient (k + 1, p) in loadings and intercepts, and a curvature that bounds the Hessian of every column.

    The curvature is (k + 1, k + 1) where the same one serves all columns, else (p, k + 1, k + 1).
    """
    n, k = U.shape
    p = len(part.b)
    D = with_ones(U)
    C, C0 = _stacked(view, part)
    shared = view.family.constant is not None and (view.weight is None or view.weight.shape[1] == 1)
    gradient = ridge * (C - C0) - np.asarray(view.values.T @ D).T
    if view.quadratic:
        H = D.T @ _weighted(view, slice(None), D)
        return gradient + H @ C, H + ridge * np.eye(k + 1)
    H = np.zeros((k + 1, k + 1) if shared else (p, (k + 1) ** 2))
    for rows in blocks(n, max(p, (k + 1) ** 2)):
        theta = D[rows] @ C
        gradient += D[rows].T @ _weighted(view, rows, view.family.mean(theta))
        if view.family.constant is not None and shared:
            H += view.family.constant * D[rows].T @ _weighted(view, rows, D[rows])
        else:
            pairs = (D[rows][:, :, None] * D[rows][:, None, :]).reshape(len(theta), -1)
            H += _weighted(view, rows, view.family.bound(theta)).T @ pairs
    return gradient, (H if shared else H.reshape(p, k + 1, k + 1)) + ridge * np.eye(k + 1)


def loadings_step(view: View, U: Array, part: Loadings, ridge: float) -> Loadings:
    """Loadings and intercepts that lower the negative log-likelihood plus ridge at given scores U (n, k)."""
    gradient, H = loadings_terms(view, U, part, ridge)
    C, _ = _stacked(view, part)
    if H.ndim == 2:
        step = np.asarray(-np.linalg.solve(H, gradient), dtype=np.float64)
    else:
        step = np.asarray(-np.linalg.solve(H, gradient.T[:, :, None])[:, :, 0].T, dtype=np.float64)
    if view.family.majorized:
        C = C + step
    else:
        C = _shortened(_column_objective(view, U, part, ridge), C.T, step.T, gradient.T).T
    return Loadings(C[:-1], C[-1])


def _column_objective(view: View, U: Array, part: Loadings, ridge: float) -> Callable[[IntArray, Array], Array]:
    """The objective of some columns (m,) as a function of their coefficients (m, k + 1)."""
    D = with_ones(U)
    linear, C0 = np.asarray(view.values.T @ D), _stacked(view, part)[1].T  # (p, k + 1)

    def objective(columns: IntArray, tried: Array) -> Array:
        out = 0.5 * ridge * ((tried - C0[columns]) ** 2).sum(axis=1) - (linear[columns] * tried).sum(axis=1)
        weight = view.weight if view.weight is None or view.weight.shape[1] == 1 else view.weight[:, columns]
        for rows in blocks(len(D), len(columns)):
            values = view.family.partition(D[rows] @ tried.T)
            out += (values if weight is None else values * weight[rows]).sum(axis=0)
        return np.asarray(out)

    return objective


def scores_step(views: list[View], parts: list[Loadings], U: Array, ridge: float, *, newton: bool = False) -> Array:
    """Scores (n, k) that lower the summed negative log-likelihoods of every row plus ridge, at given loadings.

    With `newton` the curvature is that of the objective itself, in place of its bound.
    """
    out = np.empty_like(U)
    width = max([U.shape[1] ** 2, *(len(part.b) for part in parts)])
    for rows in blocks(len(U), width):
        out[rows] = _block_scores([view.rows(rows) for view in views], parts, U[rows], ridge, newton)
    return out


def _block_scores(views: list[View], parts: list[Loadings], U: Array, ridge: float, newton: bool) -> Array:
    gradient, H = score_terms(views, parts, U, ridge, newton=newton)
    step = np.asarray(-np.linalg.solve(H, gradient[:, :, None])[:, :, 0], dtype=np.float64)
    if not newton and all(view.family.majorized for view in views):
        return np.asarray(U + step)

    def objective(rows: IntArray, tried: Array) -> Array:
        out = 0.5 * ridge * (tried**2).sum(axis=1)
        for view, part in zip(views, parts, strict=True):
            out += view.strength * row_nll(view.rows(rows), tried, part)
        return np.asarray(out)

    return _shortened(objective, U, step, gradient)


def score_terms(
    views: list[View], parts: list[Loadings], U: Array, ridge: float, *, newton: bool = False
) -> tuple[Array, Array]:
    """Gradient (n, k) of every row in its scores, and a bound on its Hessian (n, k, k); with `newton` the Hessian."""
    n, k = U.shape
    gradient, H = ridge * U, np.broadcast_to(ridge * np.eye(k), (n, k, k)).copy()
    for view, part in zip(views, parts, strict=True):
        family, s, V = view.family, view.strength, part.V
        weight = np.ones((n, 1)) if view.weight is None else view.weight
        gradient -= s * np.asarray(view.values @ V.T)
        if view.quadratic:
            gradient += s * weight * (U @ (V @ V.T) + part.b @ V.T)
        else:
            theta = U @ V + part.b
            mean = family.mean(theta)
            gradient += s * ((weight * mean) @ V.T)
        correlated = newton and family.name == "multinomial"
        if family.constant is not None and weight.shape[1] == 1 and not correlated:
            H += s * family.constant * weight[:, :, None] * (V @ V.T)
            continue
        pairs = (V.T[:, :, None] * V.T[:, None, :]).reshape(-1, k * k)
        curvature = family.variance(theta) if newton else family.bound(theta)
        H += s * ((weight * curvature) @ pairs).reshape(n, k, k)
        if correlated:
            center = mean @ V.T
            H -= s * weight[:, :, None] * (center[:, :, None] * center[:, None, :])
    return gradient, H


def _shortened(objective: Callable[[IntArray, Array], Array], start: Array, step: Array, gradient: Array) -> Array:
    """Rows start + t step (m, k) with t halved, row by row, until the objective falls; a row that never does stays."""
    out, left = start.copy(), np.arange(len(start))
    with np.errstate(over="ignore", invalid="ignore"):
        before = objective(left, start)
        slack = ROUNDING * (1.0 + np.abs(before))  # near the minimum the objective no longer tells a step from none
        slope = np.minimum((gradient * step).sum(axis=1), 0.0)
        length = 1.0
        for _ in range(HALVINGS):
            tried = start[left] + length * step[left]
            better = objective(left, tried) <= before[left] + 1e-4 * length * slope[left] + slack[left]
            out[left[better]] = tried[better]
            left = left[~better]
            if len(left) == 0:
                break
            length *= 0.5
    return out


def project(view: View, part: Loadings, ridge: float, *, tol: float = 1e-9, max_iter: int = 200) -> tuple[Array, float]:
    """Scores (n, k) that minimize strength NLL + ridge / 2 |u|^2 by row, and the longest last step, relative to |u|.

    Convex, by Newton steps until all are at most `tol`; Gaussian: in one step, which leaves nothing.
    """
    U = np.zeros((view.values.shape[0], len(part.V)))
    if view.family.name == "gaussian":
        return scores_step([view], [part], U, ridge), 0.0
    left, moved = np.arange(len(U)), np.zeros(len(U))
    for _ in range(max_iter):
        after = scores_step([view.rows(left)], [part], U[left], ridge, newton=True)
        moved[left] = np.linalg.norm(after - U[left], axis=1) / (1.0 + np.linalg.norm(after, axis=1))
        U[left] = after
        left = left[moved[left] > tol]
        if len(left) == 0:
            break
    return U, float(moved.max(initial=0.0))
