"""A growing orthonormal basis of feature space: X'X B over all rows, and coordinates of the rows kept one by one.

Three ways to the same products: reading the rows, second moments taken once beside rows that are read, or everything
held. G = X'X B is kept, so that the gradient of the likelihood in the full space costs little or no reading.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, IntArray
from ...numerics.linalg import orthonormal_columns, symmetrize
from ...rows.contract import Rows
from ...rows.standard import ScaledRows, StandardRows
from ...rows.summary import Group
from ...rows.threads import tall_product

CAPACITY = 160  # directions a growing basis may hold, or six times K when that is more
WHOLE = 100  # with so few dimensions, all of them make the first basis
SPARE_DIRECTIONS = 10
NEARLY_ALL = 0.9  # share of the rows from which all are read, as they lie, for those that are kept
CUBIC = 250  # dimensions from which the eigenproblem of all of them outgrows what an expansion costs
FILLING = 5  # times the leading directions: with no more of all, all make the first basis where it is `fillable`
FILLED = 1 << 23  # numbers up to which a basis may hold all directions of second moments, and the kept rows in them
HELD = 1 << 24  # numbers of kept rows up to which a copy of them is held beside second moments
POWER_STEPS = 4  # of the first block on second moments, where a step costs little


def moments_pay(n: int, p: int, k: int) -> bool:
    """Whether second moments cost less than a basis that grows by reads of the rows; measured nanoseconds on a core."""
    side = min(n, p)
    moments = side**2 * (60.0 + (0.035 * n if p <= n else 0.07 * p + 0.05 * n))
    return moments <= (45.0 + 0.5 * k) * n * p + 20_000.0 * p


def enough_expansions(n: int, p: int, *, held: bool) -> float:
    """Expansions of a basis that cost about as much as second moments, where these are not `held` but could be."""
    side = min(n, p)
    return np.inf if held or side**2 > FILLED else side / WHOLE


def may_be_held(rows: Rows, m: int) -> bool:
    """Whether m of the rows, some at least, may be held, which costs no second read of rows that are elsewhere."""
    return not rows.elsewhere and 0 < m * rows.shape[1] <= HELD


class Space(NamedTuple):
    """What is known of the rows as a whole, centered, in standard units."""

    weight: float
    energy: float  # weighted sum of squares over all directions
    n_features: float  # p, or the effective dimension of a feature space
    beyond: float = 0.0  # energy that no coordinate holds

    @classmethod
    def of(cls, rows: StandardRows) -> "Space":
        """That of rows of features."""
        return cls(rows.weight, rows.energy, rows.shape[1])


class View(NamedTuple):
    """All that the likelihood of x needs of it, centered, in standard units and in a basis of r directions."""

    xx: Array  # (r, r)   weighted sum of t t' over all rows
    values: Array  # (r,)   its eigenvalues, rising
    axes: Array  # (r, r)   its eigenvectors
    energy: float  # weighted sum of squares over all p directions
    weight: float
    n_features: float  # p


def beyond(view: View, k: int) -> Array:
    """Eigenvalues of the covariance of x behind the k largest ones, falling, as far as the basis holds them."""
    return np.asarray(np.maximum(view.values[::-1][k:], 0.0) / view.weight)


def over_groups(groups: tuple[Group, ...]) -> tuple[Array | None, Array]:
    """X'X (d, d), where it was taken, and X'Y (d, q) over all groups; sums of one are its own."""
    first, *others = groups
    xx, xy = first.xx, first.xy
    for i, group in enumerate(others):
        xy = xy + group.xy
        if xx is not None and group.xx is not None:
            xx = np.add(xx, group.xx, out=xx if i else None)  # no second array as large
    return xx, xy


class SweptProducts:
    """Products with the rows in some coordinates of feature space, d of them; kept rows are m, `xy` (d, q) is X'Y.

    Every product reads the rows; with `second`, X'X is taken in the first read and the kept rows alone are read, once
    where they are not too many for this process to hold. `first` has the sums over all rows, or with `split` over those
    that are not kept.
    """

    def __init__(
        self, rows: Rows, kept: IntArray, Y: Array, *, split: bool = False, second: bool = False, rough: bool = False
    ) -> None:
        n, self.size = rows.shape
        self.n_kept, self._kept = len(kept), kept
        self._some = None if len(kept) > NEARLY_ALL * n else kept  # what is read for the kept rows
        marked = np.zeros(n, dtype=bool)
        marked[kept] = True
        at_hand = second and may_be_held(rows, len(kept))
        by_group = split and len(kept) > 0 and not at_hand
        number = marked.astype(np.intp) if by_group else None
        summary = rows.summarize(Y, number, 2 if by_group else 1, second=second, rough=rough)
        groups = summary.standard_groups()
        self._xx, self.xy = over_groups(groups)
        self.moments = second
        # products with the outputs are as large as a block of the basis: they are held once
        self.rows: StandardRows = rows.standard(replace(summary, groups=())).with_columns(kept=marked)
        self.space = Space.of(self.rows)
        self._held: ScaledRows | None = self.rows.taken(kept) if at_hand else None
        self.first = self._left(groups[0], Y[kept]) if split and at_hand else groups[0]

    def _left(self, total: Group, Y: Array) -> Group:
        """Sums over all rows, less those over the kept ones with their targets (m, q)."""
        assert self._held is not None
        w = np.ones(len(Y)) if self._held.weights is None else self._held.weights
        wY, of_x = Y * w[:, None], self.back(np.column_stack([np.ones(len(Y)), Y]))
        x, xy = total.x - of_x[:, 0], total.xy - of_x[:, 1:]
        return Group(total.weight - float(w.sum()), x, total.y - wY.sum(axis=0), xy, total.yy - wY.T @ Y, None)

    def leading(self, block: Array) -> Array:
        """Orthonormal columns near the directions in which x varies most, from random ones (d, width)."""
        if self._xx is None:
            product = self.rows.gram_product(block)
            del block  # as large as the product
            return orthonormal_columns(product)
        return _powers(self._xx, block)

    def both(self, Q: Array) -> tuple[Array, Array]:
        """X'X Q over all rows (d, c), and X Q over the kept ones (m, c)."""
        if self._xx is not None:
            if self._held is not None:
                return self._xx @ Q, self._held.times(Q)
            T = self.rows.times(Q, self._some)
            return self._xx @ Q, T if len(T) == self.n_kept else T[self._kept]
        if self.n_kept == 0:
            return self.rows.gram_product(Q), np.empty((0, Q.shape[1]))
        product, kept = self.rows.products(Q, "kept")
        return product, kept.of_rows(self._kept)

    def every(self) -> tuple[Array, Array]:
        """The same of all directions."""
        if self._xx is None or self.n_kept > 0:
            return self.both(np.eye(self.size))
        return self._xx, np.empty((0, self.size))

    def back(self, U: Array) -> Array:
        """Weighted X'U (d, c) over the kept rows."""
        if self._held is not None:
            return self._held.back(U)
        if self._some is None and len(U) < self.rows.shape[0]:
            every = np.zeros((self.rows.shape[0], U.shape[1]))
            every[self._kept] = U
            U = every
        return self.rows.back(U, self._some)

    def features(self, C: Array) -> Array:
        """Vectors of features (p, c) from coordinates (d, c)."""
        return C


class HeldProducts:
    """The same with X'X and the kept rows X (m, d) in memory; in principal coordinates X'X is its diagonal (d,)."""

    def __init__(
        self, space: Space, xx: Any, xy: Array, X: Array, weights: Array | None = None,
        features: Callable[[Array], Array] = lambda C: C,
    ) -> None:  # fmt: skip
        self.space, self.xy, self.features, self.moments = space, xy, features, True
        self._xx, self._X, self._weighted = xx, X, X if weights is None else X * weights[:, None]
        self.n_kept, self.size = X.shape

    @classmethod
    def of_coordinates(
        cls, space: Space, T: Array, xx: Any, weights: Array, Y: Array, kept: IntArray,
        features: Callable[[Array], Array] = lambda C: C, scale: float = 1.0,
    ) -> "HeldProducts":  # fmt: skip
        """Rows T / scale (n, d), `xx` their weighted second moments or the diagonal of these, with targets Y (n, q).

        Any inner product serves: T = U sqrt(values) of a kernel matrix makes the linear model one of its feature space.
        """
        return cls(space, xx, T.T @ (Y * weights[:, None]) / scale, T[kept] / scale, weights[kept], features)

    def leading(self, block: Array) -> Array:
        if self._xx.ndim == 1:
            return np.eye(self.size)[:, np.argsort(-self._xx)[: block.shape[1]]]
        return _powers(self._xx, block)

    def both(self, Q: Array) -> tuple[Array, Array]:
        return self._xx @ Q if self._xx.ndim == 2 else self._xx[:, None] * Q, self._X @ Q

    def every(self) -> tuple[Array, Array]:
        return np.diag(self._xx) if self._xx.ndim == 1 else self._xx @ np.eye(self.size), self._X

    def back(self, U: Array) -> Array:
        return self._weighted.T @ U


def _powers(xx: Any, block: Array) -> Array:
    for _ in range(POWER_STEPS - 1):
        block = np.linalg.qr(xx @ block)[0]
    return orthonormal_columns(xx @ block)


Products = SweptProducts | HeldProducts


class Basis:
    """The basis B and what is held of the data; memory 2 d x capacity + kept rows x capacity doubles."""

    def __init__(self, products: Products, capacity: int) -> None:
        self.products, self.size = products, 0
        self._view: View | None = None
        self.capacity = min(capacity, products.size)
        self._allocate(0)  # the rest when something is held: the first products need room of their own

    def _allocate(self, capacity: int) -> None:
        d = self.products.size
        self._B = np.zeros((d, capacity), order="F")
        self._G = np.empty((d, capacity), order="F")
        self._BG = np.zeros((capacity, capacity))
        self._T = np.empty((self.products.n_kept, capacity))

    @property
    def vectors(self) -> Array:
        """The basis (d, size), orthonormal columns."""
        return self._B[:, : self.size]

    @property
    def xx(self) -> Array:
        """Weighted sum of t t' over all rows (size, size)."""
        return symmetrize(self._BG[: self.size, : self.size])

    @property
    def T(self) -> Array:
        """Coordinates of the kept rows (m, size)."""
        return self._T[:, : self.size]

    @property
    def whole(self) -> bool:
        """Whether nothing is outside the basis."""
        return self.size == self.products.size

    @property
    def fillable(self) -> bool:
        """Whether it may hold all directions without reading all rows."""
        size = self.products.size
        return self.products.moments and size * max(size, self.products.n_kept) <= FILLED

    @property
    def expansions_of_all(self) -> float:
        """How many expansions cost about what all directions do."""
        size = self.products.size
        return size / WHOLE * max(1.0, size / CUBIC)

    @property
    def outside_energy(self) -> float:
        """Weighted sum of squares of the rows outside the basis."""
        space = self.products.space
        inside = float(np.trace(self._BG[: self.size, : self.size]))
        return space.beyond if self.whole else max(space.energy - inside, space.beyond)

    def view(self) -> View:
        """The data seen through the basis."""
        if self._view is None:
            xx, space = self.xx, self.products.space
            self._view = View(xx, *np.linalg.eigh(xx), space.energy, space.weight, space.n_features)
        return self._view

    def start(self, k: int, generator: np.random.Generator, whole: int = WHOLE) -> None:
        """Begin with leading directions of x and with X'Y; with everything where that is little more, or `whole`."""
        d = self.products.size
        width = min(k + SPARE_DIRECTIONS, d)
        # at least half the capacity stays free for growth; X'Y of many outputs is cut to its leading directions
        targets = orthonormal_columns(self.products.xy)[:, : max(k, self.capacity // 2 - width)]
        if d <= max(whole, width + targets.shape[1]) or (self.fillable and d <= FILLING * width):
            self.fill()
            return
        block = self.products.leading(generator.standard_normal((d, width)))
        self._allocate(self.capacity)
        targets = orthonormal_columns(targets, block)
        begun, new = block.shape[1], block.shape[1] + targets.shape[1]
        self._B[:, :begun], self._B[:, begun:new] = block, targets
        del block, targets  # a block of columns is the unit of memory here
        self._read(new)

    def fill(self) -> None:
        """All directions, those of the coordinates."""
        self.size = self.capacity = self.products.size
        self._view = None
        self._allocate(self.capacity)
        np.fill_diagonal(self._B, 1.0)
        self._G[:], self._T[:] = self.products.every()
        self._BG[:] = self._G

    def expand(self, Q: Array) -> None:
        """Append orthonormal directions that are orthogonal to the basis."""
        if self.size == 0:
            self._allocate(self.capacity)
        new = self.size + Q.shape[1]
        self._B[:, self.size : new] = Q
        self._read(new)

    def _read(self, new: int) -> None:
        """Products of the rows with the directions that have just been written, up to number `new`."""
        old, self._view = self.size, None
        self._G[:, old:new], self._T[:, old:new] = self.products.both(self._B[:, old:new])
        self.size = new
        block = tall_product(self.vectors.T, self._G[:, old:new])
        self._BG[:new, old:new] = block
        self._BG[old:new, :new] = block.T

    def rotate(self, C: Array) -> None:
        """Replace the basis by its combinations C (size, fewer), orthonormal columns."""
        old, new, self._view = self.size, C.shape[1], None
        for array in (self._B, self._G, self._T):
            array[:, :new] = array[:, :old] @ C
        self._BG[:new, :new] = C.T @ self._BG[:old, :old] @ C
        self.size = new

    def cross(self, gain: Array, shift: Array) -> Array:
        """X'Z (d, k) where z = gain t of every row, and `shift` (m, k) more of the kept ones."""
        cross = tall_product(self._G[:, : self.size], gain.T)
        return cross + self.products.back(shift) if len(shift) else cross

    def outside(self, cross: Array) -> Array:
        """What of vectors (d, k) lies outside the basis, to rounding of the vectors."""
        if self.whole:
            return np.zeros_like(cross)
        return cross - tall_product(self.vectors, tall_product(self.vectors.T, cross))

    def shrink(self, W: Array, room: int) -> Array:
        """Rotate to the span of W (size, k), X'Y and leading directions, leaving room for growth; the rotation."""
        keep = max(self.capacity - room, W.shape[1])
        held = orthonormal_columns(W)
        targets = orthonormal_columns(self.vectors.T @ self.products.xy, held)
        held = np.hstack([held, targets[:, : max(0, keep - held.shape[1])]])
        leading = orthonormal_columns(np.linalg.eigh(self.xx)[1][:, ::-1], held)
        C = np.linalg.qr(np.hstack([held, leading[:, : max(0, keep - held.shape[1])]]))[0]
        self.rotate(C)
        return np.asarray(C)
