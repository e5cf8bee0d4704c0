"""A growing orthonormal basis of feature space and the moments of the data seen through it.

Two implementations of one protocol: `SweptBasis` reads the rows once for every block of new directions, `MomentBasis`
works from second moments that were taken before. In both, G = X'X B is kept, so that the gradient of the likelihood in
the full space costs no pass.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ..._types import Array, BoolArray, IntArray
from ...numerics.linalg import orthonormal_columns
from ...numerics.linear_gaussian import Params, latent_map, loose_posterior
from ...numerics.moments import (
    LooseRows,
    Moments,
    OutputSets,
    Pattern,
    output_sets,
    pattern_from_rows,
    pattern_from_sums,
)
from ...rows.contract import Rows
from ...rows.products import row_counts

POWER_STEPS = 2  # double ones, of the first block on second moments, where a step costs little
MAX_PATTERNS = 12  # more patterns of observed outputs than this: the rows of the rare ones are kept one by one


class Outputs(NamedTuple):
    """Targets in standard units and which rows observe the same ones."""

    Y: Array  # (n, q)  zero where not observed
    observed: BoolArray  # (n, q)
    weights: Array  # (n,)
    bulk: IntArray  # rows of the most frequent pattern
    bulk_outputs: IntArray
    patterns: tuple[tuple[IntArray, IntArray], ...]  # (outputs, rows) of the other frequent patterns
    loose: IntArray  # rows of all remaining patterns
    loose_groups: OutputSets

    def loose_rows(self, T: Array) -> LooseRows:
        """The loose rows with their coordinates T."""
        i = self.loose
        return LooseRows(T, self.Y[i], self.observed[i], self.weights[i], self.loose_groups)

    @property
    def others(self) -> IntArray:
        """Rows outside the bulk, pattern by pattern, the loose ones last."""
        return np.concatenate([*(rows for _, rows in self.patterns), self.loose]).astype(np.intp)


def group_outputs(Y: Array, weights: Array) -> Outputs:
    """Group rows by the outputs they observe (NaN in Y means not observed); rows of weight zero observe nothing."""
    observed = ~np.isnan(Y) & (weights > 0)[:, None]
    inverse, first, counts = _pattern_numbers(observed)
    by_size = np.lexsort((first, -counts))
    rows = [np.flatnonzero(inverse == g) for g in by_size[:MAX_PATTERNS]]
    outputs = [np.flatnonzero(observed[r[0]]) for r in rows]
    frequent = tuple((o, r) for o, r in zip(outputs[1:], rows[1:], strict=True))
    loose = np.flatnonzero(np.isin(inverse, by_size[MAX_PATTERNS:]))
    return Outputs(
        np.where(observed, Y, 0.0),
        observed,
        weights,
        rows[0],
        outputs[0],
        frequent,
        loose,
        output_sets(observed[loose]),
    )


def output_units(Y: Array, weights: Array, *, together: bool) -> tuple[Array, Array]:
    """Mean and scale of each output (q,) over the rows that observe it.

    The scale is the root of the variance, or with `together` that of the mean variance of all, one for all: the
    columns that code a class are one target.
    """
    labeled = np.flatnonzero(row_counts(~np.isnan(Y)))
    Y, weights = Y[labeled], weights[labeled]
    observed = ~np.isnan(Y)
    filled = np.where(observed, Y, 0.0)
    largest = np.abs(filled).max(axis=0, initial=0.0)
    largest = np.full(len(largest), largest.max(initial=0.0)) if together else largest
    largest[largest == 0.0] = 1.0
    filled /= largest
    counts = weights @ observed
    mean = weights @ filled / counts
    variance = weights @ np.where(observed, filled - mean, 0.0) ** 2 / counts
    if together and len(variance):
        variance = np.full(len(variance), variance.mean())
    spread = np.sqrt(variance)
    spread[spread == 0.0] = 1.0
    return mean * largest, spread * largest


def _pattern_numbers(observed: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Number the distinct rows of `observed`: number of each row, first row and count of each number."""
    n, q = observed.shape
    if q <= 12:  # few outputs: the bits are small integers, counted without sorting
        bits = observed @ (1 << np.arange(q)) if q else np.zeros(n, dtype=np.intp)
        counts = np.bincount(bits)
        used = np.flatnonzero(counts)
        number = np.cumsum(counts > 0) - 1
        inverse = number[bits]
        first = np.array([int(np.argmax(inverse == g)) for g in range(len(used))], dtype=np.intp)
        return inverse, first, counts[used]
    codes = np.packbits(observed, axis=1)
    _, first, inverse, counts = np.unique(codes, axis=0, return_index=True, return_inverse=True, return_counts=True)
    return inverse.reshape(-1), first, counts


class Basis(Protocol):
    """What the subspace solver needs to know of the data."""

    n_rows_spanned: int
    whole_up_to: int  # with so few features, all of them make the first basis
    size: int
    capacity: int

    @property
    def vectors(self) -> Array:
        """The basis (p, size), orthonormal columns."""

    def targets_product(self) -> Array:
        """X'Y over the rows that observe each output (p, q)."""

    def leading_block(self, width: int, generator: np.random.Generator) -> Array:
        """Orthonormal columns near the directions in which x varies most; kept nowhere."""

    def expand(self, Q: Array) -> None:
        """Append directions, orthonormal and orthogonal to the basis; one pass over the data."""

    def rotate(self, C: Array) -> None:
        """Replace the basis by its combinations C (size, fewer), orthonormal columns; no pass."""

    def moments(self) -> Moments:
        """Sufficient statistics of the rows seen through the basis."""

    def latent_cross(self, params: Params) -> Array:
        """X'Z (p, k), the sum of x E[z]' in the full space, x centered by the sample mean."""


class SweptBasis:
    """Basis over rows: G = X'X B for all rows, T = X B for the rows outside the most frequent pattern.

    Memory: 2 p x capacity + (rows outside the bulk) x capacity doubles.
    """

    whole_up_to = 0

    def __init__(self, rows: Rows, outputs: Outputs, capacity: int) -> None:
        n, p = rows.shape
        self.outputs, self.capacity = outputs, capacity
        self.n_rows_spanned = n
        self.size = 0
        self._others = outputs.others
        self._B = np.empty((p, capacity), order="F")
        self._G = np.empty((p, capacity), order="F")
        self._BG = np.zeros((capacity, capacity))
        self._T = np.empty((len(self._others), capacity))
        other = np.ones(n, dtype=bool)
        other[outputs.bulk] = False
        summary = rows.summarize(outputs.Y, other.astype(np.intp), 2)
        self._bulk, self._other = summary.standard_groups()
        self.rows = rows.standard(summary).with_columns(other=other)

    def targets_product(self) -> Array:
        return self._bulk.xy + self._other.xy

    def leading_block(self, width: int, generator: np.random.Generator) -> Array:
        return orthonormal_columns(self.rows.gram_product(generator.standard_normal((self.rows.shape[1], width))))

    @property
    def vectors(self) -> Array:
        return self._B[:, : self.size]

    def expand(self, Q: Array) -> None:
        old, new = self.size, self.size + Q.shape[1]
        if len(self._others):
            G, kept = self.rows.products(Q, "other")
            self._T[:, old:new] = kept.of_rows(self._others)
        else:
            G = self.rows.gram_product(Q)
        self._B[:, old:new], self._G[:, old:new] = Q, G
        self.size = new
        block = self._B[:, :new].T @ G
        self._BG[:new, old:new] = block
        self._BG[old:new, :new] = block.T

    def rotate(self, C: Array) -> None:
        old, new = self.size, C.shape[1]
        for array in (self._B, self._G, self._T):
            array[:, :new] = array[:, :old] @ C
        self._BG[:new, :new] = C.T @ self._BG[:old, :old] @ C
        self.size = new

    def moments(self) -> Moments:
        o, r, p = self.outputs, self.size, self.rows.shape[1]
        B, T = self.vectors, self._T[:, :r]
        w = o.weights[self._others]
        tt = self._BG[:r, :r] - (T * w[:, None]).T @ T
        q_bulk = o.bulk_outputs
        t = -(B.T @ self._other.x)  # centered rows sum to zero, so the bulk is minus the others
        ty, yy = B.T @ self._bulk.xy[:, q_bulk], self._bulk.yy[np.ix_(q_bulk, q_bulk)]
        patterns = [pattern_from_sums(q_bulk, self._bulk.weight, t, self._bulk.y[q_bulk], tt, ty, yy)]
        start = 0
        for outputs, rows in o.patterns:
            span = slice(start, start + len(rows))
            patterns.append(pattern_from_rows(outputs, T[span], o.Y[np.ix_(rows, outputs)], w[span]))
            start += len(rows)
        loose = o.loose_rows(T[start:]) if len(o.loose) else None
        outside = 0.0 if r == p else max(self.rows.energy - float(np.trace(self._BG[:r, :r])), 0.0)
        return Moments(tuple(patterns), loose, p, o.Y.shape[1], outside)

    def latent_cross(self, params: Params) -> Array:
        o, r = self.outputs, self.size
        post = latent_map(params, o.bulk_outputs)
        offset = post.gain @ np.concatenate([params.m_x, params.m_y[o.bulk_outputs]])
        cross = self._G[:, :r] @ post.gain[:, :r].T + np.outer(self._other.x, offset)
        cross += self._bulk.xy[:, o.bulk_outputs] @ post.gain[:, r:].T
        if len(self._others) == 0:
            return np.asarray(cross)
        difference = self._others_latent(params) - self._T[:, :r] @ post.gain[:, :r].T
        return np.asarray(cross + self.rows.back(difference, self._others))

    def _others_latent(self, params: Params) -> Array:
        o, r = self.outputs, self.size
        Z = np.empty((len(self._others), params.W_x.shape[1]))
        start = 0
        for outputs, rows in o.patterns:
            span = slice(start, start + len(rows))
            centered = np.hstack([self._T[span, :r] - params.m_x, o.Y[np.ix_(rows, outputs)] - params.m_y[outputs]])
            Z[span] = centered @ latent_map(params, outputs).gain.T
            start += len(rows)
        if len(o.loose):
            Z[start:] = loose_posterior(params, o.loose_rows(self._T[start:, :r])).mean
        return Z


class GroupMoments(NamedTuple):
    """Second moments of one pattern of rows in the full space, standard units, x centered by the overall mean."""

    outputs: IntArray
    weight: float
    x: Array  # (p,)
    y: Array  # (q_g,)
    xx: Array  # (p, p)
    xy: Array  # (p, q_g)
    yy: Array  # (q_g, q_g)


class MomentBasis:
    """Basis over second moments: what `SweptBasis` reads from the rows, this one computes from p x p matrices.

    `outside_energy` and `n_features` account for directions that the moments leave out because the rows have no energy
    there (p larger than n); `beyond` is the energy that no coordinate holds. `principal` says that the coordinates are
    principal ones. `loose` holds rows of rare patterns in the coordinates of the moments.
    """

    whole_up_to = 100

    def __init__(
        self, groups: list[GroupMoments], loose: LooseRows | None, n_features: float, n_outputs: int, n_rows: int,
        energy: float, capacity: int, principal: bool = False, beyond: float = 0.0,
    ) -> None:  # fmt: skip
        p = len(groups[0].x)
        self.groups, self.loose, self.n_features, self.n_outputs = groups, loose, n_features, n_outputs
        self.n_rows_spanned, self.capacity, self.energy = n_rows, min(capacity, p), energy
        self.principal, self.beyond = principal, beyond
        self.size = 0
        self._B = np.empty((p, self.capacity))
        self._G = [np.empty((p, self.capacity)) for _ in groups]

    @property
    def vectors(self) -> Array:
        return self._B[:, : self.size]

    def targets_product(self) -> Array:
        out = np.zeros((len(self._B), self.n_outputs))
        for g in self.groups:
            out[:, g.outputs] += g.xy
        if self.loose is not None:
            out += (self.loose.T * self.loose.weights[:, None]).T @ self.loose.Y
        return out

    def leading_block(self, width: int, generator: np.random.Generator) -> Array:
        total = self.groups[0].xx.copy()
        for g in self.groups[1:]:
            total += g.xx
        if self.loose is not None:
            total += (self.loose.T * self.loose.weights[:, None]).T @ self.loose.T
        if self.principal:  # the coordinates are principal ones already
            return np.eye(len(total))[:, np.argsort(-total.diagonal())[:width]]
        block = generator.standard_normal((len(total), width))
        for _ in range(POWER_STEPS):
            block = orthonormal_columns(total @ (total @ block))
        return block

    def expand(self, Q: Array) -> None:
        old, new = self.size, self.size + Q.shape[1]
        self._B[:, old:new] = Q
        for g, G in zip(self.groups, self._G, strict=True):
            G[:, old:new] = g.xx @ Q
        self.size = new

    def rotate(self, C: Array) -> None:
        old, new = self.size, C.shape[1]
        for array in (self._B, *self._G):
            array[:, :new] = array[:, :old] @ C
        self.size = new

    def _loose_in_basis(self) -> LooseRows | None:
        return None if self.loose is None else self.loose._replace(T=self.loose.T @ self.vectors)

    def moments(self) -> Moments:
        B, inside = self.vectors, 0.0
        patterns: list[Pattern] = []
        for g, G in zip(self.groups, self._G, strict=True):
            tt = B.T @ G[:, : self.size]
            inside += float(np.trace(tt))
            patterns.append(pattern_from_sums(g.outputs, g.weight, B.T @ g.x, g.y, tt, B.T @ g.xy, g.yy))
        loose = self._loose_in_basis()
        if loose is not None:
            inside += float(loose.weights @ (loose.T**2).sum(axis=1))
        outside = self.beyond if self.size == len(B) else max(self.energy - inside, self.beyond)
        return Moments(tuple(patterns), loose, self.n_features, self.n_outputs, outside)

    def latent_cross(self, params: Params) -> Array:
        r = self.size
        cross = np.zeros((len(self._B), params.W_x.shape[1]))
        for g, G in zip(self.groups, self._G, strict=True):
            gain = latent_map(params, g.outputs).gain
            offset = gain @ np.concatenate([params.m_x, params.m_y[g.outputs]])
            cross += G[:, :r] @ gain[:, :r].T + g.xy @ gain[:, r:].T - np.outer(g.x, offset)
        loose = self._loose_in_basis()
        if loose is not None and self.loose is not None:
            cross += (self.loose.T * loose.weights[:, None]).T @ loose_posterior(params, loose).mean
        return cross
