"""Predictions of outputs whose predictors are Gaussian: probabilities and means that integrate over them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from .._types import Array
from .outputs import LARGEST_LOG_RATE, logit_contrasts
from .quadrature import LINKS, normal_rule

QMC_NODES = 512
CHUNK = 1 << 21


@lru_cache(maxsize=16)
def normal_nodes(size: int) -> tuple[Array, Array]:
    """Nodes (s, size) and weights (s,) for expectations over N(0, I): a product rule up to two dimensions, else Sobol.

    The Sobol points are the same in every call, so predictions do not depend on a seed; their error is near 1e-3.
    """
    if size <= 2:
        rule = normal_rule(1.0)
        axes = np.meshgrid(*[rule.nodes] * size, indexing="ij")
        weights = np.exp(np.add.reduce(np.meshgrid(*[rule.log_weights] * size, indexing="ij")))
        return np.stack([axis.ravel() for axis in axes], axis=1), weights.ravel()
    return sobol_normal(QMC_NODES, size), np.full(QMC_NODES, 1.0 / QMC_NODES)


@lru_cache(maxsize=16)
def sobol_normal(n_points: int, size: int) -> Array:
    """Sobol points (n_points, size) of N(0, I) and their mirror images, the same in every call; n_points is even."""
    points = ndtri(np.clip(qmc.Sobol(size, scramble=True, seed=0).random(n_points // 2), 1e-12, 1.0 - 1e-12))
    return np.vstack([points, -points])


def label_probabilities(link: str, mean: Array, var: Array) -> Array:
    """Probabilities (n, 2) of the two classes of a Bernoulli output; mean (n,), var (n,) or one number."""
    second = np.exp(LINKS[link](mean, np.asarray(var), np.ones(len(mean))).log_z)
    return np.column_stack([1.0 - second, second])


def softmax_probabilities(mean: Array, cov: Array, n_classes: int) -> Array:
    """Probabilities (n, C) of the classes of a categorical output; mean (n, C - 1), cov (C - 1, C - 1) or one a row."""
    H = logit_contrasts(n_classes)
    nodes, weights = normal_nodes(n_classes - 1)
    values, vectors = np.linalg.eigh(cov)
    root = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
    spread = np.matmul(nodes, np.swapaxes(root, -1, -2)) @ H.T  # (s, C) or (n, s, C)
    logits = mean @ H.T
    out = np.empty((len(mean), n_classes))
    size = max(1, CHUNK // (len(nodes) * n_classes))
    for start in range(0, len(mean), size):
        rows = slice(start, start + size)
        a = logits[rows, None, :] + (spread if spread.ndim == 2 else spread[rows])
        a -= a.max(axis=2, keepdims=True)
        np.exp(a, out=a)
        a /= a.sum(axis=2, keepdims=True)
        out[rows] = np.einsum("s,nsc->nc", weights, a)
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def expected_count(mean: Array, var: Array) -> Array:
    """Expected count of a Poisson output with log-rate N(mean, var), elementwise."""
    return np.asarray(np.exp(np.minimum(mean + 0.5 * var, LARGEST_LOG_RATE)))
