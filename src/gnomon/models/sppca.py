"""Supervised and semi-supervised probabilistic PCA (Yu et al. 2006) with any outputs missing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import Array, Result
from ..numerics.linalg import canonical_rotation
from ..numerics.linear_gaussian import Limits, Params
from ..rows import RowSource
from ..solvers.basis import Basis, Outputs, SweptBasis, group_outputs
from ..solvers.compression import Compressed, compress
from ..solvers.rank import refuse_full_rank
from ..solvers.restricted import Inner, ModelLimits, RatioInner, RestrictedEM, closed_form
from ..solvers.row_em import fit_by_row_em
from ..solvers.subspace import maximise_in_basis, start_block

EXACT_SIDE = 1500  # up to this many rows or columns, all second moments are taken at once
MAX_CAPACITY = 200  # directions a growing basis may hold


class Options(NamedTuple):
    """How to fit; see `gnomon.SPPCA` for the meaning."""

    n_components: int
    solver: str = "auto"
    tol: float = 1e-9
    max_iter: int = 1000
    n_init: int = 2
    init: str = "pca"
    noise_init: float | None = None
    acceleration: str | None = "alternating"


class Fitted(NamedTuple):
    """Maximum likelihood parameters in the units of the data, rotated and signed canonically."""

    params: Params  # W_x (p, k), m_x (p,)
    log_likelihood: float  # nats, training rows


def choose_solver(n: int, p: int, *, complete: bool, n_loose: int) -> str:
    """Name the solver that "auto" takes.

    "ratio" when every row observes every output (a global search); else "moments" when the second moments fit (n or p
    up to 1500, and for n > p few patterns of missing outputs); else "subspace".
    """
    if complete:
        return "ratio"
    small = p <= EXACT_SIDE if n >= p else n <= EXACT_SIDE
    return "moments" if small and (n_loose == 0 or p > n) else "subspace"


def fit(source: RowSource, Y: Array, options: Options, generator: np.random.Generator) -> Result[Fitted]:
    """Fit the model to the rows of `source` and outputs Y (n, q), NaN where not observed.

    Returns
    -------
    Result(Fitted, status, objective path in nats, stats) with stats "solver", "n_passes", "residual", "n_iter",
    "floors" (names of the noise floors that are active) and "optima" (log-likelihoods of the local optima that the
    ratio search saw).
    """
    n, p = source.shape
    weights = np.ones(n) if source.weights is None else source.weights
    y_mean, y_scale = output_units(Y, weights)
    outputs = group_outputs((Y - y_mean) / y_scale, weights)
    complete = len(outputs.others) == 0 and len(outputs.bulk_outputs) == Y.shape[1]
    solver = options.solver
    if solver == "auto":
        solver = choose_solver(n, p, complete=complete, n_loose=len(outputs.loose))
    if solver == "ratio" and not complete:
        raise ValueError("solver='ratio' needs every output of every row; some are missing, so use solver='auto'")
    limits = ModelLimits(Limits(X_FLOOR, Y_FLOOR), options.max_iter, options.n_init)
    if solver == "em":
        params, result = fit_by_row_em(source, outputs, options, limits.floors, y_scale, generator)
    else:
        params, result = _fit_in_basis(source, outputs, options, limits, solver, complete, generator)
    return _in_data_units(params, result, source, outputs, y_mean, y_scale, solver)


X_FLOOR, Y_FLOOR = 1e-6, 1e-3  # smallest noise variances, relative to the variance of x and of y


def output_units(Y: Array, weights: Array) -> tuple[Array, float]:
    """Mean of each output over the rows that observe it, and one scale for all: their root mean variance."""
    observed = ~np.isnan(Y)
    w = np.where(observed, weights[:, None], 0.0)
    counts = w.sum(axis=0)
    filled = np.where(observed, Y, 0.0)
    largest = np.abs(filled).max(initial=0.0) or 1.0
    mean = (w * (filled / largest)).sum(axis=0) / counts
    variance = (w * (filled / largest - mean) ** 2).sum(axis=0) / counts
    spread = float(np.sqrt(variance.mean())) if len(variance) else 1.0
    return mean * largest, (spread or 1.0) * float(largest) if len(variance) else 1.0


def _fit_in_basis(
    source: RowSource, outputs: Outputs, options: Options, limits: ModelLimits, solver: str, complete: bool,
    generator: np.random.Generator,
) -> tuple[Params, Result[Params]]:  # fmt: skip
    n, p = source.shape
    k = options.n_components
    capacity = min(p, MAX_CAPACITY + 4 * k) if solver == "subspace" else MAX_CAPACITY + 4 * k
    compressed: Compressed | None = None
    basis: Basis
    if solver == "moments" or (solver == "ratio" and min(n, p) <= EXACT_SIDE):
        compressed = compress(source, outputs, capacity)
        basis = compressed.basis
    else:
        basis = SweptBasis(source, outputs, capacity)
    if outputs.Y.shape[1] == 0:
        inner: Inner = lambda moments, start, final, tol: closed_form(moments, k, limits.floors.x_floor)  # noqa: E731
    elif solver == "ratio":
        inner = RatioInner(k, limits)
    else:
        inner = RestrictedEM(k, limits, generator)
    start_block(basis, k, generator)
    refuse_full_rank(basis.moments(), k)
    result = maximise_in_basis(basis, inner, k, tol=options.tol, max_expansions=options.max_iter)
    stacked = np.column_stack([result.value.W_x, result.value.m_x])
    full = basis.vectors @ stacked if compressed is None else compressed.expand(basis.vectors @ stacked)
    result.stats["optima"] = getattr(inner, "optima", [])
    return result.value._replace(W_x=full[:, :-1], m_x=full[:, -1]), result


def _in_data_units(
    params: Params, result: Result[Params], source: RowSource, outputs: Outputs, y_mean: Array, y_scale: float,
    solver: str,
) -> Result[Fitted]:  # fmt: skip
    floors = []
    if params.x_noise_var <= X_FLOOR * (1 + 1e-9):
        floors.append("x")
    if len(y_mean) and params.y_noise_var.min() <= Y_FLOOR * (1 + 1e-9):
        floors.append("y")
    scaled = np.vstack([params.W_x / np.sqrt(params.x_noise_var), params.W_y / np.sqrt(params.y_noise_var)[:, None]])
    R = canonical_rotation(scaled, params.W_x)
    s = source.scale
    observed = float(outputs.weights @ outputs.observed.sum(axis=1))
    to_nats = -source.count * source.shape[1] * np.log(s) - observed * np.log(y_scale)
    fitted = Params(
        params.W_x @ R * s,
        source.mean + params.m_x * s,
        params.x_noise_var * s**2,
        params.W_y @ R * y_scale,
        y_mean + params.m_y * y_scale,
        params.y_noise_var * y_scale**2,
    )
    path = result.path + to_nats
    optima = [float(value + to_nats) for value in result.stats.get("optima", [])]
    stats = {
        **result.stats,
        "solver": solver,
        "n_passes": source.n_passes,
        "floors": floors,
        "optima": optima,
    }
    stats.setdefault("n_iter", len(path))
    return Result(Fitted(fitted, float(path[-1])), result.status, path, stats)
