"""Posteriors of the linear predictors of labelled rows, all rows at once.

A row brings a ~ N(mean, cov) from its features and labels y with p(y | a). What the model needs is the same for every
way of inference: the log-evidence of the labels, its slope in the mean, and a curvature, with which the posterior of
a has mean ``mean + cov slope`` and covariance ``cov - cov curvature cov``.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from .._types import Array, BoolArray, IntArray
from ..numerics.outputs import Layout, Terms, expected_terms
from ..numerics.quadrature import LINKS

ACCURACY = 1e-10
MAX_ITER = 200
SMALLEST_STEP = 1e-3


class RowFit(NamedTuple):
    """Log-evidence of the labels of every row (a bound or an approximation where stated), slope and curvature."""

    log_z: Array  # (n,)
    slope: Array  # (n, h)
    curvature: Array  # (n, h, h)


class Conditioner(Protocol):
    """Labels of some rows; conditions their predictors on them."""

    def __call__(self, mean: Array, cov: Array, noise: Array) -> RowFit:
        """Condition N(mean (n, h), cov (h, h) or (n, h, h)); `noise` (q,) is read for Gaussian outputs."""


class Quadrature:
    """Exact: one Bernoulli output, whose evidence is a one-dimensional integral."""

    def __init__(self, layout: Layout, Y: Array) -> None:
        self.evidence = LINKS[layout.kinds[0]]
        self.seen = ~np.isnan(Y[:, 0])
        self.sign = 2.0 * Y[self.seen, 0] - 1.0

    def __call__(self, mean: Array, cov: Array, noise: Array) -> RowFit:
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
    tilt: Array  # (n, logits)


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

    def __call__(self, mean: Array, cov: Array, noise: Array) -> RowFit:
        """Condition on the labels."""
        n, h = mean.shape
        every = np.arange(n)
        cov = np.broadcast_to(cov, (n, h, h))
        state = self._state
        if state is None:
            uniform = np.concatenate([np.full(c, 1.0 / c) for c in self._n_classes] or [np.zeros(0)])
            state = _State(np.zeros((n, h, h)), np.zeros((n, h)), np.tile(uniform, (n, 1)))
        point = self._at(every, state, mean, cov, noise)
        step = np.ones(n)
        for _ in range(MAX_ITER):
            target, gap = self._target(point)
            active = np.flatnonzero((gap > ACCURACY) & (step > SMALLEST_STEP))
            if len(active) == 0:
                break
            moved = _State(*(_between(a, b, active, step) for a, b in zip(point.state, target, strict=True)))
            trial = self._at(active, moved, mean[active], cov[active], noise)
            old = point.objective[active]
            rises = trial.objective >= old - 1e-13 * (1.0 + np.abs(old))
            _put(point, active[rises], trial, rises)
            step[active] = np.where(rises, np.minimum(2.0 * step[active], 1.0), 0.5 * step[active])
        self._state = point.state
        log_z = point.objective if self.spread else point.objective - 0.5 * point.log_det
        return RowFit(log_z, point.slope, point.curvature)

    @property
    def _n_classes(self) -> list[int]:
        kinds = zip(self.layout.kinds, self.layout.n_classes, strict=True)
        return [c for kind, c in kinds if kind == "categorical"]

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

    def _target(self, point: _Point) -> tuple[_State, Array]:
        terms = point.terms
        shift = terms.slope + np.matmul(terms.curvature, point.mean[:, :, None])[:, :, 0]
        gap = np.abs(terms.slope - point.slope).max(axis=1, initial=0.0)
        moves = np.abs(terms.curvature - point.state.curvature) / (1.0 + np.abs(terms.curvature))
        gap = np.maximum(gap, moves.max(axis=(1, 2), initial=0.0))
        if self.spread:
            gap = np.maximum(gap, np.abs(terms.tilt - point.state.tilt).max(axis=1, initial=0.0))
        return _State(terms.curvature, shift, terms.tilt), gap


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
    return GaussianRows(layout, Y, spread=inference == "variational")
