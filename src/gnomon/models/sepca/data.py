"""What SEPCA is fitted to, and the log-likelihood of its exponential families."""

from typing import NamedTuple

import numpy as np

from ..._types import Array, IntArray
from ...numerics.normalize import normalized

NEWTON_STEPS = 50  # for the bias; from its last value one or two are taken


class Data(NamedTuple):
    """What is fitted."""

    rows: Array  # (n, r)
    base: Array  # (m, r)
    Y: Array  # (l, q)     one-hot, labeled rows only
    labeled: IntArray  # (l,)
    k: int
    penalty: float
    weights: Array | None = None  # (n,) positive; None: all 1
    base_weights: Array | None = None  # (m,)

    @property
    def root(self) -> Array:
        """Roots of the weights (n, 1), or (1, 1)."""
        return np.ones((1, 1)) if self.weights is None else np.sqrt(self.weights)[:, None]

    @property
    def labeled_weights(self) -> Array:
        """Weights of the labeled rows (l, 1)."""
        return np.ones((len(self.labeled), 1)) if self.weights is None else self.weights[self.labeled, None]

    def scores(self, F: Array) -> Array:
        """Natural parameters (n, m) of the base points at F times the roots of the weights."""
        return np.asarray((F[:, : self.rows.shape[1]] / self.root) @ self.base.T)

    def x_softmax(self, scores: Array) -> tuple[float, Array]:
        """Sum over rows of the log-partition of p(x | z) at scores (n, m), and p itself."""
        if self.weights is None or self.base_weights is None:
            return softmax(scores)
        return softmax(scores + np.log(self.base_weights), self.weights[:, None])

    def only(self, seen: Array) -> "Data":
        """The same rows, only some of the labeled ones (a mask) with their label."""
        return self._replace(Y=self.Y[seen], labeled=self.labeled[seen])


def best_bias(scores: Array, Y: Array, penalty: float, w: Array, start: Array | None = None) -> Array:
    """Bias b (q,) that maximizes sum w log softmax(scores + b)[class] - penalty / 2 |b|^2, w (l, 1), by Newton steps.

    A bias short of the maximum makes the bounds of the relaxation wider, never wrong.
    """
    b = np.zeros(Y.shape[1]) if start is None else start
    counts = (w * Y).sum(axis=0)
    total = max(1.0, float(w.sum()))

    def value_at(b: Array) -> float:
        return float(counts @ b) - softmax(scores + b, w)[0] - 0.5 * penalty * float(b @ b)

    value = value_at(b)
    for _ in range(NEWTON_STEPS):
        _, T = softmax(scores + b)
        expected = (w * T).sum(axis=0)
        gradient = counts - expected - penalty * b
        if np.abs(gradient).max(initial=0.0) <= 1e-13 * total:
            break
        # no step along equal biases, which change no probability: the gradient has no part there
        H = np.diag(expected + penalty) - T.T @ (w * T) + expected.mean()
        step = np.linalg.solve(H, gradient)
        trial = value_at(b + step)
        while trial < value - 1e-14 * abs(value) and np.abs(step).max() > 1e-12:
            step = 0.5 * step
            trial = value_at(b + step)
        if trial <= value and np.abs(step).max() <= 1e-8:
            break
        b, value = b + step, trial
    return b


def softmax(scores: Array, weights: Array | None = None) -> tuple[float, Array]:
    """Sum over rows, weighted by weights (n, 1) if any, of log sum exp, and the softmax of every row."""
    if scores.size == 0:
        return 0.0, scores
    T, logs = normalized(scores)
    return float(logs.sum() if weights is None else weights[:, 0] @ logs), T
