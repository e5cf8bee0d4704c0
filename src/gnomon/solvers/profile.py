"""Maximum likelihood of independent latents: a few closed-form sweeps, then a quasi-Newton method on everything."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize

from .._types import Array, BoolArray, Result, Status
from ..numerics.independent import Packing, Params, Rows, cluster_moments, log_likelihood, move_latent, move_tied

N_SWEEPS = 5
MEMORY = 20  # pairs that L-BFGS keeps
ROUNDING = 1e-12


def sweep(params: Params, rows: Rows, present: BoolArray, *, tied: bool) -> Params:
    """One ECM sweep: every latent in turn, or all of them when they share their class variable."""
    if tied:
        return move_tied(params, cluster_moments(params, rows, 0))
    for s in range(len(params.V)):
        params = move_latent(params, cluster_moments(params, rows, s), s, present)
    return params


def climb(
    start: Params, rows: Rows, present: BoolArray, *, tied: bool, tol: float, max_iter: int, n_sweeps: int = N_SWEEPS
) -> Result[Params]:
    """Climb from a start until no entry of the projected gradient of the log-likelihood per row exceeds `tol`.

    Returns
    -------
    Result(Params, status, log-likelihood per row at the start and after every sweep and step, {"residual", "n_iter"})
    """
    params, path = start, [log_likelihood(start, rows)]
    for _ in range(n_sweeps):
        moved = sweep(params, rows, present, tied=tied)
        value = log_likelihood(moved, rows)
        if not value >= path[-1] - ROUNDING * (1.0 + abs(path[-1])):  # only where a variance rests on its floor
            break
        params = moved
        path.append(value)
    packing = Packing(present, len(rows.U), tied=tied)

    def objective(vector: Array) -> tuple[float, Array]:
        value, gradient = packing.value_and_gradient(vector, rows)
        return -value, -gradient

    def keep(intermediate_result: Any) -> None:
        path.append(-float(intermediate_result.fun))

    options = {"maxiter": max_iter, "maxfun": 3 * max_iter, "maxcor": MEMORY, "gtol": tol, "ftol": 0.0, "maxls": 40}
    vector = packing.pack(params)
    lower, upper = packing.bounds()
    bounds = Bounds(lower, upper)
    found = minimize(objective, vector, jac=True, method="L-BFGS-B", bounds=bounds, callback=keep, options=options)
    residual = projected_size(found.x, found.jac, lower)
    status = Status.CONVERGED if residual <= tol else Status.MAX_ITER if found.status == 1 else Status.STALLED
    if -found.fun >= path[0]:
        params = packing.unpack(found.x)
    return Result(params, status, np.asarray(path), {"residual": residual, "n_iter": len(path) - 1})


def projected_size(vector: Array, gradient: Array, lower: Array) -> float:
    """Largest entry of a gradient (of what is minimised), entries that push against a bound left out."""
    free = (vector > lower) | (gradient < 0)
    return float(np.abs(gradient[free]).max(initial=0.0))
