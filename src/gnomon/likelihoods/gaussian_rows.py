"""Posteriors of the linear predictors of labelled rows, all rows at once: exact, variational or around the mode.

A row brings a ~ N(mean, cov) from its features and labels y with p(y | a).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import Array, BoolArray, IntArray
from .ep import ExpectationPropagation
from .outputs import Layout, Terms, expected_terms
from .quadrature import LINKS
from .sites import ACCURACY, Conditioner, RowFit, secant
from .softmax_rows import SoftmaxRows

ROUNDING = 1e-12
MAX_ITER = 50
SMALLEST_STEP = 1e-3


class Quadrature:
    """Exact: one Bernoulli output, whose evidence is a one-dimensional integral."""

    def __init__(self, layout: Layout, Y: Array) -> None:
        self.evidence = LINKS[layout.kinds[0]]
        self.seen = ~np.isnan(Y[:, 0])
        self.sign = 2.0 * Y[self.seen, 0] - 1.0

    def __call__(self, mean: Array, cov: Array, noise: Array, accuracy: float = ACCURACY) -> RowFit:
        """Condition on the labels."""
        out = RowFit(np.zeros(len(mean)), np.zeros((len(mean), 1)), np.zeros((len(mean), 1, 1)))
        var = cov[0, 0] if cov.ndim == 2 else cov[self.seen, 0, 0]
        found = self.evidence(mean[self.seen, 0], var, self.sign)
        for target, values in zip(out, found, strict=True):
            target.reshape(len(mean))[self.seen] = values
        return out


class _State(NamedTuple):
    """Gaussian factors exp(shift'a - a'curvature a / 2) that stand for the labels, and the tilts of the bound."""

    curvature: Array  # (n, h, h)
    shift: Array  # (n, h)
    tilt: Array  # (n, h)


class _Point(NamedTuple):
    """A state and what follows from it."""

    state: _State
    mean: Array  # (n, h)
    slope: Array  # (n, h)
    curvature: Array  # (n, h, h)
    terms: Terms
    objective: Array  # (n,)
    log_det: Array  # (n,)


_ARRAYS = ("mean", "slope", "curvature", "objective", "log_det")


class GaussianRows:
    """A Gaussian posterior for every row: variational (`spread`), or around the mode (Laplace).

    Variational: the Gaussian that maximises E[log p(y | a)] - KL(q | prior); that maximum is the lower bound of the
    log-evidence that `log_z` holds. Laplace: mode and Hessian there. Both are found by Newton steps on natural
    parameters (a step replaces the labels by their quadratic expansion); a row whose objective would fall takes a
    shorter step. Starts from the result of the call before.
    """

    def __init__(self, layout: Layout, Y: Array, *, spread: bool) -> None:
        self.layout, self.Y, self.spread = layout, Y, spread
        self._state: _State | None = None

    def __call__(self, mean: Array, cov: Array, noise: Array, accuracy: float = ACCURACY) -> RowFit:
        """Condition on the labels."""
        n, h = mean.shape
        every = np.arange(n)
        cov = np.broadcast_to(cov, (n, h, h))
        state = self._state
        if state is None:
            state = _State(np.zeros((n, h, h)), np.zeros((n, h)), np.zeros((n, h)))
        point = self._at(every, state, mean, cov, noise)
        step = np.ones(n)
        target, move, gap = self._target(point)
        for _ in range(MAX_ITER):
            active = np.flatnonzero((gap > accuracy) & (step > SMALLEST_STEP))
            if len(active) == 0:
                break
            moved = _State(*(_between(a, b, active, step) for a, b in zip(point.state, target, strict=True)))
            trial = self._at(active, moved, mean[active], cov[active], noise)
            old = point.objective[active]
            rises = trial.objective >= old - ROUNDING * (1.0 + np.abs(old))
            step[active[~rises]] *= 0.5
            rows = active[rises]
            _put(point, rows, trial, rises)
            before = move[rows]
            better = self._target(_rows_of(point, rows))
            for whole, part in zip((*target, move, gap), (*better[0], *better[1:]), strict=True):
                whole[rows] = part
            step[rows] = secant(step[rows], before, move[rows])
        self._state = point.state
        log_z = point.objective if self.spread else point.objective - 0.5 * point.log_det
        return RowFit(log_z, point.slope, point.curvature)

    def _at(self, rows: IntArray, state: _State, mean: Array, cov: Array, noise: Array) -> _Point:
        n, h = mean.shape
        M = np.eye(h) + np.matmul(state.curvature, cov)
        shift = state.shift - np.matmul(state.curvature, mean[:, :, None])[:, :, 0]
        solved = np.linalg.solve(M, np.concatenate([shift[:, :, None], state.curvature], axis=2))
        slope, curvature = solved[:, :, 0], solved[:, :, 1:]
        log_det = np.linalg.slogdet(M)[1]
        moved = np.matmul(cov, slope[:, :, None])[:, :, 0]
        half = np.matmul(curvature, cov)
        distance = 0.5 * np.einsum("na,na->n", slope, moved)
        left = None
        if self.spread:
            left = cov - np.matmul(cov, half)
            distance += 0.5 * (log_det - np.einsum("naa->n", half))
        terms = expected_terms(self.layout, self.Y[rows], noise, mean + moved, left, state.tilt)
        return _Point(state, mean + moved, slope, curvature, terms, terms.value - distance, log_det)

    def _target(self, point: _Point) -> tuple[_State, Array, Array]:
        """Where a full step leads, the move of a full step as one vector a row, and how far that is."""
        terms, state = point.terms, point.state
        shift = terms.slope + np.matmul(terms.curvature, point.mean[:, :, None])[:, :, 0]
        target = _State(terms.curvature.copy(), shift, terms.tilt.copy())
        n = len(shift)
        parts = [terms.slope - point.slope, (terms.curvature - state.curvature).reshape(n, shift.shape[1] ** 2)]
        if self.spread:
            parts.append(terms.tilt - state.tilt)
        move = np.hstack(parts)
        return target, move, np.abs(move).max(axis=1, initial=0.0)


def _rows_of(point: _Point, rows: IntArray) -> _Point:
    parts = {name: getattr(point, name)[rows] for name in _ARRAYS}
    state, terms = _State(*(a[rows] for a in point.state)), Terms(*(a[rows] for a in point.terms))
    return _Point(state=state, terms=terms, **parts)


def _between(old: Array, new: Array, rows: IntArray, step: Array) -> Array:
    weight = step[rows].reshape(-1, *[1] * (old.ndim - 1))
    return np.asarray((1.0 - weight) * old[rows] + weight * new[rows])


def _put(point: _Point, rows: IntArray, trial: _Point, chosen: BoolArray) -> None:
    """Overwrite rows of a point by those of another."""
    pairs = [*zip(point.state, trial.state, strict=True), *zip(point.terms, trial.terms, strict=True)]
    pairs += [(getattr(point, name), getattr(trial, name)) for name in _ARRAYS]
    for old, new in pairs:
        old[rows] = new[chosen]


def conditioner(layout: Layout, Y: Array, inference: str) -> Conditioner:
    """Return the way to condition rows on their labels Y (n, q), NaN where missing."""
    if inference == "quadrature":
        return Quadrature(layout, Y)
    if inference == "ep":
        return ExpectationPropagation(layout, Y)
    if inference == "variational" and layout.kinds == ("categorical",):
        return SoftmaxRows(layout, Y)
    return GaussianRows(layout, Y, spread=inference == "variational")
