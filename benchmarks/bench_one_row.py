"""One row at a time: the median call of every model beside that of scikit-learn's PCA.transform on the same row."""

import numpy as np
from common import paired, record
from sklearn.decomposition import PCA

from gnomon import CPPCA, DPPCA, IFA, PPCA, SPPCA, GuidedProjection, KernelSPPCA, MixturePPCA

PROJECTION, PREDICTION = 1.35, 2.2  # times PCA.transform
CALLS = 300
PEER = "PCA.transform"


def planted(seed=0, n=1_000, p=50):
    """Rows of three classes in five directions, and their classes where one row in five is labeled."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, 5))
    X = 2.0 * Z @ rng.standard_normal((5, p)) + rng.standard_normal((n, p))
    y = (Z[:, :3] + 0.3 * rng.standard_normal((n, 3))).argmax(axis=1)
    return X, np.where(rng.random(n) < 0.2, y, -1)


def calls(X, y):
    """Name of each call, what is called, and the limit of its ratio."""
    row, few = X[:1], slice(0, 400)
    limited = {"PPCA": PPCA(5), "SPPCA": SPPCA(5), "CPPCA": CPPCA(5), "DPPCA": DPPCA(2)}
    free = {
        "MixturePPCA": MixturePPCA(2),
        "KernelSPPCA (400 rows)": KernelSPPCA(2),
        "GuidedProjection (400 rows)": GuidedProjection(2),
    }
    pca = PCA(5).fit(X)
    found = {PEER: (lambda: pca.transform(row), None)}
    for name, model in {**limited, **free}.items():
        model.fit(X[few], y[few]) if "rows" in name else model.fit(X, y)
        limits = (PROJECTION, PREDICTION) if name in limited else (None, None)
        found[f"{name}.transform"] = (lambda model=model: model.transform(row), limits[0])
        if hasattr(model, "predict_proba"):
            found[f"{name}.predict_proba"] = (lambda model=model: model.predict_proba(row), limits[1])
    independent = IFA().fit(X[:, :6], None)
    found["IFA.transform"] = (lambda: independent.transform(row[:, :6]), None)
    return found


def main():
    """Run and record."""
    asked = calls(*planted())
    seconds = paired({name: call for name, (call, _) in asked.items()}, repeats=CALLS)
    p50 = {name: float(np.median(times)) for name, times in seconds.items()}
    rows = [
        {
            "what": f"one row of 50: {name} / {PEER} ({1e6 * p50[name]:.0f} us)",
            "value": p50[name] / p50[PEER],
            "limit": limit,
        }
        for name, (_, limit) in asked.items()
    ]
    record("one_row", rows)


if __name__ == "__main__":
    main()
