"""Gaussian posteriors of the predictors of rows with outputs of any kind, all rows at once.

A row brings a ~ N(mean, cov) from its features and outputs y with p(y | a).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import Array, BoolArray, IntArray
from .layout import Layout, expected_terms
from .sites import ACCURACY, Near, SiteFit, secant

ROUNDING = 1e-12
MAX_ITER = 50
SMALLEST_STEP = 1e-3


class State(NamedTuple):
    """Gaussian factors exp(shift'a - a'curvature a / 2) that stand for the outputs, and the tilts of the bound."""

    curvature: Array  # (n, h, h)
    shift: Array  # (n, h)
    tilt: Array  # (n, h)


class _Point(NamedTuple):
    """What follows from a state, and where a full step leads from it."""

    mean: Array  # (n, h)
    slope: Array  # (n, h)
    curvature: Array  # (n, h, h)
    objective: Array  # (n,)
    log_det: Array  # (n,)
    target_curvature: Array  # (n, h, h)
    target_shift: Array  # (n, h)
    target_tilt: Array  # (n, h)
    move: Array  # (n, m)   the full step as one vector a row

    @property
    def gap(self) -> Array:
        """Length of the full step (n,)."""
        return np.asarray(np.abs(self.move).max(axis=1, initial=0.0))


class GaussianRows:
    """A Gaussian posterior for every row: variational, or around the mode (Laplace).

    Variational: the Gaussian that maximizes E[log p(y | a)] - KL(q | prior); that maximum is the lower bound of the
    log-evidence that `log_z` holds. Laplace: mode and Hessian there. Both are found by Newton steps on natural
    parameters (a step replaces the outputs by their quadratic expansion); a row whose objective would fall takes a
    shorter step.
    """

    def __init__(self, layout: Layout, *, variational: bool, max_iter: int = MAX_ITER) -> None:
        self.layout, self.variational, self.max_iter = layout, variational, max_iter

    def __call__(
        self, Y: Array, mean: Array, cov: Array, noise: Array, near: Near = None, accuracy: float = ACCURACY
    ) -> SiteFit:
        """As in `Sites`."""
        n, h = mean.shape
        cov = np.broadcast_to(cov, (n, h, h))
        none = np.zeros((n, h, h)), np.zeros((n, h)), np.zeros((n, h))
        state = State(*(none if near is None else (part.copy() for part in near)))
        point = self._at(Y, state, mean, cov, noise)
        step = np.ones(n)
        for _ in range(self.max_iter):
            active = np.flatnonzero((point.gap > accuracy) & (step > SMALLEST_STEP))
            if len(active) == 0:
                break
            old = _Point(*(part[active] for part in point))
            targets = (old.target_curvature, old.target_shift, old.target_tilt)
            moved = State(*(_between(a[active], b, step[active]) for a, b in zip(state, targets, strict=True)))
            trial = self._at(Y[active], moved, mean[active], cov[active], noise)
            rises = trial.objective >= old.objective - ROUNDING * (1.0 + np.abs(old.objective))
            taken = active[rises]
            _put([*state, *point], taken, [*moved, *trial], rises)
            step[active[~rises]] *= 0.5
            step[taken] = secant(step[taken], old.move[rises], trial.move[rises])
        log_z = point.objective if self.variational else point.objective - 0.5 * point.log_det
        return SiteFit(log_z, point.slope, point.curvature, state, point.gap)

    def _at(self, Y: Array, state: State, mean: Array, cov: Array, noise: Array) -> _Point:
        n, h = mean.shape
        M = np.eye(h) + np.matmul(state.curvature, cov)
        shift = state.shift - np.matmul(state.curvature, mean[:, :, None])[:, :, 0]
        solved = np.linalg.solve(M, np.concatenate([shift[:, :, None], state.curvature], axis=2))
        slope, curvature = solved[:, :, 0], solved[:, :, 1:]
        log_det = np.linalg.slogdet(M)[1]
        change = np.matmul(cov, slope[:, :, None])[:, :, 0]
        half = np.matmul(curvature, cov)
        distance = 0.5 * np.einsum("na,na->n", slope, change)
        left = None
        if self.variational:
            left = cov - np.matmul(cov, half)
            distance += 0.5 * (log_det - np.einsum("naa->n", half))
        moved = mean + change
        terms = expected_terms(self.layout, Y, noise, moved, left, state.tilt)
        moves = [terms.slope - slope, (terms.curvature - state.curvature).reshape(n, h * h)]
        if self.variational:
            moves.append(terms.tilt - state.tilt)
        target_shift = terms.slope + np.matmul(terms.curvature, moved[:, :, None])[:, :, 0]
        return _Point(
            moved, slope, curvature, terms.value - distance, log_det, terms.curvature, target_shift, terms.tilt,
            np.hstack(moves),
        )  # fmt: skip


def _between(old: Array, new: Array, step: Array) -> Array:
    weight = step.reshape(-1, *[1] * (old.ndim - 1))
    return np.asarray((1.0 - weight) * old + weight * new)


def _put(whole: list[Array], rows: IntArray, trial: list[Array], chosen: BoolArray) -> None:
    """Overwrite rows by those of a trial."""
    for old, new in zip(whole, trial, strict=True):
        old[rows] = new[chosen]
