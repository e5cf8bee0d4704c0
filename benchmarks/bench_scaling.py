"""How the time of a fit grows with rows, columns, stored entries and components: slopes of logarithms."""

import numpy as np
from bench_grid import MIDDLE, table
from common import paired, record
from scipy.sparse import issparse
from sklearn.decomposition import PCA

from gnomon import SPPCA
from gnomon.datasets import make_text

DENSE = {"n": (5_000, 10_000, 20_000, 40_000, 80_000), "p": (75, 150, 300, 600, 1_200), "K": (5, 10, 20, 40, 80)}
DOCUMENTS = (2_500, 5_000, 10_000, 20_000)


def slope(sizes, seconds):
    """Least squares of the logarithm of the seconds over that of the sizes."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def median_seconds(X, y, k):
    """Of SPPCA and of PCA."""
    solver = "arpack" if issparse(X) else "auto"
    seconds = paired({"SPPCA": lambda: SPPCA(k).fit(X, y), "PCA": lambda: PCA(k, svd_solver=solver).fit(X)}, repeats=3)
    return {name: float(np.median(values)) for name, values in seconds.items()}


def grown(name):
    """Records of one size that grows, the others in the middle: 20,000 x 300, 30 planted factors, K 10."""
    for size in DENSE[name]:
        cell = MIDDLE._replace(**{name: size})
        yield size, median_seconds(*table(cell), cell.K)


def stored():
    """The same of sparse rows, in stored entries, 20 components."""
    for n in DOCUMENTS:
        data = make_text(n)
        y = data.target.copy()
        y[np.random.default_rng(0).permutation(n)[100:]] = -1
        yield data.data.nnz, median_seconds(data.data, y, 20)


def main():
    """Run and record."""
    rows = []
    for name, records in [*((name, list(grown(name))) for name in DENSE), ("stored entries", list(stored()))]:
        sizes = [size for size, _ in records]
        for model in ("SPPCA", "PCA"):
            seconds = [found[model] for _, found in records]
            what = f"{model}: slope in {name}, {sizes[0]:,} to {sizes[-1]:,}"
            rows.append({"what": what, "value": slope(sizes, seconds), "sizes": sizes, "seconds": seconds})
    record("scaling", rows)


if __name__ == "__main__":
    main()
