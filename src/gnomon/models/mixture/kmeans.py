"""Starting centers for mixtures: a deterministic partition, k-means++ or random rows, refined by k-means."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._types import Array, IntArray
from ...numerics.scramble import random_row, random_signs
from ...rows.contract import Kept, Step, View
from ...rows.standard import ScaledRows

LLOYD_STEPS = 10
POWER_STEPS = 5
EVEN = 1e-9  # of squared lengths: centers whose distances differ by less are as near, as those of counts often are


@dataclass(frozen=True)
class _Assign:
    """Nearest center of every row, the first of those that are as near, and the sums of the clusters."""

    own: Array  # (s,) squared lengths of the centers

    def __call__(self, view: View) -> Step:
        lengths = view.aligned["length"]
        distances = lengths[:, None] - 2.0 * view.T + self.own
        nearest = distances.min(axis=1)
        labels = (distances <= (nearest + EVEN * (lengths + self.own.max()))[:, None]).argmax(axis=1)
        member = (labels[:, None] == np.arange(len(self.own))) * view.weights[:, None]
        return Step(member, member.sum(axis=0), Kept.of(view, labels, nearest))


@dataclass(frozen=True)
class _Along:
    """Products of rows with their coordinates along a direction, `shift` the coordinate of the center."""

    shift: float

    def __call__(self, view: View) -> Step:
        along = (view.T - self.shift) * view.weights[:, None]
        return Step(along, along.sum())


class Partition:
    """k-means over some rows in standard units, of which `length` is aligned; every step is a read of those rows."""

    def __init__(self, source: ScaledRows, rows: IntArray) -> None:
        self.source, self.rows = source, rows
        n = source.shape[0]
        self._some = None if len(rows) == n else rows
        self.weights = np.ones(len(rows)) if source.weights is None else source.weights[rows]
        self.lengths = source.rows.gather("length")[rows]

    @cached_property
    def _places(self) -> Array:
        """Numbers of rows by which they are drawn: mean squares, and for rows as long their side of a direction.

        That is the mean of rows times numbers that follow from their lengths, so that the axes do not matter.
        """
        squares = self.lengths / self.source.shape[1]
        signs = random_signs(squares, np.random.default_rng(0))[:, None]
        direction = self.source.back(signs, self._some) / max(float(self.weights.sum()), 1e-300)
        return np.asarray(squares + self.source.times(direction, self._some)[:, 0])

    def centers(self, s: int, init: str, generator: np.random.Generator | None) -> Array:
        """Centers (s, p): k-means from k-means++, or random rows.

        Without a generator k-means starts from principal-direction splits (Su and Dy 2007): the cluster with the
        largest scatter is cut in two at its mean along its leading direction. Neither a seed nor the order of rows
        nor the axes matter then.
        """
        if init == "random":
            assert generator is not None
            return self._drawn(s, generator, apart=False)
        if generator is None:
            return self._refined(self._split(s))
        return self._refined(self._drawn(s, generator, apart=True))

    def _drawn(self, s: int, generator: np.random.Generator, *, apart: bool) -> Array:
        """Different rows, by their weights; `apart` (k-means++) times their squared distances from those before."""
        chance, centers = self.weights.copy(), np.zeros((0, self.source.shape[1]))
        for _ in range(s):
            i = random_row(chance, self._places, generator)
            centers = np.vstack([centers, self._row(i)])
            if not apart:
                chance[i] = 0.0
                continue
            chance = self.weights * self._distances(centers).min(axis=1)
            if not chance.any():  # fewer distinct rows than centers
                chance = self.weights
        return centers

    def _row(self, i: int) -> Array:
        found = self.source.back(np.full((1, 1), 1.0 / self.weights[i]), self.rows[[i]])
        return np.asarray(found[:, 0])

    def _means(self, labels: IntArray, s: int) -> Array:
        """Weighted means (s, p) of clusters."""
        member = np.eye(s)[labels]
        sums = self.source.back(member, self._some)
        return np.asarray(sums.T / np.maximum(self.weights @ member, 1e-300)[:, None])

    def _distances(self, centers: Array) -> Array:
        """Squared distances (rows, s)."""
        T = self.source.times(centers.T, self._some)
        own = np.einsum("sp,sp->s", centers, centers)
        return np.asarray(np.maximum(self.lengths[:, None] - 2.0 * T + own, 0.0))

    def _refined(self, centers: Array) -> Array:
        """Lloyd's steps, one read each; an empty cluster takes the row farthest from its center."""
        labels = np.full(len(self.rows), -1)
        for _ in range(LLOYD_STEPS):
            swept = self.source.sweep(centers.T, _Assign(np.einsum("sp,sp->s", centers, centers)), rows=self._some)
            found, nearest = swept.kept.of_rows(self._some)
            if (found == labels).all():
                break
            labels = found
            counts = swept.sums
            centers = (swept.product / np.where(counts > 0, counts, 1.0)).T
            for c in np.flatnonzero(counts == 0):
                far = int(nearest.argmax())
                nearest[far] = -np.inf
                centers[c] = self._row(far)
        return centers

    def _split(self, s: int) -> Array:
        labels = np.zeros(len(self.rows), dtype=np.intp)
        centers = self._means(labels, 1)
        for new in range(1, s):
            distances = self._distances(centers)[np.arange(len(labels)), labels]
            scatter = np.bincount(labels, weights=self.weights * distances, minlength=new)
            present = np.bincount(labels, minlength=new) > 0
            widest = int(np.where(present, scatter, -1.0).argmax())
            inside = np.flatnonzero(labels == widest)
            along = self._along_leading_direction(inside, centers[widest])
            labels[inside[along > 0]] = new
            centers = self._means(labels, new + 1)
        return centers

    def _along_leading_direction(self, inside: IntArray, center: Array) -> Array:
        """Coordinates of the rows of a cluster along its leading direction, by power steps from the farthest row."""
        far = int(self._distances(center[None, :])[inside, 0].argmax())
        v = (self._row(inside[far]) - center)[:, None]
        rows = self.rows[inside]
        for _ in range(POWER_STEPS):
            found = self.source.sweep(v, _Along(float(center @ v[:, 0])), rows=rows)
            product = found.product - np.outer(center, found.sums)
            size = float(np.linalg.norm(product))
            if size == 0.0:
                break
            v = product / size
        return self.source.times(v, rows)[:, 0] - float(center @ v[:, 0])
