"""A linear projection that shows predictions: directions that foretell them, then what varies most beside these."""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from ..numerics.linalg import sign_of_columns, top_eigh

RIDGE = 1e-4  # of the mean variance; a direction of less variance is held by the root of it
BESIDE = 0.3  # deviation of the largest direction beside them, relative to the last that foretells
WEAK = 0.05  # deviation of predictions along a direction, relative to the first, that is no direction of its own


class Shown(NamedTuple):
    """A projection in the coordinates of a preparation."""

    directions: Any  # (r, K)
    n_guided: int  # of them, the first ones, that foretell; the sign of the others is open
    explained: float  # share of the predictions that the preparation explains
    slopes: Any  # (r, m) of the predictions in the coordinates
    variances: Any  # of the fitted predictions along their principal directions, falling


def show(T, predictions, k):
    """`k` directions in coordinates T (n, r) that foretell predictions (n, m), in units in which these compare.

    Predictions are regressed on the coordinates, and of the fitted ones the principal directions are taken. Where they
    have fewer than `k`, the leading directions of what is uncorrelated with them follow.
    """
    variances, centered = np.einsum("ij,ij->j", T, T) / len(T), predictions - predictions.mean(axis=0)
    penalty = RIDGE * np.sqrt(variances * variances.mean())
    second = T.T @ T / len(T)
    slopes = scipy.linalg.solve(second + np.diag(penalty), T.T @ centered / len(T), assume_a="pos")
    fitted = T @ slopes
    total = float((centered**2).sum())
    explained = 1.0 - float(((centered - fitted) ** 2).sum()) / total if total > 0 else 1.0
    values, axes = top_eigh(fitted.T @ fitted / len(T), min(fitted.shape[1], T.shape[1]))
    values = np.maximum(values, 0.0)
    axes = axes[:, :k][:, values[:k] > WEAK**2 * values[0]]
    if not axes.shape[1]:
        return Shown(np.eye(T.shape[1], k), 0, explained, slopes, values)
    guided = slopes @ (axes * sign_of_columns(axes))
    if guided.shape[1] == k:
        return Shown(guided, k, explained, slopes, values)
    Z = T @ guided
    rest = np.eye(T.shape[1]) - guided @ np.linalg.solve(Z.T @ Z, Z.T @ T)  # rows times it are uncorrelated with Z
    more, basis = top_eigh(rest.T @ second @ rest, k - guided.shape[1])
    unit = BESIDE * Z[:, -1].std() / np.sqrt(more[0]) if more[0] > 0 else 1.0
    return Shown(np.hstack([guided, unit * (rest @ basis)]), guided.shape[1], explained, slopes, values)
