"""The outputs of a model side by side: the distribution of each, and which linear predictors a = V z + b are its."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._types import Array, BoolArray, IntArray
from .bernoulli import LINKS, Bernoulli
from .categorical import Categorical
from .family import Family, Terms
from .gaussian import Gaussian
from .poisson import Poisson


def family_of(name: str, n_classes: int = 0) -> Family:
    """The distribution that users call `name`; `n_classes` is read for "categorical"."""
    if name in LINKS:
        return Bernoulli(name)
    if name == "categorical":
        return Categorical(n_classes)
    return Poisson() if name == Poisson.name else Gaussian()


@dataclass(frozen=True)
class Layout:
    """Names of the distributions, and the numbers of classes (0 where there are none)."""

    kinds: tuple[str, ...]
    n_classes: tuple[int, ...]

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """The distributions."""
        return tuple(family_of(kind, c) for kind, c in zip(self.kinds, self.n_classes, strict=True))

    @cached_property
    def size(self) -> int:
        """Number of predictors of all outputs."""
        return sum(family.width for family in self.families)

    @cached_property
    def parts(self) -> tuple[tuple[Family, slice], ...]:
        """Distribution and predictors of every output."""
        ends = np.cumsum([family.width for family in self.families], dtype=int).tolist()
        return tuple((family, slice(end - family.width, end)) for family, end in zip(self.families, ends, strict=True))

    @cached_property
    def owners(self) -> IntArray:
        """The output (h,) of every predictor."""
        return np.repeat(np.arange(len(self.kinds)), [family.width for family in self.families])

    @cached_property
    def noisy(self) -> BoolArray:
        """Which outputs (q,) have a noise variance, as a mask."""
        return np.array([family.noisy for family in self.families], dtype=bool)

    @cached_property
    def several(self) -> BoolArray:
        """Which outputs (q,) have more than two classes."""
        return np.array([family.n_classes > 2 for family in self.families], dtype=bool)

    @cached_property
    def ridged(self) -> Array:
        """Which predictors (h,) a ridge lies on, as 0 and 1: all but those of outputs with noise."""
        return np.array([float(not family.noisy) for family in self.families for _ in range(family.width)])

    @cached_property
    def gaussian(self) -> bool:
        """Whether every output is a real number."""
        return bool(self.noisy.all())


def expected_terms(layout: Layout, Y: Array, noise: Array, mean: Array, cov: Array | None, tilt: Array) -> Terms:
    """Expected log-likelihood of the observed outputs, row by row; exact or, for several classes, a lower bound.

    Parameters
    ----------
    Y : (n, q)              values; 0 and 1 for labels of two classes, class numbers for others, NaN if missing
    noise : (q,)            noise variances, read for real outputs
    mean, cov : (n, h), (n, h, h) or None; with None the predictors are known to be `mean`
    tilt : (n, h)           read for outputs of several classes, see `softmax_terms`
    """
    n, h = mean.shape
    out = Terms(np.zeros(n), np.zeros((n, h)), np.zeros((n, h, h)), tilt.copy())
    for j, (family, at) in enumerate(layout.parts):
        seen = np.flatnonzero(~np.isnan(Y[:, j]))
        if len(seen) == 0:
            continue
        block = None if cov is None else cov[seen, at, at]
        found = family.terms(Y[seen, j], mean[seen, at], block, float(noise[j]), tilt[seen, at])
        out.value[seen] += found.value
        out.slope[seen, at] = found.slope
        out.curvature[seen, at, at] = found.curvature
        out.tilt[seen, at] = found.tilt
    return out
