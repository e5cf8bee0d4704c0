"""A quadratic over the cone of positive semi-definite matrices, by the interior point method of clarabel."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._types import Array, Result, Status
from ...numerics.linalg import positive_part

MOST_STEPS = 60
EXACT = 1e-14  # of the product of the sizes of slope and factor
PATIENCE = 10  # steps that leave more than this share of the least slope so far
FASTER = 0.5
FLAT = 1e-11  # of the largest curvature: along turns of the factor there is none
ROUNDING = 1e-9  # of the largest slope at zero: a slope outward that is not there
MISSING = (
    "ColoredMVU needs the conic solver clarabel, which is not installed: pip install 'gnomon[convex]'. Another "
    "projection guided by labels that needs no extra is gnomon.KernelSPPCA."
)


class Optimum(NamedTuple):
    """A minimizer, and what is known of the minimum."""

    Y: Array  # (m, m) positive semi-definite
    value: float
    bound: float  # dual value: no matrix has a smaller objective, up to the accuracy of the solver


def conic_solver() -> Any:
    """The module clarabel; ImportError names the extra that brings it."""
    try:
        import clarabel
    except ImportError as error:
        raise ImportError(MISSING) from error
    return clarabel


def triangle(matrices: Array) -> Array:
    """Upper triangles (..., m (m + 1) / 2) of symmetric matrices (..., m, m), column by column, inner products kept."""
    columns, rows = np.tril_indices(matrices.shape[-1])  # upper triangle, column after column
    return np.asarray(matrices[..., rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0)))


def from_triangle(y: Array, m: int) -> Array:
    """The symmetric matrix (m, m) of an upper triangle."""
    columns, rows = np.tril_indices(m)
    out = np.zeros((m, m))
    out[rows, columns] = y / np.where(rows == columns, 1.0, np.sqrt(2.0))
    return out + np.triu(out, 1).T


def _value(P: Array, q: Array, Y: Array) -> float:
    y = triangle(Y)
    return float(0.5 * y @ P @ y + q @ y)


def sharpened(P: Array, q: Array, Y: Array) -> Array:
    """A minimizer that is exact but for rounding, by Newton's method on a factor of one that is near; else that one.

    An interior point stops at a distance from the cone's surface, and what is left of it is the solver's rounding.
    """
    m, (values, vectors) = len(Y), np.linalg.eigh(Y)
    slack = np.einsum("ai,ab,bi->i", vectors, from_triangle(P @ triangle(Y) + q, m), vectors)
    used = values * max(slack.max(), 1e-300) > slack * values.max()  # one of both is zero at a minimum
    F, least_size, left = vectors[:, used] * np.sqrt(values[used]), np.inf, PATIENCE
    for _ in range(MOST_STEPS):
        S = from_triangle(P @ triangle(F @ F.T) + q, m)
        size, left = float(np.linalg.norm(S @ F)), left - 1
        if size < FASTER * least_size:
            best, least_size, left = F, size, PATIENCE
        if left == 0 or size <= EXACT * np.linalg.norm(S) * np.linalg.norm(F):
            break
        F = F - _newton(P, S, F)
    Y_found = best @ best.T
    least = np.linalg.eigvalsh(from_triangle(P @ triangle(Y_found) + q, m))[0]
    if least < -ROUNDING * np.abs(q).max() or _value(P, q, Y_found) > _value(P, q, Y):
        return Y
    return np.asarray(Y_found)


def _newton(P: Array, S: Array, F: Array) -> Array:
    """The step (m, r) of a factor F to where S F is zero, S the slope in F F'; none along turns."""
    (m, r), unit = F.shape, np.eye(len(F))
    moves = unit[:, None, :, None] * F.T[None, :, None, :]  # (m, r, m, m)
    J = triangle(moves + moves.swapaxes(2, 3)).reshape(m * r, -1)
    H = 0.5 * J @ P @ J.T + np.kron(S, np.eye(r))
    values, vectors = np.linalg.eigh(H)
    some = np.abs(values) > FLAT * np.abs(values).max()
    step = vectors[:, some] @ ((vectors[:, some].T @ (S @ F).ravel()) / values[some])
    return np.asarray(step.reshape(m, r))


def minimize_quadratic(P: Array, q: Array, m: int, *, tol: float, max_iter: int) -> Result[Optimum]:
    """Minimize y'Py / 2 + q'y over the triangles y of positive semi-definite matrices (m, m).

    Parameters
    ----------
    P : (t, t) positive semi-definite, q : (t,) with t = m (m + 1) / 2
    tol : float    on infeasibility and on the gap to the dual value, absolute and relative
    """
    clarabel = conic_solver()
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_iter, settings.max_threads = False, max_iter, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    t = len(q)
    cones = [clarabel.PSDTriangleConeT(m)]
    of_y, cone = sp.csc_matrix(np.triu(P)), sp.csc_matrix(-sp.identity(t))  # the solver takes compressed columns only
    solution = clarabel.DefaultSolver(of_y, q, cone, np.zeros(t), cones, settings).solve()
    state = str(solution.status)
    y = np.asarray(solution.x, dtype=np.float64)
    if not np.isfinite(y).all() or "Infeasible" in state:
        raise RuntimeError(f"the conic solver gave up ({state}) on a problem that has a minimum; take a larger tol.")
    Y = sharpened(P, q, positive_part(from_triangle(y, m)))  # off the cone by rounding at most
    optimum = Optimum(Y, _value(P, q, Y), float(solution.obj_val_dual))
    primal, dual = float(solution.obj_val), float(solution.obj_val_dual)
    gap = abs(primal - dual) / max(1.0, min(abs(primal), abs(dual)))  # as the solver measures it
    residual = max(gap, float(solution.r_prim), float(solution.r_dual))
    ran_out = Status.MAX_ITER if state == "MaxIterations" else Status.STALLED
    status = Status.CONVERGED if residual <= tol else ran_out
    return Result(
        optimum, status, np.array([optimum.value]), {"n_iter": int(solution.iterations), "residual": residual}
    )
