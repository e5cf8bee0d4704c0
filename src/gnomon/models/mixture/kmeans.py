"""Starting centres for mixtures: a deterministic partition, k-means++ or random rows, refined by k-means."""

from __future__ import annotations

import numpy as np

from ..._types import Array, IntArray
from ...rows import RowSource

LLOYD_STEPS = 10
POWER_STEPS = 5


class Partition:
    """k-means over some rows of a source in standard units; every step is a read of those rows."""

    def __init__(self, source: RowSource, rows: IntArray, lengths: Array) -> None:
        self.source, self.rows, self.lengths = source, rows, lengths
        self.weights = np.ones(len(rows)) if source.weights is None else source.weights[rows]
        self.place = np.empty(source.shape[0], dtype=np.intp)
        self.place[rows] = np.arange(len(rows))

    def centres(self, s: int, init: str, generator: np.random.Generator | None) -> Array:
        """Centres (s, p): k-means from k-means++, or random rows.

        Without a generator k-means starts from principal-direction splits (Su and Dy 2007): the cluster with the
        largest scatter is cut in two at its mean along its leading direction. Neither a seed nor the order of rows
        nor the axes matter then.
        """
        if init == "random":
            assert generator is not None
            chosen = generator.choice(len(self.rows), size=s, replace=False, p=self.weights / self.weights.sum())
            return np.array([self._row(i) for i in chosen])
        if generator is None:
            return self._refined(self._split(s))
        return self._refined(self._spread_out(s, generator))

    def _row(self, i: int) -> Array:
        w = self.weights[i]
        row = self.source.sweep(None, lambda _, index: (np.full((1, 1), 1.0 / w), None), self.rows[[i]])[0]
        return np.asarray(row[:, 0])

    def _means(self, labels: IntArray, s: int) -> tuple[Array, Array]:
        """Weighted means (s, p) and counts (s,) of clusters."""
        member = np.zeros((len(self.rows), s))
        member[np.arange(len(self.rows)), labels] = 1.0
        counts = self.weights @ member
        sums = self.source.sweep(None, lambda _, index: (member[self.place[index]], None), self.rows)[0]
        return np.asarray(sums.T / np.maximum(counts, 1e-300)[:, None]), counts

    def _distances(self, centres: Array) -> Array:
        """Squared distances (rows, s)."""
        out = np.empty((len(self.rows), len(centres)))

        def step(T: Array, index: IntArray) -> tuple[Array, None]:
            out[self.place[index]] = T
            return np.zeros((len(index), 0)), None

        self.source.sweep(centres.T, step, self.rows)
        own = np.einsum("sp,sp->s", centres, centres)
        return np.asarray(np.maximum(self.lengths[:, None] - 2.0 * out + own, 0.0))

    def _refined(self, centres: Array) -> Array:
        """Lloyd's steps, one read each; an empty cluster takes the row farthest from its centre."""
        labels = np.full(len(self.rows), -1)
        for _ in range(LLOYD_STEPS):
            found, nearest, sums, counts = self._assigned(centres)
            if (found == labels).all():
                break
            labels = found
            centres = (sums / np.where(counts > 0, counts, 1.0)).T
            for c in np.flatnonzero(counts == 0):
                far = int(nearest.argmax())
                nearest[far] = -np.inf
                centres[c] = self._row(far)
        return centres

    def _assigned(self, centres: Array) -> tuple[IntArray, Array, Array, Array]:
        """Nearest centre and squared distance of every row, weighted sums (p, s) and counts (s,) of the clusters."""
        s = len(centres)
        labels, nearest = np.empty(len(self.rows), dtype=np.intp), np.empty(len(self.rows))
        own = np.einsum("sp,sp->s", centres, centres)

        def step(T: Array, index: IntArray) -> tuple[Array, Array]:
            place = self.place[index]
            distances = self.lengths[place, None] - 2.0 * T + own
            labels[place], nearest[place] = distances.argmin(axis=1), distances.min(axis=1)
            member = (labels[place][:, None] == np.arange(s)).astype(np.float64)
            return member, self.weights[place] @ member

        sums, counts = self.source.sweep(centres.T, step, self.rows)
        return labels, nearest, sums, counts

    def _spread_out(self, s: int, generator: np.random.Generator) -> Array:
        """k-means++: rows drawn with a probability in proportion to their squared distance from those drawn before."""
        chance = self.weights
        centres = np.zeros((0, self.source.shape[1]))
        for _ in range(s):
            i = int(generator.choice(len(self.rows), p=chance / chance.sum()))
            centres = np.vstack([centres, self._row(i)])
            chance = self.weights * self._distances(centres).min(axis=1)
            if not chance.any():  # fewer distinct rows than centres
                chance = self.weights
        return centres

    def _split(self, s: int) -> Array:
        labels = np.zeros(len(self.rows), dtype=np.intp)
        centres, _ = self._means(labels, 1)
        for new in range(1, s):
            distances = self._distances(centres)[np.arange(len(labels)), labels]
            scatter = np.bincount(labels, weights=self.weights * distances, minlength=new)
            widest = int(scatter.argmax())
            inside = np.flatnonzero(labels == widest)
            along = self._along_leading_direction(inside, centres[widest])
            labels[inside[along > 0]] = new
            centres, _ = self._means(labels, new + 1)
        return centres

    def _along_leading_direction(self, inside: IntArray, centre: Array) -> Array:
        """Coordinates of the rows of a cluster along its leading direction, by power steps from the farthest row."""
        far = int(self._distances(centre[None, :])[inside, 0].argmax())
        v = (self._row(inside[far]) - centre)[:, None]
        rows = self.rows[inside]
        coordinates = np.zeros(len(rows))
        where = np.empty(self.source.shape[0], dtype=np.intp)
        where[rows] = np.arange(len(rows))

        def step(T: Array, index: IntArray) -> tuple[Array, Array]:
            along = T[:, 0] - centre @ v[:, 0]
            coordinates[where[index]] = along
            return along[:, None], np.asarray(self.weights[self.place[index]] @ along)

        for _ in range(POWER_STEPS):
            product, total = self.source.sweep(v, step, rows)
            product = product - np.outer(centre, total)
            size = float(np.linalg.norm(product))
            if size == 0.0:
                break
            v = product / size
        self.source.sweep(v, step, rows)
        return coordinates
