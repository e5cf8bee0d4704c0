"""Codes of rank k: loadings refitted to given codes, and the ascent of the problem before its relaxation."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from ..._types import Array, IntArray
from ...numerics.linalg import sign_of_columns
from .data import Data, softmax
from .k_support import top_left_vectors

STARTS = 5  # ascents of the rank-constrained problem when the relaxation is not tight
STEPS = 2000  # of L-BFGS


class Ranked(NamedTuple):
    """A point of the rank-constrained problem."""

    Z: Array  # (n, k)        columns orthonormal under the weights, by falling singular value of F
    W: Array  # (k, r)        of x
    Omega: Array  # (k, q)    of y
    b: Array  # (q,)
    value: float
    residual: float  # what the search that found it left undone, relative to the value


def codes_of(data: Data, F: Array) -> Array:
    """Codes (n, k) at F times the roots of the weights, largest entry positive."""
    Z = top_left_vectors(F, data.k) / data.root
    return np.asarray(Z * sign_of_columns(Z))


def refit(data: Data, Z: Array, b: Array, tol: float = 1e-8, steps: int = STEPS) -> Ranked:
    """Loadings and bias that maximize the rank-constrained value at given codes Z: a smooth concave problem."""
    r, q, k = data.rows.shape[1], data.Y.shape[1], Z.shape[1]

    def negative(v: Array) -> tuple[float, Array]:
        V, b = v[: k * (r + q)].reshape(k, r + q), v[k * (r + q) :]
        value, dV, db, _ = _value(data, Z, V, b)
        value -= 0.5 * data.penalty * (float(np.vdot(V, V)) + float(b @ b))
        return -value, -np.concatenate([(dV - data.penalty * V).ravel(), db - data.penalty * b])

    start = np.concatenate([np.zeros(k * (r + q)), b])
    at, value, residual = maximize(negative, start, data.penalty, tol, steps)
    V, b = at[: k * (r + q)].reshape(k, r + q), at[k * (r + q) :]
    return Ranked(Z, V[:, :r], V[:, r:], b, value, residual)


def rank_constrained(data: Data, start: Ranked, F: Array, n_starts: int, steps: int = STEPS) -> tuple[Ranked, ...]:
    """Local maxima of the rank-constrained problem, best first: from given codes and random mixtures of F's columns.

    Ties among singular values make the codes of the relaxation one choice of many, hence several starts.
    """
    generator = np.random.default_rng(0)
    found = [_ascend(data, start, steps)]
    for _ in range(n_starts - 1):
        Z = codes_of(data, F @ generator.standard_normal((F.shape[1], data.k)))
        found.append(_ascend(data, refit(data, Z, start.b), steps))
    return tuple(sorted(found, key=lambda ranked: -ranked.value))


def maximize(
    negative: Callable[[Array], tuple[float, Array]], start: Array, penalty: float, tol: float, steps: int
) -> tuple[Array, float, float]:
    """Maximum of minus `negative`, which returns its gradient too, by L-BFGS; its value, and what is left undone.

    That is |gradient|^2 / (2 penalty) relative to the value: of a problem as concave as its penalty, a bound.
    """
    options = {"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-5 * tol, "gtol": tol, "maxcor": 20}
    found = minimize(negative, start, jac=True, method="L-BFGS-B", options=options)
    value, gradient = -float(found.fun), np.asarray(found.jac)
    residual = 0.5 * float(gradient @ gradient) / penalty / max(abs(value), np.finfo(float).tiny)
    return np.asarray(found.x), value, residual


def _ascend(data: Data, start: Ranked, steps: int) -> Ranked:
    """Ascent of the rank-constrained problem from a start: F = U V with U (n, k) free, V (k, r + q).

    The penalty on ||U V||_F^2 does not depend on how F is split, so U need not be orthonormal on the way. Norms of U
    are weighted.
    """
    (n, k), r, q = start.Z.shape, data.rows.shape[1], data.Y.shape[1]
    cuts = np.cumsum([n * k, k * (r + q)])

    def negative(v: Array) -> tuple[float, Array]:
        U, V, b = _parts(v, cuts, k)
        value, dV, db, dU = _value(data, U, V, b)
        WU = data.root**2 * U
        UU, VV = U.T @ WU, V @ V.T
        value -= 0.5 * data.penalty * (float(np.vdot(UU, VV)) + float(b @ b))
        gradient = [dU - data.penalty * WU @ VV, dV - data.penalty * UU @ V, db - data.penalty * b]
        return -value, -np.concatenate([part.ravel() for part in gradient])

    V = np.hstack([start.W, start.Omega])
    balance = np.sqrt(np.linalg.norm(V) / max(float(np.linalg.norm(start.Z)), 1e-300)) or 1.0
    begin = np.concatenate([(start.Z * balance).ravel(), (V / balance).ravel(), start.b])
    at, _, residual = maximize(negative, begin, data.penalty, 1e-8, steps)
    U, V, b = _parts(at, cuts, k)
    ranked = refit(data, codes_of(data, data.root * (U @ V)), b, steps=steps)
    return ranked._replace(residual=max(ranked.residual, residual))


def _parts(v: Array, cuts: IntArray, k: int) -> tuple[Array, Array, Array]:
    U, V, b = np.split(v, cuts)
    return U.reshape(-1, k), V.reshape(k, -1), b


def _value(data: Data, U: Array, V: Array, b: Array) -> tuple[float, Array, Array, Array]:
    """Log-likelihood at F = U V, and its gradient in V, b and U, in products of k columns."""
    r, w = data.rows.shape[1], data.labeled_weights
    base = V[:, :r] @ data.base.T  # (k, m)
    sum_x, T_x = data.x_softmax(U @ base)
    y_scores = U[data.labeled] @ V[:, r:] + b
    sum_y, T_y = softmax(y_scores, w)
    rest = w * (data.Y - T_y)
    WU = data.root**2 * U
    moments = WU.T @ data.rows  # (k, r)
    value = float(np.vdot(moments, V[:, :r])) + float(np.vdot(w * data.Y, y_scores)) - sum_x - sum_y
    dV = np.hstack([moments - (WU.T @ T_x) @ data.base, U[data.labeled].T @ rest])
    dU = data.root**2 * (data.rows @ V[:, :r].T - T_x @ base.T)
    dU[data.labeled] += rest @ V[:, r:].T
    return value, dV, rest.sum(axis=0), dU
