"""FISTA for concave maximization with a certificate: backtracking, restart, a bound from above at every step."""

from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, Result, Status

Point = tuple[Array, ...]
GROW = 1.25  # how much a step may grow after one that was accepted at once
SHRINK = 0.5


class Slope(NamedTuple):
    """Smooth part at a point."""

    value: float
    gradient: Point
    upper: float  # an upper bound of the maximum


class Certified(NamedTuple):
    """Best point found and bounds of the maximum."""

    point: Point
    lower: float
    upper: float

    @property
    def relative_gap(self) -> float:
        """(upper - lower) / |lower|; never negative."""
        return relative_gap(self.lower, self.upper)


def relative_gap(lower: float, upper: float) -> float:
    """(upper - lower) / |lower|, at least zero: rounding may swap the two."""
    return max(upper - lower, 0.0) / max(abs(lower), np.finfo(float).tiny)


def inner(a: Point, b: Point) -> float:
    """Inner product over the arrays that both have."""
    return float(sum(np.vdot(x, y) for x, y in zip(a, b, strict=False)))


def fista(problem: Any, start: Point, step: float, tol: float, max_iter: int) -> Result[Certified]:
    """Maximize `smooth` less a penalty until the relative gap of the best value and upper bound is at most `tol`.

    A problem gives `slope(point)`, `smooth(point)` and `proximal(point, gradient, step)`: the proximal point and the
    penalty there. The first arrays of a point are its coordinates, as many as the gradient has; further ones are linear
    functions of these, carried along so that extrapolation needs no product. The path holds the best value after each
    iteration. Sources: Beck and Teboulle 2009; restart of O'Donoghue and Candes 2015 (gradient scheme).
    """
    point, speed, lower, upper, path = start, 1.0, -np.inf, np.inf, []
    ahead, best = start, start
    for _ in range(max_iter):
        slope = problem.slope(ahead)
        upper = min(upper, slope.upper)
        new, value, penalty, step = _accepted_step(problem, ahead, slope, step)
        if value - penalty > lower:
            lower, best = value - penalty, new
        path.append(lower)
        if relative_gap(lower, upper) <= tol:
            break
        coordinates = slice(0, len(slope.gradient))
        move = _minus(new[coordinates], point[coordinates])
        if inner(_minus(ahead[coordinates], new[coordinates]), move) > 0:
            speed, ahead = 1.0, new
        else:
            faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * speed**2))
            ahead = tuple(a + (speed - 1.0) / faster * (a - b) for a, b in zip(new, point, strict=True))
            speed = faster
        point = new
    value_found = Certified(best, lower, upper)
    status = Status.CONVERGED if value_found.relative_gap <= tol else Status.MAX_ITER
    return Result(value_found, status, np.array(path), {"n_iter": len(path), "step": step})


def _accepted_step(problem: Any, ahead: Point, slope: Slope, step: float) -> tuple[Point, float, float, float]:
    """Proximal step that the quadratic model does not overrate: point, smooth part, penalty, next step size to try."""
    first = True
    while True:
        new, penalty = problem.proximal(ahead, slope.gradient, step)
        value = problem.smooth(new)
        move = _minus(new[: len(slope.gradient)], ahead[: len(slope.gradient)])
        model = slope.value + inner(slope.gradient, move) - 0.5 * inner(move, move) / step
        rounding = 1e-13 * (1.0 + abs(value))
        if value >= model - rounding:
            return new, value, penalty, step * (GROW if first else 1.0)
        step, first = step * SHRINK, False


def _minus(a: Point, b: Point) -> Point:
    return tuple(x - y for x, y in zip(a, b, strict=True))
