"""Table 1 of the SEPCA paper on five data sets: accuracy of a classifier on ten projections, five rows per class.

Protocol (Guo, NIPS 2008, section 5.2): a few random rows of each class are the training set, all others the test set;
the model is fitted to the training rows, test rows are projected, and logistic regression on the projections names
their class; means over 20 draws. FULL is logistic regression on all features. SEPCA brings its own classifier;
"SEPCA-LR" is logistic regression on its codes, as for the others. The paper draws "3 to 5" rows per class, here it is
five. Not said: beta (0.1 here, the kernel linear and scaled to unit mean squared distance), how rows were scaled (here
unit length for text, as they are otherwise), and the ridges of the logistic regressions.

- "LDA" has the ridge 1e-3 on the within-class covariance. The printed LDA has none that is told and is far below it.
- "SEPCA-pinv" projects by the pseudo-inverse, the paper's (11), in place of kernel ridge regression.
- 11_Tumors has 166 of the 174 rows of the paper; "Usps3456" is the digits 3 to 6 of USPS, where the paper has 120 rows
  in all: 30 random ones a digit, drawn afresh each time. Newsgroups has 19,950 rows and 25,607 words in place of 19,928
  and 25,284.

docs/theory/sepca.md has ours beside the printed column.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from gnomon import SEPCA, datasets
from gnomon.experiments._record import record
from gnomon.rows.kind import is_sparse
from gnomon.selection.baselines import lda_map

N_COMPONENTS = 10
N_PER_CLASS = 5
PAPER_DRAWS = 20
FULL_C = 100.0  # nearly unpenalized; with 1 the accuracy on YaleB is a third of this one, elsewhere about the same
METHODS = ("FULL", "SEPCA", "SEPCA-LR", "SEPCA-pinv", "LDA")

# accuracies in percent; the paper gives no deviations
PRINTED = {
    "yale": {"FULL": 65.3, "SEPCA": 64.4, "LDA": 31.0},
    "yaleb": {"FULL": 47.0, "SEPCA": 20.5, "LDA": 6.2},
    "11_tumors": {"FULL": 77.6, "SEPCA": 88.9, "LDA": 23.7},
    "usps3456": {"FULL": 82.1, "SEPCA": 79.7, "LDA": 74.3},
    "news20": {"FULL": 32.1, "SEPCA": 16.9, "LDA": 10.0},
}


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


def accuracies(X, y, *, methods=METHODS, n_draws=PAPER_DRAWS, pool=None, random_state=0):
    """Return {method: accuracies of shape (n_draws,)}; every method sees the same draws.

    With `pool` so many random rows of each class are used, drawn afresh each time.
    """
    rng = np.random.default_rng(random_state)
    found = {method: np.empty(n_draws) for method in methods}
    for draw in range(n_draws):
        train, test = draw_rows(y, N_PER_CLASS, pool, rng)
        for method in methods:
            predicted = _predict(method, X[train], y[train], X[test])
            found[method][draw] = np.mean(predicted == y[test])
    return found


def draw_rows(y, per_class, pool, rng):
    """Random training rows, `per_class` of each class, and the others as test rows, `pool` rows per class in all."""
    train, test = [], []
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))[:pool]
        train.append(rows[:per_class])
        test.append(rows[per_class:])
    return np.concatenate(train), np.concatenate(test)


def _predict(method, X, y, X_new):
    if method == "FULL":
        center = np.asarray(X.mean(axis=0)).ravel()
        squares = X.multiply(X).sum() if is_sparse(X) else (X**2).sum()
        scale = np.sqrt(max(squares / X.shape[0] - center @ center, np.finfo(float).tiny))
        return LogisticRegression(C=FULL_C, max_iter=5000).fit(X / scale, y).predict(X_new / scale)
    if method == "LDA":
        lda = lda_map(X, y, N_COMPONENTS)
        return _regress(lda.project(X), y, lda.project(X_new))
    d = min(N_COMPONENTS, X.shape[0] - 1)
    model = SEPCA(d, projection_ridge="pinv" if method == "SEPCA-pinv" else "auto").fit(X, y)
    return _regress(model.transform(X), y, model.transform(X_new)) if method == "SEPCA-LR" else model.predict(X_new)


def _regress(Z, y, Z_new):
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)).fit(Z, y).predict(Z_new)


def reproduce(sets=tuple(PRINTED), *, methods=METHODS, n_draws=PAPER_DRAWS, random_state=0):
    """Run the table; yield one record a cell: data, method, mean and sd in percent, n_draws, printed (or None)."""
    for name in sets:
        X, y = load(name)
        pool = 30 if name == "usps3456" else None
        found = accuracies(X, y, methods=methods, n_draws=n_draws, pool=pool, random_state=random_state)
        for method, values in found.items():
            printed = PRINTED[name].get(method.partition("-")[0])
            yield record(100 * values, data=name, method=method, printed=printed)


def format_table(records):
    """Return the records as text, one line a cell."""
    lines = [f"{'data':11}{'method':12}{'ours, percent':16}{'printed':>8}"]
    for r in records:
        printed = "" if r["printed"] is None else f"{r['printed']:.1f}"
        lines.append(f"{r['data']:11}{r['method']:12}{r['mean']:6.1f} ± {r['sd']:4.1f}   {printed:>8}")
    return "\n".join(lines)
