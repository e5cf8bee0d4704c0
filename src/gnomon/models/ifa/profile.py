"""Maximum likelihood of independent latents: a few closed-form sweeps, then a quasi-Newton method on everything."""

from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize

from ..._types import Array, Result, Status
from ...solvers.quasi_newton import ascend
from .curved import Landscape, first_of
from .likelihood import Packing, Params, Rows, cluster_moments, log_likelihood, move_latent, move_tied

N_SWEEPS = 5
MEMORY = 30  # pairs that L-BFGS keeps
LARGE = 1e4  # rows times latents times components: from here on a read costs more than the blocks of the Hessian
ROUNDING = 1e-12
SAME = 1e-9  # relative difference of log-likelihoods of optima that tie
COARSE = 1e-4  # tolerance at which starts are compared; at 1e-3 some still rest near a saddle


def sweep(params: Params, rows: Rows) -> Params:
    """One ECM sweep: every latent in turn, or all of them when they share their class variable."""
    if rows.n_tied:
        return move_tied(params, cluster_moments(params, rows, 0))
    for s in range(len(params.V)):
        params = move_latent(params, cluster_moments(params, rows, s), s, rows.present)
    return params


def sweeps(params: Params, rows: Rows, n_sweeps: int) -> tuple[Params, list[float]]:
    """Sweep until the likelihood would fall, and return its path as well."""
    path = [log_likelihood(params, rows)]
    for _ in range(n_sweeps):
        moved = sweep(params, rows)
        value = log_likelihood(moved, rows)
        if not value >= path[-1] - ROUNDING * (1.0 + abs(path[-1])):  # only where a variance rests on its floor
            break
        params = moved
        path.append(value)
    return params, path


def maximize(start: Params, rows: Rows, *, tol: float, max_iter: int, n_sweeps: int = N_SWEEPS) -> Result[Params]:
    """Maximize from a start until no entry of the projected gradient of the log-likelihood per row exceeds `tol`.

    Entries are in units of the Fisher information: half the square of one is about what it has left to gain, in nats.

    Returns
    -------
    Result(Params, status, log-likelihood per row at the start and after every sweep and step, {"residual", "n_iter"})
    """
    params, path = sweeps(start, rows, n_sweeps) if n_sweeps else (start, [-np.inf])
    found = _ascent(params, rows, tol, max_iter)
    path = path[:-1] + found.path.tolist()  # the ascent begins where the sweeps end
    stats = {"residual": found.stats["residual"], "n_iter": len(path) - 1}
    return Result(found.value if path[-1] >= path[0] else params, found.status, np.asarray(path), stats)


def _ascent(start: Params, rows: Rows, tol: float, max_iter: int) -> Result[Params]:
    """By few dear steps or many cheap ones; a last few dear ones where these find no way up for rounding."""
    if rows.n_tied:
        return in_units(start, rows, tol, max_iter)
    if rows.U.shape[1] * rows.present.size >= LARGE:
        return in_metric(start, rows, tol, max_iter)
    found = in_units(start, rows, tol, max_iter)
    left = max_iter - len(found.path) + 1
    if found.status is not Status.STALLED or left <= 0:
        return found
    end = in_metric(found.value, rows, tol, left)
    return end._replace(path=np.append(found.path, end.path[1:]))


def in_metric(start: Params, rows: Rows, tol: float, max_iter: int) -> Result[Params]:
    """Few steps, each with the blocks of the Hessian."""
    landscape = Landscape(rows, Packing(rows.present, len(rows.U), tied=False))
    found = ascend(landscape, landscape.place(start), tol, max_iter)
    return Result(first_of(found.value).params, found.status, found.path, found.stats)


def in_units(start: Params, rows: Rows, tol: float, max_iter: int) -> Result[Params]:
    """Many steps, each as cheap as can be, of L-BFGS in units of the Fisher information at the start."""
    packing = Packing(rows.present, len(rows.U), tied=rows.n_tied > 0)
    units = packing.units(start)  # narrow components would make the steps of the others short
    path: list[float] = []

    def objective(scaled: Array) -> tuple[float, Array]:
        value, gradient = packing.value_and_gradient(scaled * units, rows)
        path[:] = path or [value]
        return -value, -gradient * units

    def keep(intermediate_result: Any) -> None:
        path.append(-float(intermediate_result.fun))

    options = {"maxiter": max_iter, "maxfun": 3 * max_iter, "maxcor": MEMORY, "gtol": tol, "ftol": 0.0, "maxls": 40}
    lower, upper = packing.bounds()
    found = minimize(
        objective,
        packing.pack(start) / units,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(lower / units, upper / units),
        callback=keep,
        options=options,
    )
    residual = projected_size(found.x, found.jac, lower / units)
    status = Status.CONVERGED if residual <= tol else Status.MAX_ITER if found.status == 1 else Status.STALLED
    return Result(packing.unpack(found.x * units), status, np.asarray(path), {"residual": residual})


def ranked(values: Array, sizes: Array) -> list[int]:
    """Places by falling values; those that are the same but for rounding by falling sizes."""
    order = np.argsort(-values, kind="stable")
    with np.errstate(invalid="ignore"):  # some may be minus infinity
        falls = -np.diff(values[order]) > SAME * (1.0 + abs(float(values.max())))
    level = np.concatenate([[0], np.cumsum(falls)])
    return [int(i) for i in order[np.lexsort((-sizes[order], level))]]


def best_of(results: list[Result[Params]]) -> Result[Params]:
    """The most likely one; of those that are the same but for rounding the first."""
    values = np.array([float(result.path[-1]) for result in results])
    return results[ranked(values, -np.arange(len(values), dtype=float))[0]]


def maximize_all(
    starts: list[Params], rows: Rows, *, tol: float, max_iter: int, n_sweeps: int = N_SWEEPS
) -> list[Result[Params]]:
    """Maximize from every start; after the first, only those that are the best so far are carried beyond `COARSE`."""
    results: list[Result[Params]] = []
    best = -np.inf
    for start in starts:
        enough = max(tol, COARSE) if results else tol
        found = maximize(start, rows, tol=enough, max_iter=max_iter, n_sweeps=n_sweeps)
        better = found.path[-1] > best + ROUNDING * abs(best) if results else True
        if better and enough > tol and found.status is not Status.MAX_ITER:
            left = max(1, max_iter - int(found.stats["n_iter"]))
            end = maximize(found.value, rows, tol=tol, max_iter=left, n_sweeps=0)
            n_iter = found.stats["n_iter"] + end.stats["n_iter"]
            found = Result(end.value, end.status, np.append(found.path, end.path[1:]), {**end.stats, "n_iter": n_iter})
        results.append(found)
        best = max(best, float(found.path[-1]))
    return results


def projected_size(vector: Array, gradient: Array, lower: Array) -> float:
    """Largest entry of a gradient (of what is minimized), entries that push against a bound left out."""
    free = (vector > lower) | (gradient < 0)
    return float(np.abs(gradient[free]).max(initial=0.0))
