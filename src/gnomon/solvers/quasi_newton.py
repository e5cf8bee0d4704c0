"""Quasi-Newton ascent of limited memory from several starts at once, over a metric that is given anew at every place.

All that belongs to one of s starts has it as its first axis: the interpreter's time is paid once for all of them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._types import Array, BoolArray, IntArray, Result, Status

PAIRS = 20  # steps and changes of slope that are remembered
RISE = 1e-4  # least share of the gain that the slope foretells
FLATTER = 0.9  # where rounding hides the gain, the slope along the step falls to this share of what it was
FAR = 0.01  # pairs that ask for a step of which no more is trusted are forgotten
PATIENCE = 50  # steps of several starts side by side
HOPE = 4.0  # times the gain that is foretold: a start that would still be below the best one is left
TRIALS = 12  # lengths of one step


class Place(NamedTuple):
    """Points, one of every start, and what is known there."""

    vector: Array  # (s, d)
    value: Array  # (s,)
    rounding: Array  # (s,)   error of the value
    slope: Array  # (s, d)   of the value in the vector, zero where a bound holds it: there no step is taken
    residual: Array  # (s,)
    held: Any  # arrays with s as their first axis, in named tuples


Pair = tuple[Array, Array, Array]  # steps, falls of the slope, and inverses of their products, zero where forgotten


def ascend(landscape: Any, place: Place, tol: float, max_iter: int, close: float = 0.0) -> Result[Place]:
    """Climb until the residual is at most `tol`; the path holds the best value at the start and after every step.

    A landscape has `at(vector, near place)`, the place there or at the nearest point within bounds; `metric(place)`,
    from slopes to steps, near the inverse of minus the Hessian and positive definite; `longest(place, step)`, the share
    of a step that is trusted; and, for several starts, `distinct(place)`, those to go on with.

    Several starts are climbed side by side until all residuals are at most `close`, or no step is found, or their
    patience is at an end; then the best alone, `max_iter` steps at most.
    """
    climb, path = _Climb(landscape, place), [float(place.value.max())]
    for _ in range(PATIENCE):
        if len(climb.place.value) > 1:
            climb.go_on_with(landscape.distinct(climb.place))
        if len(climb.place.value) == 1 or ((climb.place.residual <= close) | climb.stuck).all():
            break
        climb.step()
        path.append(float(climb.place.value.max()))
    climb.go_on_with(np.array([np.argmax(climb.place.value)]))
    last = len(path) + max_iter
    while climb.place.residual[0] > tol and not climb.stuck[0] and len(path) < last:
        climb.step()
        path.append(float(climb.place.value[0]))
    residual = float(climb.place.residual[0])
    status = Status.CONVERGED if residual <= tol else Status.STALLED if climb.stuck[0] else Status.MAX_ITER
    if climb.stuck[0] and len(path) > 1:
        path.pop()  # no step was found
    return Result(climb.place, status, np.array(path), {"n_iter": len(path) - 1, "residual": residual})


class _Climb:
    """Places of all starts that are left, and their steps so far."""

    def __init__(self, landscape: Any, place: Place) -> None:
        self.landscape, self.place = landscape, place
        self.stuck = np.zeros(len(place.value), dtype=bool)
        self.pairs: list[Pair] = []

    def go_on_with(self, some: IntArray) -> None:
        """Leave the other starts."""
        if len(some) < len(self.place.value):
            self.place, self.stuck = pick(self.place, some), self.stuck[some]
            self.pairs = [(step[some], fall[some], inverse[some]) for step, fall, inverse in self.pairs]

    def step(self) -> None:
        """One step of every start that finds one, and that may still come up with the best."""
        landscape = self.landscape
        step = _direction(self.place.slope, landscape.metric(self.place), self.pairs)
        step[self.place.slope == 0.0] = 0.0
        if len(step) > 1:
            hope = self.place.value + HOPE * 0.5 * _dot(self.place.slope, step)
            some = np.flatnonzero(hope >= self.place.value.max())
            self.go_on_with(some)
            step = step[some]
        place, going = self.place, ~self.stuck
        far = landscape.longest(place, step) < FAR if self.pairs else np.zeros_like(going)
        found, taken = _step(landscape, place, step, going & ~far)
        again = going & ~taken & bool(self.pairs)
        if again.any():
            for _, _, inverse in self.pairs:
                inverse[again] = 0.0
            found, more = _step(landscape, found, landscape.metric(place)(place.slope), again)
            taken |= more
        self.stuck |= going & ~taken
        free = (place.slope != 0.0) & (found.slope != 0.0)
        self._remember(free * (found.vector - place.vector), free * (place.slope - found.slope))
        self.place = found

    def _remember(self, step: Array, fall: Array) -> None:
        product = _dot(step, fall)
        useful = product > 1e-10 * np.sqrt(_dot(step, step) * _dot(fall, fall))
        self.pairs.append((step, fall, np.where(useful, 1.0, 0.0) / np.where(useful, product, 1.0)))
        del self.pairs[:-PAIRS]


def pick(held: Any, some: IntArray | BoolArray) -> Any:
    """Some of the starts, of arrays in named tuples."""
    return type(held)(*(pick(part, some) if isinstance(part, tuple) else part[some] for part in held))


def put(held: Any, some: IntArray, others: Any) -> Any:
    """With some of the starts replaced."""
    if isinstance(held, tuple):
        return type(held)(*(put(part, some, other) for part, other in zip(held, others, strict=True)))
    held = held.copy()
    held[some] = others
    return held


def _dot(a: Array, b: Array) -> Array:
    return np.asarray((a[:, None, :] @ b[:, :, None])[:, 0, 0])


def _step(landscape: Any, place: Place, step: Array, wanted: BoolArray) -> tuple[Place, BoolArray]:
    """Places after shares of steps at which the value rises, or is level by rounding and the slope is less.

    Starts that are not `wanted`, or find no such share, stay where they are; and which ones do not.
    """
    slope = _dot(place.slope, step)
    share, left = landscape.longest(place, step), np.flatnonzero(wanted & (slope > 0.0))
    found, taken = place, np.zeros(len(slope), dtype=bool)
    for _ in range(TRIALS):
        if len(left) == 0:
            break
        every = len(left) == len(slope)
        near, along, foretold = (place, step, slope) if every else (pick(place, left), step[left], slope[left])
        length = share if every else share[left]
        trial: Place = landscape.at(near.vector + length[:, None] * along, near)
        gain, foretold = trial.value - near.value, length * foretold
        level = (gain >= -near.rounding) & (np.abs(_dot(trial.slope, along)) * length <= FLATTER * foretold)
        good = level | (gain >= RISE * foretold)
        if every and good.all():
            return trial, good
        found, taken[left[good]] = put(found, left[good], pick(trial, good)), True
        # the top of the parabola through the slope and the two values
        left, gain, foretold = left[~good], gain[~good], foretold[~good]
        finite = np.isfinite(gain)
        top = 0.5 * foretold / np.where(finite, foretold - gain, 1.0)
        share = share.copy()
        share[left] *= np.where(finite, np.clip(top, 0.1, 0.5), 0.1)
    return found, taken


def _direction(slope: Array, metric: Callable[[Array], Array], pairs: list[Pair]) -> Array:
    """The two loops of L-BFGS (Nocedal 1980) over steps, falls of the slope and inverses of their products."""
    left, shares = slope.copy(), []
    for step, fall, inverse in reversed(pairs):
        shares.append((inverse * _dot(step, left))[:, None])
        left -= shares[-1] * fall
    found = metric(left)
    for (step, fall, inverse), share in zip(pairs, reversed(shares), strict=True):
        found += (share - (inverse * _dot(fall, found))[:, None]) * step
    return found
