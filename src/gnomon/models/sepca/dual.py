"""The bound as a function of T, for the solvers of the paper: the bundle method on all rows, or on blocks of rows."""

import numpy as np
from scipy.special import xlogy

from ..._types import Array, IntArray, Result, Status
from .bundle import Cut, Rule, begin, step
from .data import Data
from .fista import Certified, Point, relative_gap
from .k_support import small_gram, squared_dual_norm, squared_norm, top_left_vectors
from .primal import Multinomial

RULE = Rule(mu=1.0, planes=30, serious=0.1)  # mu is the paper's
BLOCK, BLOCK_STEPS = 20, 5  # rows of a block of the coordinate descent, and bundle steps on each


class Bound:
    """The bound as a function of T = (T_x, T_y), for the solvers of the paper."""

    def __init__(self, data: Data) -> None:
        self.data = data

    def start(self) -> Point:
        """Uniform."""
        m = len(self.data.base)
        return np.full((len(self.data.rows), m), 1.0 / m), np.full_like(self.data.Y, 1.0 / max(self.data.Y.shape[1], 1))

    def value(self, T: Point) -> float:
        """Bound at T."""
        R = self._residual(T)
        total = R[:, self.data.rows.shape[1] :].sum(axis=0)
        largest = squared_dual_norm(small_gram(R), self.data.k)
        return float(sum(xlogy(part, part).sum() for part in T)) + 0.5 / self.data.penalty * (
            largest + float(total @ total)
        )

    def cut(self, T: Point) -> Cut:
        """Bound, subgradient and the projector M on the k leading left singular vectors of R.

        In T_y it is log T_y + 1 - (M + E)(Y - T_y) / penalty, where (10) prints M alone. At 0 the entropy has none: T
        stays inside the simplex.
        """
        data, R = self.data, self._residual(T)
        Z = top_left_vectors(R, data.k)
        pulled = Z @ (Z.T @ R)
        total = R[:, data.rows.shape[1] :].sum(axis=0)
        x_pull = pulled[:, : data.rows.shape[1]] @ data.base.T
        y_pull = pulled[data.labeled, data.rows.shape[1] :] + total
        logs = [np.log(np.maximum(part, 1e-300)) + 1.0 for part in T]
        return Cut(self.value(T), (logs[0] - x_pull / data.penalty, logs[1] - y_pull / data.penalty), Z @ Z.T)

    def certify(self, T: Point, projector: Array) -> tuple[float, Array]:
        """Bound from below at F = M R / penalty, and that F; M any matrix of the fantope."""
        F = projector @ self._residual(T) / self.data.penalty
        slope = Multinomial(self.data).smooth((F, F[:, : self.data.rows.shape[1]] @ self.data.base.T))
        s = np.sqrt(np.maximum(np.linalg.eigvalsh(small_gram(F)), 0.0))
        return slope - 0.5 * self.data.penalty * squared_norm(s, self.data.k), F

    def _residual(self, T: Point) -> Array:
        R = np.zeros((len(self.data.rows), self.data.rows.shape[1] + self.data.Y.shape[1]))
        R[:, : self.data.rows.shape[1]] = self.data.rows - T[0] @ self.data.base
        R[self.data.labeled, self.data.rows.shape[1] :] = self.data.Y - T[1]
        return R


def minimize_bound(data: Data, blocks: bool, tol: float, max_iter: int) -> Result[Certified]:
    """The paper's bundle method on all rows at once, or on blocks of rows in turn; the path holds best lower bounds."""
    bound, generator = Bound(data), np.random.default_rng(0)
    T, lower, upper, best, path = bound.start(), -np.inf, np.inf, None, []
    state = begin(bound.cut, T)
    for _ in range(max_iter):
        if not blocks:
            state = step(state, bound.cut, bound.value, RULE)
            T, projector = state.best, state.planes.projectors[0]
        else:
            T, projector = sweep_blocks(bound, T, generator)
        upper = min(upper, bound.value(T))
        found, F = bound.certify(T, projector)
        if found > lower or best is None:
            lower, best = max(lower, found), F
        path.append(lower)
        if relative_gap(lower, upper) <= tol or (not blocks and state.decrease <= 0.0):
            break
    reached = relative_gap(lower, upper) <= tol
    status = Status.CONVERGED if reached else Status.MAX_ITER if len(path) == max_iter else Status.STALLED
    return Result(Certified((np.asarray(best),), lower, upper), status, np.array(path), {"n_iter": len(path)})


def sweep_blocks(bound: Bound, T: Point, generator: np.random.Generator) -> tuple[Point, Array]:
    """A few bundle steps on each block of a random partition of the rows, the others held (section 3.2)."""
    n = len(bound.data.rows)
    projector = np.zeros((n, n))
    for block in np.array_split(generator.permutation(n), max(1, round(n / BLOCK))):
        part = _Block(bound, T, block)
        state = begin(part.cut, part.start())
        for _ in range(BLOCK_STEPS):
            state = step(state, part.cut, part.value, RULE)
        T, projector = part.whole(state.best), state.planes.projectors[0]
    return T, projector


class _Block:
    """The bound as a function of some rows of T, the others held."""

    def __init__(self, bound: Bound, T: Point, rows: IntArray) -> None:
        self.bound, self.T, self.rows = bound, T, rows
        self.inside = np.flatnonzero(np.isin(bound.data.labeled, rows))  # of the labeled rows

    def start(self) -> Point:
        return self.T[0][self.rows], self.T[1][self.inside]

    def whole(self, part: Point) -> Point:
        T_x, T_y = self.T[0].copy(), self.T[1].copy()
        T_x[self.rows], T_y[self.inside] = part
        return T_x, T_y

    def value(self, part: Point) -> float:
        return self.bound.value(self.whole(part))

    def cut(self, part: Point) -> Cut:
        at = self.bound.cut(self.whole(part))
        return at._replace(slope=(at.slope[0][self.rows], at.slope[1][self.inside]))
