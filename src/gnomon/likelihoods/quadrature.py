"""Nodes and weights for expectations over normal variables, in one dimension and in several."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from .._types import Array

STEP = 0.6  # of the trapezoid rule, in units of the predictor: the sigmoid's nearest pole is pi away
REACH = 8.5  # standard deviations beyond which a Gaussian is zero
MOST_NODES = 2000
FLAT = 1e-7  # variance of an axis along which nothing moves
QMC_NODES = 512
CHUNK = 1 << 20  # rows times nodes held at once


class Rule(NamedTuple):
    """Nodes and log-weights for expectations over N(0, 1)."""

    nodes: Array  # (s,)
    log_weights: Array  # (s,)


def normal_rule(largest_var: float) -> Rule:
    """Return a rule for expectations of sigmoids of a + sqrt(var) x, x ~ N(0, 1), with variances up to the given one.

    Gauss-Hermite up to variance one, with the nodes that eleven digits take: 5 at variance .01, 32 at one. Beyond, its
    error grows fast (1e-5 with 32 nodes at variance 9), while that of the trapezoid rule stays near 1e-13 with the
    step, in units of the predictor, that is taken; a slope of at most one moves the integrand by at most sqrt(var)
    standard deviations, which the range allows for.
    """
    std = float(np.sqrt(largest_var))
    if largest_var <= 1.0:
        return _hermite(int(np.ceil(3.0 + 12.0 * std + 17.0 * largest_var)))
    half = min(int(np.ceil((REACH + std) * std / STEP)), MOST_NODES // 2)
    return _trapezoid(half, (REACH + std) / half)


@lru_cache(maxsize=64)
def _hermite(size: int) -> Rule:
    nodes, weights = np.polynomial.hermite_e.hermegauss(size)
    return Rule(nodes, np.log(weights) - 0.5 * np.log(2.0 * np.pi))


def _trapezoid(half: int, step: float) -> Rule:
    nodes: Array = step * np.arange(-half, half + 1, dtype=np.float64)
    return Rule(nodes, np.log(step) - 0.5 * np.log(2.0 * np.pi) - 0.5 * nodes**2)


def normal_nodes(variances: Array) -> tuple[Array, Array]:
    """Nodes (s, d) and weights (s,) of N(0, I) for expectations of softmax, whose axes have these variances (d,).

    A product of Gauss-Hermite rules, each with the nodes that its variance needs for an error of 1e-5 (1e-6 along up to
    two axes). Where that is too many, fewer along two axes, and Sobol points along more, whose error is near 1e-3 at
    variance one. All are the same in every call, so predictions do not depend on a seed.
    """
    most, moving = 2 * QMC_NODES, variances >= FLAT
    few = moving.sum() <= 2
    a, b, c = (2.0, 3.0, 5.0) if few else (1.3, 2.2, 3.2)
    sizes = np.where(moving, np.ceil(a + b * np.sqrt(variances) + c * variances), 1.0)
    sizes = np.minimum(sizes, np.floor(np.sqrt(most)) if few else most)
    if sizes.prod() <= most:
        return _product(tuple(sizes.astype(int).tolist()))
    nodes = np.zeros((QMC_NODES, len(sizes)))
    nodes[:, moving] = sobol_normal(QMC_NODES, int(moving.sum()))
    return nodes, np.full(QMC_NODES, 1.0 / QMC_NODES)


@lru_cache(maxsize=16)
def _product(sizes: tuple[int, ...]) -> tuple[Array, Array]:
    nodes, log_weights = np.zeros((1, 0)), np.zeros(1)
    for rule in map(_hermite, sizes):  # one axis after the other: of one grid of all, NumPy takes 32 axes at most
        m, size = len(nodes), len(rule.nodes)
        nodes = np.column_stack([np.repeat(nodes, size, axis=0), np.tile(rule.nodes, m)])
        log_weights = np.repeat(log_weights, size) + np.tile(rule.log_weights, m)
    return nodes, np.exp(log_weights)


@lru_cache(maxsize=16)
def sobol_normal(n_points: int, size: int) -> Array:
    """Sobol points (n_points, size) of N(0, I) and their mirror images, the same in every call; n_points is even."""
    points = ndtri(np.clip(qmc.Sobol(size, scramble=True, seed=0).random(n_points // 2), 1e-12, 1.0 - 1e-12))
    return np.vstack([points, -points])


def with_signs(root: Array, seen: Array) -> Array:
    """Columns of `root`, each with the sign that makes the largest entry of that column of `seen` positive."""
    at = np.abs(seen).argmax(axis=-2)[..., None, :]
    return np.asarray(root * np.where(np.take_along_axis(seen, at, axis=-2) < 0.0, -1.0, 1.0))


def chunks(n: int, n_nodes: int, held: int = CHUNK) -> list[slice]:
    """Slices of n rows that hold no more than `held` numbers with the nodes of each; one slice of none."""
    size = max(1, held // n_nodes)
    return [slice(start, start + size) for start in range(0, max(n, 1), size)]
