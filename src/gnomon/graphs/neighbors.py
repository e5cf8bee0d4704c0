"""Nearest rows by brute force, rows that occur more than once, and rows of length one; dense or csr."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._types import Array, IntArray
from .screen import Screen, few_points, screen_of

CHUNK = 1 << 22  # squared distances held at once
TIED = 1e-9  # squared distances that differ by less than this times their size are equal
AT_FIRST = 4  # times k: so many points are looked at, and four times as many while the farthest is still tied
MANY = 4000  # points from which few are looked at
MOST = 1 << 24  # places for neighbors of all rows: of so many points that are equally far the first ones are taken
SAME = 1e-13  # squared distance, relative to the squared lengths, below which two rows are the same point


class Neighbors(NamedTuple):
    """The nearest points of each row, nearest first; those that are equally far share the last places."""

    indices: IntArray  # (n, j)   j at least k
    squared: Array  # (n, j)   squared distances, exactly 0 for the same point
    share: Array  # (n, j)     1, less where more points are equally far than places are left, 0 beyond; they sum to k

    def of(self, rows: IntArray) -> "Neighbors":
        """Those of some rows."""
        return Neighbors(self.indices[rows], self.squared[rows], self.share[rows])


def distinct_rows(X: Any) -> tuple[IntArray, IntArray]:
    """First row (m,) of each set of equal rows of X, dense or csr, and number (n,) of its set of every row.

    Rows are compared by a 64-bit sum of their bits times fixed odd numbers, and then entry by entry.
    """
    odd = np.random.default_rng(0).integers(1 << 63, size=X.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    if sp.issparse(X):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        key = sp.csr_matrix((X.data.view(np.uint64), X.indices, X.indptr), shape=X.shape) @ odd
    else:
        X = np.ascontiguousarray(X + 0.0)  # the bits of -0 are not those of 0
        key = X.view(np.uint64) @ odd
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    inverse = inverse.ravel()
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    first, inverse = first[order], place[inverse]
    unlike = _unlike(X, first[inverse])
    inverse[unlike] = len(first) + np.arange(len(unlike))  # equal keys by chance: points of their own
    return np.concatenate([first, unlike]), inverse


def _unlike(X: Any, other: IntArray) -> IntArray:
    """Rows i of X that are not equal to row other[i]."""
    repeated = np.flatnonzero(other != np.arange(len(other)))
    if sp.issparse(X):
        differ = np.asarray(abs(X[repeated] - X[other[repeated]]).sum(axis=1)).ravel() > 0
        return np.asarray(repeated[differ])
    parts = [rows[(X[rows] != X[other[rows]]).any(axis=1)] for rows in _pieces(repeated, X.shape[1])]
    return np.concatenate([np.zeros(0, dtype=np.intp), *parts])


def _pieces(rows: IntArray, width: int) -> list[IntArray]:
    size = max(1, CHUNK // max(1, width))
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def nearest(rows: Any, points: Any, k: int) -> Neighbors:
    """The k nearest of points (m, p) of each row (n, p), exactly: products of blocks of rows with all points.

    O(n m p) operations; no more than a block of the n x m distances is held. Both are dense or both csr, which stays
    so. Where points are equally far from a row, and fewer of them have a place among its k nearest, the places are
    shared out evenly, so that neither the order of points nor rounding decides. Of many dense points few are looked at,
    unless single precision cannot tell which.
    """
    n, m = rows.shape[0], points.shape[0]
    most = min(m, max(AT_FIRST * k, MOST // n))
    among = _Points(points, points.T.tocsr() if sp.issparse(points) else points.T, _squared_lengths(points))
    screen = screen_of(points) if m >= max(MANY, AT_FIRST * k) and not sp.issparse(points) else None
    parts = []
    for block in _pieces(np.arange(n), m):
        part = rows[block[0] : block[-1] + 1]
        own = _squared_lengths(part)
        parts.append(among.all(part, own, k, most) if screen is None else among.few(part, own, k, most, screen))
    return _joined(parts)


class _Points(NamedTuple):
    """Points among which the nearest are sought."""

    points: Any  # (m, p)
    across: Any  # (p, m)
    lengths: Array  # (m,)   squared

    def all(self, rows: Any, own: Array, k: int, most: int) -> Neighbors:
        """The nearest of rows of squared lengths `own`, by the distances of all."""
        product = rows @ self.across
        d = product.toarray() if sp.issparse(product) else product
        d *= -2.0
        return _nearest_of(d, self.lengths, own, k, most)

    def few(self, rows: Array, own: Array, k: int, most: int, screen: Screen) -> Neighbors:
        """The same by the distances of few; where others may be as near, of all."""
        near, bound = few_points(screen, rows, 2 * k)
        d = np.matmul(self.points[near], rows[:, :, None])[:, :, 0]
        d *= -2.0
        found = _nearest_of(d, self.lengths[near], own, k, 2 * k)
        found = found._replace(indices=np.take_along_axis(near, found.indices, axis=1))
        rounding = SAME * (self.lengths.max() + own)
        left = np.flatnonzero(~(found.squared[:, k - 1] * (1.0 + TIED) + rounding < bound))
        if not len(left):
            return found
        sure = np.delete(np.arange(len(rows)), left)
        parts = [found.of(sure), self.all(rows[left], own[left], k, most)]
        return _joined(parts).of(np.argsort(np.concatenate([sure, left])))


def _joined(parts: list[Neighbors]) -> Neighbors:
    """Those of rows after rows."""
    used = max(part.share.shape[1] for part in parts)
    fill = (0, np.inf, 0.0)
    return Neighbors(*(np.concatenate([_widened(a, used, x) for a in found]) for found, x in zip(zip(*parts), fill)))


def _nearest_of(d: Array, lengths: Array, own: Array, k: int, most: int) -> Neighbors:
    """The nearest points by minus two times products (b, m) and squared lengths; at most `most` that are as far."""
    d += lengths
    d += own[:, None]
    rounding = SAME * (lengths + own[:, None])
    d[d <= rounding] = 0.0  # what is left of them is rounding
    width = min(AT_FIRST * k, most)
    while True:
        near = np.sort(np.argpartition(d, width - 1, axis=1)[:, :width], axis=1)
        found = np.take_along_axis(d, near, axis=1)
        order = np.argsort(found, axis=1, kind="stable")
        near, found = np.take_along_axis(near, order, axis=1), np.take_along_axis(found, order, axis=1)
        share = _shares(found, np.take_along_axis(rounding, near, axis=1), k)
        if width == most or not share[:, -1].any():
            break
        width = min(4 * width, most)
    used = int((share > 0).sum(axis=1).max())
    return Neighbors(near[:, :used], found[:, :used], share[:, :used])


def _widened(A: Array, width: int, fill: float) -> Array:
    return A if A.shape[1] == width else np.pad(A, ((0, 0), (0, width - A.shape[1])), constant_values=fill)


def _shares(squared: Array, rounding: Array, k: int) -> Array:
    """Shares (b, j) of points by falling nearness in k places."""
    last = squared[:, k - 1 : k]
    tied = np.abs(squared - last) <= TIED * last + rounding
    nearer = (squared < last) & ~tied
    left = k - nearer.sum(axis=1, keepdims=True)
    return np.where(nearer, 1.0, tied * left / tied.sum(axis=1, keepdims=True))


def _squared_lengths(X: Any) -> Array:
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def unit_rows(X: Any) -> Any:
    """Rows (n, p), float64, scaled to length one, so that Euclidean distance is cosine; a row of zeros stays.

    The largest entry goes first, so that squares neither over- nor underflow.
    """
    for largest in (True, False):
        if sp.issparse(X):
            size = abs(X).max(axis=1).toarray().ravel() if largest else np.sqrt(_squared_lengths(X))
            X = sp.csr_matrix(X.multiply(1.0 / np.where(size == 0, 1.0, size)[:, None]))
        else:
            size = np.maximum(X.max(axis=1), -X.min(axis=1)) if largest else np.sqrt(_squared_lengths(X))
            X = np.divide(X, np.where(size == 0, 1.0, size)[:, None], out=None if largest else X)
    return X
