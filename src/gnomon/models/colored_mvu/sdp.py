"""A quadratic over the cone of positive semi-definite matrices, by the interior point method of clarabel."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._types import Array, Result, Status
from ...numerics.linalg import positive_part

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
    Y = positive_part(from_triangle(y, m))  # off the cone by rounding at most
    y = triangle(Y)
    optimum = Optimum(Y, float(0.5 * y @ P @ y + q @ y), float(solution.obj_val_dual))
    primal, dual = float(solution.obj_val), float(solution.obj_val_dual)
    gap = abs(primal - dual) / max(1.0, min(abs(primal), abs(dual)))  # as the solver measures it
    residual = max(gap, float(solution.r_prim), float(solution.r_dual))
    ran_out = Status.MAX_ITER if state == "MaxIterations" else Status.STALLED
    status = Status.CONVERGED if residual <= tol else ran_out
    return Result(
        optimum, status, np.array([optimum.value]), {"n_iter": int(solution.iterations), "residual": residual}
    )
