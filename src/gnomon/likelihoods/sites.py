"""What the outputs of rows say of their predictors: the one question that every way of inference answers."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._types import Array, IntArray
from ..numerics.linear_gaussian import apply_by_row

Near = tuple[Array, ...] | None  # arrays with one entry for each row
ACCURACY = 1e-8  # of the slopes; the evidence is stationary, so that its error is the square
ROUNDING = 1e-12
MAX_ITER = 50
SMALLEST_STEP = 1e-3


class Factored(Protocol):
    """Curvatures (n, h, h) of rows, known by their products."""

    def by_row(self) -> Array:
        """All of them (n, h, h)."""

    def part(self, rows: IntArray | slice) -> "Factored":
        """Those of some rows."""

    def total(self, weights: Array) -> Array:
        """Their sum (h, h) by weight."""

    def times(self, A: Array) -> Array:
        """Those of the rows times A (n, h)."""

    def near_at(self, change: Array) -> Near:
        """As in `SiteFit`."""


class SiteFit(NamedTuple):
    """Log-evidence of the outputs of every row (a bound or an approximation where stated), slope and curvature.

    With predictors a ~ N(mean, cov) given x, their posterior has mean ``mean + cov slope`` and covariance
    ``cov - cov curvature cov``.
    """

    log_z: Array  # (n,)
    slope: Array  # (n, h)   d log_z / d mean
    curvature: Array | Factored  # (n, h, h), or (g, h, h) of groups of rows   minus the second derivative
    near: Near = None  # with one entry for each row, from which a later call may start
    gap: Array | None = None  # (n,)   how far each row is from where its iteration leads; None: exact
    of_row: IntArray | None = None  # (n,)   the group of each row, if the curvature is that of groups

    @property
    def by_row(self) -> Array:
        """Curvature (n, h, h) of every row."""
        return self.distinct if self.of_row is None else self.distinct[self.of_row]

    @property
    def distinct(self) -> Array:
        """Curvature (g, h, h) of the groups, each row one where there are none."""
        return self.curvature if isinstance(self.curvature, np.ndarray) else self.curvature.by_row()

    def near_at(self, change: Array) -> Near:
        """From which a call may start whose means differ by `change` (n, h)."""
        if self.near is None or isinstance(self.curvature, np.ndarray):
            return self.near
        return self.curvature.near_at(change)

    def some(self, rows: IntArray | slice) -> "SiteFit":
        """Of some of the rows."""
        of_row, curvature = self.of_row, self.curvature
        if of_row is not None:
            of_row = of_row[rows]
        else:
            curvature = curvature[rows] if isinstance(curvature, np.ndarray) else curvature.part(rows)
        near = None if self.near is None else tuple(part[rows] for part in self.near)
        gap = None if self.gap is None else self.gap[rows]
        return SiteFit(self.log_z[rows], self.slope[rows], curvature, near, gap, of_row)

    def part(self, rows: slice) -> Array:
        """Curvature (m, h, h) of some of the rows."""
        return self.some(rows).by_row

    def total_curvature(self, weights: Array) -> Array:
        """Sum (h, h) over rows."""
        if not isinstance(self.curvature, np.ndarray):
            return self.curvature.total(weights)
        w = weights if self.of_row is None else np.bincount(self.of_row, weights, len(self.curvature))
        return np.asarray(np.tensordot(w, self.curvature, axes=1))

    def curvature_times(self, A: Array) -> Array:
        """The curvature of every row times A (n, h)."""
        if not isinstance(self.curvature, np.ndarray):
            return self.curvature.times(A)
        return apply_by_row(self.curvature, np.arange(len(A)) if self.of_row is None else self.of_row, A)

    def through(self, VS: Array) -> Array:
        """VS' curvature VS (n, k, k) of every row, VS (h, k) or (n, h, k): what the covariance of z loses."""
        less = np.matmul(np.swapaxes(VS, -1, -2), np.matmul(self.distinct, VS))
        return np.asarray(less if self.of_row is None else less[self.of_row])


class Sites(Protocol):
    """Conditions the predictors of rows on their outputs; pure in its arguments."""

    def __call__(
        self, Y: Array, mean: Array, cov: Array, noise: Array, near: Near = None, accuracy: float = ACCURACY
    ) -> SiteFit:
        """Condition N(mean (n, h), cov (h, h) or (n, h, h)) on Y (n, q), NaN where missing.

        `noise` (q,) is read for real outputs. Where posteriors are iterated for, they start `near` and are found to
        `accuracy` of the slopes.
        """


def ascend(point: Any, at: Callable[[Any, IntArray, Array], Any], accuracy: float, max_iter: int) -> tuple[Any, Array]:
    """Raise the value of every row until its full step is at most `accuracy` long; the point, and the lengths (n,).

    A point is a NamedTuple of arrays by row, with "value" (n,) and "move" (n, m), the full step as one vector.
    `at(points, rows, shares)` is where shares of the full steps of some rows lead. A row whose value would fall takes a
    shorter one.
    """
    step = np.ones(len(point.value))
    active = every = np.arange(len(step))
    for _ in range(max_iter):
        far = np.abs(point.move[active]).max(axis=1, initial=0.0) > accuracy
        active = active[far & (step[active] > SMALLEST_STEP)]
        if len(active) == 0:
            break
        old = point if len(active) == len(every) else type(point)(*(part[active] for part in point))
        trial = at(old, active, step[active])
        rises = trial.value >= old.value - ROUNDING * (1.0 + np.abs(old.value))
        step[active] = np.where(rises, secant(step[active], old.move, trial.move), 0.5 * step[active])
        if len(active) == len(every) and rises.all():
            point = trial
            continue
        for whole, part in zip(point, trial, strict=True):
            whole[active[rises]] = part[rises]
    return point, np.abs(point.move).max(axis=1, initial=0.0)


def secant(step: Array, before: Array, after: Array) -> Array:
    """The step at which the last move would have led to none, were the map linear along it; a tenth to one."""
    size = np.einsum("na,na->n", before, before)
    left = np.einsum("na,na->n", before, after)
    return np.asarray(np.clip(step * size / np.maximum(size - left, 1e-3 * size + 1e-300), 0.1, 1.0))
