"""Newton steps on scores and loadings together, which end what sweeps begin.

Sweeps alternate, and crawl where scores and loadings move along a flat direction together. The Hessian knows both:
scores are eliminated row by row, and what is left is solved for the loadings by conjugate gradients in the metric that
sweeps divide by. A product with it costs no more than a sweep; rows' own Hessians (n, k, k) are held.
"""

from typing import NamedTuple

import numpy as np

from ..._types import Array
from .factors import Loadings, Params, View, blocks, loadings_terms, score_terms, with_ones

STEP_ACCURACY = 0.01  # of the gradient that a step leaves
MOST_PRODUCTS = 200  # with the Hessian for one step
FLAT = 1e-12  # curvature, in units of the metric, that is rounding: of turns of scores and loadings together it is zero

Pair = list[Array]  # for each table, of its loadings above its intercepts (k + 1, p)


class Step(NamedTuple):
    """How far scores and loadings move, and whether J is bent downward on the way."""

    U: Array  # (n, k)
    loadings: Pair
    bent: bool

    def taken(self, params: Params, length: float = 1.0) -> Params:
        """Parameters a share of the step from others."""
        x, y = (
            Loadings(part.V + length * step[:-1], part.b + length * step[-1])
            for part, step in zip((params.x, params.y), self.loadings, strict=True)
        )
        return Params(params.U + length * self.U, x, y)


def newton_step(params: Params, views: tuple[View, View], ridge: float) -> Step:
    """The step to where the gradient of J would be `STEP_ACCURACY` of itself were J quadratic.

    Where J is bent downward the step ends at that, and lowers J still.
    """
    H = Curvature(params, views, ridge)
    left = H.unturned([-slope for slope in H.gradient])
    step, U = [np.zeros_like(slope) for slope in left], H.alone.copy()
    way = near = H.unturned(H.divided(left))
    size = first = _dot(left, near)
    for _ in range(MOST_PRODUCTS):
        bend, dU = H.times(way)
        curvature, flat = _dot(way, bend), FLAT * _dot(way, H.multiplied(way))
        if curvature <= flat:
            bent = curvature < -flat
            return Step(U + dU, way, bent) if bent and way is near else Step(U, step, bent)
        share = size / curvature
        step, U, left = _plus(step, way, share), U + share * dU, _plus(left, bend, -share)
        left = H.unturned(left)
        near = H.unturned(H.divided(left))
        before, size = size, _dot(left, near)
        if size <= STEP_ACCURACY**2 * first:
            break
        way = _plus(near, way, size / before)
    return Step(U, step, bent=False)


def _dot(a: Pair, b: Pair) -> float:
    return sum(float((one * other).sum()) for one, other in zip(a, b, strict=True))


def _plus(a: Pair, b: Pair, length: float) -> Pair:
    return [one + length * other for one, other in zip(a, b, strict=True)]


class Curvature:
    """The Hessian of J at scores and loadings, scores eliminated."""

    def __init__(self, params: Params, views: tuple[View, View], ridge: float) -> None:
        self.params, self.views, self.ridge = params, views, ridge
        n, k = params.U.shape
        widths = [len(view.prior) for view in views if not view.quadratic]
        self.blocks = [(rows, [view.rows(rows) for view in views]) for rows in blocks(n, max([k**2, *widths]))]
        parts = [params.x, params.y]
        found = [score_terms(of, parts, params.U[rows], ridge, newton=True) for rows, of in self.blocks]
        self.inverses = np.concatenate([np.linalg.inv(H) for _, H in found])  # (n, k, k)
        self.alone = -self._solved(slice(None), np.concatenate([slope for slope, _ in found]))  # (n, k) of scores
        terms = [loadings_terms(view, params.U, part, ridge) for view, part in zip(views, parts, strict=True)]
        self.bounds = [view.strength * H for view, (_, H) in zip(views, terms, strict=True)]
        self.gradient = [view.strength * slope for view, (slope, _) in zip(views, terms, strict=True)]
        still = [np.zeros_like(slope) for slope in self.gradient]
        for rows, of in self.blocks:
            self._add(self.gradient, still, self.alone[rows], self._tables(rows, of))

    def _tables(self, rows: slice, views: list[View]) -> "list[Table]":
        U = self.params.U[rows]
        return [Table(view, U, part) for view, part in zip(views, (self.params.x, self.params.y), strict=True)]

    def _solved(self, rows: slice, slopes: Array) -> Array:
        return np.asarray(np.matmul(self.inverses[rows], slopes[:, :, None])[:, :, 0])

    def _add(self, total: Pair, steps: Pair, dU: Array, tables: "list[Table]") -> None:
        for out, table, step in zip(total, tables, steps, strict=True):
            out += table.view.strength * table.of_loadings(step, dU)

    def times(self, steps: Pair) -> tuple[Pair, Array]:
        """The product with a step of the loadings, and how scores (n, k) follow that step."""
        out = [self.ridge * view.strength * step for view, step in zip(self.views, steps, strict=True)]
        dU = np.empty_like(self.params.U)
        for rows, views in self.blocks:
            tables = self._tables(rows, views)
            slopes = [table.view.strength * table.of_scores(step) for table, step in zip(tables, steps, strict=True)]
            dU[rows] = -self._solved(rows, slopes[0] + slopes[1])
            self._add(out, steps, dU[rows], tables)
        return out, dU

    def unturned(self, steps: Pair) -> Pair:
        """Steps less the turns E V of the loadings in them, E antisymmetric; turned with scores they leave J alone."""
        V = np.hstack([self.params.x.V, self.params.y.V])
        sizes, axes = np.linalg.eigh(V @ V.T)
        across = axes.T @ np.hstack([step[:-1] for step in steps]) @ V.T @ axes
        sums = sizes[:, None] + sizes
        E = np.divide(across - across.T, sums, out=np.zeros_like(sums), where=sums > FLAT * sizes[-1])
        E = axes @ E @ axes.T
        return [
            np.vstack([step[:-1] - E @ part.V, step[-1:]])
            for step, part in zip(steps, (self.params.x, self.params.y), strict=True)
        ]

    def divided(self, slopes: Pair) -> Pair:
        """Slopes divided by the metric."""
        return [
            np.asarray(np.linalg.solve(H, slope) if H.ndim == 2 else np.linalg.solve(H, slope.T[:, :, None])[:, :, 0].T)
            for H, slope in zip(self.bounds, slopes, strict=True)
        ]

    def multiplied(self, steps: Pair) -> Pair:
        """Steps times the metric."""
        return [
            H @ step if H.ndim == 2 else np.matmul(H, step.T[:, :, None])[:, :, 0].T
            for H, step in zip(self.bounds, steps, strict=True)
        ]


class Table:
    """Rows of one table at scores and loadings, and how the gradients of its negative log-likelihood change there."""

    def __init__(self, view: View, U: Array, part: Loadings) -> None:
        self.view, self.D, self.C = view, with_ones(U), np.vstack([part.V, part.b])
        self.weight = np.ones((len(U), 1)) if view.weight is None else view.weight
        if not view.quadratic:
            theta = self.D @ self.C
            self.mean, self.variance = view.family.mean(theta), self.weight * view.family.variance(theta)

    def _bent(self, change: Array) -> Array:
        """How expected values (n, p) change with natural parameters."""
        out = self.variance * change
        if self.view.family.name == "multinomial":
            out -= self.weight * self.mean * (self.mean * change).sum(axis=1, keepdims=True)
        return np.asarray(out)

    def of_scores(self, step: Array) -> Array:
        """Change (n, k) of the gradient in scores as the loadings move by a step (k + 1, p)."""
        V, dV = self.C[:-1], step[:-1]
        data = np.asarray(self.view.values @ dV.T)
        if self.view.quadratic:
            return np.asarray(self.weight * (self.D @ (step @ V.T + self.C @ dV.T)) - data)
        return np.asarray(self._bent(self.D @ step) @ V.T + (self.weight * self.mean) @ dV.T - data)

    def of_loadings(self, step: Array, dU: Array) -> Array:
        """Change (k + 1, p) of the gradient in loadings and intercepts as they and scores move, without the ridge."""
        V, of_scores = self.C[:-1], -np.asarray(self.view.values.T @ dU).T
        if self.view.quadratic:
            weighted = self.weight * dU
            out = self.D.T @ (self.weight * self.D) @ step + self.D.T @ weighted @ V
            of_scores += weighted.T @ self.D @ self.C
        else:
            out = self.D.T @ self._bent(self.D @ step + dU @ V)
            of_scores += dU.T @ (self.weight * self.mean)
        out[:-1] += of_scores
        return np.asarray(out)
