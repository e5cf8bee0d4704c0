"""Classification PPCA (Cheng and Li 2011) with outputs of several kinds, any of them missing."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, IntArray, Result, Status
from ...likelihoods.inference import choose_inference, evidence_of
from ...likelihoods.layout import Layout
from ...numerics.linalg import canonical_rotation, guided_rotation
from ...numerics.linear_gaussian import FromX, Params, given_x
from ...rows.contract import Rows
from ...rows.standard import StandardRows
from ...rows.threads import one_thread
from ...solvers.rank import check_rank, check_rank_of_rows
from .basis import CAPACITY, WHOLE, Basis, HeldProducts, Products, Space, SweptProducts, beyond, moments_pay
from .class_likelihood import Labeled, LabelParams, applies, log_evidence, refine_classes
from .conditioning import Model
from .evidence import Coded, LabeledRows
from .grow import START_ACCURACY, Data, ModelInBasis, State, grow
from .in_basis import BasisEM, gaussian_starts, in_features, x_log_likelihood
from .over_rows import START_LOG_RATIOS, KeepLabeled, RowsEM, condition_of, mask_factors, maximize, starts
from .pattern_moments import ByMoments
from .patterns import ByPattern, group_outputs, read_by_pattern
from .sites_em import COARSEST, Rules, Sums
from .units import Fitted, Units, in_data_units, standard_outputs

Labels = Callable[[Array], LabeledRows]
SMALL = 1 << 22  # coordinates of labeled rows up to which one thread is faster than several that wait for one another
WHOLE_MOMENTS = 400  # dimensions all of which make the first basis, where products are those of small matrices, and
FEW_COORDINATES = 1 << 18  # the labeled rows have no more coordinates than that
MANY_LABELED, FEW_LABELED = 1600, 400  # of many labeled rows, a few are enough to choose a start by
SEVERAL_LABELED, MANY_PREDICTORS = 2000, 1 << 14  # so many are fitted first where rows times predictors are many
START_STEPS, TRIAL_ITERATIONS = 5, 1
PRIVATE_TRIALS = 20  # iterations after which starts are compared where optima differ by which dimensions are private


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

    def rules(self, layout: Layout) -> Rules:
        """What is held fixed, and what lies on the loadings."""
        return Rules(layout, self.ridge, self.n_components, self.prior_precision, self.means == "ml")


def fit(rows: Rows, labeled: IntArray, Y: Array, layout: Layout, options: Options,
        generator: np.random.Generator) -> Result[Fitted]:  # fmt: skip
    """Fit the model to rows; Y (n_l, q) holds the outputs of the rows `labeled`, NaN where missing.

    Returns
    -------
    Result(Fitted, status, objective path in nats, stats) with stats "solver", "inference", "n_passes", "residual",
    "n_iter" and "floors".
    """
    inference = choose_inference(layout) if options.inference == "auto" else options.inference
    rules = options.rules(layout)
    weights = np.ones(len(labeled)) if rows.weights is None else rows.weights[labeled]
    y_mean, y_scale, noisy = np.zeros(Y.shape[1]), np.ones(Y.shape[1]), layout.noisy
    Y = Y.copy()
    Y[:, noisy], y_mean[noisy], y_scale[noisy] = standard_outputs(Y[:, noisy], weights, together=False)
    guide = Guide(labeled, Y, weights, inference)
    if rows.masked or options.solver == "em":
        solver, (result, x) = "em", _fit_over_rows(rows, guide, rules, options, generator)
    else:
        solver = options.solver
        if solver == "auto":
            solver = "moments" if moments_pay(*rows.shape, options.k) else "subspace"
        result, x = _fit_in_basis(rows, guide, rules, options, generator, held=solver == "moments")
    stats = {**result.stats, "solver": solver, "inference": inference, "n_passes": rows.reads}
    units = Units(x.mean, x.scale, x.n_entries, y_mean, y_scale, weights @ ~np.isnan(Y))
    R = _rotation(result.value, options.n_components)
    found = in_data_units(result._replace(stats=stats), R, rules, units)
    params = found.value.params
    of_x = params._replace(W_y=np.zeros((0, len(R))), m_y=np.zeros(0), y_noise_var=np.zeros(0))
    labels = LabelParams(params.W_y, params.m_y, params.y_noise_var)
    return found._replace(value=found.value._replace(params=Model(of_x, labels, layout, inference)))


class Guide(NamedTuple):
    """Outputs in standard units, of the rows that have any, and how rows are conditioned on them."""

    labeled: IntArray  # (n_l,)
    Y: Array  # (n_l, q)   NaN where missing
    weights: Array  # (n_l,)
    inference: str


def _fit_in_basis(
    rows: Rows, guide: Guide, rules: Rules, options: Options, generator: np.random.Generator, *, held: bool
) -> tuple[Result[Params], StandardRows]:
    """EM in a growing basis."""
    k = options.k
    data, x = _data_of(rows, guide, rules.layout, k, held=held)
    basis = data.basis
    few = held and len(guide.labeled) * basis.products.size <= FEW_COORDINATES
    basis.start(k, generator, WHOLE_MOMENTS if few else WHOLE if held else 0)
    check_rank(basis.xx, x.energy, k)
    with one_thread(when=basis.T.size <= SMALL):
        model = OutputsInBasis(data, guide, rules, options)
        found = grow(model, tol=options.tol, max_expansions=options.max_iter, max_iter=options.max_iter)
        params = found.value[0]
        result = Result(in_features(params, basis), found.status, found.path, found.stats)
        if applies(rules.layout, guide.inference):
            post = given_x(params)
            labels = Labeled(guide.Y, basis.T @ post.gain.T, post.cov, guide.weights)
            of_x = x_log_likelihood(params, post, basis.view())
            result = with_integrated_classes(result, labels, of_x, rules, options.tol)
    return result._replace(stats=result.stats | {"beyond": beyond(basis.view(), k) * x.scale**2}), x


def _fit_over_rows(
    rows: Rows, guide: Guide, rules: Rules, options: Options, generator: np.random.Generator
) -> tuple[Result[Params], StandardRows]:
    """The same by EM over the rows, one read an iteration: for rows that miss entries."""
    layout, (labeled, Y, weights, inference) = rules.layout, guide
    every, codes = np.full((rows.shape[0], Y.shape[1]), np.nan), np.zeros((rows.shape[0], layout.size))
    every[labeled], codes[labeled] = Y, centered_codes(layout, Y, weights)
    standard = rows.standard(rows.summarize())
    if not rows.masked:
        check_rank_of_rows(standard, options.k, generator)
    standard = standard.with_columns(y=every)
    base, noise = base_predictors(layout, Y, weights), np.ones(len(layout.kinds))
    em = RowsEM(standard, rules, evidence_of(layout, inference))
    candidates = starts(standard, codes, base, noise, options.k, rules, generator)
    found = maximize(em, candidates, options.tol, options.max_iter, options.acceleration)
    params, sums = found.value
    result = Result(params, found.status, found.path, found.stats)
    if applies(layout, inference):
        swept = standard.sweep(params.W_x, KeepLabeled(condition_of(params)), V_mask=mask_factors(params))
        latent, cov = swept.kept.of_rows()
        of_x = em.x_part(params, sums.xz1[:, -1]) + swept.sums
        result = with_integrated_classes(result, Labeled(Y, latent, cov, weights), of_x, rules, options.tol)
    return result, standard


def with_integrated_classes(result: Result[Params], rows: Labeled, of_x: float, rules: Rules,
                            tol: float) -> Result[Params]:  # fmt: skip
    """Refine the label parameters of classes by the likelihood itself; the path ends at it, above the bound.

    `of_x` is the log-likelihood of x. The points of integration lie along the latent axes, so these are turned first to
    where neither the start nor the order of classes matters.
    """
    params = result.value
    R = _rotation(params, rules.n_guided)
    params = params._replace(W_x=params.W_x @ R, W_y=params.W_y @ R)
    rows = rows._replace(latent=rows.latent @ R, cov=R.T @ rows.cov @ R)
    labels = LabelParams(params.W_y, params.m_y, params.y_noise_var)
    labels, left = refine_classes(rules.layout, rows, labels, rules.ridge, rules.n_guided, tol)
    params = params._replace(W_y=labels.V, m_y=labels.b)
    value = of_x + float(rows.weights @ log_evidence(rules.layout, rows, labels)) - rules.penalty_of(params)
    stats = {**result.stats, "residual": max(result.stats["residual"], left)}
    status = Status.STALLED if left > tol and result.status is Status.CONVERGED else result.status
    return Result(params, status, np.append(result.path, value), stats)


def centered_codes(layout: Layout, Y: Array, weights: Array) -> Array:
    """Outputs as real numbers (n_l, h) for a first look: contrasts of classes, log(1 + counts); in standard units.

    Zero where not observed.
    """
    columns = []
    for j, family in enumerate(layout.families):
        seen = ~np.isnan(Y[:, j])
        values = family.codes(Y[seen, j])
        w = weights[seen] / max(weights[seen].sum(), 1e-300)
        values = values - w @ values
        std = float(np.sqrt((w @ values**2).mean())) if values.size else 0.0
        out = np.zeros((len(Y), values.shape[1]))
        out[seen] = values / (std or 1.0)
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

    def __init__(self, basis: Basis, labeled: Labels, coded: Coded, some: IntArray | None = None) -> None:
        self.basis, self.coded, self._of, self.some = basis, coded, labeled, some

    def few(self, some: IntArray) -> "ByRow":
        """The same basis; some of the rows stand for all."""
        return ByRow(self.basis, self._of, self.coded, some)

    def labels(self) -> LabeledRows:
        """The rows in the basis as it is."""
        rows = self._of(self.basis.T)
        return rows if self.some is None else rows.some(self.some)

    def cross(self, params: Params, x: FromX, held: Any) -> Array:
        """X'Z (d, k), the sum of x E[z]' in the full space."""
        shift = held.shift
        if self.some is not None:
            rows = self._of(self.basis.T)
            shift = np.zeros((len(rows.Y), shift.shape[1]))
            shift[self.some] = held.shift * (rows.weight / rows.weights[self.some].sum())
        return self.basis.cross(x.gain, shift)


def _data_of(
    rows: Rows, guide: Guide, layout: Layout, k: int, *, held: bool
) -> tuple[ByRow | ByPattern | ByMoments, StandardRows]:
    """Outputs beside an empty basis, whose products read the rows or are `held`; real ones alone by pattern."""
    labeled, Y, w, inference = guide
    n, capacity = rows.shape[0], max(CAPACITY, 6 * k)
    if layout.gaussian:
        every = np.full((n, Y.shape[1]), np.nan)
        every[labeled] = Y
        weights = np.ones(n) if rows.weights is None else rows.weights
        return read_by_pattern(rows, group_outputs(every, weights, k), capacity, held=held)
    codes = np.zeros((n, layout.size))
    codes[labeled] = centered_codes(layout, Y, w)
    products, x = products_of(rows, labeled, codes, held=held)
    coded = Coded.of(codes[labeled], ~np.isnan(Y[:, layout.owners]), w)
    labels = partial(LabeledRows, weights=w, Y=Y, layout=layout, sites=evidence_of(layout, inference))
    return ByRow(Basis(products, capacity), labels, coded), x


class OutputsInBasis(ModelInBasis):
    """Outputs of any kind in a basis, by EM over their sites."""

    def __init__(self, data: Data, guide: Guide, rules: Rules, options: Options) -> None:
        super().__init__(data, options.k, rules)
        self.guide, self.options = guide, options

    @property
    def share(self) -> float:
        return 1.0 if self.data.basis.whole else 0.5

    def maximize(self, start: State | None, tol: float, *, final: bool, max_iter: int) -> Result[State]:
        several = self._of_several(max_iter) if start is None else None
        em = BasisEM(self.data.basis.view(), self.data.labels(), self.rules)
        path: list[Array] = []
        n_iter = 0
        if start is None:
            begun = self._begin(em, several)
            start, n_iter = begun.value, begun.stats["n_iter"]
            path.append(begun.path)
            tol = self.options.tol if self.data.basis.whole else tol
        left = max(max_iter - n_iter, 1)
        params, near = start
        found = em.maximize(params, tol, left, self.options.acceleration, near, near.accuracy)
        path.append(found.path[1:])
        stats = {"residual": found.stats["residual"], "n_iter": n_iter + found.stats["n_iter"]}
        return Result(found.value, found.status, np.concatenate(path), stats)

    def _of_several(self, max_iter: int) -> Params | None:
        """A fit to some of many labeled rows, in a basis that grows for them.

        None where these are not as many, or where it says less of as many others than their frequencies do.
        """
        data, n = self.data, len(self.guide.Y)
        if not isinstance(data, ByRow) or data.some is not None:
            return None
        if n < 2 * SEVERAL_LABELED or n * self.rules.layout.size < MANY_PREDICTORS:
            return None
        some = data.labels().chosen(SEVERAL_LABELED)
        model = OutputsInBasis(data.few(some), self.guide, self.rules, self.options)
        found = grow(model, tol=START_ACCURACY, max_expansions=max_iter, max_iter=max_iter).value[0]
        rows, (_, Y, weights, _) = data.labels(), self.guide
        others, x = rows.some(np.setdiff1d(rows.chosen(2 * SEVERAL_LABELED), some)), given_x(found)
        none = found._replace(W_y=np.zeros_like(found.W_y), m_y=base_predictors(self.rules.layout, Y, weights))
        told, by_chance = (others.sums(params, x, None, COARSEST)[0].log_z for params in (found, none))
        return found if told > by_chance else None

    def _begin(self, em: BasisEM, start: Params | None) -> Result[tuple[Params, Sums]]:
        """An iteration from a start, or the best one; among many labeled rows, a few choose it."""
        rows = em.labels
        if start is None:
            if not isinstance(rows, LabeledRows) or len(rows.Y) < MANY_LABELED:
                return self._first(em)
            few = rows.some(rows.chosen(FEW_LABELED))
            start = self._first(BasisEM(em.view, few, self.rules)).value[0]
        return em.maximize(start, START_ACCURACY, TRIAL_ITERATIONS, self.options.acceleration)

    def _first(self, em: BasisEM) -> Result[tuple[Params, Sums]]:
        """The best after an iteration from each start; a start that is hopeless is left out.

        Private dimensions are chosen among more optima, which take longer to tell.
        """
        best: Result[tuple[Params, Sums]] | None = None
        private = self.rules.n_guided < self.k
        n_iter = PRIVATE_TRIALS if private else TRIAL_ITERATIONS
        layout, (_, Y, weights, _) = self.rules.layout, self.guide
        b, V, noise = base_predictors(layout, Y, weights), np.zeros((layout.size, self.k)), np.ones(Y.shape[1])
        joint = self.data.coded.joint(self.data.basis)
        for start in gaussian_starts(joint, self.k, self.rules, START_LOG_RATIOS):
            start = start._replace(W_y=V, m_y=b, y_noise_var=noise)
            hopeless = best is not None and x_log_likelihood(start, given_x(start), em.view) < best.path[-1]
            if hopeless and not private:
                continue  # even labels that are certain would not make up for x
            start = em.refine_labels(start, START_STEPS, COARSEST)
            trial = em.maximize(start, START_ACCURACY, n_iter, self.options.acceleration)
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
    found = x.coordinates(principal=False)
    w = np.ones(n) if rows.weights is None else rows.weights
    return HeldProducts.of_coordinates(Space.of(x), found.T, found.xx, w, codes, labeled, found.expand), x


def _rotation(params: Params, n_guided: int) -> Array:
    """Canonical rotation: dimensions in order of the variance of x they explain; with private ones, guided first.

    Guided dimensions are then ordered by how much the predictors depend on them.
    """
    x = params.W_x / np.sqrt(params.x_noise_var)
    if n_guided == x.shape[1] or len(params.W_y) == 0:
        return canonical_rotation(x, params.W_x)
    return guided_rotation(x, params.W_y, n_guided, params.W_x)
