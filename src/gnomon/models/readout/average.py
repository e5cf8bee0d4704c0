"""The average of many read-outs: weights by evidence, a share to linear ones, intervals as wide as errors are."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student_t

from ..._types import Array, IntArray
from ...numerics.folds import ranks
from ...numerics.groups import group_means
from ...numerics.normalize import normalized
from .evidence import TINY, Factor, Readout, mixed, predicted, predicted_mean, read_out
from .kernels import Kernel, Seen

POWERS, LENGTHS = (0.5, 0.75, 1.0, 1.25), (1.0, 2.0, 4.0, np.inf)
LEADING, CURVED_LEADING, LEADING_LENGTH = (1, 2, 3, 4, 6, 8, 12, 16), (2, 4, 8), 2.0
PLAIN = 2  # tables, the first ones, of which leading directions alone are tried
HEAT, BONUS = 2.0, 1.5  # evidence is divided by; what a linear kernel has in advance, in nats
SHARE, SHARE_ROWS, SHARE_RANGE = 0.25, 20.0, (0.02, 0.5)  # of plain linear kernels: what is expected, as so many rows
SCALE_ROWS = 50.0  # rows that say beforehand that intervals are right
LEAST = 1e-3  # weight
SOME, FEW_KERNELS = 150, 12  # rows by which, above twice as many, kernels are left out, and how many are kept
NORMAL = 1.959964  # deviations of a 95 % interval
BLOCK = 4096  # rows predicted at a time


class Average(NamedTuple):
    """Read-outs of one target, and their weights."""

    readouts: list[Readout]
    weights: Array  # (m,)
    widen: float  # what deviations are multiplied with
    n: int  # targets
    r2: Array  # (m,) of each read-out, where every labeled row is predicted from the others
    share: float  # of plain linear read-outs beside their weight


def candidates(seen: list[Seen], n: int) -> list[Kernel]:
    """Kernels to try for n targets."""
    found = [Kernel(i, power, length) for i in range(len(seen)) for power in POWERS for length in LENGTHS]
    for i, one in enumerate(seen[:PLAIN]):
        most = min(n - 2, len(one.variances))
        found += [Kernel(i, 0.0, np.inf, k) for k in LEADING if k <= most]
        found += [Kernel(i, 0.0, LEADING_LENGTH, k) for k in CURVED_LEADING if k <= most]
    return found


def fit(seen: list[Seen], y: Array, groups: IntArray | None = None) -> Average:
    """Average read-outs of the targets y (n,) of rows in the coordinates of every table; the first holds plain rows.

    Rows of one of the `groups` (n,), numbers 0, 1, ..., count as one row, their mean: what is missed of one is missed
    of all of them. A new row is one and no mean, and lies as far from it as they do.
    """
    if groups is None:
        return _fit(seen, y)[0]
    sizes = np.bincount(groups)
    means = [one._replace(T=group_means(one.T, groups), outside=group_means(one.outside, groups)) for one in seen]
    average, left_out_var = _fit(means, group_means(y, groups))
    found, var = _moments(average, seen)
    missed = y - found
    apart = ((missed - group_means(missed, groups)[groups]) ** 2).sum() / (len(y) - len(sizes))
    apart *= np.mean(1.0 - 1.0 / sizes)  # the rest of it is in the errors of means
    claimed = group_means(var, groups).mean() - _moments(average, means)[1].mean()
    ratio = (left_out_var + apart) / max(left_out_var + claimed, TINY)
    return average._replace(widen=average.widen * float(np.sqrt(ratio)))


def _fit(seen: list[Seen], y: Array) -> tuple[Average, float]:
    """The same of rows none of which belong together, and the mean variance of rows left out."""
    order = _order(seen[0], y)
    seen, y = [one.take(order) for one in seen], y[order]
    kernels = candidates(seen, len(y))
    if len(y) > 2 * SOME:
        kernels = _likely(kernels, [one.take(_evenly(len(y), SOME)) for one in seen], y[_evenly(len(y), SOME)])
    readouts = _read_all(kernels, seen, y)
    weights, share = _weigh(readouts, y)
    kept = np.flatnonzero(weights > LEAST)
    readouts, weights = [readouts[j] for j in kept], weights[kept] / weights[kept].sum()
    mean, var = mixed(weights, np.array([r.left_out for r in readouts]), np.array([r.left_out_var for r in readouts]))
    widen = _widening((y - mean) ** 2 / var)
    r2 = np.array([1.0 - np.mean((y - one.left_out) ** 2) / y.var() for one in readouts])
    return Average(readouts, weights, widen, len(y), r2, share), float(var.mean())


def _widening(squares: Array) -> float:
    """By how much errors of rows left out, in squared deviations (n,), say that intervals are too narrow.

    No row says more than all rows would that are as expected: the deviation of a target far from all others is that of
    the others, and what it is itself is in the variance of the process already.
    """
    rows = SCALE_ROWS + len(squares)
    return float(np.sqrt((SCALE_ROWS + np.minimum(squares, rows).sum()) / rows))


def predict(average: Average, rows: list[Seen]) -> Array:
    """Mean (n,) of rows."""

    def of(some: list[Seen]) -> Array:
        means = [predicted_mean(one, some[one.kernel.preparation]) for one in average.readouts]
        return np.asarray(average.weights @ np.array(means))

    return np.concatenate([of(some) for some in _blocks(rows)])


def posterior(average: Average, rows: list[Seen]) -> tuple[Array, Array]:
    """The same, and a deviation (n,) with which mean plus or minus 1.96 deviations is the 95 % interval."""
    mean, var = _moments(average, rows)
    return mean, np.sqrt(var) * average.widen * float(student_t.ppf(0.975, average.n - 1)) / NORMAL


def _moments(average: Average, rows: list[Seen]) -> tuple[Array, Array]:
    """Mean and variance (n,) of rows."""

    def of(some: list[Seen]) -> Array:
        found = np.array([predicted(one, some[one.kernel.preparation]) for one in average.readouts])
        return np.array(mixed(average.weights, found[:, 0], found[:, 1]))

    mean, var = np.concatenate([of(some) for some in _blocks(rows)], axis=1)
    return mean, var


def _blocks(seen: list[Seen]) -> Iterator[list[Seen]]:
    n = len(seen[0].T)
    return ([one.take(slice(start, start + BLOCK)) for one in seen] for start in range(0, n, BLOCK))


def _order(seen: Seen, y: Array) -> IntArray:
    """By target, then by length, so that rows taken evenly are of all sizes, whatever order they came in."""
    return np.lexsort((ranks((seen.T**2).sum(axis=1)), y))


def _evenly(n: int, m: int) -> IntArray:
    return np.linspace(0, n - 1, m).round().astype(np.intp)


def _read_all(kernels: list[Kernel], seen: list[Seen], y: Array) -> list[Readout]:
    return [read_out(kernel, Factor.of(kernel, seen[kernel.preparation]), y) for kernel in kernels]


def _likely(kernels: list[Kernel], seen: list[Seen], y: Array) -> list[Kernel]:
    """The kernels of largest weight by some rows, and the plain linear ones."""
    weights = _weigh(_read_all(kernels, seen, y), y)[0]
    best = set(np.argsort(-weights)[:FEW_KERNELS].tolist())
    return [one for j, one in enumerate(kernels) if j in best or (_plain(one) and not one.leading and one.power <= 1.0)]


def _plain(kernel: Kernel) -> bool:
    return kernel.linear and kernel.preparation == 0


def _weigh(readouts: list[Readout], y: Array) -> tuple[Array, float]:
    """Weights (m,), and the share of plain linear read-outs, learnt from rows left out."""
    evidence = np.array([one.evidence for one in readouts]) / HEAT
    linear = np.array([one.kernel.linear for one in readouts])
    plain = np.array([_plain(one.kernel) for one in readouts])
    by_evidence = _softmax(evidence + BONUS * linear)
    by_plain = _softmax(np.where(plain, evidence, -np.inf))
    left_out = np.array([one.left_out for one in readouts])
    gain, missed = (by_plain - by_evidence) @ left_out, y - by_evidence @ left_out
    unit = np.mean(gain**2) + 1e-300
    share = (gain @ missed + SHARE_ROWS * SHARE * unit) / (gain @ gain + SHARE_ROWS * unit)
    share = float(np.clip(share, *SHARE_RANGE))
    return (1.0 - share) * by_evidence + share * by_plain, share


def _softmax(logs: Array) -> Array:
    return np.asarray(normalized(logs[None])[0][0])
