"""Supervised PPCA in dual form: everything about x enters through inner products (Yu et al. 2006, 4.3, 5.2, app. A, C).

A centered kernel matrix is K = T T' with T = U sqrt(values) of its eigenvectors, so the model of a feature space of any
dimension is the linear model in the coordinates T, and its noise lives in `effective_dimension` dimensions, the paper's
M, which a kernel leaves open. `fit` solves that; `e_step` and `m_step` are the paper's own iteration on K.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

from ..._types import Array, IntArray, Result
from ...likelihoods.layout import Layout
from ...numerics.linalg import inverse_logdet, symmetrize, top_eigh
from ...numerics.linear_gaussian import LOG_2PI, Limits, Params
from ...solvers.em import run_em
from .basis import CAPACITY, Space
from .basis import beyond as eigenvalues_beyond
from .in_basis import FLOORS, grow_gaussian
from .patterns import Outputs, by_coordinates, group_outputs
from .sites_em import Rules
from .units import Fitted, Units, in_data_units, rotation_of, standard_outputs


class Options(NamedTuple):
    """How to fit; see `gnomon.KernelSPPCA` for the meaning."""

    n_components: int
    effective_dimension: float
    solver: str = "auto"
    tol: float = 1e-9
    max_iter: int = 1000
    init: str = "pca"
    noise_init: float | None = None
    n_private: int = 0
    one_target: bool = False  # the columns of Y code one target together


class DualData(NamedTuple):
    """What algorithm 3 reads: inner products of centered rows, outputs of the labeled rows, centered."""

    gram: Array  # (n, n)
    Y: Array  # (n_lab, q)
    labeled: IntArray
    unlabeled: IntArray
    effective_dimension: float


class DualState(NamedTuple):
    """Parameters of algorithm 3: W_x = X'Z C^-1 and W_y = Y'Z_lab C_lab^-1 are never formed in feature space."""

    Z: Array  # (n, k)
    C: Array  # (k, k)       sum of E[zz'] over all rows
    C_lab: Array  # (k, k)   over the labeled rows
    gram_Z: Array  # (n, k)  K Z
    x_noise_var: float
    y_noise_var: float

    def dual_loadings(self) -> Array:
        """Z C^-1 (n, k): the loadings are combinations of the rows, W_x = X' times these."""
        return np.asarray(np.linalg.solve(self.C, self.Z.T).T)

    def y_loadings(self, data: DualData) -> Array:
        """W_y (q, k)."""
        if data.Y.shape[1] == 0:
            return np.zeros((0, len(self.C)))
        return np.asarray(np.linalg.solve(self.C_lab, self.Z[data.labeled].T @ data.Y).T)


class DualSums(NamedTuple):
    """Expected latent vectors and second moments, and the log-likelihood (nats) at the parameters they came from."""

    log_likelihood: float
    Z: Array
    C: Array
    C_lab: Array


def init(data: DualData, k: int, kind: str, noise: tuple[float, float], generator: np.random.Generator) -> DualState:
    """Starting point: random latent vectors, or PCA of the rows at the given noise variances and no use of y yet."""
    n, n_lab = len(data.gram), len(data.labeled)
    if kind == "random":
        Z, C = generator.standard_normal((n, k)), n * np.eye(k)
    else:
        values, vectors = top_eigh(data.gram, k)
        variances = values / n
        stretch = np.sqrt(variances / np.maximum(variances - noise[0], 1e-3 * variances))
        Z, C = np.sqrt(n) * vectors, n * np.diag(stretch)
    return DualState(Z, C, C * (n_lab / n), data.gram @ Z, *noise)


def e_step(state: DualState, data: DualData) -> DualSums:
    """Expected statistics from inner products alone. Source: Yu et al. 2006, eqs. 20-24."""
    k, (n_lab, q) = len(state.C), data.Y.shape
    n, n_free = len(data.gram), len(data.unlabeled)
    XW = np.linalg.solve(state.C, state.gram_Z.T).T  # (n, k)  rows times W_x
    WW = symmetrize(np.asarray(np.linalg.solve(state.C, state.Z.T @ XW)))
    W_y = state.y_loadings(data)
    precision = np.eye(k) + WW / state.x_noise_var
    cov, log_det = inverse_logdet(precision)
    cov_lab, log_det_lab = inverse_logdet(precision + W_y.T @ W_y / state.y_noise_var)
    b = XW / state.x_noise_var
    b[data.labeled] += data.Y @ W_y / state.y_noise_var
    Z = b @ cov
    Z[data.labeled] = b[data.labeled] @ cov_lab
    Z_lab, Z_free = Z[data.labeled], Z[data.unlabeled]
    C_lab = n_lab * cov_lab + Z_lab.T @ Z_lab
    C = C_lab + n_free * cov + Z_free.T @ Z_free
    logs = n * data.effective_dimension * (LOG_2PI + np.log(state.x_noise_var)) + n_free * log_det
    logs += np.trace(data.gram) / state.x_noise_var + n_lab * (log_det_lab + q * (LOG_2PI + np.log(state.y_noise_var)))
    logs += (data.Y**2).sum() / state.y_noise_var - (b * Z).sum()
    return DualSums(float(-0.5 * logs), Z, symmetrize(C), symmetrize(C_lab))


def m_step(sums: DualSums, data: DualData, limits: Limits) -> DualState:
    """Noise variances that maximize the expected log-likelihood; the means stay those of the sample.

    Source: Yu et al. 2006, eqs. 25 and 26, the effective dimension in place of M.
    """
    n, (n_lab, q) = len(data.gram), data.Y.shape
    gram_Z = data.gram @ sums.Z
    explained = float(np.trace(np.linalg.solve(sums.C, sums.Z.T @ gram_Z)))
    x_noise = (float(np.trace(data.gram)) - explained) / (n * data.effective_dimension)
    state = DualState(sums.Z, sums.C, sums.C_lab, gram_Z, max(x_noise, limits.x_floor), 1.0)
    if q == 0:
        return state
    right = data.Y.T @ sums.Z[data.labeled]  # (q, k)
    y_noise = (float((data.Y**2).sum()) - float((state.y_loadings(data) * right).sum())) / (n_lab * q)
    return state._replace(y_noise_var=max(y_noise, limits.y_floor))


def dual_residual(sums: DualSums, state: DualState, after: DualState, data: DualData) -> float:
    """Relative distance from stationarity: |X'Z - W_x C| / |X'Z|, the same for y, the moves of the log variances."""
    D = sums.Z - state.dual_loadings() @ sums.C
    gap = np.sqrt(max(float((D * (data.gram @ D)).sum()), 0.0))
    worst = gap / np.sqrt(float((after.Z * after.gram_Z).sum()))
    worst = max(worst, abs(np.log(after.x_noise_var / state.x_noise_var)))
    if data.Y.shape[1]:
        y_gap = np.linalg.norm(data.Y.T @ sums.Z[data.labeled] - state.y_loadings(data) @ sums.C_lab)
        worst = max(worst, float(y_gap) / (np.linalg.norm(data.Y) * np.sqrt(float(np.trace(sums.C)))))
        worst = max(worst, abs(np.log(after.y_noise_var / state.y_noise_var)))
    return float(worst)


def choose_solver(*, complete: bool, supervised: bool, plain: bool) -> str:
    """Name the solver that "auto" takes: "ratio" (a global search) when nothing is missing, else "moments".

    `plain` says that the effective dimension is at least the rank and no dimension is private; the global search needs
    both.
    """
    return "ratio" if complete and supervised and plain else "moments"


def fit(
    T: Array, Y: Array, options: Options, generator: np.random.Generator,
    orient: Callable[[Array], Array] | None = None, weights: Array | None = None, beyond: float = 0.0, *,
    principal: bool = True,
) -> Result[Fitted]:  # fmt: skip
    """Fit the model to centered coordinates T (n, r) and outputs Y (n, q), NaN where not observed.

    Parameters
    ----------
    T : (n, r)          T' diag(weights) T is diagonal, falling; with effective_dimension no less than r any, if told so
    weights : (n,) or None
        How many rows each row stands for, above zero.
    orient : callable or None
        (r, k) -> (any, k): an image of the loadings whose largest entry per column becomes positive. None takes the
        training rows along them.
    beyond : float
        Weighted sum of squared lengths of the rows outside the coordinates, which count as noise.
    principal : bool
        Whether the coordinates are principal components, with that diagonal.

    Returns
    -------
    Result(Fitted, status, objective path in nats, stats) with stats as in the primal form; "beyond", eigenvalues of the
    covariance behind the largest ones, or None where the coordinates tell them
    """
    n, r = T.shape
    w = np.ones(n) if weights is None else weights
    values = w @ T**2 if principal else None
    _check_sizes(r, values, n, options, beyond)
    Y, y_mean, y_scale = standard_outputs(Y, w, together=options.one_target)
    outputs = group_outputs(Y, w, options.n_components + options.n_private)
    complete = outputs.complete
    plain = options.effective_dimension >= r and options.n_private == 0
    solver = options.solver
    if solver == "auto":
        solver = choose_solver(complete=complete, supervised=Y.shape[1] > 0, plain=plain)
    _check_solver(solver, options, complete and plain, weights)
    entries = float(w.sum()) * options.effective_dimension
    scale = float(np.sqrt((w @ np.einsum("ij,ij->i", T, T) + beyond) / entries))
    q = Y.shape[1]
    rules = Rules(Layout(("gaussian",) * q, (0,) * q), 0.0, options.n_components, noise="shared")
    options = options._replace(solver=solver)
    if solver == "dual":
        noise_unit = float(np.sqrt((y_scale**2).mean())) if len(y_scale) else 1.0
        result = _fit_by_algorithm_3(T / scale, outputs, options, (scale, noise_unit), generator)
    else:
        xx = (_second_moments(T, w) if values is None else values) * (1.0 / scale**2)
        result = _fit_in_coordinates((T, xx, scale), outputs, options, rules, beyond / scale**2, generator)
        known = None if principal else result.stats["beyond"] * scale**2
        result = result._replace(stats={**result.stats, "beyond": known})
    params, result = result.value, result._replace(stats={**result.stats, "solver": solver})
    R = rotation_of(params, rules.n_guided, T @ params.W_x if orient is None else orient(params.W_x))
    units = Units(np.zeros(r), scale, entries, y_mean, y_scale, w @ outputs.observed)
    return in_data_units(result, R, rules, units)


def _check_solver(solver: str, options: Options, simple: bool, weights: Array | None) -> None:
    if solver == "ratio" and not simple:
        raise ValueError(
            "solver='ratio' needs every output of every row, no private dimensions, and an effective dimension of at "
            "least the rank of the kernel matrix; use solver='auto'"
        )
    if solver == "dual" and (weights is not None or options.n_private):
        raise ValueError(
            "solver='dual' is algorithm 3 of the paper: without sample_weight, label_weight and n_private; use 'auto'"
        )


def _check_sizes(r: int, values: Array | None, n: int, options: Options, beyond: float) -> None:
    k, d = options.n_components + options.n_private, options.effective_dimension
    what = f"n_components={options.n_components}"
    if options.n_private:
        what += f" plus n_private={options.n_private}"
    if k >= r:
        raise ValueError(
            f"{what} must be less than the rank of the centered kernel matrix, {r} (n_samples={n}): with as "
            f"many latent dimensions as the data have, no noise is left to estimate. Ask for at most {max(r - 1, 0)}."
        )
    if values is None:
        return
    least = k + (float(values[k:].sum()) + beyond) / float(values[k - 1])
    if d < r and d <= least:
        raise ValueError(
            f"effective_dimension={d:g} must exceed {least:.4g} for {what}: in fewer dimensions the noise "
            "would be larger than the last component. Take more dimensions, or fewer components."
        )


def _fit_in_coordinates(
    scaled: tuple[Array, Any, float], outputs: Outputs, options: Options, rules: Rules, beyond: float,
    generator: np.random.Generator,
) -> Result[Params]:  # fmt: skip
    """Fit to coordinates T, whose second moments are there in units of a scale; no second array as large."""
    (T, xx, scale), k, w = scaled, options.n_components + options.n_private, outputs.weights
    energy = float(w @ np.einsum("ij,ij->i", T, T)) / scale**2
    space = Space(float(w.sum()), energy + beyond, options.effective_dimension, beyond)
    data = by_coordinates(T, xx, outputs, space, max(CAPACITY, 6 * k), scale=scale)
    data.basis.start(k, generator)
    noise = np.ones(outputs.Y.shape[1])
    found = grow_gaussian(data, k, rules, noise, options.tol, options.max_iter, options.solver)
    return found._replace(stats=found.stats | {"beyond": eigenvalues_beyond(data.basis.view(), k)})


def _second_moments(T: Array, w: Array) -> LinearOperator:
    """T' diag(w) T (r, r) as products of T (n, r), which are few."""

    def times(V: Array) -> Array:
        return np.asarray(T.T @ (w[:, None] * (T @ V)))

    def times_vector(v: Array) -> Array:
        return times(v.reshape(-1, 1))

    r = T.shape[1]
    return LinearOperator((r, r), matvec=times_vector, matmat=times, dtype=np.float64)


def _fit_by_algorithm_3(
    T: Array, outputs: Outputs, options: Options, scales: tuple[float, float], generator: np.random.Generator
) -> Result[Params]:
    labeled, q = outputs.observed.any(axis=1), outputs.Y.shape[1]
    if not outputs.observed[labeled].all():
        raise ValueError("solver='dual' needs every output of a row or none; single outputs are missing, use 'auto'")
    seen, free = np.flatnonzero(labeled), np.flatnonzero(~labeled)
    data = DualData(T @ T.T, outputs.Y[seen], seen, free, options.effective_dimension)
    noise = options.noise_init
    start = (0.5, 1.0) if noise is None else (noise / scales[0] ** 2, noise / scales[1] ** 2)
    result = run_em(
        lambda state: e_step(state, data),
        lambda sums, state: m_step(sums, data, FLOORS),
        init(data, options.n_components, options.init, start, generator),
        log_likelihood=lambda sums: sums.log_likelihood,
        residual=lambda sums, state, after: dual_residual(sums, state, after, data),
        tol=options.tol,
        max_iter=options.max_iter,
    )
    state = result.value[0]
    W_x, W_y = T.T @ state.dual_loadings(), state.y_loadings(data)
    params = Params(W_x, np.zeros(T.shape[1]), state.x_noise_var, W_y, np.zeros(q), np.full(q, state.y_noise_var))
    return Result(params, result.status, result.path, result.stats)
