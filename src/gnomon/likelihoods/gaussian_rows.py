"""Gaussian posteriors of the predictors of rows with outputs of any kind, all rows at once.

A row brings a ~ N(mean, cov) from its features and outputs y with p(y | a).
"""

from typing import NamedTuple

import numpy as np

from .._types import Array, IntArray
from .layout import Layout, expected_terms
from .sites import ACCURACY, MAX_ITER, Near, SiteFit, ascend


class State(NamedTuple):
    """Gaussian factors exp(shift'a - a'curvature a / 2) that stand for the outputs, and the tilts of the bound."""

    curvature: Array  # (n, h, h)
    shift: Array  # (n, h)
    tilt: Array  # (n, h)


class _Point(NamedTuple):
    """A state, what follows from it, and the state to which a full step leads."""

    state_curvature: Array  # (n, h, h)
    state_shift: Array  # (n, h)
    state_tilt: Array  # (n, h)
    slope: Array  # (n, h)
    curvature: Array  # (n, h, h)
    value: Array  # (n,)
    log_det: Array  # (n,)
    target_curvature: Array  # (n, h, h)
    target_shift: Array  # (n, h)
    target_tilt: Array  # (n, h)
    move: Array  # (n, m)   the full step as one vector a row


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

        def at(old: _Point, rows: IntArray, step: Array) -> _Point:
            targets = (old.target_curvature, old.target_shift, old.target_tilt)
            moved = State(*(_between(a, b, step) for a, b in zip(old[:3], targets, strict=True)))
            return self._at(Y[rows], moved, mean[rows], cov[rows], noise)

        state = State(*(none if near is None else (part.copy() for part in near)))
        point, gap = ascend(self._at(Y, state, mean, cov, noise), at, accuracy, self.max_iter)
        log_z = point.value if self.variational else point.value - 0.5 * point.log_det
        return SiteFit(log_z, point.slope, point.curvature, State(*point[:3]), gap)

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
            *state, slope, curvature, terms.value - distance, log_det, terms.curvature, target_shift, terms.tilt,
            np.hstack(moves),
        )  # fmt: skip


def _between(old: Array, new: Array, step: Array) -> Array:
    weight = step.reshape(-1, *[1] * (old.ndim - 1))
    return np.asarray((1.0 - weight) * old + weight * new)
