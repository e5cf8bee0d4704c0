"""Fits that no peer makes, in CPU seconds of one thread, the worst beside its limit first.

Two generators: normal factors in white noise, and heavy-tailed factors in noise that columns beside each other share,
for which no constant of a solver was chosen.
"""

import sys
import time
import warnings
from typing import NamedTuple

import numpy as np
from common import record
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from gnomon import CPPCA, DPPCA, KDA, SDRGLM, GuidedProjection, KernelSPPCA, MixturePPCA

SHORT = 1.0  # CPU seconds of what is done three times, the median counting; what takes longer is done once


class Table(NamedTuple):
    """Rows that factors and classes move, and their classes."""

    X: np.ndarray
    y: np.ndarray
    Z: np.ndarray  # (n, rank) factors

    @property
    def n(self):
        return len(self.X)

    def labeled(self, n_labels):
        """Classes of random rows, -1 elsewhere."""
        some = np.random.default_rng(1).permutation(self.n)[:n_labels]
        return np.where(np.isin(np.arange(self.n), some), self.y, -1)


def table(n, p, n_classes=5, rank=10, *, heavy=False):
    """Classes around their centers in `rank` factors."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n)
    Z = rng.standard_t(3, (n, rank)) / np.sqrt(3.0) if heavy else rng.standard_normal((n, rank))
    Z += 1.5 * rng.standard_normal((n_classes, rank))[y]
    X = rng.standard_normal((n, p))
    if heavy:
        for j in range(1, p):
            X[:, j] = 0.6 * X[:, j - 1] + 0.8 * X[:, j]
    return Table(X + Z @ rng.standard_normal((rank, p)), y, Z)


def subspaces(n, p, *, apart, heavy):
    """Rows of five subspaces of five dimensions with means that are so far apart."""
    rng = np.random.default_rng(0)
    W, which = rng.standard_normal((5, p, 5)), rng.integers(0, 5, n)
    Z = rng.standard_t(3, (n, 5)) / np.sqrt(3.0) if heavy else rng.standard_normal((n, 5))
    X = apart * rng.standard_normal((5, p))[which] + rng.standard_normal((n, p))
    for c in range(5):
        X[which == c] += Z[which == c] @ W[c].T
    return X


def guided(heavy):
    """Few labels, by the default path."""
    for n, p, limit in ((1_000, 100, 2.0), (5_000, 500, 6.0), (500, 20_000, None), (20_000, 300, None)):
        t = table(n, p, heavy=heavy)
        yield (
            f"GuidedProjection(2), {n:,} x {p:,}, 50 labels",
            limit,
            lambda t=t: GuidedProjection(2).fit(t.X, t.labeled(50)),
        )


def classes(heavy):
    """DPPCA with settings chosen, and fixed; several labels a row."""
    for n, p, n_labels, limit in ((700, 765, 30, 0.8), (2_000, 100, 50, 1.0), (20_000, 300, 50, 3.0)):
        t = table(n, p, heavy=heavy)
        yield (
            f"DPPCA(4), {n:,} x {p:,}, {n_labels} labels",
            limit,
            lambda t=t, m=n_labels: DPPCA(4).fit(t.X, t.labeled(m)),
        )
    fixed = {"n_factors": 10, "shrinkage": 0.1, "unlabeled_weight": 1.0}
    for n, p, limit in ((20_000, 300, 1.5), (50_000, 500, 6.0)):
        t = table(n, p, heavy=heavy)
        yield f"DPPCA(4), fixed settings, {n:,} x {p:,}", limit, lambda t=t: DPPCA(4, **fixed).fit(t.X, t.labeled(50))
    t = table(2_000, 100, heavy=heavy)
    rng = np.random.default_rng(2)
    Y = (t.Z @ rng.standard_normal((10, 5)) > 0).astype(float)
    Y[200:] = np.nan
    yield "DPPCA(), 2,000 x 100, 5 labels a row, 200 rows labeled", 2.0, lambda: DPPCA().fit(t.X, Y)


def probabilities(heavy):
    """Classes of many rows."""
    for n_classes, limit in ((4, 0.15), (10, 0.25)):
        t = table(100_000, 50, n_classes, heavy=heavy)
        model = CPPCA(5).fit(t.X[:2_000], t.y[:2_000])
        yield (
            f"CPPCA(5).predict_proba, 100,000 x 50, {n_classes} classes",
            limit,
            lambda t=t, m=model: m.predict_proba(t.X),
        )


def kernels(heavy):
    """All pairs of rows."""
    for n, limit in ((2_000, 1.0), (4_000, 6.0)):
        t = table(n, 50, heavy=heavy)
        Y = np.where(np.arange(n)[:, None] % 5, np.nan, t.Z[:, :3])
        yield (
            f"KernelSPPCA(5, kernel='rbf'), {n:,} rows",
            limit,
            lambda t=t, Y=Y: KernelSPPCA(5, kernel="rbf").fit(t.X, Y),
        )
    yield "KDA(4, kernel='rbf'), 4,000 rows", 6.0, lambda t=t: KDA(4, kernel="rbf").fit(t.X, t.y)


def other(heavy):
    """Generalized linear models, mixtures."""
    t = table(2_000, 500, heavy=heavy)
    yield "SDRGLM(5), 2,000 x 500, 200 labels", 2.0, lambda: SDRGLM(5).fit(t.X, t.labeled(200))
    for apart in (1.0, 0.1):
        X = subspaces(20_000, 100, apart=apart, heavy=heavy)
        yield f"MixturePPCA(5, 5), 20,000 x 100, means {apart:g} apart", 2.0, lambda X=X: MixturePPCA(5, 5).fit(X)
    X = subspaces(100_000, 100, apart=0.1, heavy=heavy)
    yield "MixturePPCA(5, 5), 100,000 x 100, means 0.1 apart", 20.0, lambda: MixturePPCA(5, 5).fit(X)


def measured(task):
    """CPU seconds, and whether what it gives back says that it converged."""
    seconds, result = [], None
    while len(seconds) < 3 and sum(seconds) < SHORT:
        start = time.process_time()
        result = task()
        seconds.append(time.process_time() - start)
    converged = vars(result).get("converged_", True) if isinstance(result, BaseEstimator) else True
    return float(np.median(seconds)), bool(converged)


def main():
    """Run and record."""
    rows = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for heavy in (False, True):
            for make in (guided, classes, probabilities, kernels, other):
                for what, limit, task in make(heavy):
                    seconds, converged = measured(task)
                    what = f"CPU s, {what}" + ", heavy tails" * heavy + ", not converged" * (not converged)
                    rows.append({"what": what, "value": seconds, "limit": limit})
                    sys.stdout.write(f"{seconds:8.2f}  {what}\n")
    rows.sort(key=lambda row: -row["value"] / (row["limit"] or np.inf))
    record("models", rows)


if __name__ == "__main__":
    main()
