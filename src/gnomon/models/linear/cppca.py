"""Classification PPCA (Cheng and Li 2011) with outputs of several kinds, any of them missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, IntArray, Result, Status
from ...likelihoods.inference import choose_inference, sites_of
from ...likelihoods.layout import Layout
from ...likelihoods.sites import Sites
from ...numerics.linalg import canonical_rotation, guided_rotation
from ...numerics.linear_gaussian import FromX, Params, given_x
from ...rows.contract import Rows
from ...rows.standard import StandardRows
from ...rows.threads import one_thread
from ...solvers.rank import check_rank
from .basis import CAPACITY, EXACT_SIDE, WHOLE, Basis, HeldProducts, Products, Space, SweptProducts
from .class_likelihood import Labeled, LabelParams, applies, log_evidence, refine_classes
from .conditioning import Model
from .evidence import Coded, LabeledRows
from .grow import START_ACCURACY, grow
from .in_basis import BasisEM, Data, ModelInBasis, State, gaussian_starts, x_log_likelihood
from .over_rows import START_LOG_RATIOS, KeepLabeled, RowsEM, condition_of, mask_factors, maximize, starts
from .patterns import ByPattern, group_outputs, read_by_pattern
from .sites_em import COARSEST, X_FLOOR, Y_FLOOR, Rules, Sums

Labels = Callable[[Array], LabeledRows]
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
    held = solver == "moments"
    data, x = _data_of(rows, labeled, Y, layout, sites_of(layout, inference), max(CAPACITY, 6 * k), held=held)
    basis = data.basis
    few = held and len(labeled) * basis.products.size <= FEW_COORDINATES
    basis.start(k, generator, WHOLE_MOMENTS if few else WHOLE if held else 0)
    check_rank(basis.xx, x.energy, k)
    rules = options.rules(layout, inference)
    with one_thread(when=basis.T.size <= SMALL):
        model = OutputsInBasis(data, Y, weights, rules, options)
        found = grow(basis, model, k, tol=options.tol, max_expansions=options.max_iter, max_iter=options.max_iter)
        params = found.value.params
        W_x = basis.products.features(basis.vectors @ params.W_x)
        result = Result(params._replace(W_x=W_x), found.status, found.path, found.stats)
        if applies(layout, inference):
            post = given_x(params)
            labels = Labeled(Y, basis.T @ post.gain.T, post.cov, weights)
            of_x = x_log_likelihood(params, post, basis.view())
            of_x -= 0.5 * options.prior_precision * float((params.W_x**2).sum())
            result = with_integrated_classes(result, labels, of_x, rules, options.tol)
    result = result._replace(value=result.value._replace(m_x=np.zeros(rows.shape[1])))
    stats = {**result.stats, "solver": solver, "inference": inference, "n_passes": rows.reads}
    scales = Scales(x.mean, x.scale, x.n_entries, weights @ ~np.isnan(Y))
    return in_data_units(result._replace(stats=stats), scales, rules, units)


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
    result = Result(params, found.status, found.path, found.stats)
    if applies(layout, inference):
        swept = standard.sweep(params.W_x, KeepLabeled(condition_of(params)), V_mask=mask_factors(params))
        latent, cov = swept.kept.of_rows()
        of_x = em.x_part(params, sums.xz1[:, -1]) + swept.sums
        of_x -= 0.5 * options.prior_precision * float((params.W_x**2).sum())
        result = with_integrated_classes(result, Labeled(Y, latent, cov, weights), of_x, rules, options.tol)
    stats = {**result.stats, "solver": "em", "inference": inference, "n_passes": rows.reads}
    scales = Scales(standard.mean, standard.scale, standard.n_entries, weights @ ~np.isnan(Y))
    return in_data_units(result._replace(stats=stats), scales, rules, units)


def with_integrated_classes(result: Result[Params], rows: Labeled, of_x: float, rules: Rules,
                            tol: float) -> Result[Params]:  # fmt: skip
    """Refine the label parameters of classes by the likelihood itself; the path ends at it, above the bound.

    `of_x` is the part of the objective that outputs leave alone. The points of integration lie along the latent axes,
    so these are turned first to where neither the start nor the order of classes matters.
    """
    params = result.value
    R = rotation_of(params, rules.n_guided)
    params = params._replace(W_x=params.W_x @ R, W_y=params.W_y @ R)
    rows = rows._replace(latent=rows.latent @ R, cov=R.T @ rows.cov @ R)
    labels = LabelParams(params.W_y, params.m_y, params.y_noise_var)
    labels, left = refine_classes(rules.layout, rows, labels, rules.ridge, rules.n_guided, tol)
    value = of_x + float(rows.weights @ log_evidence(rules.layout, rows, labels))
    value -= 0.5 * float(rules.penalty @ (labels.V**2).sum(axis=1))
    stats = {**result.stats, "residual": max(result.stats["residual"], left)}
    status = Status.STALLED if left > tol and result.status is Status.CONVERGED else result.status
    params = params._replace(W_y=labels.V, m_y=labels.b)
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


class ByRow:
    """Outputs of any kind beside a growing basis, row by row."""

    def __init__(self, products: Products, capacity: int, labeled: Labels, coded: Coded) -> None:
        self.basis, self.coded, self._of = Basis(products, capacity), coded, labeled

    def labels(self) -> LabeledRows:
        """The rows in the basis as it is."""
        return self._of(self.basis.T)

    def cross(self, params: Params, x: FromX, held: Any) -> Array:
        """X'Z (d, k), the sum of x E[z]' in the full space."""
        return self.basis.cross(x.gain, held.shift)


def _data_of(
    rows: Rows, labeled: IntArray, Y: Array, layout: Layout, sites: Sites, capacity: int, *, held: bool
) -> tuple[ByRow | ByPattern, StandardRows]:
    """Outputs beside an empty basis, whose products read the rows or are `held`; real ones alone by pattern."""
    n, p = rows.shape
    w = np.ones(n) if rows.weights is None else rows.weights
    if layout.gaussian:
        every = np.full((n, Y.shape[1]), np.nan)
        every[labeled] = Y
        return read_by_pattern(rows, group_outputs(every, w), capacity, held=held)
    codes = np.zeros((n, layout.size))
    codes[labeled] = centered_codes(layout, Y, w[labeled])
    products, x = products_of(rows, labeled, codes, held=held)
    owners = np.repeat(np.arange(len(layout.kinds)), [family.width for family in layout.families])
    coded = Coded.of(codes[labeled], ~np.isnan(Y[:, owners]), w[labeled])
    return ByRow(
        products, capacity, partial(LabeledRows, weights=w[labeled], Y=Y, layout=layout, sites=sites), coded
    ), x


class OutputsInBasis(ModelInBasis):
    """Outputs of any kind in a basis, by EM over their sites."""

    def __init__(self, data: Data, Y: Array, weights: Array, rules: Rules, options: Options) -> None:
        super().__init__(data, options.k, rules)
        self.Y, self.weights, self.options = Y, weights, options

    @property
    def share(self) -> float:
        """As in `InBasis`."""
        return 1.0 if self.data.basis.whole else 0.5

    def maximize(self, start: State | None, tol: float, *, final: bool, max_iter: int) -> Result[State]:
        """As in `InBasis`."""
        em = self.em()
        path: list[Array] = []
        n_iter = 0
        if start is None:
            begun = self._begin(em)
            start, n_iter = State(*begun.value), begun.stats["n_iter"]
            path.append(begun.path)
            tol = self.options.tol if self.data.basis.whole else tol
        left = max(max_iter - n_iter, 1)
        params, near = start
        found = em.maximize(params, tol, left, self.options.acceleration, near, near.accuracy)
        path.append(found.path[1:])
        stats = {"residual": found.stats["residual"], "n_iter": n_iter + found.stats["n_iter"]}
        return Result(State(*found.value), found.status, np.concatenate(path), stats)

    def _begin(self, em: BasisEM) -> Result[tuple[Params, Sums]]:
        """A few iterations from the best start; among many labeled rows, a few choose it."""
        rows = em.labels
        if not isinstance(rows, LabeledRows) or len(rows.Y) < MANY_LABELED:
            return self._first(em)
        some = slice(None, None, len(rows.Y) // FEW_LABELED)  # each stands for those between
        weights = rows.weights[some] * (rows.weight / rows.weights[some].sum())
        few = LabeledRows(rows.T[some], weights, rows.Y[some], self.rules.layout, rows.sites)
        start = self._first(BasisEM(em.view, few, self.rules)).value[0]
        return em.maximize(start, START_ACCURACY, TRIAL_ITERATIONS, self.options.acceleration)

    def _first(self, em: BasisEM) -> Result[tuple[Params, Sums]]:
        """The best of a few iterations from each start; a start that is hopeless is left out."""
        best: Result[tuple[Params, Sums]] | None = None
        b, h = base_predictors(self.rules.layout, self.Y, self.weights), self.rules.layout.size
        noise, V = np.ones(self.Y.shape[1]), np.zeros((h, self.k))
        joint = self.data.coded.joint(self.data.basis)
        for start in gaussian_starts(joint, self.k, self.rules, START_LOG_RATIOS):
            start = start._replace(W_y=V, m_y=b, y_noise_var=noise)
            if best is not None and x_log_likelihood(start, given_x(start), em.view) < best.path[-1]:
                continue  # even labels that are certain would not make up for x
            start = em.refine_labels(start, START_STEPS, COARSEST)
            trial = em.maximize(start, START_ACCURACY, TRIAL_ITERATIONS, self.options.acceleration)
            if best is None or trial.path[-1] > best.path[-1]:
                best = trial
        assert best is not None
        return best


def products_of(rows: Rows, labeled: IntArray, codes: Array, *, held: bool) -> tuple[Products, StandardRows]:
    """The way to the products: reading the rows, or those of the shorter side held; codes (n, h) of all rows."""
    n, p = rows.shape
    if not held or n >= p:
        swept = SweptProducts(rows, labeled, codes, second=held)
        return swept, swept.rows
    x = rows.standard(rows.summarize())
    found = x.coordinates()
    w = np.ones(n) if rows.weights is None else rows.weights
    return HeldProducts.of_coordinates(Space.of(x), found.T, w, codes, labeled, found.expand), x


def rotation_of(params: Params, n_guided: int) -> Array:
    """Canonical rotation: dimensions in order of the variance of x they explain; with private ones, guided first.

    Guided dimensions are then ordered by how much the predictors depend on them.
    """
    x = params.W_x / np.sqrt(params.x_noise_var)
    if n_guided == x.shape[1] or len(params.W_y) == 0:
        return canonical_rotation(x, params.W_x)
    return guided_rotation(x, params.W_y, n_guided, params.W_x)


class Scales(NamedTuple):
    """Units of x, and how much was observed."""

    mean: Array  # (p,)
    scale: float
    n_entries: float  # of x, weighted
    n_outputs: Array  # (q,)   rows that observe each output, weighted


def in_data_units(result: Result[Params], x: Scales, rules: Rules, units: Units) -> Result[Fitted]:
    """Parameters, path and floors in the units of the data, rotated canonically."""
    params, layout = result.value, rules.layout
    R = rotation_of(params, rules.n_guided)
    V, b, noise = params.W_y @ R, params.m_y.copy(), params.y_noise_var.copy()
    floors = ["x"] if params.x_noise_var <= X_FLOOR * (1 + 1e-9) else []
    if (noise[layout.noisy] <= Y_FLOOR * (1 + 1e-9)).any():
        floors.append("y")
    for j, (family, predictors) in enumerate(layout.parts):
        if family.noisy:
            V[predictors] *= units.scale[j]
            b[predictors] = units.mean[j] + units.scale[j] * b[predictors]
            noise[j] *= units.scale[j] ** 2
    path = result.path - x.n_entries * np.log(x.scale) - float(x.n_outputs @ np.log(units.scale))
    penalty = 0.5 * float(rules.penalty @ (params.W_y**2).sum(axis=1))
    penalty += 0.5 * rules.prior_precision * float((params.W_x**2).sum())
    none = np.zeros((0, R.shape[1])), np.zeros(0), np.zeros(0)
    of_x = Params(params.W_x @ R * x.scale, x.mean + params.m_x * x.scale, params.x_noise_var * x.scale**2, *none)
    fitted = Model(of_x, LabelParams(V, b, noise), layout, result.stats["inference"])
    objective = float(path[-1])
    stats = {**result.stats, "floors": floors}
    return Result(Fitted(fitted, objective, objective + penalty), result.status, path, stats)
