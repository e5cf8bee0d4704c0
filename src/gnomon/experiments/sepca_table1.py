"""Table 1 of the SEPCA paper on five data sets: accuracy of a classifier on ten projections, 3 to 5 rows per class.

Protocol (Guo, NIPS 2008, section 5.2): a few random rows of each class are the training set, all others the test set;
the model is fitted to the training rows, test rows are projected, and logistic regression on the projections names
their class; means over 20 draws. FULL is logistic regression on all features. SEPCA brings its own classifier;
"SEPCA-LR" is logistic regression on its codes, as for the others. The paper draws "3 to 5" rows per class: tasks are
"yale, 5 a class" and so on. Not said: beta (0.1 here, the kernel linear and scaled to unit mean squared distance), how
rows were scaled (here unit length for text, as they are otherwise), and the ridges of the logistic regressions.

- "LDA" has the ridge 1e-3 on the within-class covariance. The printed LDA has none that is told and is far below it.
- SDR-GLM, SPPCA and colored MVU ("cMVU") are `SDRGLM`, `SPPCA` and `ColoredMVU` with their defaults, ten dimensions or
  as many as the training rows allow; new rows of colored MVU are placed by its own map.
- Beside the paper's methods: `GuidedProjection` and `DPPCA` see the training rows alone, as all do, and predict.
- "SEPCA-pinv" projects by the pseudo-inverse, the paper's (11), in place of kernel ridge regression.
- 11_Tumors has 166 of the 174 rows of the paper; "Usps3456" is the digits 3 to 6 of USPS, where the paper has 120 rows
  in all: 30 random ones a digit, drawn afresh each time. Newsgroups has 19,950 rows and 25,607 words in place of 19,928
  and 25,284.

docs/theory/sepca.md has ours beside the printed column.
"""

from functools import cache

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from gnomon import DPPCA, SDRGLM, SEPCA, SPPCA, ColoredMVU, GuidedProjection, datasets
from gnomon.experiments._cells import Printed, Table, draws_of
from gnomon.rows.kind import is_sparse
from gnomon.selection.baselines import lda_map

N_COMPONENTS = 10
PER_CLASS = (5, 4, 3)
PAPER_DRAWS, QUICK_DRAWS = 20, 2
FULL_C = 100.0  # nearly unpenalized; with 1 the accuracy on YaleB is a third of this one, elsewhere about the same
METHODS = ("FULL", "SEPCA", "SEPCA-LR", "SEPCA-pinv", "SDR-GLM", "SPPCA", "LDA", "cMVU", "GuidedProjection", "DPPCA")
PROJECTIONS = {"SDR-GLM": SDRGLM, "SPPCA": SPPCA, "cMVU": ColoredMVU}
OWN = {"GuidedProjection": GuidedProjection, "DPPCA": DPPCA}
POOLS = {"usps3456": 30}  # rows of a class in all, drawn afresh each time

# accuracies in percent; the paper gives no deviations
PRINTED = {
    "yale": {"FULL": 65.3, "SEPCA": 64.4, "SDR-GLM": 58.8, "SPPCA": 51.6, "LDA": 31.0, "cMVU": 21.1},
    "yaleb": {"FULL": 47.0, "SEPCA": 20.5, "SDR-GLM": 19.0, "SPPCA": 9.8, "LDA": 6.2, "cMVU": 2.8},
    "11_tumors": {"FULL": 77.6, "SEPCA": 88.9, "SDR-GLM": 63.5, "SPPCA": 63.0, "LDA": 23.7, "cMVU": 40.2},
    "usps3456": {"FULL": 82.1, "SEPCA": 79.7, "SDR-GLM": 77.9, "SPPCA": 78.5, "LDA": 74.3, "cMVU": 75.8},
    "news20": {"FULL": 32.1, "SEPCA": 16.9, "SPPCA": 6.9, "LDA": 10.0, "cMVU": 10.4},
}
NOT_TOLD = "rows per class (3 to 5), scaling, beta and the ridge of the classifier are not told"
REMARKS = {
    "LDA": "the printed LDA has no ridge that is told; with 1e-3 it is far above it",
    "SPPCA": "the maximum here; the paper says that its own suffers from local optima",
    "SDR-GLM": "the best of its starts here; the paper says that its own suffers from local optima",
}


@cache
def load(name):
    """Rows and classes of a data set of the table."""
    if name == "yale":
        data = datasets.fetch_yale(size=64)
    elif name == "usps3456":
        data = datasets.fetch_usps()
        kept = np.isin(data.target, (3, 4, 5, 6))
        return data.data[kept].astype(float), data.target[kept]
    else:
        data = getattr(datasets, f"fetch_{name}")()
    X = normalize(data.data.astype(float)) if name == "news20" else data.data.astype(float)
    return X, data.target


def cells(n_draws=None, *, quick=False):
    """Cells of the table, all of one draw before the next; SDR-GLM not on text, which it would make dense."""
    kinds = [
        (f"{name}, {per_class} a class", method, None if method in ("FULL", *OWN) else N_COMPONENTS)
        for per_class in (PER_CLASS[:1] if quick else PER_CLASS)
        for name in PRINTED
        for method in METHODS
        if not (name == "news20" and method == "SDR-GLM") and not (quick and name in ("yaleb", "news20"))
    ]
    return draws_of(kinds, lambda *_: n_draws or (QUICK_DRAWS if quick else PAPER_DRAWS))


def scores(cell):
    """Accuracy on the test rows, in percent."""
    name, _, rest = cell.task.partition(", ")
    X, y = load(name)
    train, test = draw_rows(y, int(rest.split()[0]), POOLS.get(name), np.random.default_rng(cell.seed))
    return {"accuracy": 100.0 * float(np.mean(predict(cell.method, X[train], y[train], X[test]) == y[test]))}


def draw_rows(y, per_class, pool, rng):
    """Random training rows, `per_class` of each class, and the others as test rows, `pool` rows per class in all."""
    train, test = [], []
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))[:pool]
        train.append(rows[: min(per_class, len(rows) - 1)])
        test.append(rows[len(train[-1]) :])
    return np.concatenate(train), np.concatenate(test)


def predict(method, X, y, X_new):
    """Classes of new rows by a method that has seen rows X (n, p) of classes y."""
    if method == "FULL":
        center = np.asarray(X.mean(axis=0)).ravel()
        squares = X.multiply(X).sum() if is_sparse(X) else (X**2).sum()
        scale = np.sqrt(max(squares / X.shape[0] - center @ center, np.finfo(float).tiny))
        return LogisticRegression(C=FULL_C, max_iter=5000).fit(X / scale, y).predict(X_new / scale)
    if method == "LDA":
        lda = lda_map(X, y, N_COMPONENTS)
        return _regress(lda.project(X), y, lda.project(X_new))
    d = min(N_COMPONENTS, X.shape[0] - 2)
    if method in OWN:
        return OWN[method](d).fit(X, y).predict(X_new)
    if method in PROJECTIONS:
        model = PROJECTIONS[method](d).fit(X, y)
        return _regress(model.transform(X), y, model.transform(X_new))
    ridge = "pinv" if method == "SEPCA-pinv" else "auto"
    model = SEPCA(d, projection_ridge=ridge, uncertainty="plug-in").fit(X, y)  # the paper knows no other
    return _regress(model.transform(X), y, model.transform(X_new)) if method == "SEPCA-LR" else model.predict(X_new)


def _regress(Z, y, Z_new):
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)).fit(Z, y).predict(Z_new)


def printed(task, method, k, score):
    """What the paper prints."""
    found = PRINTED[task.partition(",")[0]].get(method.removesuffix("-LR").removesuffix("-pinv"))
    return None if found is None else Printed(found, None, PAPER_DRAWS)


TABLE = Table(
    paper="Guo: Supervised exponential family principal component analysis via convex optimization, NIPS 2008, table 1",
    cells=cells,
    scores=scores,
    printed=printed,
    better="larger",
    remarks=lambda task, method, k: "not in the paper" if method in OWN else REMARKS.get(method, NOT_TOLD),
)
