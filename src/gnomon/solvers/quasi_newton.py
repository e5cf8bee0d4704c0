"""Quasi-Newton ascent of limited memory over a metric that is given anew at every place."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._types import Array, Result, Status

PAIRS = 20  # steps and changes of slope that are remembered
RISE = 1e-4  # least share of the gain that the slope foretells
FLATTER = 0.9  # where rounding hides the gain, the slope along the step falls to this share of what it was
FAR = 0.01  # pairs that ask for a step of which no more is trusted are forgotten
TRIALS = 12  # lengths of one step


class Place(NamedTuple):
    """A point and what is known there."""

    vector: Array
    value: float
    rounding: float  # error of the value
    slope: Array  # of the value in the vector, zero where a bound holds it
    held: Any


def ascend(landscape: Any, place: Place, tol: float, max_iter: int) -> Result[Place]:
    """Climb until the residual is at most `tol`; the path holds the value at the start and after every step.

    A landscape has `at(vector, near place)`, the place there or at the nearest point within bounds; `metric(place)`,
    from slopes to steps, near the inverse of minus the Hessian and positive definite; `longest(place, step)`, the share
    of a step that is trusted; and `residual(place)`.
    """
    path, status, pairs = [place.value], Status.MAX_ITER, list[tuple[Array, Array, float]]()
    residual = landscape.residual(place)
    while residual > tol and len(path) <= max_iter:
        metric = landscape.metric(place)
        step = _direction(place.slope, metric, pairs)
        found = None if pairs and landscape.longest(place, step) < FAR else _step(landscape, place, step)
        if found is None and pairs:
            pairs.clear()
            found = _step(landscape, place, metric(place.slope))
        if found is None:
            status = Status.STALLED
            break
        step, fall = found.vector - place.vector, place.slope - found.slope
        product = float(step @ fall)
        if product > 1e-10 * float(np.linalg.norm(step) * np.linalg.norm(fall)):
            pairs.append((step, fall, 1.0 / product))
            del pairs[:-PAIRS]
        place = found
        path.append(place.value)
        residual = landscape.residual(place)
    status = Status.CONVERGED if residual <= tol else status
    return Result(place, status, np.array(path), {"n_iter": len(path) - 1, "residual": residual})


def _step(landscape: Any, place: Place, step: Array) -> Place | None:
    """The place after a share of a step at which the value rises, or is level by rounding and the slope is less."""
    slope = float(place.slope @ step)
    share = landscape.longest(place, step)
    for _ in range(TRIALS if slope > 0.0 else 0):
        found: Place = landscape.at(place.vector + share * step, place)
        gain, foretold = found.value - place.value, share * slope
        level = gain >= -place.rounding and abs(float(found.slope @ step)) <= FLATTER * slope
        if level or gain >= RISE * foretold:
            return found
        # the top of the parabola through the slope and the two values
        share *= float(np.clip(0.5 * foretold / (foretold - gain), 0.1, 0.5)) if np.isfinite(gain) else 0.1
    return None


def _direction(slope: Array, metric: Callable[[Array], Array], pairs: list[tuple[Array, Array, float]]) -> Array:
    """The two loops of L-BFGS (Nocedal 1980) over steps, falls of the slope and inverses of their products."""
    left, shares = slope.copy(), []
    for step, fall, inverse in reversed(pairs):
        shares.append(inverse * float(step @ left))
        left -= shares[-1] * fall
    found = metric(left)
    for (step, fall, inverse), share in zip(pairs, reversed(shares), strict=True):
        found += (share - inverse * float(fall @ found)) * step
    return found
