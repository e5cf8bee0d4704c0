"""Mixtures of probabilistic PCA (Tipping and Bishop 1999), with any entries of dense rows missing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, IntArray, Result, Status
from ...numerics.linalg import canonical_rotation
from ...numerics.normalize import normalized
from ...numerics.scramble import random_rows, random_signs
from ...rows.contract import Kept, Rows, Step, View
from ...rows.masked import filled
from ...rows.standard import ScaledRows, StandardRows
from ...solvers.rank import check_rank_of_rows
from .em import (
    CompleteRows,
    IncompleteRows,
    Near,
    approach,
    begin,
    finish,
    local_pca,
    masked_condition,
    masked_directions,
)
from .kmeans import Partition
from .local_gaussians import LocalMaps, Mixture, Shape, apart, condition, local_maps

NOISE_FLOOR = 1e-6  # smallest noise variance, relative to the variance of x
MOMENT_SIDE = 32  # up to this many coordinates, p x p products per component are cheaper than more iterations
GRAM_SIDE = 1500  # up to this many rows, a table with more columns is rotated to its row space first
HOPELESS = 5.0  # nats per row below another start once steps are short: hundreds of them would not make up for it
SAME = 0.3  # root nats per row between a start and the maximum that it comes to; those of others are .77 or more away
FAR = 0.5  # nats per row below a maximum at which a start is given up; at .2 a few tables lose their best one
PARTITION_ROWS, PARTITION_ENTRIES = 1000, 1 << 22  # k-means for the start reads so many rows, or entries if more


class Options(NamedTuple):
    """How to fit; see `gnomon.MixturePPCA` for the meaning."""

    sizes: tuple[int, ...]
    shared: bool = False
    solver: str = "auto"
    n_init: int = 5
    init: str = "kmeans"
    tol: float = 1e-6
    max_iter: int = 1000
    acceleration: str | None = "alternating"


class Fitted(NamedTuple):
    """The best local maximum, in units of the data; components by falling weight, loadings rotated canonically."""

    params: Mixture
    sizes: tuple[int, ...]
    responsibilities: Array  # (s,)   mean over the training rows
    log_likelihood: float  # nats, training rows


class RowPosterior(NamedTuple):
    """New rows under a fitted mixture."""

    log_density: Array  # (n,)
    resp: Array  # (n, s)
    z: Array  # (n, s, k)
    covs: Array  # (s, k, k), or (n, s, k, k) when rows miss entries


def choose_solver(n: int, p: int, s: int, *, sparse: bool, missing: bool) -> str:
    """Name the solver that "auto" takes.

    "masked" when entries are missing. "moments" (closed-form M-steps from p x p products) when the shorter side is at
    most 32, or at most 1500 for one component, which needs one step; where n < p it runs on a rotated table. Else
    "latent" (M-steps by products with the loadings): more steps, each of which is far cheaper.
    """
    if missing:
        return "masked"
    if sparse and n >= p:
        return "latent"
    return "moments" if min(n, p) <= (MOMENT_SIDE if s > 1 else GRAM_SIDE) else "latent"


def fit(rows: Rows, options: Options, generator: np.random.Generator) -> Result[Fitted]:
    """Fit the mixture to rows, of which entries may be missing.

    Returns
    -------
    Result(Fitted, status, objective path in nats, stats) with stats "solver", "n_passes", "n_iter", "residual",
    "floors" (components whose noise rests on its floor), "collapsed" (components with too few rows for their
    dimensions) and "optima" (log-likelihood of every start, where it was left).
    """
    sparse, missing, (n, p) = rows.sparse, rows.masked, rows.shape
    solver = options.solver
    if solver == "auto":
        solver = choose_solver(n, p, len(options.sizes), sparse=sparse, missing=missing)
    if missing and solver != "masked":
        raise ValueError(f"solver={solver!r} needs every entry of X and some are NaN; use solver='auto' or 'masked'.")
    if sparse and (solver == "masked" or (solver == "moments" and not n < p)):
        raise ValueError(f"solver={solver!r} would make the sparse X dense; use solver='auto' or 'latent'.")
    shape = Shape(options.sizes, p, NOISE_FLOOR, options.shared)
    table = _table(rows, shape, solver, generator)
    begun = [
        _begun(table, options, generator, first=i == 0) for i in range(options.n_init if len(options.sizes) > 1 else 1)
    ]
    found = _finished(table, _approached(table, begun, options), options)
    best = max(found, key=lambda r: (not r.stats["collapsed"], not r.stats["floors"], r.value.log_likelihood))
    passes = table.source.reads + table.reader.reads * (table.reader is not table.source)
    best.stats.update(solver=solver, n_passes=passes, optima=[r.value.log_likelihood for r in found])
    return best


Map = Callable[[Array], Array]


class _Table(NamedTuple):
    """Rows ready for EM, where k-means reads them, and the way back to the units of the data."""

    engine: CompleteRows | IncompleteRows
    reader: ScaledRows
    partition: Partition
    source: StandardRows
    expand: Map  # coordinates (r, m) -> features (p, m), standard units


def _table(rows: Rows, shape: Shape, solver: str, generator: np.random.Generator) -> _Table:
    engine: CompleteRows | IncompleteRows
    rows = rows.anew(masked=True) if solver == "masked" else rows
    source = rows.standard(rows.summarize())
    reader: ScaledRows = source
    expand: Map = np.asarray
    if solver == "masked":
        engine = IncompleteRows(source, shape)
    else:
        check_rank_of_rows(source, max(shape.sizes), generator)
        n, p = source.shape
        if n < p and n <= GRAM_SIDE:
            found = source.coordinates()
            reader, expand = found.reader(), found.expand
        engine = CompleteRows(reader, shape, moments=solver == "moments")
    return _Table(engine, reader, Partition(engine.rows, _some_rows(engine.rows)), source, expand)


def _some_rows(rows: ScaledRows) -> IntArray:
    """Rows that k-means reads; which they are does not depend on their order."""
    n, p = rows.shape
    m = max(PARTITION_ROWS, PARTITION_ENTRIES // p)
    return np.arange(n) if n <= m else random_rows(m, rows.rows.gather("length") / p, np.random.default_rng(0))


def _finished(table: _Table, near: list[Result[Near]], options: Options) -> list[Result[Fitted]]:
    """The maxima of starts; one that is left far below another of full components stays where it is.

    One that has come near to the maximum of another is on the way there.
    """
    found, least, ends = list[Any](near), -np.inf, dict[int, Mixture]()
    for i in sorted(range(len(near)), key=lambda i: -near[i].path[-1]):
        result = near[i]
        same = [j for j, end in ends.items() if apart(result.value[0], end, table.engine.shape.ambient) <= SAME]
        if same:
            found[i] = found[same[0]]
            continue
        if result.path[-1] >= least:
            result = finish(table.engine, result, options.tol, options.max_iter, options.acceleration)
            ends |= {i: result.value[0]} if result.status is Status.CONVERGED else {}
        found[i] = _in_data_units(table, result, options.sizes)
        if not (found[i].stats["collapsed"] or found[i].stats["floors"]):
            least = max(least, result.path[-1] - FAR * table.source.weight)
    return found


def _approached(table: _Table, begun: list[Result[Near]], options: Options) -> list[Result[Near]]:
    """Starts near to maxima; those that are hopelessly far below another of full components stay where they are."""
    full = [start.path[-1] for start in begun if _is_full(start, options.sizes, table.engine.shape.floor)]
    least = max(full, default=-np.inf) - HOPELESS * table.source.weight
    return [
        approach(table.engine, start, options.tol, options.max_iter) if start.path[-1] >= least else start
        for start in begun
    ]


def _is_full(start: Result[Near], sizes: tuple[int, ...], floor: float) -> bool:
    """Whether every component has noise, and rows for its dimensions."""
    params, sums = start.value
    return bool((params.noise_vars > floor).all() and (sums.counts > np.add(sizes, 1)).all())


def _begun(table: _Table, options: Options, generator: np.random.Generator, *, first: bool) -> Result[Near]:
    planned = first and options.init == "kmeans"
    s, k, rows = len(options.sizes), max(options.sizes), table.engine.rows
    centers = table.partition.centers(s, options.init, None if planned else generator)
    drawn, mean_squares = np.random.default_rng(0) if planned else generator, rows.rows.gather("length") / rows.shape[1]
    U = np.column_stack([random_signs(mean_squares, drawn) for _ in range(s * k)])
    blocks = rows.back(U).reshape(-1, s, k).transpose(1, 0, 2)
    start = local_pca(rows, centers, blocks, table.engine.shape)
    return begin(table.engine, start, options.tol, options.max_iter)


def _in_data_units(table: _Table, result: Any, sizes: tuple[int, ...]) -> Result[Fitted]:
    """Undo centering, scale and rotation; order the components and fix their axes and signs."""
    params, sums = result.value
    source, scale = table.source, table.source.scale
    order = np.argsort(-params.mix_weights, kind="stable")
    s, _, k = params.W.shape
    W = np.zeros((s, source.shape[1], k))
    for place, c in enumerate(order):
        found = table.expand(params.W[c, :, : sizes[c]])
        W[place, :, : sizes[c]] = found @ canonical_rotation(found) * scale
    means = source.mean + table.expand(params.means[order].T).T * scale
    noise = params.noise_vars[order]
    fitted = Mixture(params.mix_weights[order], means, W, noise * scale**2)
    path = result.path - source.n_entries * np.log(scale)
    counts = sums.counts[order]
    sizes = tuple(sizes[c] for c in order)
    stats = {
        **result.stats,
        "floors": np.flatnonzero(noise <= NOISE_FLOOR * (1 + 1e-9)).tolist(),
        "collapsed": np.flatnonzero(counts <= np.add(sizes, 1)).tolist(),
    }
    return Result(Fitted(fitted, sizes, counts / counts.sum(), float(path[-1])), result.status, path, stats)


def conditioned(params: Mixture, rows: Rows, *, with_cov: bool = False) -> RowPosterior:
    """Condition new rows on what they observe: density, responsibilities and latent coordinates in every component.

    `with_cov` keeps a covariance for every row and component where rows miss entries.
    """
    scale = float(np.sqrt(params.noise_vars.max()))
    mean = params.mix_weights @ params.means
    units = Mixture(params.mix_weights, (params.means - mean) / scale, params.W / scale, params.noise_vars / scale**2)
    here = rows.in_units(mean, scale)
    if rows.masked:
        directions, mask_directions = masked_directions(units)
        found = here.sweep(directions, _MaskedPosterior(units, with_cov), V_mask=mask_directions)
        log_joint, z, seen, covs = found.kept.of_rows()
    else:
        maps, seen = local_maps(units), np.float64(rows.shape[1])
        found = here.measured().sweep(maps.directions, _Posterior(maps, rows.shape[1]))
        (log_joint, z), covs = found.kept.of_rows(), maps.covs
    resp, density = normalized(log_joint)
    return RowPosterior(density - seen * np.log(scale), resp, z, covs)


@dataclass(frozen=True)
class _Posterior:
    """Joint log-densities and posterior means of complete rows."""

    maps: LocalMaps
    n_features: int

    def __call__(self, view: View) -> Step:
        return Step(keep=Kept.of(view, *condition(self.maps, view.T, view.aligned["length"], self.n_features)))


@dataclass(frozen=True)
class _MaskedPosterior:
    """The same of rows that miss entries, how many they observe, and their covariances where they are asked for."""

    units: Mixture
    with_cov: bool

    def __call__(self, view: View) -> Step:
        mask, seen = view.mask, view.aligned["seen"]
        assert mask is not None
        log_joint, z, covs = masked_condition(self.units, view.T, mask, view.aligned["length"], seen)
        of_rows = mask.by_row(np.stack(covs, axis=1)) if self.with_cov else np.empty((len(seen), 0))
        return Step(keep=Kept.of(view, log_joint, z, seen, of_rows))


def log_density(params: Mixture, rows: Rows) -> Array:
    """Log-density (n,) of the observed entries of new rows, in nats."""
    return conditioned(params, rows).log_density


def predict(params: Mixture, rows: Rows) -> Array:
    """Probability (n, s) of each component of new rows."""
    return conditioned(params, rows).resp


def posterior(
    params: Mixture, rows: Rows, sizes: tuple[int, ...], component: int | None = None, *, with_cov: bool = True
) -> tuple[Array, Array | None]:
    """Mean and covariance of the coordinates in one component, or of those of `gated_moments`."""
    post = conditioned(params, rows, with_cov=with_cov)
    if component is None:
        return gated_moments(post, sizes, with_cov=with_cov)
    k = sizes[component]
    return post.z[:, component, :k], post.covs[..., component, :k, :k] if with_cov else None


def gated_moments(post: RowPosterior, sizes: tuple[int, ...], *, with_cov: bool) -> tuple[Array, Array | None]:
    """Moments of the latent vectors set to zero in all components but the one a row comes from, side by side.

    Mean (n, sum of sizes): responsibility times posterior mean. Covariance by the law of total covariance.
    """
    columns = [(c, j) for c, size in enumerate(sizes) for j in range(size)]
    c, j = np.array(columns).T
    mean = post.resp[:, c] * post.z[:, c, j]
    if not with_cov:
        return mean, None
    same = c[:, None] == c
    within = post.covs[..., c[:, None], j[:, None], j] + post.z[:, c, j][:, :, None] * post.z[:, c, j][:, None, :]
    second = np.where(same, post.resp[:, c][:, :, None] * within, 0.0)
    return mean, np.asarray(second - mean[:, :, None] * mean[:, None, :])


def impute(params: Mixture, rows: Rows) -> Rows:
    """Fill NaN by the expectation of the missing entries given the observed ones; the rest stays as it is."""
    n, p = rows.shape
    post = conditioned(params, rows)
    weighted = post.resp[:, :, None] * post.z
    loadings = params.W.transpose(0, 2, 1).reshape(-1, p)
    Z = np.hstack([post.resp, weighted.reshape(n, -1)])
    return filled(rows, np.zeros(p), Z, np.vstack([params.means, loadings]))


def sample(params: Mixture, n: int, generator: np.random.Generator) -> tuple[Array, IntArray]:
    """Draw n rows (n, p) and the components (n,) they come from."""
    s, p, k = params.W.shape
    labels = generator.choice(s, size=n, p=params.mix_weights / params.mix_weights.sum())
    Z, noise = generator.standard_normal((n, k)), generator.standard_normal((n, p))
    X = params.means[labels] + np.sqrt(params.noise_vars[labels])[:, None] * noise
    for c in range(s):
        rows = labels == c
        X[rows] += Z[rows] @ params.W[c].T
    return X, labels


def n_free(sizes: tuple[int, ...], p: int, shared: bool) -> int:
    """Free parameters: weights, means, loadings up to rotation, noise variances."""
    loadings = sum(p * k - k * (k - 1) // 2 for k in sizes)
    return len(sizes) - 1 + len(sizes) * p + loadings + (1 if shared else len(sizes))
