"""Rows grouped by the outputs they observe, and their moments in a growing basis.

Rows that observe the same real outputs are one Gaussian pattern, of which moments are enough. Those of the most
frequent pattern are what the others leave of all rows; the others are kept.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, BoolArray, IntArray
from ...likelihoods.exact import GaussianSites
from ...likelihoods.layout import Layout
from ...numerics.linear_gaussian import FromX, Params
from ...numerics.moments import output_sets
from ...rows.contract import Rows
from ...rows.products import rows_with_some
from ...rows.standard import StandardRows
from ...rows.summary import Group
from .basis import Basis, HeldProducts, Products, Space, SweptProducts, may_be_held
from .evidence import Coded, LabeledPatterns, LabeledRows
from .pattern_moments import ByMoments

MOST_MOMENTS = 1 << 24  # numbers that second moments of patterns take together; rows of rarer ones are kept one by one
FEWEST, FEWEST_EACH = 20, 1.5  # rows of a pattern, and rows for each dimension, that cost less than their moments
LEAST_MOMENTS = 1 << 13  # numbers of moments up to which they cost less than looking after rows at all
HELD_ROWS = 8  # rows for each column, up to which products with them cost less than their moments


class Outputs(NamedTuple):
    """Targets in standard units and which rows observe the same ones."""

    Y: Array  # (n, q)  zero where not observed
    observed: BoolArray  # (n, q)
    weights: Array  # (n,)
    majority: IntArray  # rows of the most frequent pattern
    majority_outputs: IntArray
    patterns: tuple[tuple[IntArray, IntArray], ...]  # (outputs, rows) of the other frequent patterns
    ungrouped: IntArray  # rows of all remaining patterns

    @property
    def complete(self) -> bool:
        """Whether every row observes every output."""
        return len(self.others) == 0 and len(self.majority_outputs) == self.Y.shape[1]

    @property
    def others(self) -> IntArray:
        """Rows outside the majority, pattern by pattern, the ungrouped ones last."""
        return np.concatenate([*(rows for _, rows in self.patterns), self.ungrouped]).astype(np.intp)


def group_outputs(Y: Array, weights: Array, k: int) -> Outputs:
    """Group rows by the outputs they observe (NaN in Y means not observed); rows of weight zero observe nothing.

    Second moments of a pattern in a basis for `k` latent dimensions serve where they cost less than its rows.
    """
    observed = ~np.isnan(Y)
    observed[weights == 0] = False
    some = rows_with_some(observed)
    sets, inverse = output_sets(observed.take(some, axis=0))
    counts = np.bincount(inverse, minlength=len(sets))
    small = inverse.astype(np.min_scalar_type(len(counts)))  # sorted by counting
    in_order = np.split(some[np.argsort(small, kind="stable")], np.cumsum(counts)[:-1])
    if len(some) < len(Y):
        without = np.ones(len(Y), dtype=bool)
        without[some] = False
        in_order = [np.flatnonzero(without), *(inside for inside in in_order if len(inside))]
    counts = np.array([len(inside) for inside in in_order])
    by_size = np.lexsort(([inside[:1].sum() for inside in in_order], -counts))  # then by the first row
    size = (6 * k + Y.shape[1]) ** 2
    n_kept = max(1, min(MOST_MOMENTS // size, int((counts >= FEWEST + FEWEST_EACH * k).sum())))
    if (len(counts) - n_kept) * size <= min(LEAST_MOMENTS, MOST_MOMENTS):
        n_kept = len(counts)
    rows = [in_order[g] for g in by_size[:n_kept]]
    outputs = [np.flatnonzero(observed[r[0]]) for r in rows]
    frequent = tuple((o, r) for o, r in zip(outputs[1:], rows[1:], strict=True))
    ungrouped = np.sort(np.concatenate([np.zeros(0, dtype=np.intp), *(in_order[g] for g in by_size[n_kept:])]))
    filled = np.zeros(Y.shape)
    filled[some] = np.where(observed.take(some, axis=0), Y.take(some, axis=0), 0.0)
    return Outputs(filled, observed, weights, rows[0], outputs[0], frequent, ungrouped)


class KeptRows(NamedTuple):
    """Rows outside the majority pattern, by pattern, the ungrouped ones last."""

    Y: Array  # (m, q)   zero where not observed
    weights: Array  # (m,)
    patterns: tuple[tuple[IntArray, slice], ...]  # outputs and rows


class ByPattern:
    """What the likelihood of real outputs needs of a basis."""

    def __init__(self, products: Products, capacity: int, outputs: Outputs, kept: KeptRows, majority: Group) -> None:
        self.basis = Basis(products, capacity)
        self.outputs, self.kept, self.majority = outputs, kept, majority
        self.coded = Coded.of(outputs.Y, outputs.observed, outputs.weights)
        self.n_grouped = kept.patterns[-1][1].stop if kept.patterns else 0

    def labels(self) -> LabeledPatterns:
        """Real outputs of the rows seen through the basis."""
        basis, kept, o = self.basis, self.kept, self.outputs
        V = np.hstack([np.ones((len(kept.Y), 1)), basis.T, kept.Y])
        wV = V * kept.weights[:, None]
        observed = np.zeros((1 + len(kept.patterns), kept.Y.shape[1]), dtype=bool)
        moments = np.zeros((len(observed), V.shape[1], V.shape[1]))
        if len(o.majority_outputs):
            observed[0, o.majority_outputs] = True
            moments[0] = self._majority(V, wV)
        for g, (seen, at) in enumerate(kept.patterns, start=1):
            observed[g, seen] = True
            if len(seen):
                np.matmul(wV[at].T, V[at], out=moments[g])
        return LabeledPatterns(observed, moments, self._rare())

    def _majority(self, V: Array, wV: Array) -> Array:
        """Sums of products of (1, t, y) over the most frequent pattern, from those of all rows and the kept ones."""
        basis, majority, r = self.basis, self.majority, self.basis.size
        out = np.empty((V.shape[1], V.shape[1]))
        x, y = slice(1, 1 + r), slice(1 + r, None)
        out[0, 0], out[0, y], out[y, y] = majority.weight, majority.y, majority.yy
        out[0, x] = -wV[:, 0] @ V[:, x]  # centered rows sum to zero, so the majority is minus the others
        out[x, x] = basis.xx - wV[:, x].T @ V[:, x]
        out[x, y] = basis.vectors.T @ majority.xy
        out[1:, 0], out[y, x] = out[0, 1:], out[x, y].T
        return out

    def _rare(self) -> LabeledRows | None:
        i = self.outputs.ungrouped
        if len(i) == 0:
            return None
        Y = np.where(self.outputs.observed[i], self.outputs.Y[i], np.nan)
        layout = Layout(("gaussian",) * Y.shape[1], (0,) * Y.shape[1])
        return LabeledRows(self.basis.T[self.n_grouped :], self.outputs.weights[i], Y, layout, GaussianSites())

    def cross(self, params: Params, x: FromX, held: Any) -> Array:
        """X'Z (d, k), the sum of x E[z]' in the full space; `held` is what `LabeledPatterns` left."""
        o, kept, (rare, precision, VS, _) = self.outputs.majority_outputs, self.kept, held
        T = self.basis.T
        left = kept.Y - params.m_y - T @ x.gain.T @ params.W_y.T
        solved, own = np.zeros(left.shape), list(precision)
        majority = own.pop(0) if len(o) else None
        spans = [at for seen, at in kept.patterns if len(seen)]
        for at, P in zip(spans, own, strict=True):
            np.matmul(left[at], P, out=solved[at])
        shift = solved @ VS
        if rare is not None:
            shift[self.n_grouped :] = rare.shift
        if majority is None:
            return self.basis.cross(x.gain, shift)
        K = majority @ VS  # (q, k)
        back = x.gain.T @ params.W_y.T @ K  # of the majority, what its outputs take off what x says
        cross = self.basis.cross(x.gain - back.T, shift + T @ back)
        cross += (self.majority.xy - np.outer(self.majority.x, params.m_y)) @ K
        return cross


def read_by_pattern(
    rows: Rows, outputs: Outputs, capacity: int, *, held: bool, rough: bool = False
) -> tuple[ByPattern | ByMoments, StandardRows]:
    """A basis over rows: each product reads them, or all moments are `held`, those of the shorter side.

    `rough` is that of `Rows.summarize`.
    """
    n, p = rows.shape
    if not held or (n >= p and not (_few(outputs, p) and _as_moments(rows, outputs, capacity))):
        split = len(outputs.majority_outputs) > 0
        products = SweptProducts(rows, outputs.others, outputs.Y, split=split, second=held, rough=rough)
        return ByPattern(products, capacity, outputs, _kept_rows(outputs), products.first), products.rows
    if n >= p:
        return _columns(rows, outputs, capacity, rough)
    standard = rows.standard(rows.summarize())
    found = standard.coordinates(principal=False)
    return by_coordinates(found.T, found.xx, outputs, Space.of(standard), capacity, found.expand), standard


def _few(o: Outputs, p: int) -> bool:
    """Whether second moments of every pattern in all features are worth their room, beside reading the rows again."""
    G, size = len(o.patterns), 1 + p + o.Y.shape[1]
    return len(o.ungrouped) == 0 and 4 * G * size <= 3 * len(o.Y) and G * size**2 <= MOST_MOMENTS


def _as_moments(rows: Rows, o: Outputs, capacity: int) -> bool:
    """Whether moments of the patterns outside the majority are better held than their rows."""
    m, p = len(o.Y) - len(o.majority), rows.shape[1]
    return not may_be_held(rows, m) or m > (HELD_ROWS * p if p > 4 * capacity else p)


def by_coordinates(
    T: Array, xx: Any, outputs: Outputs, space: Space, capacity: int,
    features: Callable[[Array], Array] = lambda C: C, scale: float = 1.0,
) -> ByPattern:  # fmt: skip
    """A basis over rows of coordinates T / scale (n, d), with their second moments or, of principal ones, squares."""
    o, w = outputs, np.zeros(len(outputs.weights))
    products = HeldProducts.of_coordinates(space, T, xx, o.weights, o.Y, o.others, features, scale)
    w[o.majority] = o.weights[o.majority]  # no copy of T
    wY = w[:, None] * o.Y
    majority = Group(float(w.sum()), w @ T / scale, wY.sum(axis=0), T.T @ wY / scale, wY.T @ o.Y, None)
    return ByPattern(products, capacity, outputs, _kept_rows(outputs), majority)


def _kept_rows(o: Outputs) -> KeptRows:
    others = o.others
    ends = np.cumsum([0, *(len(rows) for _, rows in o.patterns)])
    spans = tuple((seen, slice(int(a), int(b))) for (seen, _), a, b in zip(o.patterns, ends, ends[1:], strict=False))
    return KeptRows(o.Y[others], o.weights[others], spans)


def _columns(rows: Rows, o: Outputs, capacity: int, rough: bool) -> tuple[ByMoments, StandardRows]:
    number = np.zeros(rows.shape[0], dtype=np.intp)
    for g, (_, inside) in enumerate(o.patterns, start=1):
        number[inside] = g
    summary = rows.summarize(o.Y, number, len(o.patterns) + 1, second=True, rough=rough)
    standard = rows.standard(summary)
    observed = np.zeros((len(o.patterns) + 1, o.Y.shape[1]), dtype=bool)
    for g, seen in enumerate((o.majority_outputs, *(seen for seen, _ in o.patterns))):
        observed[g, seen] = True
    coded = Coded.of(o.Y, o.observed, o.weights)
    return ByMoments(Space.of(standard), summary.standard_groups(), observed, coded, capacity), standard
