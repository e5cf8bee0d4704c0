"""Supervised and semi-supervised probabilistic PCA (Yu et al. 2006) with any outputs missing."""

from functools import partial
from typing import NamedTuple

import numpy as np

from ..._types import Array, Result
from ...likelihoods.exact import GaussianSites
from ...likelihoods.layout import Layout
from ...numerics.linalg import top_eigenvalues
from ...numerics.linear_gaussian import Params
from ...rows.contract import Rows
from ...rows.products import rows_with_some
from ...rows.standard import StandardRows
from ...rows.threads import one_thread
from ...solvers.rank import check_rank, check_rank_of_rows
from . import dual
from .basis import CAPACITY, WHOLE, Basis, beyond, enough_expansions, moments_pay
from .in_basis import grow_gaussian
from .over_rows import RowsEM, maximize, random_start, starts
from .patterns import Outputs, group_outputs, read_by_pattern
from .sites_em import Rules
from .units import Fitted, Units, beside_latent_turned, in_data_units, rotation_of, standard_outputs

ROUGH_SHARE = 1e-2  # of the energy, left as noise: with less, moments in single precision are not exact enough


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
    n_private: int = 0
    output_noise: str | float = "ml"
    prior_precision: float = 0.0
    means: str = "ml"
    one_target: bool = False  # the columns of Y code one target together


def choose_solver(n: int, p: int, k: int, *, complete: bool, plain: bool, supervised: bool) -> str:
    """Name the solver that "auto" takes for rows without missing features.

    "ratio" when every row observes every output of a plain model (a global search); else "moments" where second moments
    cost less than the reads of a growing basis, which is "subspace".
    """
    if complete and plain and supervised:
        return "ratio"
    return "moments" if moments_pay(n, p, k) else "subspace"


def fit(rows: Rows, Y: Array, options: Options, generator: np.random.Generator) -> Result[Fitted]:
    """Fit the model to rows and outputs Y (n, q), NaN where not observed.

    Returns
    -------
    Result(Fitted, status, objective path in nats, stats) with stats "solver", "n_passes", "residual", "n_iter",
    "floors" (names of the noise floors that are active), "optima" (log-likelihoods of the local optima that the ratio
    search saw) and "beside_latent" (`units.BesideLatent`, or None where rows were read one by one).
    """
    if options.solver == "dual":
        return _fit_dual(rows, Y, options, generator)
    n, p = rows.shape
    weights = np.ones(n) if rows.weights is None else rows.weights
    Y, y_mean, y_scale = standard_outputs(Y, weights, together=options.one_target)
    k = options.n_components + options.n_private
    outputs = group_outputs(Y, weights, k)
    rules = _rules(options, Y.shape[1])
    fixed = None if isinstance(options.output_noise, str) else options.output_noise / y_scale**2
    noise = np.ones(Y.shape[1]) if fixed is None else fixed
    complete = outputs.complete
    plain = options.output_noise == "ml" and not (options.n_private or options.prior_precision)
    solver = options.solver
    if rows.masked:
        if solver not in ("auto", "em"):
            raise ValueError(f"solver={solver!r} needs complete rows; X has missing entries, so use solver='auto'")
        solver = "em"
    elif solver == "auto":
        solver = choose_solver(n, p, k, complete=complete, plain=plain, supervised=Y.shape[1] > 0)
    if solver == "ratio" and not (complete and plain):
        raise ValueError(
            "solver='ratio' needs every output of every row, and no output_noise, n_private or prior_precision of its "
            "own; use solver='auto'"
        )
    if solver == "em":
        result, standard = _fit_over_rows(rows, outputs, options, rules, noise, y_scale, generator)
    else:
        result, standard = _fit_quickly(rows, outputs, options, rules, noise, solver, generator)
    some = rows_with_some(outputs.observed)
    observed = outputs.weights[some] @ outputs.observed.take(some, axis=0)
    units = Units(standard.mean, standard.scale, standard.n_entries, y_mean, y_scale, observed)
    rotation = rotation_of(result.value, rules.n_guided, result.value.W_x)
    beside = beside_latent_turned(result.stats.get("beside_latent"), rotation, units)
    stats = {"solver": solver, **result.stats, "n_passes": rows.reads, "beside_latent": beside}
    return in_data_units(result._replace(stats=stats), rotation, rules, units)


def _fit_dual(rows: Rows, Y: Array, options: Options, generator: np.random.Generator) -> Result[Fitted]:
    """Fit by algorithm 3 of the paper."""
    neutral = (0, "ml", 0.0)
    if rows.weights is not None or (options.n_private, options.output_noise, options.prior_precision) != neutral:
        raise ValueError(
            "solver='dual' is algorithm 3 of the paper: without sample_weight, label_weight, n_private, output_noise "
            "and prior_precision. Use solver='auto', which is exact on the n x n side too."
        )
    if rows.masked:
        raise ValueError("solver='dual' needs complete rows; X has missing entries, so use solver='auto'.")
    standard = rows.standard(rows.summarize())
    coordinates = standard.coordinates()
    inner = dual.Options(
        options.n_components, rows.shape[1], "dual", options.tol, options.max_iter, options.init, options.noise_init,
        one_target=options.one_target,
    )  # fmt: skip
    result = dual.fit(coordinates.T * standard.scale, Y, inner, generator, orient=coordinates.expand)
    p = result.value.params
    params = p._replace(W_x=coordinates.expand(p.W_x), m_x=standard.mean)
    fitted = Fitted(params, result.value.log_likelihood)
    return Result(fitted, result.status, result.path, {**result.stats, "n_passes": rows.reads})


def _rules(options: Options, q: int) -> Rules:
    noise = {"ml": "shared", "per_output": "each"}.get(str(options.output_noise), "fixed")
    layout = Layout(("gaussian",) * q, (0,) * q)
    prior, means = options.prior_precision, options.means == "ml"
    return Rules(layout, 0.0, options.n_components, prior_precision=prior, free_means=means, noise=noise)


def _fit_over_rows(
    rows: Rows, outputs: Outputs, options: Options, rules: Rules, noise: Array, y_scale: Array,
    generator: np.random.Generator,
) -> tuple[Result[Params], StandardRows]:  # fmt: skip
    """EM over rows, complete or not, the outputs as sites: CPPCA with real outputs, but for their noise."""
    q, k = outputs.Y.shape[1], options.n_components + options.n_private
    standard = rows.standard(rows.summarize())
    if not rows.masked:
        check_rank_of_rows(standard, k, generator)
    known = standard.with_columns(y=np.where(outputs.observed, outputs.Y, np.nan))
    em = RowsEM(known, rules, GaussianSites())
    candidates: list[Params] = []
    if options.init == "pca":
        candidates = starts(known, outputs.Y, np.zeros(q), noise, k, rules, generator)
    n_random = options.n_init if candidates else 1
    candidates += [random_start(rows.shape[1], q, noise, k, rules, generator) for _ in range(n_random)]
    if options.noise_init is not None:
        each = options.noise_init / y_scale**2
        of_y = {"fixed": noise, "each": each, "shared": np.full(q, each.mean() if q else 1.0)}[rules.noise]
        x_noise = options.noise_init / standard.scale**2
        candidates = [at._replace(x_noise_var=x_noise, y_noise_var=of_y) for at in candidates]
    found = maximize(em, candidates, options.tol, options.max_iter, options.acceleration)
    return Result(found.value[0], found.status, found.path, found.stats), standard


def _fit_quickly(
    rows: Rows, outputs: Outputs, options: Options, rules: Rules, noise: Array, solver: str,
    generator: np.random.Generator,
) -> tuple[Result[Params], StandardRows]:  # fmt: skip
    """In a growing basis; from second moments where it would have to hold much of what there is."""
    (n, p), k = rows.shape, options.n_components + options.n_private
    held = solver == "moments" or (solver == "ratio" and moments_pay(n, p, k))
    enough = enough_expansions(n, p, held=held or options.solver == "subspace")
    way = partial(_fit_in_basis, rows, outputs, options, rules, noise)
    found, standard = way(solver, generator, held=held, enough=enough)
    if found.stats["slow"]:
        solver = "moments" if solver == "subspace" else solver
        found, standard = way(solver, generator, held=True)
    return found._replace(stats=found.stats | {"solver": solver}), standard


def _fit_in_basis(
    rows: Rows, outputs: Outputs, options: Options, rules: Rules, noise: Array, solver: str,
    generator: np.random.Generator, *, held: bool, enough: float = np.inf,
) -> tuple[Result[Params], StandardRows]:  # fmt: skip
    """In a growing basis, as far as not more than `enough` expansions are to be expected."""
    k = options.n_components + options.n_private
    for rough in (True, False):  # anew in double precision where single may not tell noise from rounding
        data, standard = read_by_pattern(rows, outputs, max(CAPACITY, 6 * k), held=held, rough=rough)
        with one_thread(when=held or rows.own_threads):
            # coordinates in all directions would be the rows themselves
            data.basis.start(k, generator, WHOLE if held else 0)
            if rows.dtype == np.float64 or left_beyond(data.basis, k) > ROUGH_SHARE:
                break
    with one_thread(when=held or rows.own_threads):
        check_rank(data.basis.xx, standard.energy, k)
        found = grow_gaussian(data, k, rules, noise, options.tol, options.max_iter, solver, enough)
        return found._replace(
            stats=found.stats | {"beyond": beyond(data.basis.view(), k) * standard.scale**2}
        ), standard


def left_beyond(basis: Basis, k: int) -> float:
    """Share of the energy that k directions of the basis leave."""
    energy = basis.products.space.energy
    return 1.0 - float(top_eigenvalues(basis.xx, k).sum()) / energy if energy > 0.0 else 0.0


def bic(fitted: Fitted, n: float, output_noise: str | float) -> float:
    """Bayesian information criterion of the training rows: -2 log-likelihood + free parameters x log n."""
    return -2.0 * fitted.log_likelihood + n_free_parameters(fitted.params, output_noise) * float(np.log(n))


def n_free_parameters(params: Params, output_noise: str | float) -> int:
    """Free parameters: loadings up to rotation, means, noise variances that are estimated."""
    (p, k), q = params.W_x.shape, len(params.m_y)
    noises = 1 + (q if output_noise == "per_output" else int(output_noise == "ml" and q > 0))
    guided = int((params.W_y**2).any(axis=0).sum()) if q else k
    rotations = guided * (guided - 1) // 2 + (k - guided) * (k - guided - 1) // 2
    return int(p * (k + 1) + q * (guided + 1) + noises - rotations)
