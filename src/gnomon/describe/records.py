"""Records of what a fitted model can say of itself; an estimator fills them in `describe`."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from gnomon._types import Array, IntArray
from gnomon.targets import read


class Projection(NamedTuple):
    """Rows in the latent space."""

    mean: Array  # (n, k)
    cov: Array | None = None  # (k, k) or (n, k, k); None where the model has no posterior


class Prediction(NamedTuple):
    """One target of new rows."""

    values: Array  # (n,) classes, or expected numbers
    proba: Array | None = None  # (n, C), in the order of the classes
    std: Array | None = None  # (n,) standard deviations of numbers, where the model has them


class Spectrum(NamedTuple):
    """Variances along the components, and along the directions behind them as far as a fit has seen them; falling."""

    own: Array
    behind: Array
    noise: float | None = None  # of a direction that holds nothing else
    of: str = "rows"  # whose variances these are: "rows", in squared units of X, "classes" or "predictions"


class Fit(NamedTuple):
    """How the fit went; None where the model has no such thing."""

    solver: str | None = None
    converged: bool | None = None
    n_iter: int | None = None
    n_reads: float | None = None  # of the data
    log_likelihood: float | None = None  # nats
    noise_variance: float | None = None  # of a column
    path: Array | None = None  # objective after each iteration, in nats
    objective: str = "log-likelihood"  # what the path is of
    floors: tuple[str, ...] = ()  # what was held at its floor
    optima: Any = None  # log-likelihoods that several starts led to, in nats
    certificate: Mapping[str, float] | None = None  # bounds of the optimum
    remarks: tuple[str, ...] = ()  # short phrases for a line that sums the fit up
    facts: tuple[tuple[str, Any], ...] = ()  # further lines of a report: name, and text or number
    tables: tuple[tuple[list[str], list[list[Any]]], ...] = ()  # header and lines
    about_tables: str = ""  # what their columns are


@dataclass(frozen=True)
class Target:
    """One target as a fitted model knows it."""

    kind: str  # "classes" or "real"
    classes: Array | None = None  # (C,) as predictions name them; None for numbers
    column: int | None = None  # of y; None where y is that column
    noise_variance: float | None = None  # of numbers in squared units of y, of classes that of their codes

    def given(self, y: Any) -> Array:
        """The cells (n,) of this target in y as given to `fit`."""
        values = np.asarray(y, dtype=object)
        if values.ndim == 1:
            return values
        return values[:, self.column or 0]

    def codes(self, y: Any) -> Array:
        """The index of the class of each row; -1 where it is none of the classes."""
        assert self.classes is not None
        place = {label: code for code, label in enumerate(self.classes.tolist())}
        return np.array([place.get(value, -1) for value in self.given(y).tolist()], dtype=int)

    def values(self, y: Any) -> Array:
        """Codes of classes as floats, or numbers; NaN where there is no label."""
        if self.kind == "real":
            return np.array([float(v) if isinstance(v, Real) else np.nan for v in self.given(y).tolist()])
        codes = self.codes(y).astype(float)
        return np.where(codes < 0, np.nan, codes)

    def labeled(self, y: Any) -> Array:
        """Mask of the rows with a label of this target."""
        return np.isfinite(self.values(y))


UNUSUAL = 0.01  # typicality below which a row is unlike those of the fit


def unusual(typicality: Array) -> IntArray:
    """Numbers of the rows that are unlike those of the fit, the most unlike first."""
    odd = np.flatnonzero(typicality < UNUSUAL)
    return odd[np.argsort(typicality[odd], kind="stable")]


def check_lengths(n_samples: int, **given: Any) -> None:
    """Raise where what is given of the rows, by its name, is of other rows than those of X; None is of any."""
    for name, values in given.items():
        n = n_samples if values is None else len(values)
        columns = isinstance(values, list | tuple) and all(np.shape(one)[:1] == (n_samples,) for one in values)
        if n != n_samples and not columns:
            raise ValueError(f"{name} has {n} rows, X has {n_samples}; one for each row of X is wanted.")


@dataclass(frozen=True)
class Description:
    """What a fitted model says of itself; None where it has no such thing."""

    model: str  # name of its class
    parameters: Mapping[str, Any]  # as `get_params` returns them
    n_features: int
    n_components: int
    project: Callable[[Any], Projection]  # of rows
    feature_names: tuple[str, ...] | None = None  # of the columns it was fitted to
    targets: tuple[Target, ...] = ()  # what guided the fit; none where no row had a label
    n_labeled: int = 0  # rows with a label; of several targets, those of the one that most rows have
    uses_unlabeled: bool = True  # whether unlabeled rows took part in the fit
    predict: Callable[[Any], tuple[Prediction, ...]] | None = None  # one for each target
    impute: Callable[[Any], Any] | None = None  # fills missing entries
    log_density: Callable[[Any], Array] | None = None  # (n,) in nats: how typical rows are
    typicality: Callable[[Any], Array] | None = None  # (n,) share of the rows of the fit that were as far off
    monitor: Callable[[Any], tuple[Array, Array]] | None = None  # (n,) Hotelling's T2, and SPE
    limits: Callable[[float], tuple[float, float]] | None = None  # of both, which a share of new rows passes
    suggest: Callable[..., Array] | None = None  # (n, X, among): which of these rows to label next; None, of the fit's
    loadings: Array | None = None  # (k, p) what a unit of each component adds to every column in the mean
    spectrum: Spectrum | None = None  # variances along components, and behind them
    fit: Fit = field(default_factory=Fit)

    @property
    def numeric(self) -> bool:
        """Whether there are targets and all are numbers."""
        return bool(self.targets) and all(target.kind == "real" for target in self.targets)

    def labeled(self, y: Any, n_samples: int) -> Array:
        """Mask of the rows with a label of any target."""
        mask = np.zeros(n_samples, dtype=bool)
        for target in self.targets if y is not None else ():
            mask |= target.labeled(y)
        return mask

    def measured_together(self, y: Any) -> bool:
        """Whether all targets are numbers that the same rows have, which one table shows."""
        masks = [target.labeled(y) for target in self.targets if y is not None]
        return self.numeric and all(np.array_equal(mask, masks[0]) for mask in masks)

    def column_names(self) -> list[str]:
        """Names of the columns, x0, x1, ... where they have none."""
        return list(self.feature_names or (f"x{j}" for j in range(self.n_features)))


class Traits(NamedTuple):
    """What a class says of its models before any is fitted: all that the command line and comparisons ask."""

    command: str | None = None  # its name after --model; None where there is none
    guided: bool = True  # whether targets take part in the fit
    size: str = "n_components"  # the parameter that --components sets
    own_size: bool = False  # whether None there, its own default, is better than one for every model
    own_scale: bool = False  # whether it makes columns of any scale comparable itself
    in_place: bool = False  # whether a fit reads rows that are not in memory where they are, holes and all
    several: str = "columns"  # what a table of targets is: columns of their own kinds, all "real", or not taken ("one")


def target_of(y: Any) -> Target:
    """A target that no model was fitted to, the first of several, as `gnomon.targets` reads it, without a remark.

    Examples
    --------
    >>> target_of(["b", None, "a"]).classes.tolist()
    ['a', 'b']
    """
    with warnings.catch_warnings(action="ignore"):
        targets = read(y, len(y))
    column = targets.columns[0]
    place = None if targets.vector else 0
    if column.kind == "none":
        return Target("classes", np.array([], dtype=object), place)
    return Target(column.kind, column.classes, place)
