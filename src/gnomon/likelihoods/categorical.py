"""A class of C: softmax of logits H a, where the contrasts H put any two classes one unit apart.

Two classes are then the logit label, and a ridge treats all classes alike.
"""

from functools import lru_cache

import numpy as np

from .._types import Array, IntArray
from ..numerics.normalize import normalized
from ..targets.code import class_contrasts
from .family import Evidence, Terms, drawn_class
from .quadrature import chunks, normal_nodes, with_signs

IN_CACHE = 1 << 16  # numbers
WIDEST = 600.0  # range of offsets whose exponentials keep every sum over classes above zero


class Categorical:
    """As in `Family`, y a class number; C - 1 predictors, of whose evidence there is a lower bound."""

    name, noisy, exact = "categorical", False, False

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.width = n_classes - 1

    @property
    def contrasts(self) -> Array:
        return logit_contrasts(self.n_classes)

    def terms(self, y: Array, mean: Array, cov: Array | None, noise: float, tilt: Array) -> Terms:
        """As in `Family`: a lower bound."""
        return softmax_terms(y.astype(np.intp), mean, cov, tilt, self.n_classes)

    def evidence(self, y: Array, mean: Array, var: Array, noise: float) -> Evidence:
        """Not there: see `exact`."""
        raise TypeError("classes have no evidence in closed form; use the variational bound")

    def curvature_slope(self, y: Array, a: Array, cov: Array) -> Array:
        H = self.contrasts
        p, _ = normalized(a @ H.T)
        Q = H @ cov @ H.T
        inner = np.einsum("ncc->nc", Q) - 2.0 * np.matmul(Q, p[:, :, None])[:, :, 0]
        return np.asarray((p * (inner - (p * inner).sum(axis=1, keepdims=True))) @ H)

    def codes(self, y: Array) -> Array:
        return np.asarray(class_contrasts(self.n_classes)[y.astype(np.intp)])

    def start(self, y: Array, weights: Array) -> Array:
        counts = np.bincount(y.astype(np.intp), weights=weights, minlength=self.n_classes)
        return np.asarray(np.sqrt(2.0) * class_contrasts(self.n_classes).T @ np.log(counts + 0.5))

    def predict(self, mean: Array, cov: Array) -> Array:
        return softmax_probabilities(mean, cov, self.n_classes)

    def deviation(self, mean: Array, var: Array, noise: float) -> Array:
        return np.full(len(mean), np.nan)

    def draw(self, a: Array, noise: float, uniform: Array, normal: Array) -> Array:
        return drawn_class(normalized(a @ logit_contrasts(self.n_classes).T)[0], uniform)


def logit_contrasts(n_classes: int) -> Array:
    """The map (C, C - 1) from predictors to logits; its rows are one apart from each other."""
    return np.asarray(class_contrasts(n_classes) / np.sqrt(2.0))


def covariances(weights: Array, A: Array, B: Array) -> Array:
    """A'(diag(w) - w w') B (n, a, b) of each row w of weights (n, C) that sum to one: A (C, a) and B (C, b)."""
    products = (A[:, :, None] * B[:, None, :]).reshape(len(A), -1)
    found = (weights @ products).reshape(len(weights), A.shape[1], B.shape[1])
    found -= (weights @ A)[:, :, None] * (weights @ B)[:, None, :]
    return np.asarray(found)


def softmax_terms(y: IntArray, mean: Array, cov: Array | None, tilt: Array, n_classes: int) -> Terms:
    """Lower bound of E[log softmax_y] for logits H a, a ~ N(mean, cov), by tilting.

    For any t, E[log sum exp(l)] <= t'm + log sum_c exp((h_c - t)'m + (h_c - t)' S (h_c - t) / 2), with m and S the
    moments of a and h_c the rows of H. The bound is convex in t and tightest where t is the mean of h_c under the
    weights of its sum; there it is exact to second order in S. The last result is the t to which a Newton step leads.
    Source: Knowles and Minka, NIPS 2011, with correlated logits.
    """
    H = logit_contrasts(n_classes)
    inside = mean @ H.T
    own = inside[np.arange(len(y)), y]
    middle = np.zeros(len(y))
    if cov is not None:
        away = H[None] - tilt[:, None, :]  # (n, C, C - 1)
        middle = (tilt * mean).sum(axis=1)
        inside = inside - middle[:, None] + 0.5 * (np.matmul(away, cov) * away).sum(axis=2)
    weights, log_sum = normalized(inside)
    value = own - middle - log_sum
    center, curvature = weights @ H, covariances(weights, H, H)
    slope, left = H[y] - center, center - tilt
    if cov is None:
        return Terms(value, slope, curvature, tilt)
    better = np.linalg.solve(np.eye(n_classes - 1) + np.matmul(curvature, cov), left[:, :, None])[:, :, 0]
    return Terms(value, slope, curvature + left[:, :, None] * left[:, None, :], tilt + better)


def softmax_offsets(cov: Array, n_classes: int) -> tuple[Array, Array]:
    """What `softmax_probabilities` adds to logits for one covariance (C - 1, C - 1): (s, C), of weights (s,)."""
    return _offsets_of(np.asarray(cov, dtype=np.float64).tobytes(), n_classes)


@lru_cache(maxsize=8)
def _offsets_of(cov: bytes, n_classes: int) -> tuple[Array, Array]:
    """The same of the numbers of a covariance: a row at a time would ask for them each time."""
    nodes, weights, root = _nodes_and_root(np.frombuffer(cov).reshape(n_classes - 1, -1), n_classes)
    found = nodes @ root.T @ logit_contrasts(n_classes).T
    found.flags.writeable = False
    return found, weights


def _nodes_and_root(cov: Array, n_classes: int) -> tuple[Array, Array, Array]:
    """Nodes (s, C - 1) of N(0, I), their weights (s,), and the root of the covariance, or of each row's."""
    values, vectors = np.linalg.eigh(cov)
    nodes, weights = normal_nodes(values.reshape(-1, n_classes - 1).max(axis=0, initial=0.0))
    seen = np.matmul(logit_contrasts(n_classes), vectors)
    return nodes, weights, with_signs(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :], seen)


def softmax_probabilities(mean: Array, cov: Array, n_classes: int) -> Array:
    """Probabilities (n, C) of the classes of one output; mean (n, C - 1), cov (C - 1, C - 1) or one per row."""
    H = logit_contrasts(n_classes)
    logits = mean @ H.T
    if cov.ndim == 2:
        shared, weights = softmax_offsets(cov, n_classes)
        if np.ptp(shared, axis=1).max() < WIDEST:
            return _by_products(logits, shared, weights)
    else:
        nodes, weights, root = _nodes_and_root(cov, n_classes)
    out = np.empty((len(mean), n_classes))
    for rows in chunks(len(mean), len(weights) * n_classes):
        offsets = np.matmul(nodes, np.swapaxes(root[rows], -1, -2)) @ H.T if cov.ndim == 3 else shared
        out[rows] = np.einsum("s,nsc->nc", weights, normalized(logits[rows, None, :] + offsets, axis=2)[0])
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def _by_products(logits: Array, shared: Array, weights: Array) -> Array:
    """Averages over points s of softmax(logits + shared_s): exp(a + b) is a product, so sums over classes are too."""
    own = np.exp(logits - logits.max(axis=1, keepdims=True))
    point = np.exp(shared - shared.max(axis=1, keepdims=True))
    out = np.empty_like(own)
    for rows in chunks(len(own), len(point), IN_CACHE):
        out[rows] = own[rows] * ((weights / (own[rows] @ point.T)) @ point)
    return np.asarray(out / out.sum(axis=1, keepdims=True))
