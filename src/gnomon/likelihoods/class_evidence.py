"""Evidence of class labels whose logits are Gaussian, integrated at fixed points, and its gradient.

A row has latent variables z ~ N(latent, cov) and a class with probabilities softmax(H (V z + b)). At points z_s the
evidence is the average over s of the probability of its class. The points are those of `gnomon.likelihoods.quadrature`:
they are the same in every call, so the average is a smooth function of V and b and its gradient is exact.
"""

from typing import NamedTuple

import numpy as np

from .._types import Array, IntArray
from .categorical import logit_contrasts
from .quadrature import sobol_normal, with_signs

CHUNK = 1 << 17  # rows times points held at once
SMALLEST = 1e-300


class ClassRows(NamedTuple):
    """Some rows with one class each, in groups of m rows that share a covariance; s points stand for the covariance."""

    latent: Array  # (g, m, k)
    deviations: Array  # (g, s, k)   points of N(0, cov)
    classes: IntArray  # (g, m)
    weights: Array  # (g, m)


def class_rows(
    latent: Array, cov: Array, classes: IntArray, weights: Array, V: Array, n_points: int
) -> list[ClassRows]:
    """Place points for rows N(latent (n, k), cov), in blocks; cov is (k, k), or (n, k, k) with one for each row.

    The first coordinates of the points, which fill space best, are those of which V makes most.
    """
    values, vectors = np.linalg.eigh(cov)
    root = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
    root = _turned(root, V)
    points = sobol_normal(n_points, latent.shape[1])
    size, blocks = max(1, CHUNK // n_points), []
    for start in range(0, len(latent), size):
        at = slice(start, start + size)
        if cov.ndim == 2:
            block = ClassRows(latent[None, at], (points @ root.T)[None], classes[None, at], weights[None, at])
        else:
            deviations = np.matmul(points, np.swapaxes(root[at], -1, -2))
            block = ClassRows(latent[at, None], deviations, classes[at, None], weights[at, None])
        blocks.append(block)
    return blocks


def _turned(root: Array, V: Array) -> Array:
    """Columns of `root` (k, k), or one for each row, turned so that V makes most of the first.

    What V does not see, and signs, follow from `root` alone: neither depends on the order of the classes.
    """
    n_seen = min(len(V), int(V.any(axis=0).sum()))
    seen = np.swapaxes(np.linalg.svd(np.matmul(V, root))[2], -1, -2)[..., :n_seen]
    every = np.broadcast_to(np.eye(V.shape[1]), root.shape)
    turned = np.matmul(root, np.linalg.qr(np.concatenate([seen, every], axis=-1))[0])
    return with_signs(turned, turned)


def class_evidence(blocks: list[ClassRows], V: Array, b: Array) -> tuple[Array, Array]:
    """Log-evidence (n,) of every row, in nats, and the gradient (h, k + 1) of its weighted sum in V (h, k) and b (h,).

    The gradient weighs the points of a row by the probability of its class there.
    """
    H = logit_contrasts(len(b) + 1)
    logs, gradient = [], np.zeros((len(H), V.shape[1] + 1))
    for rows in blocks:
        log_z, part = _block_evidence(rows, H @ V, H @ b)
        logs.append(log_z)
        gradient += part
    return np.concatenate([np.zeros(0), *logs]), H.T @ gradient


def log_class_evidence(blocks: list[ClassRows], V: Array, b: Array) -> Array:
    """The log-evidence alone, in two fifths of the time."""
    H = logit_contrasts(len(b) + 1)
    return np.concatenate([np.zeros(0), *(_shares(rows, H @ V, H @ b).log_z.ravel() for rows in blocks)])


class _Shares(NamedTuple):
    """Log-evidence of the rows of a block, and what its gradient is made of."""

    log_z: Array  # (g, m)
    of_row: Array  # (g, m, C)   exponentials of logits, up to a factor
    of_point: Array  # (g, s, C)
    total: Array  # (g, m, s)   sums over classes of their products
    share: Array  # (g, m, s)   probability of the class at a point, up to a factor of the row
    mean: Array  # (g, m)   over the points


def _shares(rows: ClassRows, V: Array, b: Array) -> _Shares:
    """V (C, k) and b (C,) are of the logits themselves.

    exp(logit) is a product of a part of the row and one of the point, so that the sum over classes is a matrix product.
    """
    groups = np.arange(len(rows.latent))[:, None]
    center = rows.latent @ V.T + b  # (g, m, C)
    center -= center.max(axis=2, keepdims=True)
    moved = rows.deviations @ V.T  # (g, s, C)
    moved -= moved.max(axis=2, keepdims=True)
    of_row, of_point = np.exp(center), np.exp(moved)
    total = of_row @ np.swapaxes(of_point, 1, 2)  # (g, m, s)
    total += SMALLEST  # where both are hundreds of logits apart
    share = np.swapaxes(of_point, 1, 2)[groups, rows.classes] / total
    mean = share.mean(axis=2) + SMALLEST
    log_z = np.take_along_axis(center, rows.classes[:, :, None], axis=2)[:, :, 0] + np.log(mean)
    return _Shares(log_z, of_row, of_point, total, share, mean)


def _block_evidence(rows: ClassRows, V: Array, b: Array) -> tuple[Array, Array]:
    """As `class_evidence`, V (C, k) and b (C,) of the logits themselves."""
    log_z, of_row, of_point, total, share, mean = _shares(rows, V, b)
    share *= (rows.weights / (mean * share.shape[2]))[:, :, None]  # weights of the points, given the class
    own = np.eye(len(b))[rows.classes]
    by_point = np.swapaxes(share, 1, 2) @ own  # (g, s, C)
    own *= rows.weights[:, :, None]
    share /= total
    own -= of_row * (share @ of_point)
    by_point -= of_point * (np.swapaxes(share, 1, 2) @ of_row)
    in_V = np.tensordot(own, rows.latent, axes=((0, 1), (0, 1)))
    in_V += np.tensordot(by_point, rows.deviations, axes=((0, 1), (0, 1)))
    return log_z.ravel(), np.column_stack([in_V, own.sum(axis=(0, 1))])
