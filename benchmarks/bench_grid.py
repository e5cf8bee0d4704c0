"""SPPCA beside scikit-learn's PCA over a grid of shapes, spectra, labels, patterns and precisions, the worst first.

Every cell but the first of a group changes one thing. Two generators: normal factors in white noise, and heavy-tailed
factors in noise that is correlated from column to column, for which no constant of a solver was chosen.
"""

import sys
import time
import warnings
from typing import NamedTuple

import numpy as np
from common import paired, peak_bytes, ratio, record
from sklearn.decomposition import PCA

from gnomon import SPPCA

SHORT = 0.5  # seconds of a fit that is timed nine times, others twice


class Cell(NamedTuple):
    """One table and one fit; `rank` factors are planted, K are fitted."""

    n: int = 20_000
    p: int = 300
    rank: int = 30
    K: int = 10
    q: int = 5
    share: float = 0.1  # of rows with targets
    scattered: bool = False  # whether each target is missing by itself
    dtype: str = "float64"
    heavy: bool = False

    def __str__(self):
        what = f"{self.n:,} x {self.p:,}, rank {self.rank}, K {self.K}, {self.q} targets"
        of_y = "each missing in half of the rows" if self.scattered else f"on {100 * self.share:g} % of rows"
        more = [self.dtype] * (self.dtype != "float64") + ["heavy tails"] * self.heavy
        return ", ".join([what, of_y, *more])


MIDDLE = Cell()
LIMITS = {
    MIDDLE: 1.2,
    MIDDLE._replace(rank=10): 1.1,
    MIDDLE._replace(K=50): 4.0,
    MIDDLE._replace(K=100): 6.0,
    MIDDLE._replace(rank=0): 3.0,
    MIDDLE._replace(q=3, scattered=True): 1.5,
    MIDDLE._replace(scattered=True): 4.0,
    MIDDLE._replace(q=10, scattered=True): 8.0,
    MIDDLE._replace(dtype="float32"): 1.2,
    Cell(2_000, 100): 4.0,
    Cell(200, 20, rank=5, K=5): 10.0,
    Cell(200_000, 200): 1.1,
}


def cells():
    """All cells, both generators."""
    around = [
        *LIMITS,
        *(MIDDLE._replace(share=share) for share in (0.005, 0.5, 1.0)),
        MIDDLE._replace(K=2),
        MIDDLE._replace(rank=0, K=50),
        MIDDLE._replace(rank=0, share=1.0),
        MIDDLE._replace(K=50, share=1.0),
        MIDDLE._replace(K=100, share=1.0),
        Cell(2_000, 100, rank=0),
        Cell(2_000, 100, K=50),
        Cell(2_000, 100, share=1.0),
        Cell(2_000, 100, K=50, share=1.0),
        Cell(200, 20, rank=0, K=5),
        Cell(200, 20, rank=5, K=15),
        Cell(300, 12_000, K=20),
        Cell(300, 12_000, rank=0, K=20),
        Cell(1_400, 3_000),
        Cell(1_400, 3_000, rank=0),
        Cell(1_600, 3_000),
    ]
    return [cell._replace(heavy=heavy) for cell in around for heavy in (False, True)]


def table(cell, seed=0):
    """X, and Y with NaN where no target is observed."""
    rng = np.random.default_rng(seed)
    n, p, rank, q = cell.n, cell.p, cell.rank, cell.q
    Z = rng.standard_t(3, (n, rank)) / np.sqrt(3.0) if cell.heavy else rng.standard_normal((n, rank))
    X = rng.standard_normal((n, p))
    if cell.heavy:  # each column shares .6 of its noise with the one before
        for j in range(1, p):
            X[:, j] = 0.6 * X[:, j - 1] + 0.8 * X[:, j]
    if rank:
        X += Z @ (np.linspace(1.5, 0.4, rank)[:, None] * rng.standard_normal((rank, p)))
    Y = Z @ rng.standard_normal((rank, q)) + 0.5 * rng.standard_normal((n, q))
    if cell.scattered:
        Y[rng.random((n, q)) < 0.5] = np.nan
    else:
        Y[rng.permutation(n)[max(round(cell.share * n), 2 * q) :]] = np.nan
    return X.astype(cell.dtype), Y


def measure(cell):
    """One row of the record."""
    X, Y = table(cell)

    def ours():
        return SPPCA(cell.K).fit(X, Y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model = ours()
        repeats = 9 if time.perf_counter() - start < SHORT else 2
        seconds = paired({"SPPCA": ours, "PCA": lambda: PCA(cell.K).fit(X)}, repeats)
        memory = peak_bytes(ours) / X.nbytes
    return {
        "what": str(cell),
        "value": ratio(seconds, "SPPCA", "PCA"),
        "limit": None if cell.heavy else LIMITS.get(cell),
        "cell": cell._asdict(),
        "seconds": float(np.median(seconds["SPPCA"])),
        "residual": model.objective_residual_,
        "converged": bool(model.converged_),
        "reads": model.n_passes_,
        "memory": memory,
    }


def main():
    """Run, and record the worst ratio first."""
    rows = sorted((measure(cell) for cell in cells()), key=lambda row: -row["value"])
    record("grid", rows)
    sys.stdout.write(f"{'worst and best ratio':86} {rows[0]['value']:.3g}, {rows[-1]['value']:.3g}\n")
    for what in ("residual", "reads", "memory"):
        sys.stdout.write(f"largest {what:78} {max(row[what] for row in rows):.3g}\n")
    missed = [row["what"] for row in rows if not row["converged"]]
    sys.stdout.write(f"not converged: {'; '.join(missed) or 'none'}\n")


if __name__ == "__main__":
    main()
