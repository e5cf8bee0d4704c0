"""A growing basis of feature space for models whose posterior is linear in x except on the labeled rows.

Of all rows it keeps second moments, G = X'X B; of the labeled ones their coordinates T = X_l B. Three ways to the same
products: reading the rows, second moments taken once (n >= p), or coordinates of the rows (p > n).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from ..._types import Array, IntArray
from ...numerics.linalg import orthonormal_columns, symmetrize
from ...rows.contract import Rows
from ...rows.standard import StandardRows

EXACT_SIDE = 1500  # up to this many rows or columns, all second moments are taken at once
WHOLE = 100  # with so few dimensions, all of them make the first basis
WHOLE_MOMENTS = 400  # the same where products are those of small matrices, and the labeled rows have
FEW_COORDINATES = 1 << 18  # no more coordinates than that
SPARE_DIRECTIONS = 10
POWER_STEPS = 4  # of the first block on second moments, where a step costs little
NOTHING = 1e-12  # of the energy


class View(NamedTuple):
    """All that the likelihood needs of x, centered, in standard units and in a basis of r directions."""

    xx: Array  # (r, r)   weighted sum of t t' over all rows
    values: Array  # (r,)   its eigenvalues, rising
    axes: Array  # (r, r)   its eigenvectors
    energy: float  # weighted sum of squares over all p directions
    weight: float
    n_features: float  # p
    T: Array  # (n_l, r)   coordinates of the labeled rows
    weights: Array  # (n_l,)


class Products(Protocol):
    """Products with the rows in some coordinates of feature space, d of them."""

    size: int
    rows: StandardRows
    labeled: IntArray
    power_steps: int  # of the first block
    whole: int  # with so few dimensions, all of them make the first basis

    def targets_product(self) -> Array:
        """Weighted X_l'Y (d, q) of centered targets."""

    def gram(self, Q: Array) -> Array:
        """X'X Q over all rows (d, m)."""

    def both(self, Q: Array) -> tuple[Array, Array]:
        """The same, and X_l Q over the labeled rows."""

    def back(self, U: Array) -> Array:
        """Weighted X_l'U (d, m)."""

    @property
    def features(self) -> Callable[[Array], Array]:
        """What takes coordinates (d, m) to vectors of features (p, m)."""


class SweptProducts:
    """Every product reads the rows."""

    power_steps = 1
    whole = WHOLE
    second = False

    def __init__(self, rows: Rows, labeled: IntArray, Y: Array) -> None:
        self.labeled, self.size = labeled, rows.shape[1]
        self._some = None if len(labeled) == rows.shape[0] else labeled  # what is read of the labeled rows
        spread = np.zeros((rows.shape[0], Y.shape[1]))
        spread[labeled] = Y
        is_labeled = np.zeros(rows.shape[0], dtype=bool)
        is_labeled[labeled] = True
        summary = rows.summarize(spread, second=self.second)
        (self._sums,) = summary.standard_groups()
        self.rows: StandardRows = rows.standard(summary).with_columns(labeled=is_labeled)

    def targets_product(self) -> Array:
        return self._sums.xy

    def gram(self, Q: Array) -> Array:
        return self.rows.gram_product(Q)

    def both(self, Q: Array) -> tuple[Array, Array]:
        product, kept = self.rows.products(Q, "labeled")
        return product, kept.of_rows(self.labeled)

    def back(self, U: Array) -> Array:
        return self.rows.back(U, self._some)

    def features(self, C: Array) -> Array:
        return C


class MomentProducts(SweptProducts):
    """All second moments (p, p) are taken once; only the labeled rows are read again."""

    power_steps = POWER_STEPS
    whole = WHOLE_MOMENTS
    second = True

    def gram(self, Q: Array) -> Array:
        assert self._sums.xx is not None
        return np.asarray(self._sums.xx @ Q)

    def both(self, Q: Array) -> tuple[Array, Array]:
        return self.gram(Q), self.rows.times(Q, self._some)


class CoordinateProducts:
    """Rows as coordinates in the space they span, from their inner products."""

    power_steps = POWER_STEPS
    whole = WHOLE_MOMENTS

    def __init__(self, rows: Rows, labeled: IntArray, Y: Array) -> None:
        self.rows, self.labeled = rows.standard(rows.summarize()), labeled
        found = self.rows.coordinates()
        self._T, self.features = found.T, found.expand
        self.size = found.T.shape[1]
        w = np.ones(len(found.T)) if rows.weights is None else rows.weights
        self._values = w @ found.T**2  # principal coordinates: the second moment is diagonal
        self._weighted = found.T[labeled] * w[labeled, None]
        self._Y = Y

    def targets_product(self) -> Array:
        return self._weighted.T @ self._Y

    def gram(self, Q: Array) -> Array:
        return self._values[:, None] * Q

    def both(self, Q: Array) -> tuple[Array, Array]:
        return self.gram(Q), self._T[self.labeled] @ Q

    def back(self, U: Array) -> Array:
        return self._weighted.T @ U


def products_of(rows: Rows, labeled: IntArray, Y: Array, solver: str) -> Products:
    """Choose the way to the products: "subspace" reads the rows, "moments" holds the shorter side."""
    n, p = rows.shape
    if solver == "subspace":
        return SweptProducts(rows, labeled, Y)
    return MomentProducts(rows, labeled, Y) if n >= p else CoordinateProducts(rows, labeled, Y)


class LabeledBasis:
    """The basis and what is held of the data; memory 2 d x capacity + labeled rows x capacity doubles."""

    def __init__(self, products: Products, capacity: int) -> None:
        self.products = products
        self.capacity = min(capacity, products.size)
        self.weights = np.ones(len(products.labeled))
        if products.rows.weights is not None:
            self.weights = products.rows.weights[products.labeled]
        self.vectors = np.empty((products.size, 0))
        self.G = np.empty((products.size, 0))
        self.T = np.empty((len(products.labeled), 0))
        self._view: View | None = None

    @property
    def whole(self) -> bool:
        """Whether nothing is outside the basis."""
        return self.vectors.shape[1] == self.products.size

    def start(self, k: int, generator: np.random.Generator) -> None:
        """Begin with leading directions of x and with X'Y; with everything where that is little more."""
        d = self.products.size
        targets = orthonormal_columns(self.products.targets_product())
        width = min(k + SPARE_DIRECTIONS, d)
        targets = targets[:, : max(k, self.capacity // 2 - width)]
        few = len(self.T) * d <= FEW_COORDINATES
        if d <= max(self.products.whole if few else WHOLE, width + targets.shape[1]):
            self.capacity = d
            self.expand(np.eye(d))
            return
        block = generator.standard_normal((d, width))
        for _ in range(self.products.power_steps):
            block = orthonormal_columns(self.products.gram(block))
        self.expand(np.hstack([block, orthonormal_columns(targets, block)]))

    def expand(self, Q: Array) -> None:
        """Append orthonormal directions that are orthogonal to the basis."""
        G, T = self.products.both(Q)
        self._view = None
        self.vectors, self.G, self.T = _appended(self.vectors, Q), _appended(self.G, G), _appended(self.T, T)

    def rotate(self, C: Array) -> None:
        """Replace the basis by its combinations C (size, fewer), orthonormal columns."""
        self._view = None
        self.vectors, self.G, self.T = self.vectors @ C, self.G @ C, self.T @ C

    def view(self) -> View:
        """The data seen through the basis."""
        if self._view is None:
            rows = self.products.rows
            xx = symmetrize(self.vectors.T @ self.G)
            values, axes = np.linalg.eigh(xx)
            self._view = View(xx, values, axes, rows.energy, rows.weight, rows.shape[1], self.T, self.weights)
        return self._view

    def outside(self, gain: Array, shift: Array) -> tuple[Array, float]:
        """What of X'Z lies outside the basis (d, k), and the size of X'Z; `shift` is what labels add to X B gain'."""
        cross = self.G @ gain.T + self.products.back(shift)
        size = float(np.linalg.norm(cross))
        if self.whole:
            return np.zeros_like(cross), size
        for _ in range(2):
            cross -= self.vectors @ (self.vectors.T @ cross)
        return cross, size

    def shrink(self, W: Array, room: int) -> Array:
        """Rotate to the span of W (r, k), X'Y and leading directions, leaving room for growth; return the rotation."""
        keep = max(self.capacity - room, W.shape[1])
        held = orthonormal_columns(W)
        targets = orthonormal_columns(self.vectors.T @ self.products.targets_product(), held)
        held = np.hstack([held, targets[:, : max(0, keep - held.shape[1])]])
        leading = orthonormal_columns(self.view().axes[:, ::-1], held)
        C = np.linalg.qr(np.hstack([held, leading[:, : max(0, keep - held.shape[1])]]))[0]
        self.rotate(C)
        return np.asarray(C)


def _appended(old: Array, new: Array) -> Array:
    """Columns beside one another; the first ones are not copied, for there may be many rows."""
    return np.hstack([old, new]) if old.shape[1] else new


def refuse_full_rank(view: View, k: int) -> None:
    """Raise ValueError when k reaches the rank of the rows."""
    if view.energy - float(np.trace(view.xx)) > NOTHING * view.energy:
        return
    rank = int((view.values > NOTHING * view.energy).sum()) if view.energy > 0 else 0
    if k >= rank:
        raise ValueError(
            f"n_components={k} must be less than the rank of X, {rank}: with as many latent dimensions as the data "
            f"have, no noise is left to estimate. Ask for at most {max(rank - 1, 0)}."
        )
