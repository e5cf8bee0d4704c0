"""Discriminant probabilistic PCA on rows: fit, and what a fitted model says of rows, in the units of X."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._types import Array, IntArray, Status
from ...likelihoods.calibration import Calibration, averaged, calibrate
from ...numerics.linalg import sign_of_columns
from ...numerics.normalize import normalized
from ...rows.contract import Rows
from . import mixture
from .anneal import Options, fit_coordinates
from .away import Away
from .choice import Choice, Open, Setting, Trials, candidates, choose, held, near_rows
from .directions import directions, separations
from .members import members, with_more_shrinkage
from .mixture import Params, Within
from .reduction import CONSTANT, LIMITS, Limits, Reduced, reduce_rows

SURER_OF_FEW = 0.9  # over the labels of the median class, three at least: log of the exponent of the mean of models
ABOVE = 1e-12  # relative: factors whose variance exceeds the noise by less are noise


@dataclass(frozen=True)
class Labels:
    """One target."""

    index: IntArray  # (n,) class of each row, -1 where unlabeled; every class has a labeled row
    n_classes: int
    class_prior: Array | None = None  # (c,) given; None: estimated


class Model(NamedTuple):
    """A fitted mixture in the units of X: class c is N(class_means_c, factors' factors + noise_var I)."""

    prior: Array  # (c,)
    class_means: Array  # (c, p)
    factors: Array  # (m, p) orthogonal rows by falling length
    noise_var: float

    @property
    def mean(self) -> Array:
        """Mean of the class means, weighted by the prior (p,)."""
        return np.asarray(self.prior @ self.class_means)


class Mean(NamedTuple):
    """Models of one target whose probabilities are averaged, and how sure they may be."""

    settings: list[Setting]
    models: list[Model]  # the one that was chosen, and others
    calibration: Calibration


class Target(NamedTuple):
    """The model of one target, and how it came about; objectives are in nats and in the units of X."""

    model: Model
    choice: Choice
    tried: list[Choice]
    log_likelihood: float  # without the penalty of shrinkage
    path: Array  # with it
    optima: tuple[float, ...]  # last values of the paths of all starts
    status: Status
    residual: float
    n_iter: int
    floors: tuple[str, ...]
    mean: Mean | None  # None where probabilities are to be those of the model alone


class Fit(NamedTuple):
    """Models of all targets and their common projection."""

    targets: tuple[Target, ...]
    components: Array  # (k, p)
    n_class_components: int
    exact: bool  # whether the coordinates hold all rows


def fit(
    rows: Rows,
    labels: Sequence[Labels],
    n_components: int | str | None,
    given: Open,
    options: Options,
    limits: Limits = LIMITS,
    *,
    mean: bool = False,
) -> Fit:
    """Fit a mixture to each target, and one projection for all; X is reduced to coordinates once.

    Parameters
    ----------
    labels : one for each target
    n_components : int, None or "auto"
        Size of the projection; None takes 2, or as many as can separate classes where these are fewer; "auto" takes
        all that separate classes.
    given : Open           what is given, and what is to be chosen
    options : Options      for all fits; its noise_variance is in squared units of X
    mean : bool            whether to fit the models whose probabilities are averaged as well
    """
    one_of_c = np.hstack([np.eye(one.n_classes)[one.index] * (one.index >= 0)[:, None] for one in labels])
    reduced = reduce_rows(rows, one_of_c, limits)
    rank = reduced.shape[1]
    if rank == 0:
        raise ValueError(CONSTANT)
    separating = sum(one.n_classes - 1 for one in labels)
    k = size(n_components, separating, rank)
    least = max(1, k - separating)  # factors that the projection needs besides the classes
    if not isinstance(options.noise_variance, str):
        options = options._replace(noise_variance=options.noise_variance / reduced.standard.scale**2)
    found = [_fit_target(reduced, one, least, given, options, mean) for one in labels]
    return projected(reduced, found, n_components, k)


def projected(
    rows: Reduced | Away, found: Sequence[tuple[Target, Params]], n_components: int | str | None, k: int
) -> Fit:
    """Fits to all targets, in coordinates, and k directions of theirs; "auto" keeps those that separate classes."""
    projection, n_class = directions([params for _, params in found], k)
    if n_components == "auto":
        projection = projection[:, : max(n_class, 1)]
    D = rows.expand(projection) / rows.standard.scale
    components = np.ascontiguousarray((D * sign_of_columns(D)).T)
    return Fit(tuple(target for target, _ in found), components, n_class, rows.exact)


def size(n_components: int | str | None, separating: int, rank: int) -> int:
    """How many directions are asked for, where so many separate classes and X has a rank."""
    most = min(max(separating, 1), rank)
    if n_components is None:
        return min(2, most)
    if isinstance(n_components, str):
        return most
    if n_components > rank:
        raise ValueError(f"n_components={n_components} must be at most {rank}, the rank of X.")
    return n_components


def _fit_target(
    rows: Reduced | Away, labels: Labels, least: int, given: Open, options: Options, mean: bool
) -> tuple[Target, Params]:
    rows = held(rows, labels.index)
    options = options._replace(class_prior=labels.class_prior)
    trials = Trials(rows, labels.index, options._replace(n_init=1))
    choice, tried = choose(given, len(labels.index), rows.shape[1], least, trials)
    options = options._replace(
        n_factors=choice.n_factors, shrinkage=choice.shrinkage, unlabeled_weight=choice.unlabeled_weight
    )
    near = near_rows(rows, labels.index, choice.n_factors)
    result = fit_coordinates(rows, labels.index, labels.n_classes, options, near)
    n_labeled = int((labels.index >= 0).sum())
    weight = n_labeled + choice.unlabeled_weight * (len(labels.index) - n_labeled)
    units = weight * rows.n_features * np.log(rows.standard.scale)
    target = Target(
        model=in_units(rows, result.value.params),
        choice=choice,
        tried=tried,
        log_likelihood=result.value.log_likelihood - units,
        path=result.path - units,
        optima=tuple(value - units for value in result.stats["optima"]),
        status=result.status,
        residual=float(result.stats["residual"]),
        n_iter=max(1, int(result.stats["n_iter"])),
        floors=("x",) if result.stats["floor"] else (),
        mean=_mean(trials, choice.setting, result.value.params, least, given, rows) if mean else None,
    )
    return target, result.value.params


def _mean(trials: Trials, first: Setting, params: Params, least: int, given: Open, rows: Reduced | Away) -> Mean:
    tried = candidates(given, *rows.shape, least, trials.index)
    found = members(trials, first, params, with_more_shrinkage(tried, given), rows)
    n_labels = float(np.median(np.bincount(trials.index[trials.index >= 0])))
    surer = float(np.exp(SURER_OF_FEW / max(n_labels, 3.0)))
    calibration = calibrate([one.voice for one in found], trials.index, surer)
    return Mean([one.setting for one in found], [in_units(one.rows, one.params) for one in found], calibration)


def in_units(rows: Reduced | Away, params: Params) -> Model:
    """The model in the units of X, from parameters in the coordinates of rows."""
    prior, means, within = params
    mean, scale = rows.standard.mean, rows.standard.scale
    above = within.values > within.noise_var * (1.0 + ABOVE)
    loadings = within.Q[:, above] * np.sqrt(within.values[above] - within.noise_var)
    moved = rows.expand(np.column_stack([means.T, loadings])).T * scale  # (c + m, p)
    class_means, factors = mean + moved[: len(means)], np.ascontiguousarray(moved[len(means) :])
    return Model(prior, class_means, factors, float(within.noise_var * scale**2))


class Coordinates(NamedTuple):
    """Rows and a model in a basis that holds all of the model, in units of the noise standard deviation."""

    params: Params
    T: Array  # (n, r)
    squares: Array  # (n,) of whole rows
    directions: Array  # (r, k) of the projection, for coordinates


def coordinates(model: Model, rows: Rows, components: Array) -> Coordinates:
    """Bring rows to the model; one read."""
    noise_std = float(np.sqrt(model.noise_var))
    center = model.mean
    prior, means, (Q, values, _) = _params(model, center)
    D = components.T * noise_std
    basis = np.linalg.qr(np.hstack([Q, means.T, D]))[0]
    seen = rows.in_units(center, noise_std).project(basis)
    T = seen.gather()
    params = Params(prior, means @ basis, Within(basis.T @ Q, values, 1.0))
    return Coordinates(params, T, np.einsum("ij,ij->i", T, T) + seen.gather("outside"), basis.T @ D)


def _params(model: Model, center: Array, unit: float | None = None) -> Params:
    """The mixture of rows less a center, in a unit, which is the noise standard deviation where none is given."""
    unit = float(np.sqrt(model.noise_var)) if unit is None else unit
    V, noise = model.factors.T / unit, model.noise_var / unit**2
    squares = np.einsum("ij,ij->j", V, V)
    means = (model.class_means - center) / unit
    return Params(model.prior, means, Within(V / np.sqrt(squares), noise + squares, noise))


class Reader(NamedTuple):
    """What rows are asked with by several models of one target; in units of the first."""

    center: Array  # (p,)
    unit: float
    together: mixture.Multipliers

    def log_joint(self, rows: Rows) -> Array:
        """`mixture.log_joint` (n, s, c) of rows; one read, and no basis."""
        return self.together.log_joint(*rows.in_units(self.center, self.unit).products_and_lengths(self.together.by))


def reader(models: Sequence[Model]) -> Reader:
    """What the models are before they see a row."""
    center, unit = models[0].mean, float(np.sqrt(models[0].noise_var))
    params = [_params(model, center, unit) for model in models]
    return Reader(center, unit, mixture.multipliers(params, len(center)))


def log_joint(model: Model, rows: Rows) -> Array:
    """Log pi_c + log N(x; m_c, Sigma) (n, c) in nats, density in the units of X."""
    p = rows.shape[1]
    return reader([model]).log_joint(rows)[:, 0] - 0.5 * p * float(np.log(model.noise_var))


def predict(model: Model, rows: Rows) -> Array:
    """Probability of each class given x (n, c)."""
    return normalized(log_joint(model, rows))[0]


def predict_mean(models: Reader, calibration: Calibration, rows: Rows) -> Array:
    """Probability of each class given x (n, c), by several models and how sure they may be; one read."""
    odds, away = models.together.odds_and_distances(models.log_joint(rows))
    return averaged(odds.swapaxes(0, 1), away.T, calibration)


def log_density(model: Model, rows: Rows, index: IntArray | None = None) -> Array:
    """Log p(x, class) where `index` names the class, else log p(x) (n,), in nats."""
    joint = log_joint(model, rows)
    density = normalized(joint)[1]
    if index is not None:
        known = np.flatnonzero(index >= 0)
        density[known] = joint[known, index[known]]
    return density


def posterior(model: Model, rows: Rows, components: Array, index: IntArray | None = None) -> tuple[Array, Array]:
    """Mean (n, k) and covariance (n, k, k) of the projection of a row without its noise, given x.

    The class is averaged over, but where `index` names it.
    """
    here = coordinates(model, rows, components)
    joint = mixture.log_joint(here.params, here.T, here.squares, rows.shape[1])
    resp = mixture.responsibilities(joint, index)
    return mixture.noise_free(here.params, here.directions).moments(here.T, resp)


def sample(model: Model, n: int, rng: np.random.RandomState) -> tuple[Array, IntArray]:
    """Draw n rows (n, p) and their classes (n,)."""
    m, p = model.factors.shape
    index = rng.choice(len(model.prior), size=n, p=model.prior / model.prior.sum())
    noise = np.sqrt(model.noise_var) * rng.standard_normal((n, p))
    return model.class_means[index] + rng.standard_normal((n, m)) @ model.factors + noise, index


def loadings(models: Sequence[Model], components: Array) -> Array:
    """What a unit of each projection adds to every column in the mean (k, p): Cov(z, z)^-1 Cov(z, x) of the models."""
    cross = np.zeros_like(components)  # D' Cov(x, x), a mean over the models
    for one in models:
        between = np.sqrt(one.prior)[:, None] * (one.class_means - one.mean)
        cross += (components @ between.T) @ between / len(models)
        cross += ((components @ one.factors.T) @ one.factors + one.noise_var * components) / len(models)
    return np.asarray(np.linalg.solve(cross @ components.T, cross))


def separation(models: Sequence[Model]) -> Array:
    """`separations` of models in the units of X."""
    unit = float(np.sqrt(models[0].noise_var))
    return separations([_params(one, models[0].mean, unit) for one in models])


def back(model: Model, components: Array) -> Array:
    """Map (k, p) from Z to x - mean: the row nearest to the mean, in the within-class metric, that projects to Z."""
    out = (components @ model.factors.T) @ model.factors + model.noise_var * components  # D' Sigma
    out /= (out * components).sum(axis=1)[:, None]  # D' Sigma D, which is diagonal
    return np.asarray(out)
