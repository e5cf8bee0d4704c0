"""Proximal bundle method for convex functions of points whose rows are probabilities (Guo 2008, algorithm 1).

Every point visited gives a plane below the function. The next candidate minimizes the largest of the planes plus
mu / 2 times the squared distance from the best point so far.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from ..._types import Array, IntArray
from .fista import Point, inner

QP_STEPS = 300
QP_SHARE = 0.05  # of the predicted decrease: how well the quadratic problem is solved


class Rule(NamedTuple):
    """How algorithm 1 steps."""

    mu: float  # proximity
    planes: int  # that are kept
    serious: float  # share of the predicted decrease that makes a step serious


class Cut(NamedTuple):
    """Value at a point, a subgradient, and the projector behind it."""

    value: float
    slope: Point
    projector: Array


class Planes(NamedTuple):
    """f(theta) >= f(best) - error + <slope, theta - best>, and the projectors that gave the planes."""

    errors: Array  # (c,)
    slopes: Array  # (c, d)  of the points as vectors
    projectors: tuple[Array, ...]

    def join(self, error: float, cut: Cut) -> "Planes":
        """These and one more."""
        slopes = np.vstack([self.slopes, flat(cut.slope)])
        return Planes(np.append(self.errors, error), slopes, (*self.projectors, cut.projector))

    def condensed(self, weights: Array, keep: int) -> "Planes":
        """The mean of the planes, which is below the function as well, then those with the largest multipliers."""
        strongest: IntArray = np.sort(np.argsort(-weights, kind="stable")[:keep])
        mean = sum(w * projector for w, projector in zip(weights, self.projectors, strict=True))
        return Planes(
            np.append(weights @ self.errors, self.errors[strongest]),
            np.vstack([weights @ self.slopes, self.slopes[strongest]]),
            (np.asarray(mean), *(self.projectors[i] for i in strongest)),
        )


class State(NamedTuple):
    """Best point, its value, the planes, the aggregate of those used at the last serious step first among them."""

    best: Point
    value: float
    planes: Planes
    weights: Array  # (c,) multipliers of the last quadratic problem
    decrease: float  # predicted by it


def flat(point: Point) -> Array:
    """A point as one vector."""
    return np.concatenate([part.ravel() for part in point])


def begin(oracle: Callable[[Point], Cut], start: Point) -> State:
    """State with one plane."""
    first = oracle(start)
    planes = Planes(np.zeros(1), flat(first.slope)[None], (first.projector,))
    return State(start, first.value, planes, np.ones(1), np.inf)


def step(state: State, oracle: Callable[[Point], Cut], value: Callable[[Point], float], rule: Rule) -> State:
    """One round of algorithm 1: quadratic problem, line search, new plane, serious step or not."""
    best, planes = state.best, state.planes
    found, weights, decrease = _quadratic(state, rule.mu)
    if decrease <= 0:
        return state._replace(weights=weights, decrease=0.0)

    def on_line(gamma: float) -> float:
        return value(_mix(best, found, gamma))

    gamma = float(minimize_scalar(on_line, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"maxiter": 20}).x)
    new = _mix(best, found, gamma)
    cut = oracle(new)
    back = tuple(a - b for a, b in zip(best, new, strict=True))
    fall = state.value - cut.value
    if fall >= rule.serious * decrease:
        errors = np.maximum(planes.errors - fall + planes.slopes @ flat(back), 0.0)
        kept = planes._replace(errors=errors).condensed(weights, rule.planes).join(0.0, cut)
        return State(new, cut.value, kept, _first(len(kept.errors)), decrease)
    error = max(0.0, fall - inner(cut.slope, back))
    kept = planes.condensed(weights, rule.planes).join(error, cut)
    return State(best, state.value, kept, _first(len(kept.errors)), decrease)


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
    planes, start = state.planes, flat(state.best)
    length = mu / max(float(np.linalg.eigvalsh(planes.slopes @ planes.slopes.T)[-1]), 1e-300)
    weights = ahead = simplex_projection(state.weights[None])[0]
    speed = 1.0
    for _ in range(QP_STEPS):
        theta = _projected(start - ahead @ planes.slopes / mu, state.best)
        moved = flat(theta) - start
        heights = planes.slopes @ moved - planes.errors
        proximity = 0.5 * mu * float(moved @ moved)
        primal, dual = float(heights.max()) + proximity, float(ahead @ heights) + proximity
        if primal - dual <= QP_SHARE * max(-primal, 0.0) or len(heights) == 1:
            break
        new = simplex_projection((ahead + length * heights)[None])[0]
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * speed**2))
        restart = float((ahead - new) @ (new - weights)) > 0
        ahead = new if restart else simplex_projection((new + (speed - 1.0) / faster * (new - weights))[None])[0]
        weights, speed = new, 1.0 if restart else faster
    return theta, ahead, -primal


def _projected(vector: Array, like: Point) -> Point:
    """The vector as a point, each row moved to the nearest probabilities."""
    parts = np.split(vector, np.cumsum([part.size for part in like])[:-1])
    return tuple(
        simplex_projection(part.reshape(of.shape)) if of.size else of for part, of in zip(parts, like, strict=True)
    )


def _first(size: int) -> Array:
    weights = np.zeros(size)
    weights[0] = 1.0
    return weights


def _mix(a: Point, b: Point, share: float) -> Point:
    return tuple(share * x + (1.0 - share) * y for x, y in zip(a, b, strict=True))
