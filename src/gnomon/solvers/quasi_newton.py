"""Quasi-Newton ascent of limited memory from several starts at once, over a metric that is given anew every few steps.

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
OLDEST = 3  # steps with one metric
PATIENCE = 50  # steps of several starts side by side
CRAWL = 110  # steps in which the residual is to be halved: else the metric is far from the curvature
HOPE = 10.0  # times the gain that is foretold: a start that would still be below the best one is left
TRIALS = 12  # lengths of one step


class Place(NamedTuple):
    """Points, one of every start, and what is known there."""

    vector: Array  # (s, d)
    value: Array  # (s,)
    rounding: Array  # (s,)   error of the value
    slope: Array  # (s, d)   of the value in the vector, zero where a bound holds it: there no step is taken
    residual: Array  # (s,)
    held: Any  # arrays with s as their first axis, in named tuples


def ascend(
    landscape: Any, place: Place, tol: float, max_iter: int, close: float = 0.0, patience: int = PATIENCE
) -> Result[Place]:
    """Climb until the residual is at most `tol`; the path holds the best value at the start and after every step.

    A landscape has `at(vector, place)`, the place there or at the nearest point within bounds, where `place` is the one
    that is left; `metric(place)`, from slopes to steps, near the inverse of minus the Hessian and positive definite;
    `longest(place, step)`, the share of a step that is trusted; and, for several starts, `distinct(place)`, those to go
    on with.

    Several starts are climbed side by side until all residuals are at most `close`, or no step is found, or for
    `patience` steps; then the best alone, `max_iter` steps at most. A climb that crawls ends as one that finds no step.
    """
    climb, path, pace = _Climb(landscape, place), [float(place.value.max())], _Pace()
    for _ in range(patience):
        if len(climb.place.value) > 1:
            climb.go_on_with(landscape.distinct(climb.place))
        done = len(climb.place.value) == 1 or ((climb.place.residual <= close) | climb.stuck).all()
        if done or pace.crawls(climb.place.residual):
            break
        climb.step()
        path.append(float(climb.place.value.max()))
    climb.go_on_with(np.array([np.argmax(climb.place.value)]))
    last = len(path) + max_iter
    while climb.place.residual[0] > tol and not climb.stuck[0] and len(path) < last:
        if pace.crawls(climb.place.residual):
            break
        climb.step()
        path.append(float(climb.place.value[0]))
    residual = float(climb.place.residual[0])
    ended = climb.stuck[0] or len(path) < last
    status = Status.CONVERGED if residual <= tol else Status.STALLED if ended else Status.MAX_ITER
    if climb.stuck[0] and len(path) > 1:
        path.pop()  # no step was found
    return Result(climb.place, status, np.array(path), {"n_iter": len(path) - 1, "residual": residual})


class _Pace:
    """Whether the least residual of all starts is halved often enough."""

    def __init__(self) -> None:
        self.least, self.since = np.inf, 0

    def crawls(self, residual: Array) -> bool:
        """With one step more."""
        self.since += 1
        if residual.min() <= 0.5 * self.least:
            self.least, self.since = float(residual.min()), 0
        return self.since > CRAWL


class _Climb:
    """Places of all starts that are left, and their steps so far."""

    def __init__(self, landscape: Any, place: Place) -> None:
        self.landscape, self.place = landscape, place
        self.stuck = np.zeros(len(place.value), dtype=bool)
        self.pairs = Pairs(*place.vector.shape)
        self.metric: Callable[[Array], Array] | None = None
        self.age = 0  # of the metric, in steps

    def go_on_with(self, some: IntArray) -> None:
        """Leave the other starts."""
        if len(some) < len(self.place.value):
            self.place, self.stuck = pick(self.place, some), self.stuck[some]
            self.pairs.go_on_with(some)
            self.metric = None

    def _direction(self) -> Array:
        """Over a new metric, or one that has served few steps."""
        if self.metric is None or self.age >= OLDEST:
            self.metric, self.age = self.landscape.metric(self.place), 0
        self.age += 1
        return self.pairs.direction(self.place.slope, self.metric)

    def step(self) -> None:
        """One step of every start that finds one, and that may still come up with the best."""
        landscape = self.landscape
        step = self._direction()
        step[self.place.slope == 0.0] = 0.0
        if len(step) > 1:
            hope = self.place.value + HOPE * 0.5 * _dot(self.place.slope, step)
            some = np.flatnonzero(hope >= self.place.value.max())
            self.go_on_with(some)
            step = step[some]
        place, going = self.place, ~self.stuck
        share = landscape.longest(place, step)
        far = share < FAR if self.pairs.n_held else np.zeros_like(going)
        found, taken = _step(landscape, place, step, share, going & ~far)
        again = going & ~taken & bool(self.pairs.n_held)
        if again.any():
            self.pairs.forget(again)
            self.metric = None
            step = landscape.metric(place)(place.slope)
            found, more = _step(landscape, found, step, landscape.longest(place, step), again)
            taken |= more
        self.stuck |= going & ~taken
        free = (place.slope != 0.0) & (found.slope != 0.0)
        self.pairs.remember(free * (found.vector - place.vector), free * (place.slope - found.slope))
        self.place = found


class Pairs:
    """Steps and falls of the slope that are remembered, and what L-BFGS (Nocedal 1980) makes of them.

    The sums of its two loops are triangular systems in the products of steps and falls, whose inverse is kept: a pair
    more is a column more, and what is left without the oldest is the inverse of what is left of the products.
    """

    def __init__(self, s: int, d: int) -> None:
        self.steps, self.falls = np.zeros((s, 0, d)), np.zeros((s, 0, d))
        self.own = np.zeros((s, 0))  # products of steps with their own falls
        self.inverse = np.zeros((s, 0, 0))  # (s, m, m)   of the products of steps, its rows, and later falls
        self.n_seen = 0

    @property
    def n_held(self) -> int:
        """How many there are."""
        return min(self.n_seen, PAIRS)

    def go_on_with(self, some: IntArray) -> None:
        """Leave the other starts."""
        self.steps, self.falls, self.own = self.steps[some], self.falls[some], self.own[some]
        self.inverse = self.inverse[some]

    def forget(self, some: BoolArray) -> None:
        """Those of some starts; a product of one of nothing with itself keeps the systems regular."""
        self.steps[some], self.falls[some], self.own[some] = 0.0, 0.0, 1.0
        self.inverse[some] = np.eye(self.inverse.shape[1])

    def remember(self, step: Array, fall: Array) -> None:
        """One more of every start, in the room of the oldest one where there are enough."""
        product = _dot(step, fall)
        useful = product > 1e-10 * np.sqrt(_dot(step, step) * _dot(fall, fall))
        step, fall, product = useful[:, None] * step, useful[:, None] * fall, np.where(useful, product, 1.0)
        at = self.n_seen % PAIRS
        self._make_room(at)
        self.n_seen += 1
        m = self.n_held
        self.inverse[:, at], self.inverse[:, :, at] = 0.0, 0.0
        before = self.inverse[:, :m, :m] @ (self.steps[:, :m] @ fall[:, :, None])
        self.inverse[:, :m, at] = before[..., 0] / -product[:, None]
        self.inverse[:, at, at] = 1.0 / product
        self.steps[:, at], self.falls[:, at], self.own[:, at] = step, fall, product

    def _make_room(self, at: int) -> None:
        """For twice as many, `PAIRS` at most."""
        s, m, d = self.steps.shape
        if at < m:
            return
        more = min(max(4, 2 * m), PAIRS)
        steps, falls, own = np.zeros((s, more, d)), np.zeros((s, more, d)), np.zeros((s, more))
        inverse = np.zeros((s, more, more))
        steps[:, :m], falls[:, :m], own[:, :m], inverse[:, :m, :m] = self.steps, self.falls, self.own, self.inverse
        self.steps, self.falls, self.own, self.inverse = steps, falls, own, inverse

    def direction(self, slope: Array, metric: Callable[[Array], Array]) -> Array:
        """The step over the metric and what has been seen of the curvature since."""
        m = self.n_held
        if m == 0:
            return metric(slope)
        steps, falls, inverse = self.steps[:, :m], self.falls[:, :m], self.inverse[:, :m, :m]
        shares = inverse @ (steps @ slope[:, :, None])
        found = metric(slope - (shares.swapaxes(1, 2) @ falls)[:, 0])
        left = self.own[:, :m, None] * shares - falls @ found[:, :, None]
        shares = inverse.swapaxes(1, 2) @ left
        return found + (shares.swapaxes(1, 2) @ steps)[:, 0]


def pick(held: Any, some: IntArray) -> Any:
    """Some of the starts, of arrays in named tuples."""
    if len(some) == 1:
        return _picked(held, slice(int(some[0]), int(some[0]) + 1))  # views, which are made faster than copies
    return _picked(held, some)


def _picked(held: Any, some: IntArray | slice) -> Any:
    return type(held)(*(_picked(part, some) if isinstance(part, tuple) else part[some] for part in held))


def put(held: Any, some: IntArray, others: Any) -> Any:
    """With some of the starts replaced."""
    if isinstance(held, tuple):
        return type(held)(*(put(part, some, other) for part, other in zip(held, others, strict=True)))
    held = held.copy()
    held[some] = others
    return held


def _dot(a: Array, b: Array) -> Array:
    return np.asarray((a[:, None, :] @ b[:, :, None])[:, 0, 0])


def _step(landscape: Any, place: Place, step: Array, share: Array, wanted: BoolArray) -> tuple[Place, BoolArray]:
    """Places after shares of steps at which the value rises, or is level by rounding and the slope is less.

    `share` is the largest one. Starts that are not `wanted`, or find no such share, stay where they are; and which ones
    do not.
    """
    slope = _dot(place.slope, step)
    left = np.flatnonzero(wanted & (slope > 0.0))
    found, taken = place, np.zeros(len(slope), dtype=bool)
    for _ in range(TRIALS):
        if len(left) == 0:
            break
        every = len(left) == len(slope)
        here = [place.vector, place.value, place.rounding, step, slope, share]
        vector, value, rounding, along, foretold, length = here if every else (part[left] for part in here)
        trial: Place = landscape.at(vector + length[:, None] * along, place)
        gain, foretold = trial.value - value, length * foretold
        level = (gain >= -rounding) & (np.abs(_dot(trial.slope, along)) * length <= FLATTER * foretold)
        good = level | (gain >= RISE * foretold)
        if every and good.all():
            return trial, good
        found, taken[left[good]] = put(found, left[good], pick(trial, np.flatnonzero(good))), True
        # the top of the parabola through the slope and the two values
        left, gain, foretold = left[~good], gain[~good], foretold[~good]
        finite = np.isfinite(gain)
        top = 0.5 * foretold / np.where(finite, foretold - gain, 1.0)
        share = share.copy()
        share[left] *= np.where(finite, np.clip(top, 0.1, 0.5), 0.1)
    return found, taken
