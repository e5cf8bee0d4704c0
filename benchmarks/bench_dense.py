"""Dense fits beside scikit-learn's PCA, FactorAnalysis and PLSRegression, ikpls and the paper's own EM."""

import numpy as np
from common import paired, ratio, record
from paper_em import paper_em
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, FactorAnalysis

from gnomon import PPCA, SPPCA

PAIRS = 15  # rounds of the ratios that have a limit, with nothing but the two and their floor in turn


def planted(n, p, q, k, labeled, seed=0):
    """Rows of a planted linear-Gaussian model; targets of all but `labeled` rows hidden."""
    rng = np.random.default_rng(seed)
    strength = np.linspace(1.5, 0.4, k)[:, None]
    Z = rng.standard_normal((n, k))
    X = Z @ (strength * rng.standard_normal((k, p))) + rng.standard_normal((n, p))
    Y = Z @ rng.standard_normal((k, q)) + 0.5 * rng.standard_normal((n, q))
    Y[rng.permutation(n)[labeled:]] = np.nan
    return X, Y


def tall(n, p, limit):
    """K = 10, q = 5, one row in ten labeled, besides PCA."""
    X, Y = planted(n, p, 5, 10, n // 10)
    ours, peer = {"SPPCA": lambda: SPPCA(10).fit(X, Y)}, {"PCA": lambda: PCA(10).fit(X)}
    pair = paired({**ours, **peer, "X'X": lambda: X.T @ X}, repeats=PAIRS)
    tasks = {
        **ours,
        **peer,
        "PPCA": lambda: PPCA(10).fit(X),
        "PCA(full)": lambda: PCA(10, svd_solver="full").fit(X),
        "PCA(arpack)": lambda: PCA(10, svd_solver="arpack").fit(X),
        "PCA(randomized)": lambda: PCA(10, svd_solver="randomized").fit(X),
    }
    if n <= 20_000:
        tasks["FactorAnalysis"] = lambda: FactorAnalysis(10).fit(X)
        tasks["PLSRegression"] = lambda: PLSRegression(10).fit(X, np.nan_to_num(Y))
    seconds = paired(tasks)
    name = f"dense {n:,} x {p}"
    rows = [(f"{name}: SPPCA / PCA", ratio(pair, "SPPCA", "PCA"), limit)]
    rows += [(f"{name}: X'X / PCA", ratio(pair, "X'X", "PCA"), None)]
    rows += [(f"{name}: PPCA / PCA", ratio(seconds, "PPCA", "PCA"), None)]
    peers = [b for b in tasks if b not in ("SPPCA", "PPCA", "PCA")]
    return rows + [(f"{name}: SPPCA / {b}", ratio(seconds, "SPPCA", b), None) for b in peers]


def wide():
    """300 x 12,000, 26 outputs, 52 rows labeled, K = 20, beside ikpls on all rows."""
    X, Y = planted(300, 12_000, 26, 20, 52)
    whole = planted(300, 12_000, 26, 20, 300)[1]
    tasks = {"SPPCA": lambda: SPPCA(20).fit(X, Y)}
    try:
        from ikpls.numpy import PLS

        tasks["ikpls"] = lambda: PLS(algorithm=1, scale_X=False, scale_Y=False).fit(X, whole, 20)
    except ImportError as error:
        tasks["ikpls"] = lambda error=error: (_ for _ in ()).throw(error)
    pair = paired(tasks, repeats=PAIRS)
    seconds = paired({"SPPCA": tasks["SPPCA"], "PLSRegression": lambda: PLSRegression(20).fit(X, whole)})
    return [
        ("dense 300 x 12,000: SPPCA / ikpls algorithm 1, 20 components, all rows", ratio(pair, "SPPCA", "ikpls"), 1.0),
        ("dense 300 x 12,000: SPPCA / PLSRegression(20)", ratio(seconds, "SPPCA", "PLSRegression"), None),
    ]


def beside_the_paper():
    """The paper's EM, 1,000 steps, on 2,000 x 300 and one real output."""
    X, Y = planted(2_000, 300, 1, 10, 200)
    found = {}

    def ours():
        found["ours"] = SPPCA(10).fit(X, Y[:, 0]).log_likelihood_

    def paper():
        found["paper"] = paper_em(X, Y[:, 0], 10, 1000)

    seconds = paired({"SPPCA": ours, "EM": paper}, repeats=1)
    short = found["ours"] - found["paper"]
    return [
        ("dense 2,000 x 300: SPPCA / 1,000 steps of the paper's EM", ratio(seconds, "SPPCA", "EM"), None),
        ("dense 2,000 x 300: nats by which that EM is short, negated", -short, 0.0),
    ]


def transform():
    """Projection of new rows beside the matrix product it cannot do without."""
    X, Y = planted(100_000, 300, 5, 10, 10_000)
    model = SPPCA(10).fit(X[:5_000], Y[:5_000])
    V = np.ascontiguousarray(model.components_.T)
    seconds = paired({"transform": lambda: model.transform(X), "product": lambda: X @ V}, repeats=9)
    return [("transform 100,000 x 300 to 10 / the product alone", ratio(seconds, "transform", "product"), 1.5)]


def main():
    """Run and record."""
    rows = [*tall(20_000, 300, 1.2), *tall(200_000, 200, 1.3), *wide(), *transform(), *beside_the_paper()]
    record("dense", [{"what": what, "value": value, "limit": limit} for what, value, limit in rows])


if __name__ == "__main__":
    main()
