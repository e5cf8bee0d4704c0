"""Which rows to label next: of classes those in doubt with many rows around them, of numbers those far from labels."""

from typing import Any, NamedTuple

import numpy as np

MOST = 500  # rows without a label that are kept, and with one
LEADING = 100  # coordinates of a row


class Pool(NamedTuple):
    """Rows that could be labeled, and those that are."""

    rows: Any  # (m,) their numbers
    T: Any  # (m, r) coordinates
    doubt: Any  # (m,) 0 ... 1 about their class; None where targets are numbers
    labeled: Any  # (l, r) coordinates of rows with a label
    n_labeled: int  # of all


def pool_of(T, doubt, labeled):
    """Keep rows T (n, r) evenly along their doubt, or their length, so that their order is nothing."""
    unlabeled, marked = np.flatnonzero(~labeled), np.flatnonzero(labeled)
    lengths = np.einsum("ij,ij->i", T, T)
    rows = np.sort(_evenly(unlabeled, (lengths if doubt is None else doubt)[unlabeled]))
    some = np.sort(_evenly(marked, lengths[marked]))
    T = T[:, :LEADING]
    return Pool(rows, T[rows], None if doubt is None else doubt[rows], T[some], len(marked))


def of_new_rows(pool, T, doubt, among):
    """The same labeled rows, and others that could be labeled."""
    values = np.einsum("ij,ij->i", T, T) if doubt is None else doubt
    rows = np.sort(_evenly(among, values[among]))
    return pool._replace(rows=rows, T=T[rows, :LEADING], doubt=None if doubt is None else doubt[rows])


def wanted(pool, n):
    """Numbers of `n` rows (n,), the most wanted first: each is chosen with those before it counted as labeled."""
    if not len(pool.T):
        return np.zeros(0, dtype=int)
    squares = _squared_distances(pool.T, np.vstack([pool.T, pool.labeled]))
    chosen = _farthest(squares, n) if pool.doubt is None else _covering(squares, pool.doubt, pool.n_labeled, n)
    return np.asarray(pool.rows)[chosen]


def _evenly(rows, values):
    order = rows[np.argsort(values, kind="stable")]
    return order[np.linspace(0, len(order) - 1, min(len(order), MOST)).astype(int)] if len(order) else order


def _squared_distances(A, B):
    a, b = (np.einsum("ij,ij->i", one, one) for one in (A, B))
    return np.maximum(a[:, None] + b - 2.0 * A @ B.T, 0.0)


def _covering(squares, doubt, n_labeled, n):
    """Rows in doubt that are near many that no labeled row is near."""
    m, size = squares.shape
    neighbor = min(size - 1, max(1, size // (n_labeled + n)))  # every labeled row stands for so many
    reach = float(np.median(np.partition(squares, neighbor, axis=1)[:, neighbor])) or 1.0
    near = np.exp(-squares / reach)
    covered, near, chosen = near[:, m:].max(axis=1, initial=0.0), near[:, :m], []
    left = np.asarray(doubt, dtype=float) + 1e-12  # where none is in doubt, those that cover most
    for _ in range(min(n, m)):
        gain = left * np.maximum(near - covered, 0.0).sum(axis=1)
        gain[chosen] = -1.0
        chosen.append(int(gain.argmax()))
        covered = np.maximum(covered, near[chosen[-1]])
    return chosen


def _farthest(squares, n):
    """Rows as far as can be from all labeled ones (Kennard and Stone 1969)."""
    m = len(squares)
    distance, chosen = squares[:, m:].min(axis=1, initial=np.inf), []
    for _ in range(min(n, m)):
        distance[chosen] = -1.0
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, squares[chosen[-1], :m])
    return chosen
