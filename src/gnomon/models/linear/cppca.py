"""Classification PPCA (Cheng and Li 2011) with outputs of several kinds, any of them missing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import Array, IntArray, Result, Status
from ...likelihoods.inference import choose_inference, sites_of
from ...likelihoods.layout import Layout
from ...likelihoods.sites import Sites
from ...numerics import linear_gaussian as lg
from ...numerics.linalg import canonical_rotation, guided_rotation, orthonormal_columns
from ...rows.contract import Rows
from ...rows.standard import StandardRows
from ...rows.threads import one_thread
from ...solvers.rank import check_rank
from .basis import (
    CAPACITY,
    EXACT_SIDE,
    SPARE_DIRECTIONS,
    WHOLE,
    Basis,
    HeldProducts,
    Products,
    Space,
    SweptProducts,
    View,
)
from .class_likelihood import Labeled, LabelParams, applies, log_evidence, refine_classes
from .conditioning import Model
from .grow import START_ACCURACY, grow
from .outputs_em import COARSEST, X_FLOOR, Y_FLOOR, OutputsEM, Params, Rules, Sums, given_x, x_log_likelihood
from .over_rows import KeepLabeled, RowsEM, condition_of, gaussian_starts, mask_factors, maximize, starts
from .ratio import JointMoments

SMALL = 1 << 22  # coordinates of labeled rows up to which one thread is faster than several that wait for one another
WHOLE_MOMENTS = 400  # dimensions all of which make the first basis, where products are those of small matrices, and
FEW_COORDINATES = 1 << 18  # the labeled rows have no more coordinates than that
APPROXIMATE = ("laplace", "ep")  # ways of inference whose objective may fall
MANY_LABELED, FEW_LABELED = 1600, 400  # of many labeled rows, a few are enough to choose a start by
START_STEPS, TRIAL_ITERATIONS = 5, 5


class Options(NamedTuple):
    """How to fit; see `gnomon.CPPCA` for the meaning."""

    n_components: int
    solver: str = "auto"
    inference: str = "auto"
    ridge: float = 0.1
    n_private: int = 0
    tol: float = 1e-6
    max_iter: int = 500
    acceleration: str | None = "alternating"
    prior_precision: float = 0.0
    means: str = "ml"

    @property
    def k(self) -> int:
        """Size of the latent space."""
        return self.n_components + self.n_private

    def rules(self, layout: Layout, inference: str) -> Rules:
        """What is held fixed, and what lies on the loadings."""
        guarded, monotone = inference != "laplace", inference not in APPROXIMATE
        free_means = self.means == "ml"
        return Rules(layout, self.ridge, self.n_components, guarded, monotone, self.prior_precision, free_means)


class Fitted(NamedTuple):
    """Parameters in the units of the data, rotated and signed canonically."""

    params: Model
    objective: float  # nats, training rows, with the ridge
    log_likelihood: float  # without it


def choose_solver(n: int, p: int) -> str:
    """Name the solver that "auto" takes: "moments" when n or p is at most 1500, else "subspace"."""
    return "moments" if (p <= EXACT_SIDE if n >= p else n <= EXACT_SIDE) else "subspace"


def fit(rows: Rows, labeled: IntArray, Y: Array, layout: Layout, options: Options,
        generator: np.random.Generator) -> Result[Fitted]:  # fmt: skip
    """Fit the model to rows; Y (n_l, q) holds the outputs of the rows `labeled`, NaN where missing.

    Returns
    -------
    Result(Fitted, status, objective path in nats, stats) with stats "solver", "inference", "n_passes", "residual",
    "n_iter" and "floors".
    """
    k = options.k
    if rows.masked or options.solver == "em":
        return fit_over_rows(rows, labeled, Y, layout, options, generator)
    solver = choose_solver(*rows.shape) if options.solver == "auto" else options.solver
    inference = choose_inference(layout) if options.inference == "auto" else options.inference
    weights = np.ones(len(labeled)) if rows.weights is None else rows.weights[labeled]
    units = output_units(layout, Y, weights)
    Y = (Y - units.mean) / units.scale
    codes = centered_codes(layout, Y, weights)
    products, x = products_of(rows, labeled, codes, solver)
    basis = Basis(products, max(CAPACITY, 6 * k))
    few = solver == "moments" and len(labeled) * products.size <= FEW_COORDINATES
    basis.start(k, generator, WHOLE_MOMENTS if few else WHOLE)
    check_rank(basis.xx, x.energy, k)
    rules = options.rules(layout, inference)
    with one_thread(when=basis.T.size <= SMALL):
        model = OutputsInBasis(basis, weights, Y, codes, rules, sites_of(layout, inference), options)
        found = grow(basis, model, k, tol=options.tol, max_expansions=options.max_iter, max_iter=options.max_iter)
        params = found.value.params
        whole = params._replace(W=products.features(basis.vectors @ params.W))
        result = Result(whole, found.status, found.path, found.stats)
        if applies(layout, inference):
            view = basis.view(weights)
            post = given_x(params)
            labels = Labeled(Y, view.T @ post.gain.T, post.cov, view.weights)
            of_x = x_log_likelihood(params, post, view) - 0.5 * options.prior_precision * float((params.W**2).sum())
            result = with_integrated_classes(result, labels, of_x, rules, options.tol)
    stats = {**result.stats, "solver": solver, "inference": inference, "n_passes": rows.reads}
    scales = Scales(x.mean, x.scale, x.n_entries, weights @ ~np.isnan(Y))
    return in_data_units(result._replace(stats=stats), scales, np.zeros(rows.shape[1]), rules, units)


def fit_over_rows(rows: Rows, labeled: IntArray, Y: Array, layout: Layout, options: Options,
                  generator: np.random.Generator) -> Result[Fitted]:  # fmt: skip
    """The same by EM over the rows, one read an iteration: for rows that miss entries."""
    inference = choose_inference(layout) if options.inference == "auto" else options.inference
    weights = np.ones(len(labeled)) if rows.weights is None else rows.weights[labeled]
    units = output_units(layout, Y, weights)
    Y = (Y - units.mean) / units.scale
    rules = options.rules(layout, inference)
    every, codes = np.full((rows.shape[0], Y.shape[1]), np.nan), np.zeros((rows.shape[0], layout.size))
    every[labeled], codes[labeled] = Y, centered_codes(layout, Y, weights)
    standard = rows.standard(rows.summarize()).with_columns(y=every)
    base, noise = base_predictors(layout, Y, weights), np.ones(len(layout.kinds))
    em = RowsEM(standard, rules, sites_of(layout, inference))
    candidates = starts(standard, codes, base, noise, options.k, rules, generator)
    found = maximize(em, candidates, options.tol, options.max_iter, options.acceleration)
    params, sums = found.value
    fitted = Params(params.W, params.x_noise_var, params.V, params.b, params.noise)
    result = Result(fitted, found.status, found.path, found.stats)
    if applies(layout, inference):
        swept = standard.sweep(params.W, KeepLabeled(condition_of(params)), V_mask=mask_factors(params))
        latent, cov = swept.kept.of_rows()
        of_x = em.x_part(params, sums.xz1[:, -1]) + swept.sums
        of_x -= 0.5 * options.prior_precision * float((params.W**2).sum())
        result = with_integrated_classes(result, Labeled(Y, latent, cov, weights), of_x, rules, options.tol)
    stats = {**result.stats, "solver": "em", "inference": inference, "n_passes": rows.reads}
    scales = Scales(standard.mean, standard.scale, standard.n_entries, weights @ ~np.isnan(Y))
    return in_data_units(result._replace(stats=stats), scales, params.m, rules, units)


def with_integrated_classes(result: Result[Params], rows: Labeled, of_x: float, rules: Rules,
                            tol: float) -> Result[Params]:  # fmt: skip
    """Refine the label parameters of classes by the likelihood itself; the path ends at it, above the bound.

    `of_x` is the part of the objective that outputs leave alone. The points of integration lie along the latent axes,
    so these are turned first to where neither the start nor the order of classes matters.
    """
    params = result.value
    R = rotation_of(params, rules.n_guided)
    params = params._replace(W=params.W @ R, V=params.V @ R)
    rows = rows._replace(latent=rows.latent @ R, cov=R.T @ rows.cov @ R)
    labels = LabelParams(params.V, params.b, params.noise)
    labels, left = refine_classes(rules.layout, rows, labels, rules.ridge, rules.n_guided, tol)
    value = of_x + float(rows.weights @ log_evidence(rules.layout, rows, labels))
    value -= 0.5 * float(rules.penalty @ (labels.V**2).sum(axis=1))
    stats = {**result.stats, "residual": max(result.stats["residual"], left)}
    status = Status.STALLED if left > tol and result.status is Status.CONVERGED else result.status
    params = params._replace(V=labels.V, b=labels.b)
    return Result(params, status, np.append(result.path, value), stats)


class Units(NamedTuple):
    """Mean and scale of Gaussian outputs; zero and one for the others."""

    mean: Array  # (q,)
    scale: Array  # (q,)


def output_units(layout: Layout, Y: Array, weights: Array) -> Units:
    """Weighted mean and standard deviation of each Gaussian output over the rows that observe it."""
    units = Units(np.zeros(len(layout.kinds)), np.ones(len(layout.kinds)))
    for j in np.flatnonzero(layout.noisy):
        seen = ~np.isnan(Y[:, j])
        y, w = Y[seen, j], weights[seen] / weights[seen].sum()
        size = float(np.abs(y).max()) or 1.0
        units.mean[j] = float(w @ (y / size)) * size
        units.scale[j] = float(np.sqrt(w @ ((y - units.mean[j]) / size) ** 2)) * size or 1.0
    return units


def centered_codes(layout: Layout, Y: Array, weights: Array) -> Array:
    """Outputs as real numbers (n_l, h) for a first look: contrasts of classes, log(1 + counts); mean zero, spread one.

    Zero where not observed.
    """
    columns = []
    for j, family in enumerate(layout.families):
        seen = ~np.isnan(Y[:, j])
        values = family.codes(Y[seen, j])
        w = weights[seen] / max(weights[seen].sum(), 1e-300)
        values = values - w @ values
        spread = float(np.sqrt((w @ values**2).mean())) if values.size else 0.0
        out = np.zeros((len(Y), values.shape[1]))
        out[seen] = values / (spread or 1.0)
        columns.append(out)
    return np.hstack(columns) if columns else np.zeros((len(Y), 0))


def base_predictors(layout: Layout, Y: Array, weights: Array) -> Array:
    """Predictors (h,) at which every output has its observed frequencies or mean, whatever x is."""
    found = [np.zeros(0)]
    for y, family in zip(Y.T, layout.families, strict=True):
        seen = ~np.isnan(y)
        found.append(family.start(y[seen], weights[seen]))
    return np.concatenate(found)


def _starts(view: View, codes: Array, Y: Array, rules: Rules, k: int) -> list[Params]:
    """Loadings from the Gaussian model of x and coded outputs over a few noise ratios; no label parameters yet.

    Found among leading directions of x and those of the outputs.
    """
    w = view.weights
    n_l = float(w.sum())
    xy = (view.T * w[:, None]).T @ codes / max(n_l, 1e-300)
    yy = (codes * w[:, None]).T @ codes / max(n_l, 1e-300)
    leading = view.axes[:, ::-1][:, : k + SPARE_DIRECTIONS]
    C = np.hstack([leading, orthonormal_columns(xy, leading)])
    xx = C.T @ view.xx @ C
    outside = max(view.energy - float(np.trace(xx)), 0.0) / view.weight
    joint = JointMoments(xx / view.weight, C.T @ xy, yy, outside, view.weight, view.n_features)
    b, h = base_predictors(rules.layout, Y, w), rules.layout.size
    noise = np.ones(len(rules.layout.kinds))
    found = []
    for at in gaussian_starts(joint, k, rules):
        W = C @ at.W_x
        found.append(Params(W, max(at.x_noise_var, 1e-6 * float((W**2).sum())), np.zeros((h, k)), b, noise))
    return found


def _begin(em: OutputsEM, codes: Array, k: int, options: Options) -> Result[tuple[Params, Sums]]:
    """A few iterations from the best start; among many labeled rows, a few choose it."""
    starts = _starts(em.view, codes, em.Y, em.rules, k)
    if len(em.Y) < MANY_LABELED:
        return _first(em, starts, options)
    some, few = _some_labeled(em.view, em.Y)
    start = _first(OutputsEM(some, few, em.rules, em.sites), starts, options).value[0]
    return em.maximize(start, START_ACCURACY, TRIAL_ITERATIONS, options.acceleration)


def _first(em: OutputsEM, starts: list[Params], options: Options) -> Result[tuple[Params, Sums]]:
    """The best of a few iterations from each start; a start that is hopeless is left out."""
    best: Result[tuple[Params, Sums]] | None = None
    for start in starts:
        if best is not None and x_log_likelihood(start, given_x(start), em.view) < best.path[-1]:
            continue  # even labels that are certain would not make up for x
        start = em.refine_labels(start, START_STEPS, COARSEST)
        trial = em.maximize(start, START_ACCURACY, TRIAL_ITERATIONS, options.acceleration)
        if best is None or trial.path[-1] > best.path[-1]:
            best = trial
    assert best is not None
    return best


def _some_labeled(view: View, Y: Array) -> tuple[View, Array]:
    """Every so many-th labeled row, which stands for those between."""
    some = slice(None, None, len(Y) // FEW_LABELED)
    weights = view.weights[some] * (view.weights.sum() / view.weights[some].sum())
    return view._replace(T=view.T[some], weights=weights), Y[some]


class State(NamedTuple):
    """Parameters in the basis, and the statistics near which those of the next parameters lie."""

    params: Params
    sums: Sums


class OutputsInBasis:
    """Outputs of any kind in a basis, by EM over their sites."""

    def __init__(self, basis: Basis, weights: Array, Y: Array, codes: Array, rules: Rules, sites: Sites,
                 options: Options) -> None:  # fmt: skip
        self.basis, self.weights, self.Y, self.codes = basis, weights, Y, codes
        self.rules, self.sites, self.options = rules, sites, options

    @property
    def share(self) -> float:
        """As in `InBasis`."""
        return 1.0 if self.basis.whole else 0.5

    def maximize(self, start: State | None, tol: float, *, final: bool, max_iter: int) -> Result[State]:
        """As in `InBasis`."""
        em = OutputsEM(self.basis.view(self.weights), self.Y, self.rules, self.sites)
        path: list[Array] = []
        n_iter = 0
        if start is None:
            begun = _begin(em, self.codes, self.options.k, self.options)
            start, n_iter = State(*begun.value), begun.stats["n_iter"]
            path.append(begun.path)
            tol = self.options.tol if self.basis.whole else tol
        left = max(max_iter - n_iter, 1)
        params, near = start
        found = em.maximize(params, tol, left, self.options.acceleration, near, near.accuracy)
        path.append(found.path[1:])
        stats = {"residual": found.stats["residual"], "n_iter": n_iter + found.stats["n_iter"]}
        return Result(State(*found.value), found.status, np.concatenate(path), stats)

    def cross(self, params: State) -> Array:
        """As in `InBasis`."""
        return self.basis.cross(given_x(params.params).gain, params.sums.shift)

    def loadings(self, params: State) -> Array:
        """As in `InBasis`."""
        return params.params.W

    def with_loadings(self, params: State, loadings: Array) -> State:
        """As in `InBasis`."""
        return params._replace(params=params.params._replace(W=loadings))


def products_of(rows: Rows, labeled: IntArray, codes: Array, solver: str) -> tuple[Products, StandardRows]:
    """The way to the products: "subspace" reads the rows, "moments" holds those of the shorter side."""
    n, p = rows.shape
    Y = np.zeros((n, codes.shape[1]))
    Y[labeled] = codes
    if solver == "subspace" or n >= p:
        swept = SweptProducts(rows, labeled, Y, second=solver == "moments")
        return swept, swept.rows
    x = rows.standard(rows.summarize())
    found = x.coordinates()
    w = np.ones(n) if rows.weights is None else rows.weights
    return HeldProducts.of_coordinates(Space.of(x), found.T, w, Y, labeled, found.expand), x


def rotation_of(params: Params, n_guided: int) -> Array:
    """Canonical rotation: dimensions in order of the variance of x they explain; with private ones, guided first.

    Guided dimensions are then ordered by how much the predictors depend on them.
    """
    x = params.W / np.sqrt(params.x_noise_var)
    if n_guided == params.W.shape[1] or len(params.V) == 0:
        return canonical_rotation(x, params.W)
    return guided_rotation(x, params.V, n_guided, params.W)


class Scales(NamedTuple):
    """Units of x, and how much was observed."""

    mean: Array  # (p,)
    scale: float
    n_entries: float  # of x, weighted
    n_outputs: Array  # (q,)   rows that observe each output, weighted


def in_data_units(result: Result[Params], x: Scales, m: Array, rules: Rules, units: Units) -> Result[Fitted]:
    """Parameters, path and floors in the units of the data, rotated canonically; m (p,) is the mean in units of x."""
    params, layout = result.value, rules.layout
    R = rotation_of(params, rules.n_guided)
    V, b, noise = params.V @ R, params.b.copy(), params.noise.copy()
    floors = ["x"] if params.x_noise_var <= X_FLOOR * (1 + 1e-9) else []
    if (noise[layout.noisy] <= Y_FLOOR * (1 + 1e-9)).any():
        floors.append("y")
    for j, (family, predictors) in enumerate(layout.parts):
        if family.noisy:
            V[predictors] *= units.scale[j]
            b[predictors] = units.mean[j] + units.scale[j] * b[predictors]
            noise[j] *= units.scale[j] ** 2
    path = result.path - x.n_entries * np.log(x.scale) - float(x.n_outputs @ np.log(units.scale))
    penalty = 0.5 * float(rules.penalty @ (params.V**2).sum(axis=1))
    penalty += 0.5 * rules.prior_precision * float((params.W**2).sum())
    none = np.zeros((0, R.shape[1])), np.zeros(0), np.zeros(0)
    of_x = lg.Params(params.W @ R * x.scale, x.mean + m * x.scale, params.x_noise_var * x.scale**2, *none)
    fitted = Model(of_x, LabelParams(V, b, noise), layout, result.stats["inference"])
    objective = float(path[-1])
    stats = {**result.stats, "floors": floors}
    return Result(Fitted(fitted, objective, objective + penalty), result.status, path, stats)
