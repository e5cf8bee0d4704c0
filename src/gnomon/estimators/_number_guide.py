"""What `GuidedProjection` learns of a target that is a number: Gaussian processes on every preparation, averaged."""

from typing import Any, NamedTuple

import numpy as np

from ..models import readout
from ..numerics.groups import group_means
from ..targets import groups_among

FEWEST = 3  # labeled rows


class NumberGuide(NamedTuple):
    """Everything that predicts a number, in plain tuples and arrays."""

    average: Any  # the parts of `readout.Average`

    def predict(self, seen):
        """(n,) of rows in every preparation."""
        return readout.predict(_average(self.average), seen)

    def predict_with_std(self, seen):
        """The same and (n,) deviations."""
        return readout.posterior(_average(self.average), seen)

    def teachers(self, names):
        """(preparation, model, weight, R2) of every read-out."""
        average = _average(self.average)
        return [
            (names[one.kernel.preparation], _name(one.kernel), float(weight), float(r2))
            for one, weight, r2 in zip(average.readouts, average.weights, average.r2, strict=True)
        ]


def _average(parts):
    """A `readout.Average`, of whose parts a model file gives plain tuples."""
    readouts = [
        readout.Readout(readout.Kernel(*kernel), readout.Factor(*factor), *more)
        for kernel, factor, *more in parts[0]
    ]  # fmt: skip
    return readout.Average(readouts, *parts[1:])


def _name(kernel):
    where = f"{kernel.leading} leading directions" if kernel.leading else f"variances to the power {kernel.power:g}"
    return f"linear, {where}" if kernel.linear else f"curved at length {kernel.length:g}, {where}"


def read_numbers(seen, values, name, groups=None):
    """Learn the targets (n,), NaN where unlabeled, of rows in every preparation, which may be of groups (n,)."""
    labeled = np.flatnonzero(~np.isnan(values))
    if len(labeled) < FEWEST:
        raise ValueError(f"{name} has {len(labeled)} labeled rows; a target of numbers needs at least {FEWEST}.")
    together = groups_among(groups, labeled)
    if together is not None and together.max() + 1 < FEWEST:
        raise ValueError(
            f"{name} has {len(labeled)} labeled rows of {together.max() + 1} groups, each of which counts as one row; "
            f"a target of numbers needs at least {FEWEST}. Label rows of other groups, or fit without groups."
        )
    if together is not None and np.ptp(group_means(values[labeled], together)) == 0.0:
        raise ValueError(f"{name} has the same mean in every group of rows; there is nothing to learn between groups.")
    return NumberGuide(readout.fit([one.take(labeled) for one in seen], values[labeled], together))
