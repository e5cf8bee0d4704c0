"""Rows of which moments are kept: those of batches and machines add up exactly, and few rows stand for them."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpstrf

from .._types import Array, IntArray
from .contract import Rows
from .summary import Group, Summary

LEAST = 1e-14  # of the largest variance, below which a direction of a group is rounding

PLAIN = tuple(name for name in Summary.__dataclass_fields__ if name != "groups")


class FewRows(NamedTuple):
    """Rows with the weights, means and second moments of the rows that they stand for."""

    features: Array  # (m, p)
    outputs: Array  # (m, q), zero where not observed
    weights: Array  # (m,)
    group: IntArray  # (m,)   to which of the keys they belong


@dataclass(frozen=True)
class Moments:
    """First and second moments of (x, y) for each group of rows, which a key of whole numbers tells apart."""

    keys: IntArray  # (G, h) whole numbers, each row another
    summary: Summary  # with a group for each key
    counts: Array  # (G,) rows of each, whatever they weigh
    squares: float  # sum of squared weights

    @classmethod
    def of(cls, rows: Rows, Y: Array, keys: IntArray) -> "Moments":
        """Of complete rows with outputs (n, q), zero where not observed, and keys (n, h); one read."""
        found, group = np.unique(keys, axis=0, return_inverse=True)
        weights = np.ones(rows.shape[0]) if rows.weights is None else rows.weights
        summary = rows.summarize(Y, group.reshape(-1), len(found), second=True)
        counts = np.bincount(group.reshape(-1), minlength=len(found)).astype(float)
        return cls(found, summary, counts, float(weights @ weights))

    def __add__(self, other: "Moments") -> "Moments":
        keys = np.unique(np.vstack([self.keys, other.keys]), axis=0)
        one, two = self._spread(keys), other._spread(keys)
        return Moments(keys, one.summary + two.summary, one.counts + two.counts, self.squares + other.squares)

    def _spread(self, keys: IntArray) -> "Moments":
        """The same with a group for each of more keys."""
        q, p = len(self.summary.groups[0].y), len(self.summary.mean)
        none = Group(0.0, np.zeros(p), np.zeros(q), np.zeros((p, q)), np.zeros((q, q)), np.zeros((p, p)))
        place = {tuple(key): g for g, key in enumerate(self.keys.tolist())}
        at = [place.get(tuple(key)) for key in keys.tolist()]
        groups = tuple(none if g is None else self.summary.groups[g] for g in at)
        counts = np.array([0.0 if g is None else self.counts[g] for g in at])
        return Moments(keys, replace(self.summary, groups=groups), counts, self.squares)

    def of_outputs(self, h: int, q: int) -> "Moments":
        """The same rows, none of which has outputs, beside others that have q of them and keys of h numbers."""
        (group,), p = self.summary.groups, len(self.summary.mean)
        group = group._replace(y=np.zeros(q), xy=np.zeros((p, q)), yy=np.zeros((q, q)))
        return replace(self, keys=np.zeros((1, h), dtype=np.intp), summary=replace(self.summary, groups=(group,)))

    @property
    def n_equal(self) -> float:
        """How many rows of equal weight say as much."""
        return self.summary.weight**2 / self.squares

    def few_rows(self) -> FewRows:
        """At most 2 (p + q) rows for each group: two on either side of its mean for every direction of its scatter."""
        scale, mean = self.summary.scale, self.summary.mean + self.summary.mean_low
        parts = [_points(group) for group in self.summary.standard_groups()]
        X = np.vstack([x for x, _, _ in parts]) * scale + mean
        number = np.repeat(np.arange(len(parts)), [len(w) for _, _, w in parts])
        return FewRows(X, np.vstack([y for _, y, _ in parts]), np.concatenate([w for _, _, w in parts]), number)

    def as_tuple(self) -> tuple[Any, ...]:
        """Plain numbers and arrays, as a model file keeps them."""
        summary = [getattr(self.summary, name) for name in PLAIN]
        return self.keys, tuple(summary), tuple(map(tuple, self.summary.groups)), self.counts, self.squares

    @classmethod
    def from_tuple(cls, kept: tuple[Any, ...]) -> "Moments":
        """The same again."""
        keys, summary, groups, counts, squares = kept
        of_groups = tuple(Group(*group) for group in groups)
        return cls(keys, Summary(**dict(zip(PLAIN, summary, strict=True)), groups=of_groups), counts, squares)


def _points(group: Group) -> tuple[Array, Array, Array]:
    """Rows (m, p), outputs (m, q) and weights (m,) with the moments of a group."""
    p, xx = len(group.x), group.xx
    assert xx is not None
    if group.weight == 0.0:
        return np.zeros((0, p)), np.zeros((0, len(group.y))), np.zeros(0)
    mean = np.concatenate([group.x, group.y]) / group.weight
    inside = np.block([[xx, group.xy], [group.xy.T, group.yy]]) - group.weight * np.outer(mean, mean)
    unit = np.sqrt(np.maximum(inside.diagonal(), 0.0))
    unit[unit == 0.0] = 1.0
    factor, order, rank, _ = dpstrf(inside / np.outer(unit, unit), tol=LEAST * len(unit))
    L = np.zeros((rank, len(unit)))
    L[:, order - 1] = np.triu(factor)[:rank]
    L *= unit * np.sqrt(max(rank, 1) / group.weight)
    points = mean + np.vstack([L, -L]) if rank else mean[None, :]
    return points[:, :p], points[:, p:], np.full(len(points), group.weight / len(points))
