"""Proximal bundle method for convex functions of points whose rows are probabilities (Guo 2008, algorithm 1).

Every point visited gives a plane below the function. The next candidate minimises the largest of the planes plus
mu / 2 times the squared distance from the best point so far.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from ..._types import Array
from .fista import Point, inner

QP_STEPS = 300
QP_SHARE = 0.05  # of the predicted decrease: how well the quadratic problem is solved


class Plane(NamedTuple):
    """f(theta) >= f(best) - error + <slope, theta - best>, and the projector that gave it."""

    error: float
    slope: Point
    projector: Array


class Touch(NamedTuple):
    """Value at a point, a subgradient, and the projector behind it."""

    value: float
    slope: Point
    projector: Array


class State(NamedTuple):
    """Best point, its value, the planes, the aggregate of those used at the last serious step, first in the list."""

    best: Point
    value: float
    planes: list[Plane]
    weights: Array  # (number of planes,) multipliers of the last quadratic problem
    decrease: float  # predicted by it


def begin(touch: Callable[[Point], Touch], start: Point) -> State:
    """State with one plane."""
    first = touch(start)
    return State(start, first.value, [Plane(0.0, first.slope, first.projector)], np.ones(1), np.inf)


def step(
    state: State, touch: Callable[[Point], Touch], value: Callable[[Point], float], mu: float, keep: int, serious: float
) -> State:
    """One round of algorithm 1: quadratic problem, line search, new plane, serious step or not."""
    best, planes = state.best, state.planes
    found, weights, decrease = _quadratic(state, mu)
    if decrease <= 0:
        return state._replace(weights=weights, decrease=0.0)

    def on_line(gamma: float) -> float:
        return value(_mix(best, found, gamma))

    gamma = float(minimize_scalar(on_line, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"maxiter": 20}).x)
    new = _mix(best, found, gamma)
    at = touch(new)
    if state.value - at.value >= serious * decrease:
        moved = tuple(a - b for a, b in zip(best, new))
        shifted = [
            plane._replace(error=max(0.0, plane.error + at.value - state.value + inner(plane.slope, moved)))
            for plane in planes
        ]
        aggregate = _aggregate(shifted, weights)
        kept = [aggregate, *_strongest(shifted, weights, keep), Plane(0.0, at.slope, at.projector)]
        return State(new, at.value, kept, _one_hot(len(kept)), decrease)
    error = state.value - at.value - inner(at.slope, tuple(a - b for a, b in zip(best, new)))
    kept = [_aggregate(planes, weights), *_strongest(planes, weights, keep)]
    kept.append(Plane(max(0.0, error), at.slope, at.projector))
    return State(best, state.value, kept, _one_hot(len(kept)), decrease)


def simplex_projection(V: Array) -> Array:
    """Nearest point of the probability simplex to each row of V."""
    ordered = -np.sort(-V, axis=1)
    sums = np.cumsum(ordered, axis=1) - 1.0
    counts = np.arange(1, V.shape[1] + 1)
    last = (ordered * counts > sums).sum(axis=1)
    shift = sums[np.arange(len(V)), last - 1] / last
    return np.asarray(np.maximum(V - shift[:, None], 0.0))


def _quadratic(state: State, mu: float) -> tuple[Point, Array, float]:
    """Candidate, multipliers of the planes and predicted decrease: accelerated ascent of the dual over a simplex."""
    planes, best = state.planes, state.best
    errors = np.array([plane.error for plane in planes])
    gram = np.array([[inner(a.slope, b.slope) for b in planes] for a in planes])
    length = mu / max(float(np.linalg.eigvalsh(gram)[-1]), 1e-300)

    def candidate(weights: Array) -> Point:
        parts = (sum(w * p.slope[j] for w, p in zip(weights, planes)) for j in range(len(best)))
        return tuple(simplex_projection(b - part / mu) if b.size else b for b, part in zip(best, parts))

    weights = ahead = simplex_projection(state.weights[None])[0]
    speed = 1.0
    for _ in range(QP_STEPS):
        theta = candidate(ahead)
        moved = tuple(a - b for a, b in zip(theta, best))
        heights = np.array([inner(plane.slope, moved) for plane in planes]) - errors
        proximity = 0.5 * mu * inner(moved, moved)
        primal, dual = float(heights.max()) + proximity, float(ahead @ heights) + proximity
        if primal - dual <= QP_SHARE * max(-primal, 0.0) or len(planes) == 1:
            return theta, ahead, -primal
        new = simplex_projection((ahead + length * heights)[None])[0]
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * speed**2))
        restart = float((ahead - new) @ (new - weights)) > 0
        ahead = new if restart else simplex_projection((new + (speed - 1.0) / faster * (new - weights))[None])[0]
        weights, speed = new, 1.0 if restart else faster
    return theta, ahead, -primal


def _aggregate(planes: list[Plane], weights: Array) -> Plane:
    """The mean of planes, which is below the function as well."""
    slopes = (sum(w * p.slope[j] for w, p in zip(weights, planes)) for j in range(len(planes[0].slope)))
    projector = sum(w * p.projector for w, p in zip(weights, planes))
    error = float(sum(w * p.error for w, p in zip(weights, planes)))
    return Plane(error, tuple(np.asarray(slope) for slope in slopes), np.asarray(projector))


def _strongest(planes: list[Plane], weights: Array, keep: int) -> list[Plane]:
    """The planes with the largest multipliers, at most `keep`."""
    return [planes[i] for i in np.sort(np.argsort(-weights, kind="stable")[:keep])]


def _one_hot(size: int) -> Array:
    weights = np.zeros(size)
    weights[0] = 1.0
    return weights


def _mix(a: Point, b: Point, share: float) -> Point:
    return tuple(share * x + (1.0 - share) * y for x, y in zip(a, b))
