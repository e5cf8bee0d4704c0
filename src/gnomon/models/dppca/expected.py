"""The E-step of DPPCA where the coordinates are: in this process, or beside the rows that live elsewhere."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._types import Array, IntArray
from ...rows.contract import Step, View
from .away import Away

FEW = 3  # classes up to which all but one are seen one by one: a product with a vector takes a quarter of one with two


class Point(NamedTuple):
    """Where EM is: all else follows from it at a level."""

    counts: Array  # (c,) rows of each class by their weights
    means: Array  # (c, r)


class Odds(NamedTuple):
    """What responsibilities follow from; see `mixture.log_odds`."""

    slopes: Array  # (c, r)
    offsets: Array  # (c,)
    temperature: float


class Known(NamedTuple):
    """The labeled rows among some."""

    at: IntArray  # (m,)
    labels: IntArray  # (m,)


def weighted_responsibilities(joint: Array, temperature: float, known: Known, weights: Array) -> tuple[Array, float]:
    """Responsibilities (c, n) times the weights of rows, and the log-density that classes do not share.

    They take the place of `joint`, in as few passes as there can be: with many classes passes are what costs.
    """
    own = joint[known.labels, known.at]
    if temperature != 1.0:
        joint /= temperature
    top = joint.max(axis=0)
    joint -= top
    np.exp(joint, out=joint)
    total = joint.sum(axis=0)
    density = top + np.log(total)
    density[known.at] = own
    joint *= weights / total
    joint[:, known.at] = 0.0
    joint[known.labels, known.at] = weights[known.at]
    return joint, float(weights @ density)


class Here:
    """Rows in this process: responsibilities are kept, and moments formed when they are asked for."""

    def __init__(self, T: Array, known: Known, weight: float) -> None:
        self.T, self.known = T, known
        self.weights = np.full(len(T), weight)
        self.weights[known.at] = 1.0
        self.count, self.total = float(self.weights.sum()), self.weights @ T

    def expect(self, odds: Odds) -> tuple[Array, float]:
        """Responsibilities (c, n) by the weights of rows and, at temperature one, log-density."""
        slopes, offsets, temperature = odds
        if len(offsets) > FEW:
            joint = slopes @ self.T.T  # (c, n): sums over few classes are fast by columns
            joint += offsets[:, None]
            return weighted_responsibilities(joint, temperature, self.known, self.weights)
        base = int(np.argmax(offsets))
        joint = np.zeros((len(offsets), len(self.T)))
        for c in _others(base, len(offsets)):
            joint[c] = self.T @ (slopes[c] - slopes[base]) + (offsets[c] - offsets[base])
        resp, density = weighted_responsibilities(joint, temperature, self.known, self.weights)
        return resp, density + float(self.total @ slopes[base] + self.count * offsets[base])

    def moments(self, resp: Array) -> Point:
        """Weights and means of the classes."""
        counts = resp.sum(axis=1)
        if len(counts) > FEW:
            return Point(counts, (self.T.T @ resp.T).T / counts[:, None])  # long columns first: in half the time
        sums, base = np.empty((len(counts), self.T.shape[1])), int(np.argmax(counts))
        sums[base] = self.total
        for c in _others(base, len(counts)):
            sums[c] = resp[c] @ self.T
            sums[base] -= sums[c]
        return Point(counts, sums / counts[:, None])


def _others(base: int, n_classes: int) -> list[int]:
    return [c for c in range(n_classes) if c != base]


class Sums(NamedTuple):
    """What comes home of rows that live elsewhere."""

    counts: Array  # (c,)
    log_density: float


@dataclass(frozen=True)
class Expect:
    """The E-step on rows where they live, and the sums that the M-step needs."""

    offsets: Array  # (c,)
    temperature: float
    weight: float  # of an unlabeled row

    def __call__(self, view: View) -> Step:
        labels = view.aligned["label"]
        at = np.flatnonzero(labels >= 0)
        weights = np.where(labels >= 0, 1.0, self.weight)
        joint = np.ascontiguousarray(view.T.T) + self.offsets[:, None]
        resp, density = weighted_responsibilities(joint, self.temperature, Known(at, labels[at]), weights)
        return Step(resp.T, Sums(resp.sum(axis=1), density))


class There:
    """Rows that live elsewhere, labels aligned with them: every E-step is one sum over them."""

    def __init__(self, rows: Away, index: IntArray, labeled: Array, weight: float) -> None:
        self.rows, self.weight = rows.table.with_columns(label=index), weight
        self.count = len(labeled) + weight * (len(index) - len(labeled))
        self.total = weight * rows.total.sums + (1.0 - weight) * labeled.sum(axis=0)

    def expect(self, odds: Odds) -> tuple[Point, float]:
        """Weights and means of the classes that follow from the responsibilities, and log-density."""
        swept = self.rows.sweep(odds.slopes.T, Expect(odds.offsets, odds.temperature, self.weight))
        counts, log_density = swept.sums
        return Point(counts, swept.product.T / counts[:, None]), log_density

    def moments(self, found: Point) -> Point:
        """Weights and means of the classes: they came home with the E-step."""
        return found
